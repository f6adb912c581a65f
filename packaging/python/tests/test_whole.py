# SPDX-License-Identifier: MIT
"""Compares models of whole modules on several devices with the same models on one device."""

from __future__ import annotations

import copy
import dataclasses
import random
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
from support import Machine
from test_apply import Average, BaseAfterView, Changes, Chunks, Comparing, InPlaceChain, Packed, Residual
from test_apply import Row, Siblings, SometimesView, ViewAfterBase, ViewOfCopy, ViewOfView
from torch import nn
from torch.overrides import _get_current_function_mode
from torch.utils.checkpoint import checkpoint
from transformers_like import Bert, Gpt2

import placewright


class Noted(nn.Module):
    """Notes in which function mode it runs, and computes twice what is asked."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.modes: List[Any] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.modes.append(type(_get_current_function_mode()).__name__)
        return x + self.second(self.first(x).tanh())


class AddOne(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x += 1
        return x


class View(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)[:3]


class Silent(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x[1].mul_(2)
        return torch.zeros(1, dtype=x.dtype, device=x.device) + x[1, 1]


class ChangedLater(nn.Module):
    """Changes a tensor and a view of it that a module gave."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.view = nn.Linear(4, 4), View()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x) * 1
        z = self.view(y)
        y.mul_(2)
        total = z.sum()
        z[1:].add_(3)
        return y * total


