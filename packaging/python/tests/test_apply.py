# SPDX-License-Identifier: MIT
"""Compares placed models with the same models on one device."""

from __future__ import annotations

import copy
import gc
import itertools
import unittest
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Optional

import torch
from support import Machine, TestCase
from torch import nn
from torch.utils.checkpoint import CheckpointFunction, checkpoint
from transformers_like import Bert, Gpt2

import placewright

try:
    import torchvision
except ImportError:
    torchvision = None


class Residual(nn.Module):
    """A block with a shortcut, an in-place addition and a buffer that is read and changed."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(3, 3, 3, padding=1)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.norm(self.conv1(x)))
        y = self.conv2(y)
        y += x
        self.seen.add_(y.detach().mean((0, 2, 3)))
        return self.drop(self.relu(y))


class Average(nn.Module):
    """Changes a buffer through a tensor that shares its memory."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        self.mean.data.mul_(0.9).add_(0.1 * y.detach().mean(0))
        self.mean.detach().add_(1)
        return y - self.mean


class Packed(nn.Module):
    """Sequences of several lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True), nn.GRU(10, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor([2, 4, 1]), batch_first=True, enforce_sorted=False
        )
        states, _ = self.gru(self.lstm(packed)[0])
        return self.head(nn.utils.rnn.pad_packed_sequence(states)[0])


class Changes(nn.Module):
    """Makes in-place changes and reads them from the changed tensor, not from the call's result."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        keep = y
        y = y + 0
        y[:, 0] = x[:, 1]
        row = y[0]
        row.mul_(2)
        alias = y
        y += keep
        torch.relu_(alias)
        z = alias.exp().clamp(max=5)
        z.zero_()
        z[1:].add_(alias[1:])
        z[:, 2].copy_(keep[:, 3])
        return z * y


