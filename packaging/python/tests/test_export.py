# SPDX-License-Identifier: MIT
"""Tests models as network files."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import re
import subprocess
import time
import unittest
import warnings
from pathlib import Path
from typing import Any, Dict

import torch
from support import Machine, TestCase, uninitialised
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers_like import Bert, Gpt2

import placewright
from placewright.flops import forward_flops, has_formula
from placewright.stopwatch import Stopwatch

try:
    import torchvision
except ImportError:
    torchvision = None

CLI = os.environ.get("PLACEWRIGHT_CLI")
PRODUCTS = ("conv2d", "linear", "matmul")


def simulate(file: Any, *options: str) -> Dict[str, Any]:
    command = [CLI, "simulate", str(file), "--machine", "4x-v100-pcie", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


class Totals(TestCase):
    """Parameters and multiply-adds of known models, from their papers and torchvision's documentation."""

    def check(self, model: nn.Module, inputs: Any, parameters: int, multiply_adds: float) -> None:
        summary = placewright.export(model, inputs, self.folder / "model.json", training=False)
        self.assertEqual(summary.parameters, parameters)
        self.assertEqual(summary.estimated, ())
        ops = self.ops().values()
        self.assertEqual(sum(op["parameter_bytes"] for op in ops), summary.parameter_bytes)
        self.assertEqual(summary.parameter_bytes, 4 * (parameters - self.unused(model)))
        products = sum(op["flops"] for op in ops if op["kind"] in PRODUCTS)
        self.assertLess(abs(products / 2 / multiply_adds - 1), 0.01, f"{products / 2}, not {multiply_adds}")
        # Every tensor of the state is in one op.
        held = [name for op in ops for name in op.get("attributes", {}).get("parameters", [])]
        self.assertEqual(len(held), len(set(held)))
        self.assertEqual(set(held), set(model.state_dict()))
        if CLI:
            self.assertGreater(simulate(self.folder / "model.json")["step_time_s"], 0)

    @staticmethod
    def unused(model: nn.Module) -> int:
        """Parameters of heads that exist only in training."""
        return sum(
            parameter.numel()
            for name, parameter in model.named_parameters()
            if name.lower().startswith("aux")
        )

    @unittest.skipIf(torchvision is None, "torchvision is missing")
    def test_torchvision(self) -> None:
        for name, parameters, multiply_adds in (
            ("alexnet", 61_100_840, 0.7142e9),
            ("resnet18", 11_689_512, 1.814e9),
            ("resnet50", 25_557_032, 4.0892e9),
            ("resnet101", 44_549_160, 7.8014e9),
            ("resnet152", 60_192_808, 11.5136e9),
            ("vgg16", 138_357_544, 15.47e9),
            ("inception_v3", 27_161_264, 5.7132e9),
            ("googlenet", 13_004_888, 1.498e9),
            ("densenet121", 7_978_856, 2.834e9),
            ("mobilenet_v2", 3_504_872, 0.3008e9),
        ):
            with self.subTest(name), uninitialised():
                options = {"init_weights": True} if name in ("inception_v3", "googlenet") else {}
                model = getattr(torchvision.models, name)(**options)
                size = 299 if name == "inception_v3" else 224
                self.check(model, torch.zeros(1, 3, size, size), parameters, multiply_adds)

    def test_bert(self) -> None:
        with uninitialised():
            model = Bert()
        tokens = torch.zeros(1, 128, dtype=torch.int64)
        self.check(model, {"tokens": tokens, "segments": tokens}, 109_482_240, 11.17e9)

    def test_gpt2(self) -> None:
        with uninitialised():
            model = Gpt2()
        self.check(model, torch.zeros(1, 1024, dtype=torch.int64), 124_439_808, 145.8e9)

    @unittest.skipIf(torchvision is None or not CLI, "torchvision or PLACEWRIGHT_CLI is missing")
    def test_same_as_generators(self) -> None:
        """The shipped networks count FLOPs as core/graph/flops.hpp, with a loss of 4 FLOPs per class (in
        Inception for both heads)."""
        listed = subprocess.run(
            [CLI, "networks", "--json"], check=True, capture_output=True, text=True
        ).stdout
        networks = {network["name"]: network for network in json.loads(listed)}
        for name in ("resnet50", "resnet101", "resnet152"):
            with self.subTest(name), uninitialised():
                model = getattr(torchvision.models, name)()
                summary = placewright.export(model, torch.zeros(32, 3, 224, 224), self.folder / "model.json")
                self.assertEqual(summary.parameters, networks[name]["parameters"])
                self.assertEqual(summary.forward_flops + 4 * 32 * 1000, networks[name]["forward_flops"])