class Whole(Comparing):
    """Whole modules run as one call."""

    def by_module(self, depth: int, seed: int) -> Dict[str, str]:
        """Returns a placement that draws a device for the modules at a depth, and the calls around them."""
        draw = random.Random(seed)
        devices: Dict[str, str] = {}
        placement = {}
        for name, op in self.ops().items():
            module = "/".join(op.get("scope", "").split("/")[:depth])
            if module not in devices:
                devices[module] = f"gpu:{draw.randrange(3)}"
            placement[name] = devices[module]
        return placement

    def check_modules(self, model: nn.Module, *inputs: Any, depths: Tuple[int, ...] = (1,)) -> None:
        doubles = tuple(item.double() if item.is_floating_point() else item for item in inputs)
        placewright.export(copy.deepcopy(model).double(), doubles, self.folder / "model.json")
        for depth in depths:
            for seed in range(6):
                placement = self.by_module(depth, seed)
                if len(set(placement.values())) > 1:
                    self.check(copy.deepcopy(model), *inputs, placement=placement)

    def test_models(self) -> None:
        tokens = torch.randint(30, (2, 9))
        self.check_modules(Gpt2(2, 8, 2, 30, 16), tokens, depths=(1, 2, 3))
        self.check_modules(Bert(2, 8, 2, 30, 16), tokens, torch.zeros_like(tokens), depths=(1, 2, 3))
        self.check_modules(Packed(), torch.randn(3, 4, 4))
        model = nn.Sequential(Residual(), Residual(), Average3())
        self.check_modules(model, torch.randn(2, 3, 5, 5), depths=(1, 2))

    def test_changes_in_place(self) -> None:
        """Modules that change their inputs, or give views of them, which the model reads afterwards."""

        class Through(nn.Module):
            """Calls a module on a tensor of which it keeps a view."""

            def __init__(self, *modules: nn.Module) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)
                self.inner = nn.ModuleList(modules)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = self.linear(x)
                total = x.sum()
                for module in self.inner:
                    y = x * 1
                    row = y[0]
                    z = module(y)
                    total = total + (y * 3).sum() + (row * 5).sum()
                    for item in z if isinstance(z, tuple) else (z,):
                        total = total + (item * 7).sum() + item.tanh().sum()
                    x = (x + y).tanh()
                return x * total.tanh()

        inner = (AddOne(), nn.ReLU(inplace=True), View(), Silent(), nn.Flatten(0), nn.Identity())
        model = Through(*inner)
        for depth in (1, 2):
            self.check_modules(model, torch.rand(2, 4), depths=(depth,))
        kinds = (InPlaceChain, ViewOfCopy)
        self.check_modules(Through(*(kind() for kind in kinds)), torch.rand(2, 4), depths=(2,))
        kinds = (BaseAfterView, ViewAfterBase, Siblings, Row, Chunks, ViewOfView, SometimesView)
        self.check_modules(Through(*(kind() for kind in kinds)), torch.rand(2, 4), depths=(2,))
        self.check_modules(Through(Changes(), AddOne(), Changes()), torch.rand(3, 4), depths=(2,))

    def test_views_that_modules_give(self) -> None:
        """They show later changes of their input, and the input shows theirs."""
        model, x = ChangedLater(), torch.rand(2, 4)
        expected = copy.deepcopy(model)(x)
        expected.sum().backward()
        with Machine():
            placewright.apply(model, {"linear": 0, "view": 1})
            found = model(x)
        torch.testing.assert_close(found, expected)

    def test_changes_in_place_in_inference_mode(self) -> None:
        class Model(nn.Module):
            def __init__(self, inner: nn.Module) -> None:
                super().__init__()
                self.linear, self.inner = nn.Linear(4, 4), inner

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = self.linear(x)
                self.inner(y)
                return y + 1

        for inner in (nn.ReLU(inplace=True), Silent()):
            model, x = Model(inner), torch.randn(5, 4)
            with torch.inference_mode():
                expected = copy.deepcopy(model)(x)
            for device in (0, 1):
                with torch.inference_mode(), Machine():
                    found = placewright.apply(copy.deepcopy(model), {"linear": 0, "inner": device})(x)
                self.assertTrue(torch.equal(found, expected))

    def test_only_cut_modules_are_watched(self) -> None:
        model = nn.Sequential(Noted(), Noted(), Noted())
        x = torch.randn(2, 4)
        expected = model(x)
        placewright.export(model, x, self.folder / "model.json")
        placement = {name: "gpu:1" if name.startswith("2/") else "gpu:0" for name in self.ops()}
        placement["1/second/linear"] = "gpu:2"
        for module in model:
            module.modes.clear()
        with Machine() as machine:
            placewright.apply(model, self.write_placement(placement))
            found = model(x)
        torch.testing.assert_close(found, expected)
        self.assertEqual([module.modes for module in model], [["Machine"], ["_Placed"], ["Machine"]])
        self.assertEqual({place for _, place in machine.ran[-4:]}, {"cuda:1"})
        # Everything on one device: no module but the outermost is hooked.
        with Machine():
            placewright.apply(model, self.write_placement(dict.fromkeys(placement, "gpu:1")))
            model(x)
        self.assertEqual(["forward" in vars(module) for module in model.modules()], [True] + [False] * 9)
        self.assertEqual([module.modes[-1] for module in model], ["Machine"] * 3)

    def test_device_map(self) -> None:
        model = nn.Sequential(Noted(), Noted(), Noted())
        x = torch.randn(2, 4)
        expected = model(x)
        with Machine() as machine:
            placewright.apply(model, {"0": 0, "1.first": 1, "1.second": 2, "2": "cpu"})
            machine.ran.clear()
            found = model(x)
        torch.testing.assert_close(found, expected)
        self.assertEqual([module.modes[-1] for module in model], ["Machine", "_Placed", "Machine"])
        places = [place for name, place in machine.ran if name == "linear"]
        self.assertEqual(places, ["cuda:0", "cuda:0", "cuda:1", "cuda:2", "cpu", "cpu"])

    def test_lists_of_modules(self) -> None:
        """A list is never called: its modules are."""

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.Linear(4, 4)
                self.blocks = nn.ModuleList(Noted() for _ in range(2))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = self.first(x)
                for block in self.blocks:
                    x = block(x)
                return x

        model, x = Model(), torch.randn(2, 4)
        expected = model(x)
        with Machine() as machine:
            placewright.apply(model, {"first": 0, "blocks": 1})
            machine.ran.clear()
            found = model(x)
        torch.testing.assert_close(found, expected)
        self.assertEqual([place for _, place in machine.ran], ["cuda:0"] + ["cuda:1"] * 8)
        self.assertEqual([block.modes[-1] for block in model.blocks], ["Machine"] * 2)

    def test_inner_modules_that_are_called_by_themselves(self) -> None:
        """As models of images and words do with the embedding of their language model."""

        class Language(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embedding, self.block = nn.Embedding(9, 4), Noted()

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.block(x)

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.vision, self.language = Noted(), Language()

            def forward(self, x: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
                return self.language(self.vision(x) + self.language.embedding(tokens))

        model, inputs = Model(), (torch.randn(2, 4), torch.tensor([3, 4]))
        expected = model(*inputs)
        with Machine() as machine:
            placewright.apply(model, {"vision": 0, "language": 1})
            machine.ran.clear()
            found = model(*inputs)
        torch.testing.assert_close(found, expected)
        self.assertIn(("embedding", "cuda:1"), machine.ran)
        self.assertNotIn(("embedding", "cuda:0"), machine.ran)

    def test_inputs_of_all_sorts(self) -> None:
        class Pair(NamedTuple):
            one: torch.Tensor
            other: Optional[torch.Tensor]

        @dataclasses.dataclass(frozen=True)
        class Item:
            value: torch.Tensor
            text: str

        class Reads(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def forward(self, pair: Pair, *rest: Any, item: Item, **named: Any) -> Dict[str, Any]:
                assert pair.other is None and item.text == "a" and isinstance(rest[0], list)
                x = pair.one + rest[0][1] + item.value + named["inner"]["x"]
                return {"result": self.linear(x)}

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.reads = nn.Linear(4, 4), Reads()

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = self.first(x)
                return self.reads(Pair(y, None), [1, y], item=Item(y, "a"), inner={"x": y})["result"]

        model, x = Model(), torch.randn(2, 4)
        expected = model(x)
        with Machine() as machine:
            placewright.apply(model, {"first": 0, "reads": 1})
            machine.moves.clear()
            found = model(x)
        torch.testing.assert_close(found, expected)
        self.assertEqual([move.target for move in machine.moves], ["cuda:0", "cuda:1"])  # y is sent once

    def test_containers_that_modules_change(self) -> None:
        """What a module writes into a list, a dictionary or a dataclass is there for whoever reads it next."""

        @dataclasses.dataclass
        class State:
            kept: tuple = ()

        class Writes(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def forward(self, x: torch.Tensor, feats: list, cache: Dict[Any, Any], state: State) -> torch.Tensor:
                y = self.linear(x)
                feats.append(y[:, :2])
                feats[0] = feats[0] + y
                feats[1].append(x)
                feats[2].add_(y)
                cache["sum"] = cache["sum"] + y
                cache[len(cache)] = y
                cache.pop("gone", None)
                state.kept += (y.tanh(),)
                return y + sum(feats[1]) + sum(item.sum() for item in state.kept)

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.Linear(4, 4)
                self.inner = nn.ModuleList(Writes() for _ in range(4))

            def forward(self, x: torch.Tensor) -> Any:
                x = self.first(x)
                feats, cache, state = [x, [], x * 2], {"sum": x, "gone": x}, State()
                for module in self.inner:
                    x = module(x, feats, cache, state)
                    feats[-1].mul_(2)  # as do the views of it
                parts = [feats[0], *feats[1], *feats[2:], *cache.values(), *state.kept]
                return x + sum(item.sum() for item in parts), len(parts)

        self.check_modules(Model(), torch.randn(2, 4), depths=(2,))

    def test_containers_of_the_caller(self) -> None:
        """A list that the caller gives has its own tensors again, and what the model added."""

        class Feats(list):
            scale = 2.0

        class Pair(tuple):
            def __new__(cls, one: torch.Tensor, other: torch.Tensor) -> "Pair":
                return super().__new__(cls, (one, other))

        class Adds(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def forward(self, x: torch.Tensor, feats: Feats, pair: Pair) -> torch.Tensor:
                if len(feats) == 3:
                    raise ValueError("full")
                feats.append(self.linear(x) * feats.scale + pair[1] * pair.weight)  # type: ignore[attr-defined]
                return feats[-1] + feats[0]

        model, x = Adds(), torch.randn(2, 4)
        pair = Pair(x, x * 3)
        pair.weight = 5  # type: ignore[attr-defined]
        once = Feats([x])
        once.scale = 3.0
        expected = model(x, once, pair)
        with Machine():
            placewright.apply(model, {"": 1})
            feats, inner = Feats([x]), [x]
            feats.scale, feats_before = 3.0, [x]
            feats.append(inner)  # type: ignore[arg-type]
            with self.assertRaisesRegex(ValueError, "full"):
                model(x, Feats([*feats, x]), pair)
            del feats[1]
            found = model(x, feats, pair)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(feats[1], once[1])
        self.assertIs(feats[0], feats_before[0])
        self.assertIs(inner[0], x)

    def test_containers_while_a_module_runs(self) -> None:
        """Others that hold a dictionary do not see the tensors that a module gets in it; what the module holds of it
        stays with the module: a forward that is run again in the backward pass finds it."""
        shared: Dict[str, Any] = {}
        places: List[str] = []

        class Inner(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def body(self, x: torch.Tensor, feats: Dict[str, torch.Tensor]) -> torch.Tensor:
                places.append(str(feats["x"].device))
                return self.linear(x) * feats["x"].detach()

            def forward(self, x: torch.Tensor, feats: Dict[str, torch.Tensor]) -> Any:
                self.seen = shared["feats"]["x"]
                feats["new"] = x * 2
                return checkpoint(self.body, x, feats, use_reentrant=False), feats

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.inner = nn.Linear(4, 4), Inner()

            def forward(self, x: torch.Tensor) -> Any:
                shared["feats"] = feats = {"x": self.first(x)}
                self.held = feats["x"]
                y, same = self.inner(x, feats)
                self.is_same = same is feats
                return y

        model, x = Model(), torch.randn(2, 4)
        with Machine():
            placewright.apply(model, {"first": 0, "inner": 1})
            y = model(x)
            self.assertIs(model.inner.seen, model.held)
            self.assertIs(shared["feats"]["x"], model.held)
            self.assertEqual(list(shared["feats"]), ["x", "new"])
            self.assertTrue(model.is_same)
            torch.autograd.backward(y.sum())
        self.assertEqual(places, ["cuda:1", "cuda:1"])

    def test_checkpoints(self) -> None:
        class Checkpointed(nn.Module):
            def __init__(self, reentrant: bool) -> None:
                super().__init__()
                self.blocks = nn.ModuleList(Noted() for _ in range(3))
                self.reentrant = reentrant

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                for block in self.blocks:
                    x = checkpoint(block, x, use_reentrant=self.reentrant)
                return x

        class Inside(nn.Module):
            def __init__(self, reentrant: bool) -> None:
                super().__init__()
                self.first, self.inner = nn.Linear(4, 4), Checkpointed(reentrant)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.inner(self.first(x)).tanh()

        for reentrant in (True, False):
            self.check_modules(Inside(reentrant), torch.randn(2, 4), depths=(1, 3))

    def test_modules_from_elsewhere(self) -> None:
        """A whole module that calls one outside of it, and a module with two names."""

        class Outer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.one, self.other, self.third = Noted(), Noted(), Noted()
                self.third.first = self.one.first
                self.__dict__["hidden"] = [self.other]

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.third(self.borrow(self.one(x)))

        class Borrows(nn.Module):
            def __init__(self, other: nn.Module) -> None:
                super().__init__()
                self.own = nn.Linear(4, 4)
                self.borrowed = [other]

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.borrowed[0](self.own(x)).exp()

        model = Outer()
        model.borrow = Borrows(model.other)
        self.check_modules(model, torch.randn(2, 4), depths=(1, 2))

    def test_tensors_that_are_no_buffers(self) -> None:
        """They stay on the CPU, so the calls that read them are watched."""

        class Scaled(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)
                self.scale = torch.tensor([1.0, 2.0, 3.0, 4.0])

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.linear(x) * self.scale

        model, x = nn.Sequential(Noted(), Scaled()), torch.randn(2, 4)
        expected = model(x)
        with Machine():
            placewright.apply(model, {"": 1})
            found = model(x)
        torch.testing.assert_close(found, expected)

    def test_lengths_of_sequences_stay_on_the_cpu(self) -> None:
        class Reader(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.gru = nn.GRU(4, 4)

            def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
                packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
                return self.gru(packed)[1]

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.reader = nn.Linear(4, 4), Reader()

            def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
                return self.reader(self.first(x), lengths)

        model, inputs = Model(), (torch.randn(3, 2, 4), torch.tensor([2, 3]))
        expected = model(*inputs)
        for device_map in ({"": 1}, {"first": 0, "reader": 1}):
            with Machine():
                found = placewright.apply(model, device_map)(*inputs)
            torch.testing.assert_close(found, expected)

    def test_tensors_on_other_devices_are_told(self) -> None:
        class Counts(Noted):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return super().forward(x) + torch.arange(4)

        with Machine():
            model = placewright.apply(nn.Sequential(Counts()), {"": 1})
            with self.assertRaisesRegex(RuntimeError, 'module "" runs whole on cuda:1, .*device=x.device'):
                model(torch.randn(2, 4))

    def test_alone(self) -> None:
        """A module that is called without the model around it."""
        model, x = nn.Sequential(Noted(), nn.ReLU(inplace=True)), torch.randn(2, 4)
        expected, changed = model[0](x), x.relu()
        with Machine():
            placewright.apply(model, {"0": 1, "1": 2})
            found = model[0](x)
            model[1](x)
        torch.testing.assert_close(found, expected)
        self.assertTrue(torch.equal(x, changed))

    def test_undone(self) -> None:
        model, x = nn.Sequential(Noted(), Noted()), torch.randn(2, 4)
        with Machine():
            placewright.apply(model, {"0": 1, "1": 2})
            placewright.apply(model, {"": 3})
            found = model(x)
        self.assertEqual(Machine.place(found), "cuda:3")


class Average3(nn.Module):
    """`Average` for images of three channels and 5 x 5 elements."""

    def __init__(self) -> None:
        super().__init__()
        self.average = Average()
        self.linear = nn.Linear(75, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.average(self.linear(x.flatten(1)))