class BaseAfterView(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * x
        view = y.view(-1)
        y.mul_(2)
        return view


class ViewAfterBase(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = x * x
        y *= 2
        view = y[:, :2]
        view += 1
        return y, view


class Siblings(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = x * x
        rows, flat = y.t(), y.view(-1)
        rows[0].mul_(3)
        return flat * 3, y


class Row(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * x
        y[0] += 1
        return y


class Chunks(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * x
        with torch.no_grad():
            left, right = y.detach().chunk(2, 1)
            right.zero_()
        return y + torch.cat([right, left], 1)


class ViewOfView(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        flat = (x * 2).view(-1)
        first = flat[:2]
        flat.view(-1)[1:3] = x[0, :2]
        return first.view(1, 2)


class SometimesView(nn.Module):
    """Reshapes tensors that cannot be viewed in another shape, so that copies are made."""

    def forward(self, x: torch.Tensor) -> Any:
        part = (x * 2)[:, :2]
        flat = part.reshape(-1)
        part.add_(1)
        return flat, part.contiguous().mul_(3), part


class InPlaceChain(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        y = x * x
        z = torch.neg_(y)
        z += x[0, 0]
        return y, z


class ViewOfCopy(nn.Module):
    """Changes a tensor that has a copy on another device, of which a view has a copy, too."""

    def forward(self, x: torch.Tensor) -> Any:
        y = x * x
        same = y.contiguous()
        flat = same.view(-1)
        total = flat.sum()
        alias = y
        alias += 1
        return flat, y, total


class Comparing(TestCase):
    """Checks that outputs, gradients, parameters after a step, and buffers are equal, up to the order in
    which gradients are summed."""

    def step(
        self, model: nn.Module, inputs: Any, loss: Optional[Callable[[Any], torch.Tensor]] = None
    ) -> Dict[str, torch.Tensor]:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
        torch.manual_seed(1)
        output = model(*inputs)
        first = output if isinstance(output, torch.Tensor) else output[0]
        torch.autograd.backward(first.square().sum() if loss is None else loss(output))
        result = {"output": first.detach()}
        with_gradient = [
            (name, parameter) for name, parameter in model.named_parameters() if parameter.grad is not None
        ]
        result.update((f"{name}.grad", parameter.grad.clone()) for name, parameter in with_gradient)
        optimizer.step()
        result.update((name, tensor.detach().clone()) for name, tensor in model.state_dict().items())
        return result

    def check(
        self,
        model: nn.Module,
        *inputs: Any,
        seed: int = 1,
        loss: Optional[Callable[[Any], torch.Tensor]] = None,
        placement: Optional[Dict[str, str]] = None,
    ) -> Machine:
        """Places every op, at random if no placement is given; returns the machine that it ran on."""
        model = model.double()
        inputs = tuple(item.double() if item.is_floating_point() else item for item in inputs)
        placewright.export(model, inputs, self.folder / "model.json")
        file = self.write_placement(placement) if placement else self.random_placement(self.ops(), seed=seed)
        expected = self.step(copy.deepcopy(model), inputs, loss)
        with Machine() as machine:
            placewright.apply(model, file, graph=self.folder / "model.json")
            machine.moves.clear()
            machine.ran.clear()
            found = self.step(model, inputs, loss)
        self.assertEqual(set(found), set(expected))
        for name, tensor in expected.items():
            torch.testing.assert_close(
                found[name], tensor, rtol=1e-9, atol=1e-12, msg=lambda text: f"{name}: {text}"
            )  # noqa: B023
        self.assertGreater(len({place for _, place in machine.ran}), 1)
        return machine


class Equal(Comparing):
    def test_residual(self) -> None:
        for seed in range(5):
            self.check(Residual(), torch.randn(2, 3, 5, 5), seed=seed)

    def test_changes_in_place(self) -> None:
        for seed in range(20):
            self.check(Changes(), torch.randn(3, 4), seed=seed)

    def test_views_see_changes_under_all_placements(self) -> None:
        for kind in (
            BaseAfterView,
            ViewAfterBase,
            Siblings,
            Row,
            Chunks,
            ViewOfView,
            SometimesView,
            InPlaceChain,
            ViewOfCopy,
        ):
            model = kind()
            x = torch.randn(2, 4, dtype=torch.float64)

            def run(model: nn.Module, x: torch.Tensor = x) -> List[torch.Tensor]:
                own = x.clone().requires_grad_()
                result = model(own)
                results = list(result) if isinstance(result, tuple) else [result]
                torch.autograd.backward([item.square().sum() for item in results])
                return [item.detach() for item in results] + [own.grad]

            expected = run(model)
            placewright.export(model, x, self.folder / "model.json")
            names = list(self.ops())
            for places in itertools.product(("gpu:0", "gpu:1"), repeat=len(names)):
                with self.subTest(kind.__name__, placement=dict(zip(names, places))):
                    with Machine():
                        placed = placewright.apply(
                            copy.deepcopy(model), self.write_placement(dict(zip(names, places)))
                        )
                        found = run(placed)
                        with torch.inference_mode():
                            result = placed(x.clone())
                    found += result if isinstance(result, tuple) else [result]
                    for one, other in zip(found, expected + expected[:-1]):
                        torch.testing.assert_close(one, other)

    def test_tied_parameters(self) -> None:
        model = Gpt2(2, 8, 2, 30, 16)
        self.check(model, torch.randint(30, (2, 9)))
        self.assertIs(model.wte.weight, model.head.weight)

    def test_bert(self) -> None:
        tokens = torch.randint(30, (2, 9))
        self.check(Bert(2, 8, 2, 30, 16), tokens, torch.zeros_like(tokens))

    def test_recurrent_and_attention(self) -> None:
        class Mixed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.lstm = nn.LSTM(4, 8, 2)
                self.attention = nn.MultiheadAttention(8, 2)
                self.cell = nn.GRUCell(8, 4)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x, _ = self.lstm(x)
                x, weights = self.attention(x, x, x)
                state = None
                for step in x:
                    state = self.cell(step, state)
                return torch.cat([state, state * weights.mean()])

        self.check(Mixed(), torch.randn(5, 2, 4))

    @unittest.skipIf(torchvision is None, "torchvision is missing")
    def test_buffers_change_through_what_shares_them(self) -> None:
        for seed in range(6):
            self.check(Average(), torch.randn(3, 4), seed=seed)

    def test_packed_sequences(self) -> None:
        for seed in range(4):
            self.check(Packed(), torch.randn(3, 4, 4), seed=seed)

    def test_torchvision(self) -> None:
        self.check(torchvision.models.resnet18(num_classes=10), torch.randn(2, 3, 33, 33))
        self.check(torchvision.models.mobilenet_v2(num_classes=10), torch.randn(2, 3, 33, 33))
        model = torchvision.models.googlenet(num_classes=10, init_weights=False)
        self.check(
            model,
            torch.randn(2, 3, 64, 64),
            loss=lambda outputs: sum(output.square().sum() for output in outputs),
        )

    def test_copy_without_gradients_is_not_used_with_them(self) -> None:
        class Scaled(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = self.linear(x)
                with torch.no_grad():
                    size = y.abs().sum()
                return torch.tanh(y) * size

        placement = {
            "x": "cpu:0",
            "linear/linear": "gpu:0",
            "abs": "gpu:1",
            "sum": "gpu:1",
            "tanh": "gpu:1",
            "mul": "gpu:1",
        }
        self.check(Scaled(), torch.randn(3, 4), placement=placement)

    def test_threads(self) -> None:
        model = Residual().eval()
        inputs = [torch.randn(2, 3, 5, 5) for _ in range(8)]
        placewright.export(model, inputs[0], self.folder / "model.json", training=False)
        expected = [model(x) - 0 for x in inputs]
        file = self.random_placement(self.ops())
        seen = model.seen.clone()
        placewright.apply(model, file, devices={f"gpu:{index}": "cpu" for index in range(4)})
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(model, inputs * 4))
        self.assertFalse(torch.equal(model.seen, seen))
        for index, result in enumerate(found):
            self.assertTrue(torch.equal(result, expected[index % 8]))

    def test_checkpoint(self) -> None:
        """Calls that run again in the backward pass run on their devices, too."""

        class Checkpointed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.Linear(4, 4)
                self.block = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return checkpoint(self.block, self.first(x)).exp()

        for seed in range(4):
            self.check(Checkpointed(), torch.randn(3, 4), seed=seed)

    def test_checkpointed_function(self) -> None:
        """The checkpointed function is no module, as in the memory-efficient DenseNet."""

        class Checkpointed(nn.Module):
            def __init__(self, reentrant: bool) -> None:
                super().__init__()
                self.first, self.second, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(8, 2)
                self.reentrant = reentrant

            def joined(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return self.last(torch.cat([a.tanh(), b.tanh()], 1)).tanh()

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                a, b = self.first(x), self.second(x.tanh())
                return checkpoint(self.joined, a, b, use_reentrant=self.reentrant).exp()

        for reentrant in (True, False):
            for seed in range(6):
                self.check(Checkpointed(reentrant), torch.randn(3, 4), seed=seed)
        self.assertIs(torch.utils.checkpoint.CheckpointFunction, CheckpointFunction)

    def test_inference_mode(self) -> None:
        model = Residual().eval()
        x = torch.randn(2, 3, 5, 5)
        placewright.export(model, x, self.folder / "model.json")
        file = self.random_placement(self.ops())
        with torch.inference_mode():
            expected = copy.deepcopy(model)(x)
            with Machine():
                found = placewright.apply(model, file)(x)
        self.assertTrue(torch.equal(expected, found))


class Chain(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Tanh())


OPS = ["input", "0/linear", "1/relu", "2/linear", "3/tanh"]


class Placed(TestCase):
    def apply(self, model: nn.Module, file: Any, **options: Any) -> Machine:
        machine = Machine()
        with machine:
            placewright.apply(model, file, **options)
        machine.moves.clear()
        machine.ran.clear()
        return machine

    def places(self, model: nn.Module) -> Dict[str, str]:
        return {name: Machine.place(tensor) for name, tensor in model.state_dict(keep_vars=True).items()}

    def test_ops_run_where_the_file_says(self) -> None:
        model = Chain()
        machine = self.apply(
            model, self.write_placement(dict(zip(OPS, ["cpu:0", "gpu:1", "gpu:1", "gpu:2", "gpu:1"])))
        )
        self.assertEqual(
            self.places(model),
            {"0.weight": "cuda:1", "0.bias": "cuda:1", "2.weight": "cuda:2", "2.bias": "cuda:2"},
        )
        with machine:
            result = model(torch.zeros(2, 4))
            self.assertEqual(result.device, torch.device("cuda:1"))
        self.assertEqual(
            machine.ran, [("linear", "cuda:1"), ("relu", "cuda:1"), ("linear", "cuda:2"), ("tanh", "cuda:1")]
        )
        moves = [(move.source, move.target) for move in machine.moves]
        self.assertEqual(moves, [("cpu", "cuda:1"), ("cuda:1", "cuda:2"), ("cuda:2", "cuda:1")])

    def test_tensor_is_sent_to_a_device_once(self) -> None:
        class Twice(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = x.exp()
                return torch.tanh(y) + torch.sigmoid(y)

        model = Twice()
        placement = {"x": "gpu:0", "exp": "gpu:0", "tanh": "gpu:1", "sigmoid": "gpu:1", "add": "gpu:1"}
        with self.apply(model, self.write_placement(placement)) as machine:
            model(torch.zeros(2))
            model(torch.zeros(2))
        self.assertEqual([move.target for move in machine.moves], ["cuda:0", "cuda:1"] * 2)

    def test_nothing_stays_after_a_pass(self) -> None:
        class Watched(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = x * 2
                flat = y.view(-1)
                y += 1
                self.seen = [weakref.ref(tensor) for tensor in (y, flat)]
                return flat * 3

        model = Watched()
        placement = {"x": "gpu:0", "mul": "gpu:0", "view": "gpu:1", "add": "gpu:2", "mul_1": "gpu:1"}
        gc.disable()
        self.addCleanup(gc.enable)
        with self.apply(model, self.write_placement(placement)):
            model(torch.zeros(2))
            self.assertEqual([ref() for ref in model.seen], [None, None])

    def test_devices(self) -> None:
        model = Chain()
        file = self.write_placement(dict.fromkeys(OPS, "fast"))
        machine = self.apply(model, file, devices={"fast": "cuda:3"})
        self.assertEqual(set(self.places(model).values()), {"cuda:3"})
        # On one device no tensor moves.
        with machine:
            placewright.apply(model, file, devices={"fast": "cpu"})
            machine.moves.clear()
            model(torch.zeros(2, 4))
        self.assertEqual(machine.moves, [])

    def test_applied_again(self) -> None:
        model = Chain()
        self.apply(model, self.write_placement(dict.fromkeys(OPS, "gpu:1")))
        machine = self.apply(model, self.write_placement(dict.fromkeys(OPS, "gpu:2")))
        with machine:
            model(torch.zeros(2, 4))
        self.assertEqual({place for _, place in machine.ran}, {"cuda:2"})

    def test_copy_is_placed_too(self) -> None:
        model = Chain()
        places = dict(zip(OPS, ["gpu:0", "gpu:1", "gpu:1", "gpu:2", "gpu:1"]))
        machine = self.apply(model, self.write_placement(places))
        with machine:
            twin = copy.deepcopy(model)
            for parameter, own in zip(twin.parameters(), model.parameters()):
                parameter.place = Machine.place(own)  # deepcopy makes parameters behind the machine's back
            machine.ran.clear()
            twin(torch.zeros(2, 4))
        self.assertEqual([place for _, place in machine.ran], ["cuda:1", "cuda:1", "cuda:2", "cuda:1"])
        self.assertIs(twin[0].forward.calls, twin.forward.calls)
        self.assertIsNot(twin.forward.calls, model.forward.calls)

    def test_saved_and_loaded(self) -> None:
        class Containers(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.list = nn.ModuleList([nn.Linear(4, 4)])
                self.dict = nn.ModuleDict({"a": nn.Linear(4, 4)})
                self.scales = nn.ParameterList([nn.Parameter(torch.ones(4))])

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.dict["a"](self.list[0](x)) * self.scales[0]

        # Pickle looks for the class in its module.
        globals()["Containers"] = Containers
        Containers.__qualname__ = "Containers"
        self.addCleanup(globals().pop, "Containers")
        model = Containers()
        x = torch.randn(2, 4)
        expected = model(x)
        placewright.export(model, x, self.folder / "model.json")
        file = self.write_placement(dict.fromkeys(self.ops(), "gpu:0"))
        placewright.apply(model, file, devices={"gpu:0": "cpu"})
        torch.save(model, self.folder / "model.pth")
        self.assertTrue(torch.equal(torch.load(self.folder / "model.pth", weights_only=False)(x), expected))

    def test_slash_in_the_name_of_a_module(self) -> None:
        model = nn.ModuleDict({"a/b": nn.Linear(4, 4), "c": nn.Linear(4, 4)})
        model.forward = lambda x: model["c"](model["a/b"](x)) * model["a/b"].bias
        placewright.export(model, torch.zeros(2, 4), self.folder / "model.json")
        self.assertIn("a/b/bias", self.ops())
        file = self.write_placement(
            {name: "gpu:1" if name.startswith("a/b/") else "gpu:2" for name in self.ops()}
        )
        for options in ({}, {"graph": self.folder / "model.json"}):
            machine = self.apply(model, file, **options)
            places = {"a/b.weight": "cuda:1", "a/b.bias": "cuda:1", "c.weight": "cuda:2", "c.bias": "cuda:2"}
            self.assertEqual(self.places(model), places)
            with machine:
                model(torch.zeros(2, 4))
            self.assertEqual(machine.ran, [("linear", "cuda:1"), ("linear", "cuda:2"), ("mul", "cuda:2")])

    def test_unplaced_calls_stay_with_their_tensors(self) -> None:
        """Control flow that the export did not take."""

        class Longer(Chain):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = super().forward(x)
                return x * torch.ones(4, device=x.device) if self.training else x

        model = Longer().eval()
        placewright.export(model, torch.zeros(2, 4), self.folder / "model.json", training=False)
        machine = self.apply(model, self.write_placement(dict.fromkeys(self.ops(), "gpu:1")))
        with machine:
            model.train()(torch.zeros(2, 4))
        self.assertEqual(machine.ran[-1], ("mul", "cuda:1"))

    def test_modules_of_which_nothing_is_said_are_named(self) -> None:
        class Longer(Chain):
            def __init__(self) -> None:
                super().__init__()
                self.extra = nn.Linear(4, 4)

        placewright.export(Chain(), torch.zeros(2, 4), self.folder / "model.json", training=False)
        file = self.write_placement(dict.fromkeys(self.ops(), "gpu:1"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.apply(Chain(), file)
            with self.assertRaisesRegex(
                UserWarning, 'does not mention modules that have parameters: "extra"; they go'
            ):
                self.apply(Longer(), file)

    def test_parameters_go_to_the_op_that_holds_them(self) -> None:
        class Scaled(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.scale = nn.Parameter(torch.ones(4))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return (x.exp() * self.scale).tanh()

        model = Scaled()
        placewright.export(model, torch.zeros(2, 4), self.folder / "model.json")
        file = self.write_placement({"x": "gpu:0", "exp": "gpu:0", "mul": "gpu:1", "tanh": "gpu:0"})
        with self.assertRaisesRegex(
            placewright.PlacementError, r'module "" has parameters.*"exp" on cuda:0, "mul" on cuda:1.*graph='
        ):
            self.apply(model, file)
        self.apply(model, file, on_conflict="majority")
        self.assertEqual(self.places(model), {"scale": "cuda:0"})
        self.apply(model, file, graph=self.folder / "model.json")
        self.assertEqual(self.places(model), {"scale": "cuda:1"})

    def test_network_of_another_exporter(self) -> None:
        """Op names of an ONNX model match no calls, so modules are placed."""
        graph = self.write(
            {
                "ops": [
                    {"name": "/0/Gemm", "scope": "0", "attributes": {"parameters": ["0.weight", "0.bias"]}},
                    {"name": "/1/Relu", "scope": "1"},
                    {"name": "/2/Gemm", "scope": "2", "attributes": {"parameters": ["2.weight", "2.bias"]}},
                    {"name": "/3/Tanh", "scope": "3"},
                ]
            },
            "graph.json",
        )
        model = Chain()
        file = self.write_placement(
            {"/0/Gemm": "gpu:0", "/1/Relu": "gpu:0", "/2/Gemm": "gpu:1", "/3/Tanh": "gpu:0"}
        )
        with self.assertRaisesRegex(
            placewright.PlacementError, 'modules that the model does not have: "/0/Gemm".*pass it as graph='
        ):
            self.apply(model, file)
        machine = self.apply(model, file, graph=graph)
        self.assertEqual(self.places(model)["2.weight"], "cuda:1")
        with machine:
            model(torch.zeros(2, 4))
        self.assertEqual([place for _, place in machine.ran], ["cuda:0", "cuda:0", "cuda:1", "cuda:0"])

    def test_device_map(self) -> None:
        model = Gpt2(11, 8, 2, 30, 16)
        machine = self.apply(
            model,
            self.write(
                {"": 0, "h.1": 1, "h.10": "cpu", "h.10.attention": "cuda:2", "norm.weight": 3, "norm.bias": 3}
            ),
        )
        places = self.places(model)
        self.assertEqual(places["wte.weight"], "cuda:0")
        self.assertEqual(places["h.1.attention.query.weight"], "cuda:1")
        self.assertEqual(places["h.10.feed_forward.0.weight"], "cpu")
        self.assertEqual(places["h.10.attention.query.weight"], "cuda:2")
        self.assertEqual(places["norm.weight"], "cuda:3")
        model.eval()
        tokens = torch.randint(30, (2, 9))
        with machine:
            found = model(tokens)
        self.assertIn(("linear", "cpu"), machine.ran)
        fresh = Gpt2(11, 8, 2, 30, 16).eval()
        fresh.load_state_dict(model.state_dict())
        self.assertTrue(torch.equal(found, fresh(tokens)))

    def test_refused(self) -> None:
        good = dict.fromkeys(OPS, "gpu:0")
        whole = {"format": "placewright.placement", "version": 1, "placement": good}
        for document, message in (
            ({**whole, "version": 2}, '"version" is 2, expected 1'),
            ({**whole, "format": "x"}, "\"format\" is 'x', expected"),
            ({**whole, "placement": {"input": 1}}, "not an object of device names"),
            ([], "holds no object"),
            ({**whole, "placement": {**good, "7/linear": "gpu:0"}}, 'does not have: "7/linear"'),
            (
                {**whole, "placement": {**good, "input": "gpu:9"}},
                '"gpu:9" is cuda:9, but there are 4 GPUs.*devices=',
            ),
            ({**whole, "placement": {**good, "input": "warp:1"}}, '"warp:1" has no counterpart'),
            ({**whole, "placement": {**good, "input": "meta"}}, '"meta" has no counterpart'),
            ({**whole, "placement": {**good, "0/linear_shard1": "gpu:0"}}, 'parts of ops.*"0/linear_shard1"'),
            ({"0": 0}, 'no device for "2.weight", "2.bias"'),
            ({"": "disk"}, "is on disk"),
            ({"": None}, '"" is null, expected the number'),
            ({"": 0, "9": 1}, 'neither modules nor parameters of the model: "9"'),
            (
                {"0/linear": "/device:GPU:0", "1/relu": "/job:worker/task:0/CPU:0"},
                "holds TensorFlow devices.*device_map",
            ),
            ({"traceEvents": []}, "holds a trace of a run"),
            ({"split_spec": {}, "devices": []}, "holds split points"),
        ):
            with self.subTest(message):
                model = Chain()
                with self.assertRaisesRegex(placewright.PlacementError, "placement.json: .*" + message):
                    self.apply(model, self.write(document))
                self.assertNotIn("forward", vars(model))
        with self.assertRaisesRegex(
            placewright.PlacementError, '"gpu:0" is not in devices, which has "gpu:1"'
        ):
            self.apply(Chain(), self.write(whole), devices={"gpu:1": "cpu"})
        with self.assertRaisesRegex(
            placewright.PlacementError, 'device "gpu:0" is "banana" in devices, which has no counterpart'
        ):
            self.apply(Chain(), self.write(whole), devices={"gpu:0": "banana"})
        with self.assertRaisesRegex(placewright.PlacementError, "ops that are not in"):
            self.apply(Chain(), self.write(whole), graph=self.write({"ops": []}, "graph.json"))
        for op in (
            3,
            {},
            {"name": []},
            {"name": "a", "scope": 1},
            {"name": "a", "attributes": {"parameters": 1}},
        ):
            graph = {"ops": [op]} if op else {}
            with self.assertRaisesRegex(placewright.PlacementError, "graph.json: is no network"):
                self.apply(Chain(), self.write(whole), graph=self.write(graph, "graph.json"))
        with self.assertRaisesRegex(placewright.PlacementError, "none.json: No such file"):
            self.apply(Chain(), self.folder / "none.json")
        (self.folder / "broken.json").write_text("{")
        with self.assertRaisesRegex(placewright.PlacementError, "broken.json: is not JSON"):
            self.apply(Chain(), self.folder / "broken.json")
        with self.assertRaisesRegex(
            placewright.PlacementError, '"wte.weight", "head.weight" are one tied parameter'
        ):
            self.apply(Gpt2(1, 8, 2, 30, 16), self.write({"": 0, "head": 1}))
        with self.assertRaisesRegex(ValueError, "on_conflict"):
            self.apply(Chain(), self.write(whole), on_conflict="ignore")


@unittest.skipIf(torch.cuda.device_count() == 0, "no GPU")
class OnGpu(TestCase):
    def test_same_as_on_cpu(self) -> None:
        model = Residual()
        model.drop.p = 0.0
        x = torch.randn(2, 3, 5, 5)
        placewright.export(model, x, self.folder / "model.json")
        names = list(self.ops())
        file = self.write_placement(
            {name: "cpu:0" if index % 3 else "gpu:0" for index, name in enumerate(names)}
        )
        twin = copy.deepcopy(model)
        expected = twin(x)
        expected.square().sum().backward()
        found = placewright.apply(model, file)(x)
        found.square().sum().backward()
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-4)
        for parameter, other in zip(model.parameters(), twin.parameters()):
            torch.testing.assert_close(parameter.grad.cpu(), other.grad, rtol=1e-3, atol=1e-3)
        self.assertEqual(
            model.conv1.weight.device,
            torch.device("cuda:0" if names.index("conv1/conv2d") % 3 == 0 else "cpu"),
        )


if __name__ == "__main__":
    unittest.main()