class Formulas(unittest.TestCase):
    SOURCE = Path(__file__).parents[3] / "core" / "graph" / "flops.cpp"

    @unittest.skipIf(not SOURCE.exists(), "core/graph/flops.cpp is not here")
    def test_same_as_core(self) -> None:
        """Kinds and simple formulas are those of core/graph/flops.cpp."""
        entries = re.findall(r'{"(\w+)", (\w+)(?:<(\d+)(?:, (\d+))?>)?}', self.SOURCE.read_text())
        self.assertGreater(len(entries), 100)
        weights = [[12, 4], [12, 3], [12], [12]]
        for kind, formula, count, each in entries:
            if kind == "einsum":  # counted by the products that PyTorch makes of it
                continue
            self.assertTrue(has_formula(kind), kind)
            flops = forward_flops(kind, [[2, 3]], [[5]])
            if formula == "none":
                self.assertEqual(flops, 0, kind)
            elif formula == "each":
                self.assertEqual(flops, 5 * int(count), kind)
            elif formula == "each_input":
                self.assertEqual(flops, 6 * int(count), kind)
            elif formula == "cells":
                expected = 2 * (2 * 12 * 7 + int(each) * 12 / int(count))
                self.assertEqual(forward_flops(kind, [[2, 4], *weights], [[2, 3]]), expected, kind)

    def test_formulas(self) -> None:
        for kind, inputs, output, flops in (
            ("conv2d", [[1, 8, 4, 4], [16, 2, 3, 3]], [1, 16, 4, 4], 2 * 256 * 18),
            ("conv_transpose2d", [[1, 8, 4, 4], [8, 5, 2, 2]], [1, 5, 8, 8], 2 * 128 * 20),
            ("addmm", [[7], [3, 5], [5, 7]], [3, 7], 2 * 3 * 5 * 7),
            ("matmul", [[2, 3, 4, 5], [2, 3, 5, 6]], [2, 3, 4, 6], 2 * 6 * 4 * 5 * 6),
            ("bilinear", [[2, 3], [2, 4], [5, 3, 4]], [2, 5], 2 * 10 * 16),
            (
                "scaled_dot_product_attention",
                [[1, 2, 3, 4], [1, 2, 5, 4], [1, 2, 5, 6]],
                [1, 2, 3, 6],
                30 * (8 + 12 + 5),
            ),
        ):
            self.assertEqual(forward_flops(kind, inputs, [output]), flops, kind)
        self.assertEqual(forward_flops("max_pool2d", [[1, 2, 8, 8]], [[1, 2, 4, 4]], 4), 128)
        for window, each in ((1, 0), (2, 8), (4, 32), (0, None)):
            flops = each if each is None else each * 96
            self.assertEqual(forward_flops("interpolate", [[1, 2, 4, 4]], [[1, 2, 8, 6]], window), flops)
            self.assertEqual(
                forward_flops("grid_sample", [[1, 2, 4, 4], [1, 8, 6, 2]], [[1, 2, 8, 6]], window), flops
            )
        self.assertEqual(forward_flops("interpolate", [[1, 2, 4, 4]], [[1, 2, 8, 4]], 2), 4 * 64)
        self.assertIsNone(forward_flops("conv2d", [], []))
        self.assertIsNone(forward_flops("mystery", [[1]], [[1]]))


