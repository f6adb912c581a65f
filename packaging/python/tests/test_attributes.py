# SPDX-License-Identifier: MIT
"""Tests the attributes that exported ops have."""

from __future__ import annotations

import unittest
from typing import Any, Callable, Dict, List

import torch
from support import TestCase, uninitialised
from torch import nn
from torch.nn import functional as F

import placewright
from placewright.attributes import attributes_of

try:
    import torchvision
except ImportError:
    torchvision = None

_HELD = ("parameters", "parameter_bytes", "parameter_shapes", "buffers")


class Function(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


class Attributes(TestCase):
    def ops_of(self, model: nn.Module, *inputs: torch.Tensor) -> List[Dict[str, Any]]:
        placewright.export(model, inputs, self.folder / "model.json")
        return [op for op in self.ops().values() if op["kind"] != "input"]

    def of(self, model: Any, *inputs: torch.Tensor) -> Dict[str, Any]:
        """Returns the attributes of the only op of a model, or of its last, without what it holds."""
        if not isinstance(model, nn.Module):
            model = Function(model)
        attributes = self.ops_of(model, *inputs)[-1].get("attributes", {})
        return {key: value for key, value in attributes.items() if key not in _HELD}

    def test_convolutions(self) -> None:
        image = torch.zeros(2, 8, 9, 9)
        self.assertEqual(
            self.of(nn.Conv2d(8, 4, 3, padding=1), image),
            {"kernel": [3, 3], "stride": [1, 1], "padding": [1, 1]},
        )
        self.assertEqual(
            self.of(nn.Conv2d(8, 8, (1, 5), (1, 2), (0, 4), dilation=(1, 2), groups=8), image),
            {"kernel": [1, 5], "stride": [1, 2], "padding": [0, 4], "dilation": [1, 2], "groups": 8},
        )
        # The smaller half of an odd number stands before the image; equal halves are not written twice.
        self.assertEqual(
            self.of(nn.Conv2d(8, 8, (4, 3), padding="same"), image),
            {"kernel": [4, 3], "stride": [1, 1], "padding": [1, 1, 2, 1]},
        )
        self.assertEqual(self.of(nn.Conv2d(8, 8, 3, padding="same"), image)["padding"], [1, 1])
        self.assertEqual(self.of(nn.Conv2d(8, 8, 3, padding="valid"), image)["padding"], [0, 0])
        self.assertEqual(
            self.of(nn.ConvTranspose2d(8, 4, 2, 2, groups=2), image),
            {"kernel": [2, 2], "stride": [2, 2], "padding": [0, 0], "groups": 2},
        )
        self.assertEqual(
            self.of(nn.ConvTranspose2d(8, 4, 3, 2, 1, 1, dilation=2), image)["dilation"], [2, 2]
        )
        self.assertEqual(
            self.of(nn.Conv3d(8, 4, (1, 3, 3), padding=(0, 1, 1)), torch.zeros(1, 8, 4, 9, 9)),
            {"kernel": [1, 3, 3], "stride": [1, 1, 1], "padding": [0, 1, 1]},
        )

    def test_pools(self) -> None:
        image = torch.zeros(2, 8, 9, 9)
        self.assertEqual(
            self.of(nn.MaxPool2d(3, 2, 1, ceil_mode=True), image),
            {"kernel": [3, 3], "stride": [2, 2], "padding": [1, 1], "ceil_mode": 1},
        )
        self.assertEqual(
            self.of(nn.AvgPool2d((2, 3)), image), {"kernel": [2, 3], "stride": [2, 3], "padding": [0, 0]}
        )
        self.assertEqual(
            self.of(lambda x: F.max_pool1d(x, 2, dilation=3), torch.zeros(2, 8, 9)),
            {"kernel": [2], "stride": [2], "padding": [0], "dilation": [3]},
        )

    def test_along_dimensions(self) -> None:
        x = torch.zeros(2, 3, 4)
        for function, expected in (
            (lambda x: torch.cat([x, x], -1), {"dim": -1}),
            (lambda x: torch.cat([x, x]), {"dim": 0}),
            (lambda x: torch.stack([x, x], dim=2), {"dim": 2}),
            (lambda x: x.softmax(1), {"dim": 1}),
            (lambda x: F.log_softmax(x, dim=-1), {"dim": -1}),
            (lambda x: x.split([1, 2], 1), {"dim": 1}),
            (lambda x: torch.chunk(x, 2, dim=2), {"dim": 2}),
            (lambda x: x.unbind(), {"dim": 0}),
            (lambda x: x.mean((1, 2)), {"dim": [1, 2]}),
            (lambda x: x.mean(axis=1), {"dim": 1}),
            (lambda x: x.sum(), {}),
            (lambda x: x.max(1)[0], {"dim": 1}),
            (lambda x: x.var(1, unbiased=False), {"dim": 1}),
            (lambda x: x.var(False), {}),
            (lambda x: x.cumsum(2), {"dim": 2}),
            (lambda x: F.normalize(x), {"dim": 1}),
            (lambda x: F.normalize(x, dim=-1), {"dim": -1}),
            (lambda x: x.norm(dim=2), {"dim": 2}),
            (lambda x: x.flip(0, 2), {"dim": [0, 2]}),
            (lambda x: torch.roll(x, shifts=(1, -2), dims=(1, 2)), {"shifts": [1, -2], "dim": [1, 2]}),
            (lambda x: x.roll(3), {"shifts": [3]}),
            (lambda x: x.index_select(1, torch.tensor([0, 2])), {"dim": 1}),
            (lambda x: x[:, :, [0, 2]], {"dim": 2}),
        ):
            with self.subTest(expected=expected):
                self.assertEqual(self.of(function, x), expected)

    def test_order_of_dimensions(self) -> None:
        x = torch.zeros(2, 3, 4)
        for function, expected in (
            (lambda x: x.permute(2, 0, 1), [2, 0, 1]),
            (lambda x: torch.permute(x, (0, 2, 1)), [0, 2, 1]),
            (lambda x: x.transpose(-1, 0), [-1, 0]),
            (lambda x: torch.swapaxes(x, 1, 2), [1, 2]),
            (lambda x: x.mT, [-2, -1]),
            (lambda x: torch.movedim(x, 0, 2), [1, 2, 0]),
            (lambda x: torch.movedim(x, (0, 1), (-1, 0)), [1, 2, 0]),
        ):
            with self.subTest(expected=expected):
                self.assertEqual(self.of(function, x), {"dims": expected})
                # A permutation of the input's shape is the output's.
                if len(expected) == 3:
                    self.assertEqual([x.shape[dim] for dim in expected], list(function(x).shape))
        self.assertEqual(self.of(lambda x: x.t(), x[0]), {"dims": [-2, -1]})

    def test_parts(self) -> None:
        x = torch.zeros(4, 6, 8)
        for function, expected in (
            (lambda x: x[2], {"dim": 0, "index": 2}),
            (lambda x: x[..., -1], {"dim": 2, "index": 7}),
            (lambda x: x.select(1, -2), {"dim": 1, "index": 4}),
            (lambda x: x[:, 1:5], {"dim": 1, "start": 1}),
            (lambda x: x[:, :, 1::2], {"dim": 2, "start": 1, "step": 2}),
            (lambda x: x[-2:], {"dim": 0, "start": 2}),
            (lambda x: x.narrow(1, 3, 2), {"dim": 1, "start": 3}),
            (lambda x: x[1, 2], {"dim": [0, 1], "index": [1, 2]}),
            (lambda x: x[1:3, :, 4:], {"dim": [0, 2], "start": [1, 4]}),
            (lambda x: x[0::2, 1::2], {"dim": [0, 1], "start": [0, 1], "step": [2, 2]}),
            (lambda x: x[1, ..., 2:6], {"dim": [0, 2], "start": [1, 2], "drops": [0]}),
            (lambda x: x[:, None], {}),
        ):
            with self.subTest(expected=expected):
                self.assertEqual(self.of(function, x), expected)

    def test_others(self) -> None:
        image = torch.zeros(2, 8, 6, 6)
        self.assertEqual(self.of(nn.GroupNorm(4, 8), image), {"groups": 4})
        self.assertEqual(self.of(nn.LayerNorm((6, 6)), image), {"normalized_shape": [6, 6]})
        self.assertEqual(self.of(lambda x: F.pad(x, (1, 2)), image), {"pad": [1, 2]})
        self.assertEqual(
            self.of(lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), image),
            {"pad": [1, 1, 1, 1], "mode": "reflect"},
        )
        self.assertEqual(self.of(lambda x: F.interpolate(x, scale_factor=2), image), {"mode": "nearest"})
        self.assertEqual(
            self.of(lambda x: F.interpolate(x, size=9, mode="bilinear", align_corners=False), image),
            {"mode": "bilinear"},
        )
        self.assertEqual(
            self.of(lambda a, b: torch.einsum("bij,bkj->bik", a, b), image[0], image[0]),
            {"equation": "bij,bkj->bik"},
        )
        self.assertEqual(self.of(torch.add, image, image), {})

        tokens = torch.zeros(5, 2, 12)
        ops = self.ops_of(Attend(), tokens)
        self.assertEqual(ops[-1]["kind"], "multi_head_attention_forward")
        fused = {"fused": 1} if hasattr(F, "scaled_dot_product_attention") else {}
        self.assertEqual(self.of(Attend(), tokens), {"heads": 3, **fused})
        self.assertEqual(self.of(Attend(0.1), tokens), {"heads": 3, "dropout": 1, **fused})

    def test_arguments_that_are_no_numbers_are_left_out(self) -> None:
        x = torch.zeros(4, 6)
        self.assertEqual(attributes_of("narrow", "narrow", (x, 0, torch.tensor(1), 2), {}), {})
        self.assertEqual(attributes_of("__getitem__", "index_select", (x, x > 0), {}), {})
        self.assertEqual(attributes_of("mystery", "mystery", (x, 1), {}), {})

    def test_held_tensors_have_shapes(self) -> None:
        attributes = self.ops_of(nn.BatchNorm2d(3), torch.zeros(2, 3, 4, 4))[0]["attributes"]
        self.assertEqual(
            dict(zip(attributes["parameters"], attributes["parameter_shapes"])),
            {"weight": [3], "bias": [3], "running_mean": [3], "running_var": [3], "num_batches_tracked": []},
        )

    @unittest.skipIf(torchvision is None, "torchvision is missing")
    def test_every_window_of_torchvision_is_known(self) -> None:
        models = torchvision.models
        for make, size in (
            (models.resnet18, 64),
            (models.googlenet, 64),
            (models.mobilenet_v3_small, 64),
            (models.swin_t, 64),
        ):
            with self.subTest(make.__name__), uninitialised():
                options = {"init_weights": True} if make is models.googlenet else {}
                for op in self.ops_of(make(**options), torch.zeros(2, 3, size, size)):
                    attributes, kind = op.get("attributes", {}), op["kind"]
                    if kind == "slice" and op["outputs"] == self.ops()[op["inputs"][0]]["outputs"]:
                        continue  # x[:, :height], whose height is that
                    if kind.startswith("conv") or (kind.endswith("pool2d") and "adaptive" not in kind):
                        self.assertIn("kernel", attributes, op["name"])
                    if kind in ("cat", "softmax", "select", "slice", "chunk"):
                        self.assertIn("dim", attributes, op["name"])
                    if kind in ("permute", "transpose"):
                        self.assertIn("dims", attributes, op["name"])


class Attend(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]