class Branches(nn.Module):
    """Has every structure that is not a plain chain."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(4, 5)
        self.scale = nn.Parameter(torch.ones(4, 1, 1))
        self.head.weight.requires_grad_(False)

    def forward(self, image: torch.Tensor, unused: Any = None) -> Any:
        x = self.relu(self.norm(self.conv(image)))
        left, right = x.chunk(2, 1)
        x = torch.cat([right, left], 1) * self.scale
        x += torch.zeros_like(x)
        unread = x.exp()  # noqa: F841
        return self.relu(self.head(x.mean((2, 3)))), x[0, :, 1:]


class Structure(TestCase):
    def export(self, model: nn.Module, inputs: Any, **options: Any) -> Dict[str, Dict[str, Any]]:
        self.summary = placewright.export(model, inputs, self.folder / "model.json", **options)
        return self.ops()

    def test_ops(self) -> None:
        ops = self.export(Branches(), torch.zeros(2, 3, 8, 8))
        self.assertEqual(
            list(ops),
            (
                "image conv/conv2d norm/batch_norm relu/relu chunk cat mul add mean head/linear relu/relu_1"
                " select"
            ).split(),
        )
        self.assertEqual(ops["image"]["kind"], "input")
        conv = ops["conv/conv2d"]
        self.assertEqual(conv["scope"], "conv")
        self.assertEqual(conv["inputs"], ["image"])
        self.assertEqual(conv["outputs"], [{"shape": [2, 4, 8, 8], "dtype": "float32"}])
        self.assertEqual(conv["flops"], 2 * 2 * 4 * 64 * 27)
        self.assertEqual(conv["parameter_bytes"], 4 * (4 * 27 + 4))
        self.assertEqual(
            conv["attributes"],
            {
                "kernel": [3, 3],
                "stride": [1, 1],
                "padding": [1, 1],
                "parameters": ["conv.weight", "conv.bias"],
                "parameter_bytes": [432, 16],
                "parameter_shapes": [[4, 3, 3, 3], [4]],
            },
        )
        norm = ops["norm/batch_norm"]
        self.assertEqual(norm["resident_bytes"], 4 * 8 + 8)
        self.assertIn("norm.num_batches_tracked", norm["attributes"]["parameters"])
        self.assertEqual(
            norm["attributes"]["buffers"],
            ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"],
        )
        self.assertTrue(ops["relu/relu"]["in_place"])
        self.assertEqual(len(ops["chunk"]["outputs"]), 2)
        self.assertEqual(ops["cat"]["inputs"], ["chunk:1", "chunk"])
        self.assertEqual(ops["mul"]["parameter_bytes"], 16)
        self.assertTrue(ops["add"]["in_place"])
        self.assertEqual(ops["mean"]["inputs"], ["add"])
        self.assertEqual(ops["select"]["inputs"], ["add"])
        # Not trained: no gradient, no state of the optimizer.
        self.assertEqual(
            (ops["head/linear"]["parameter_bytes"], ops["head/linear"]["resident_bytes"]), (20, 80)
        )

    def test_what_no_op_reads_is_held_nearby(self) -> None:
        class Partly(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.body = nn.ModuleDict({"used": nn.Linear(4, 4), "unused": nn.Linear(4, 2)})
                self.head = nn.Linear(4, 3)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.body["used"](x)

        used = self.export(Partly(), torch.zeros(1, 4))["body/used/linear"]
        names = [
            f"{module}.{name}"
            for module in ("body.used", "body.unused", "head")
            for name in ("weight", "bias")
        ]
        self.assertEqual(used["attributes"]["parameters"], names)
        self.assertEqual(used["attributes"]["buffers"], names[2:])
        # No gradient, no state of the optimizer.
        self.assertEqual((used["parameter_bytes"], used["resident_bytes"]), (80, 40 + 60))

    def test_tied_parameters_are_an_op(self) -> None:
        ops = self.export(Gpt2(1, 8, 2, 100, 16), torch.zeros(2, 16, dtype=torch.int64))
        table = ops["wte/weight"]
        self.assertEqual((table["kind"], table["parameter_bytes"]), ("parameter", 3200))
        self.assertEqual(
            table["attributes"],
            {
                "parameters": ["wte.weight", "head.weight"],
                "parameter_bytes": [3200, 0],
                "parameter_shapes": [[100, 8], [100, 8]],
            },
        )
        self.assertEqual(
            [name for name, op in ops.items() if "wte/weight" in op["inputs"]],
            ["wte/embedding", "head/linear"],
        )
        self.assertEqual(ops["head/linear"]["flops"], 2 * 2 * 16 * 8 * 100)
        self.assertEqual(ops["h/0/attention/slice"]["resident_bytes"], 256)

    def test_large_shared_buffer_is_an_op(self) -> None:
        class Masked(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("mask", torch.zeros(200, 200))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return (x + self.mask) * self.mask

        ops = self.export(Masked(), torch.zeros(2, 200, 200))
        self.assertEqual((ops["mask"]["kind"], ops["mask"]["resident_bytes"]), ("constant", 160000))
        self.assertEqual(ops["mul"]["inputs"], ["add", "mask"])

    def test_recurrent_layers(self) -> None:
        for model, each in (
            (nn.LSTM(3, 4, 2), 13),
            (nn.GRU(3, 4, 2, bidirectional=True), 12),
            (nn.LSTM(3, 4, bias=False), 13),
        ):
            ops = self.export(model, torch.zeros(7, 2, 3))
            op = ops[model.mode.lower()]
            weights = sum(parameter.numel() for parameter in model.parameters() if parameter.dim() == 2)
            states = 4 * model.num_layers * (2 if model.bidirectional else 1)
            self.assertEqual(op["flops"], 14 * (2 * weights + each * states))
            self.assertEqual(len(op["attributes"]["parameters"]), len(model.state_dict()))

        class Steps(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.cell = nn.LSTMCell(3, 4)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                state = None
                for step in x:
                    state = self.cell(step, state)
                return state[0]

        ops = self.export(Steps(), torch.zeros(3, 2, 3))
        self.assertEqual(
            ops["cell/lstm_cell_1"]["inputs"][:3], ["unbind:1", "cell/lstm_cell", "cell/lstm_cell:1"]
        )
        self.assertEqual(ops["cell/lstm_cell"]["flops"], 2 * (2 * 16 * 7 + 13 * 4))
        self.assertEqual(ops["cell/weight_ih"]["kind"], "parameter")

    def test_packed_sequence(self) -> None:
        class Packed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.lstm = nn.LSTM(3, 4, batch_first=True)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 2]), batch_first=True)
                return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0])[0]

        ops = self.export(Packed(), torch.zeros(2, 5, 3))
        self.assertEqual(ops["lstm/lstm"]["flops"], 7 * (2 * 16 * 7 + 13 * 4))
        self.assertEqual(ops["lstm/lstm"]["parameter_bytes"], 4 * 16 * (3 + 4 + 2))
        self.assertEqual(self.summary.estimated, ())

    def test_interpolation(self) -> None:
        class Sampled(nn.Module):
            def forward(self, x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
                y = nn.functional.grid_sample(x, grid, align_corners=False)
                return nn.functional.grid_sample(y, grid, "nearest", align_corners=False)

        for mode, each in (("nearest", 0), ("bilinear", 8), ("bicubic", 32)):
            ops = self.export(nn.Upsample(scale_factor=2, mode=mode), torch.zeros(1, 3, 4, 4))
            self.assertEqual(ops["interpolate"]["flops"], each * 3 * 64)
            self.assertEqual(self.summary.estimated, ())
        # It calls a pool.
        ops = self.export(nn.Upsample((2, 2), mode="area"), torch.zeros(1, 3, 4, 4))
        self.assertEqual((ops["interpolate"]["flops"], self.summary.estimated), (3 * 16, ()))
        ops = self.export(Sampled(), (torch.zeros(1, 3, 4, 4), torch.zeros(1, 5, 6, 2)))
        self.assertEqual([ops[name]["flops"] for name in ("grid_sample", "grid_sample_1")], [8 * 3 * 30, 0])

    def test_repeats_compute_nothing(self) -> None:
        class Repeated(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.tile(x.repeat_interleave(2, 0), (2, 1))

        ops = self.export(Repeated(), torch.zeros(2, 3))
        self.assertEqual([ops[name]["kind"] for name in ("repeat", "repeat_1")], ["repeat"] * 2)
        self.assertEqual(self.summary.estimated, ())

    def test_distances_windows_and_bags(self) -> None:
        class Distances(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.bag = nn.EmbeddingBag(10, 6)

            def forward(self, x: torch.Tensor, words: torch.Tensor) -> Any:
                f = nn.functional
                windows = f.unfold(x, 3, padding=1, stride=2)
                pairs = torch.cdist(
                    f.fold(windows, (8, 8), 3, padding=1, stride=2).flatten(2), x.unfold(2, 4, 4).flatten(2)
                )
                strange = torch.isnan(x) | ~torch.isfinite(x)
                return (
                    torch.dot(pairs[0, 0], pairs[0, 1]),
                    torch.bucketize(x, pairs[0, 0]),
                    strange,
                    self.bag(words),
                )

        ops = self.export(Distances(), (torch.zeros(2, 3, 8, 8), torch.zeros(4, 5, dtype=torch.int64)))
        kinds = {
            op["kind"]: op["flops"] for op in ops.values() if not op["kind"] in ("input", "flatten", "select")
        }
        self.assertEqual(
            kinds,
            {
                "im2col": 0,
                "col2im": 2 * 27 * 16,
                "unfold": 0,
                "cdist": 3 * 18 * 64,
                "matmul": 2 * 3,
                "bucketize": 0,
                "isnan": 0,
                "isfinite": 0,
                "bitwise_not": 0,
                "bitwise_or": 0,
                "embedding_bag": 20 * 6,
            },
        )
        self.assertEqual(self.summary.estimated, ())

    def test_attention_of_pytorch_counts_what_it_is_made_of(self) -> None:
        ops = self.export(nn.MultiheadAttention(16, 2), (torch.zeros(5, 3, 16),) * 3)
        flops = ops["multi_head_attention_forward"]["flops"]
        products = 2 * 15 * 16 * 64 + 2 * 2 * 3 * 25 * 16
        self.assertGreater(flops, products)
        self.assertLess(flops, 1.1 * products)
        self.assertEqual(self.summary.estimated, ())

    def test_gradients_in_the_forward_pass_are_refused(self) -> None:
        class Force(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.energy = nn.Linear(4, 1)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = x.requires_grad_()
                return torch.autograd.grad(self.energy(x).sum(), x)[0]

        with self.assertRaisesRegex(ValueError, "Force computes gradients in its forward pass"):
            self.export(Force(), torch.zeros(3, 4))

    def test_unknown_kind_is_estimated(self) -> None:
        class Mystery(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.linalg.inv(x)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.export(Mystery(), torch.eye(3))
        self.assertEqual(len(self.summary.estimated), 1)
        self.assertIn("for 1 of 2 ops", str(caught[0].message))

    def test_quantised_weights(self) -> None:
        # The weights are in a library's objects, which are neither parameters nor buffers; a second call
        # holds none.
        linear = nn.Linear(16, 4)
        model = torch.quantization.quantize_dynamic(nn.Sequential(linear), {nn.Linear}, dtype=torch.qint8)
        ops = self.export(nn.Sequential(model[0], nn.Linear(4, 16), model[0]), torch.zeros(2, 16))
        self.assertEqual(ops["0/linear_dynamic"]["flops"], 2 * 2 * 16 * 4)
        self.assertEqual(ops["0/linear_dynamic"]["resident_bytes"], 16 * 4 + 4 * 4)
        self.assertNotIn("resident_bytes", ops["0/linear_dynamic_1"])

        model = nn.Sequential(torch.quantization.QuantStub(), nn.Conv2d(3, 8, 3)).eval()
        model.qconfig = torch.quantization.QConfig(
            torch.quantization.default_observer, torch.quantization.default_weight_observer
        )
        prepared = torch.quantization.prepare(model)
        prepared(torch.randn(2, 3, 8, 8))
        ops = self.export(torch.quantization.convert(prepared), torch.zeros(2, 3, 8, 8), training=False)
        self.assertEqual(ops["1/conv2d"]["flops"], 2 * 2 * 8 * 6 * 6 * 3 * 3 * 3)
        self.assertEqual(ops["1/conv2d"]["resident_bytes"], 8 * 3 * 3 * 3 + 8 * 4)
        self.assertEqual(ops["1/conv2d"]["outputs"], [{"shape": [2, 8, 6, 6], "dtype": "uint8"}])

    def test_indices_of_all_sorts(self) -> None:
        class Picks(nn.Module):
            def __init__(self, index: Any) -> None:
                super().__init__()
                self.before, self.after, self.index = nn.Linear(4, 6), nn.Linear(6, 2), index

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.after(self.before(x)[self.index])

        rows = torch.tensor([1, 0])
        every = torch.ones(3, dtype=torch.bool)
        for index in (
            0,
            slice(1),
            None,
            Ellipsis,
            rows,
            (rows,),
            (rows, slice(None)),
            every,
            [0, 2],
            (Ellipsis, slice(None)),
            torch.tensor(1),
        ):
            with self.subTest(index=index), warnings.catch_warnings():
                warnings.simplefilter("error")
                ops = self.export(Picks(index), torch.zeros(3, 4))
                self.assertEqual(list(ops)[1], "before/linear")

    def test_what_is_not_seen_is_told(self) -> None:
        @torch.jit.script
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        class Fused(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.before, self.after = nn.Linear(4, 4), nn.Linear(4, 4)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.after(twice(self.before(x)))

        if int(torch.__version__.split(".")[0]) >= 2:  # shows what a scripted function calls
            ops = list(self.export(Fused(), torch.zeros(3, 4)))
            self.assertEqual(ops[1:3], ["before/linear", "mul.default"])
            return
        with self.assertWarnsRegex(
            UserWarning, r"reads 2 of the parameters: before\.weight, before\.bias\. .*torch\.jit\.script"
        ):
            self.export(Fused(), torch.zeros(3, 4))

    def test_control_flow_that_needs_numbers(self) -> None:
        class Deep(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.norm = nn.BatchNorm1d(4)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                x = self.norm(x)
                for _ in range(int(x.detach().abs().sum().item() > 1) + 1):
                    x = x.relu()
                self.cache = x
                return x

        model = Deep()
        before = copy.deepcopy(model.state_dict())
        ops = self.export(model, torch.randn(8, 4))
        self.assertIn("relu_1", ops)
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        self.assertFalse(hasattr(model, "cache"))

    def test_results_of_all_sorts(self) -> None:
        @dataclasses.dataclass
        class Result:
            least: torch.Tensor
            rest: Any

        class Sorted(nn.Module):
            def forward(self, x: torch.Tensor) -> Result:
                values, places = x.sort(-1)
                largest = values.max(0)
                return Result(values[0], {"all": [largest.values + 1, places[None, 0]]})

        ops = self.export(Sorted(), torch.zeros(3, 4))
        self.assertEqual(list(ops), "x sort max select add select_1".split())
        self.assertEqual([output["dtype"] for output in ops["sort"]["outputs"]], ["float32", "int64"])
        self.assertEqual(ops["select_1"]["inputs"], ["sort:1"])

    def test_change_through_a_view(self) -> None:
        class Changed(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = x.exp()
                y[0].mul_(x[1])
                y[:, 1] = 0
                return y.sum()

        ops = self.export(Changed(), torch.zeros(3, 4))
        self.assertEqual(list(ops), "x exp select select_1 mul index_put sum".split())
        self.assertEqual([output["shape"] for output in ops["mul"]["outputs"]], [[4], [3, 4]])
        self.assertEqual(ops["index_put"]["inputs"], ["mul:1"])
        self.assertEqual(ops["sum"]["inputs"], ["index_put"])

    def test_views_see_changes(self) -> None:
        """A change through a view reaches the base and its other views; a tensor read after it is one more
        output of the change."""

        class Base(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = x.exp()
                view = y.view(-1)
                y.mul_(2)
                return view

        ops = self.export(Base(), torch.zeros(3, 4))
        self.assertEqual(list(ops), "x exp mul".split())
        self.assertEqual([output["shape"] for output in ops["mul"]["outputs"]], [[3, 4], [12]])

        class Siblings(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = x.exp()
                left, right = y.chunk(2)
                other = y[0]
                unread = y.view(-1)  # noqa: F841
                right.zero_()
                y.data.add_(1)
                return other + left

        ops = self.export(Siblings(), torch.zeros(4, 4))
        self.assertEqual(list(ops), "x exp chunk zero detach add add_1".split())
        self.assertEqual(ops["detach"]["inputs"], ["zero:1"])
        self.assertEqual([output["shape"] for output in ops["zero"]["outputs"]], [[2, 4], [4, 4]])
        self.assertEqual(ops["add_1"]["inputs"], ["add:1", "add:2"])

        class Row(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = x.exp()
                y[0] += 1
                return y

        ops = self.export(Row(), torch.zeros(4, 4))
        self.assertEqual(list(ops), "x exp select add index_put".split())
        self.assertEqual(ops["index_put"]["inputs"], ["add:1", "add"])

    def test_changed_numbers_of_the_program(self) -> None:
        class Filled(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = torch.zeros(2, 4)
                y[0].copy_(x)
                rows = y.sum(1)
                z = torch.zeros(4)
                torch.add(x, 1, out=z)
                return rows, z

        ops = self.export(Filled(), torch.zeros(4))
        self.assertEqual(list(ops), "x copy sum add".split())
        self.assertEqual(ops["sum"]["inputs"], ["copy:1"])

    def test_model_stays_as_it_was(self) -> None:
        model = Branches().eval()
        parameters = list(model.parameters())
        self.export(model, torch.zeros(2, 3, 8, 8))
        self.assertTrue(all(a is b for a, b in zip(parameters, model.parameters())))
        self.assertFalse(any(module.training for module in model.modules()))
        self.assertNotIn("forward", vars(model.conv))
        self.assertEqual(model(torch.zeros(2, 3, 8, 8))[0].device.type, "cpu")

    def test_placed_model(self) -> None:
        """A placed model is exported as without a placement, and stays placed."""

        class Counted(Branches):
            def forward(self, image: torch.Tensor, unused: Any = None) -> Any:
                if self.counted and float(image.sum()) > 1e9:
                    return image
                return super().forward(image)

        for counted in (False, True):
            model = Counted()
            model.counted = counted
            before = self.export(model, torch.zeros(2, 3, 8, 8))
            file = self.write_placement({name: "gpu:0" if name == "mul" else "gpu:1" for name in before})
            with Machine(gpus=0):
                placewright.apply(
                    model, file, {"gpu:0": "cpu", "gpu:1": "cpu:1"}, graph=self.folder / "model.json"
                )
                tensors = list(model.parameters()) + list(model.buffers())
                self.assertGreater(len({tensor.device for tensor in tensors}), 1)
                self.assertEqual(self.export(model, torch.zeros(2, 3, 8, 8)), before)
                self.assertTrue(
                    all(a is b for a, b in zip(tensors, list(model.parameters()) + list(model.buffers())))
                )
                self.assertIn("forward", vars(model))
                model(torch.zeros(2, 3, 8, 8))

    def test_recomputation_is_left_to_the_simulation(self) -> None:
        class Block(nn.Module):
            def __init__(self, recomputed: bool) -> None:
                super().__init__()
                self.linear = nn.Linear(4, 4)
                self.recomputed = recomputed

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                work = lambda x: self.linear(x).tanh()  # noqa: E731
                return checkpoint(work, x) if self.recomputed else work(x)

        x = torch.zeros(2, 4)
        self.assertEqual(self.export(Block(True), x), self.export(Block(False), x))

    def test_autocast(self) -> None:
        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8, bias=False)
                self.table = nn.Embedding(5, 8)

            def forward(self, x: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
                y = self.first(x).relu()
                z = self.second(y + x)  # a sum of bfloat16 and float32
                return torch.nn.functional.linear(z.float(), self.table.weight) + self.table(tokens).sum()

        model, inputs = Block(), (torch.randn(4, 8), torch.zeros(4, dtype=torch.int64))
        plain = self.export(model, inputs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed = self.export(model, inputs)
            # No cast of a parameter is left in the cache: it would have no gradient.
            model(*inputs).float().sum().backward()
        self.assertTrue(all(parameter.grad is not None for parameter in model.parameters()))

        types = {name: op["outputs"][0].get("dtype") for name, op in mixed.items()}
        self.assertEqual(types["first/linear"], "bfloat16")
        self.assertEqual(types["first/linear_cast_x"], "bfloat16")
        self.assertEqual(types["relu"], "bfloat16")
        self.assertEqual(types["add"], "float32")
        self.assertEqual(types["table/embedding"], "float32")
        self.assertEqual(mixed["first/linear"]["parameter_dtype"], "float32")
        self.assertEqual(mixed["first/linear"]["parameter_bytes"], plain["first/linear"]["parameter_bytes"])
        self.assertEqual(mixed["first/linear"]["inputs"], ["first/linear_cast_x"])
        cast = mixed["second/linear_cast_add"]
        self.assertEqual((cast["kind"], cast["autocast"], cast["inputs"]), ("to", True, ["add"]))
        self.assertEqual(cast["colocate"], mixed["second/linear"]["colocate"])
        # The table is read by two ops: one parameter, cast once for the product.
        self.assertEqual(mixed["table/weight_cast"]["inputs"], ["table/weight"])
        self.assertIn("table/weight_cast", mixed["linear"]["inputs"])
        self.assertIn("table/weight", mixed["table/embedding"]["inputs"])
        # The copy that the model asks for is an op.
        self.assertEqual((mixed["clone"]["kind"], types["clone"]), ("clone", "float32"))
        # A placement of either network is one of the other.
        own = [name for name, op in mixed.items() if not op.get("autocast")]
        self.assertEqual([name for name in own if name != "clone"], list(plain))
        if CLI:
            result = simulate(self.folder / "model.json")
            self.assertGreater(result["step_time_s"], 0)

    def test_inference(self) -> None:
        model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
        ops = self.export(model, torch.zeros(1, 2), training=False, name="small")
        self.assertEqual(list(ops), ["input", "0/linear"])
        document = json.loads((self.folder / "model.json").read_text())
        self.assertEqual((document["training"], document["name"], document["batch"]), ("none", "small", 1))

    def test_measured(self) -> None:
        model = Branches()
        before = copy.deepcopy(model.state_dict())
        ops = self.export(model, torch.randn(2, 3, 8, 8), measure=["cpu"])
        (times,) = ops["conv/conv2d"]["time_s"].values()
        self.assertGreater(times["forward"], 0)
        self.assertGreater(times["backward"], 0)
        # A view takes time of the framework, and its backward fills and copies.
        (times,) = ops["chunk"]["time_s"].values()
        self.assertGreater(min(times["forward"], times["backward"]), 0)
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        with self.assertRaisesRegex(ValueError, "can't measure on meta"):
            self.export(model, torch.randn(2, 3, 8, 8), measure=["meta"])

    def test_measured_step(self) -> None:
        # Most of a loop over time steps are views, their backward, and the sums of their gradients.
        class Scan(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear, self.unused = nn.Linear(16, 64), nn.Linear(2, 2)
                self.decay = nn.Parameter(torch.ones(64))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                driven = self.linear(x)
                state = driven[:, 0]
                for step in range(1, x.shape[1]):
                    state = self.decay * state + driven[:, step]
                return state.sum()

        model, x = Scan(), torch.randn(4, 64, 16)
        model.eval()
        random = torch.get_rng_state()
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            ratios = [self.share_measured(model, x)]
            self.assertFalse(model.training)
            self.assertTrue(torch.equal(random, torch.get_rng_state()))
            # Other programs that start or end meanwhile change the speed of the CPU.
            while not 0.7 < ratios[-1] < 1.4 and len(ratios) < 6:
                ratios.append(self.share_measured(model, x))
        finally:
            torch.set_num_threads(threads)
        self.assertTrue(0.7 < ratios[-1] < 1.4, f"the ops take {ratios} of a step's time")
        ops = self.ops()
        # The decay is a parameter that many ops read: its time is that of summing its gradients.
        self.assertEqual(ops["decay"]["kind"], "parameter")
        (times,) = ops["decay"]["time_s"].values()
        self.assertEqual(set(times), {"backward"})
        self.assertGreater(times["backward"], 0)
        for name in set(ops) - {"x", "decay"}:
            (times,) = ops[name]["time_s"].values()
            self.assertEqual(set(times), {"forward", "backward"}, name)
            self.assertGreater(min(times.values()), 0, name)

    def share_measured(self, model: nn.Module, x: torch.Tensor) -> float:
        """Returns the share of a step's CPU time that the measured ops take."""
        gradient = model.decay.grad = torch.ones(64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on unused parameters
            ops = self.export(model, x, measure=["cpu"])
        self.assertIs(model.decay.grad, gradient)
        self.assertTrue(torch.equal(gradient, torch.ones(64)))
        self.assertIsNone(model.linear.bias.grad)
        real = []
        for _ in range(9):
            model.zero_grad(set_to_none=True)
            began = time.process_time()
            model(x).backward()
            real.append(time.process_time() - began)
        model.zero_grad(set_to_none=True)
        times = [item for op in ops.values() for item in op.get("time_s", {}).values()]
        return sum(sum(item.values()) for item in times) / sorted(real)[len(real) // 2]

    def test_measured_alone(self) -> None:
        # A model that can't be differentiated as a whole is measured op by op.
        class Overwritten(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(64, 64)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = self.linear(x).sigmoid()
                z = y + y.transpose(0, 1)
                y.mul_(2)
                return z + y[0]

        with self.assertRaisesRegex(RuntimeError, "inplace"):
            Overwritten()(torch.randn(64, 64)).sum().backward()
        ops = self.export(Overwritten(), torch.randn(64, 64), measure=["cpu"])
        for name in ("linear/linear", "sigmoid", "transpose", "add", "mul", "select"):
            (times,) = ops[name]["time_s"].values()
            self.assertEqual(set(times), {"forward", "backward"}, name)

    def test_sums_of_gradients(self) -> None:
        stopwatch = Stopwatch(["cpu"])
        (model,) = stopwatch.times(torch.neg, (torch.zeros(1),), {}, lambda tensor: False)
        size = torch.Size((256, 256))
        two: Dict[str, Any] = {}
        stopwatch.add_sums(two, size, torch.float32, 2)
        self.assertGreater(two[model]["backward"], 0)
        five = {model: {"forward": 1.0, "backward": 3.0}}
        stopwatch.add_sums(five, size, torch.float32, 5)
        self.assertEqual(five[model]["forward"], 1.0)
        self.assertAlmostEqual(five[model]["backward"], 3 + 4 * two[model]["backward"], places=12)

    def test_errors(self) -> None:
        with self.assertRaisesRegex(ValueError, "hold no tensor"):
            self.export(nn.ReLU(), ())
        with self.assertRaisesRegex(ValueError, "calls no function"):
            self.export(nn.Identity(), torch.zeros(1))
        with self.assertRaisesRegex(ValueError, "'0' is TorchScript"):
            self.export(nn.Sequential(torch.jit.script(nn.Linear(2, 2))), torch.zeros(1, 2))
        # Errors of the model pass through.
        with self.assertRaisesRegex(RuntimeError, "shapes"):
            self.export(nn.Linear(2, 2), torch.zeros(1, 3))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
