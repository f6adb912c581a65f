# SPDX-License-Identifier: MIT
"""Exports on shapes alone: what autocast does there, and what cannot be exported without numbers."""

from __future__ import annotations

from typing import Any, Dict

import torch
from support import TestCase
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import placewright


class Mixed(nn.Module):
    """Enters autocast in its forward pass, for the device of its input."""

    def __init__(self, kind: str = "cpu") -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.kind = kind

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(self.kind, dtype=torch.bfloat16):
            y = self.first(x).relu()
        return self.second(y.float())


class Counted(nn.Module):
    """Needs the numbers of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.block(x)
        return x.exp() if x.sum() > 0 else x.tanh()


class ShapesOnly(TestCase):
    def export(self, model: nn.Module, inputs: Any, **options: Any) -> Dict[str, Any]:
        placewright.export(model, inputs, self.folder / "model.json", **options)
        return self.ops()

    def types(self, ops: Dict[str, Any]) -> Dict[str, str]:
        return {name: op["outputs"][0]["dtype"] for name, op in ops.items()}

    def test_autocast_of_the_model(self) -> None:
        model, x = Mixed(), torch.randn(4, 8)
        types = self.types(self.export(model, x))
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(model.first(x).dtype, torch.bfloat16)
        self.assertEqual(types["first/linear"], "bfloat16")
        self.assertEqual(types["first/linear_cast_x"], "bfloat16")
        self.assertEqual(types["relu"], "bfloat16")
        self.assertEqual(types["second/linear"], "float32")

    def test_autocast_for_other_devices(self) -> None:
        """Autocast for a GPU does nothing to a model on the CPU: shapes are enough."""

        class Refusing(Mixed):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                assert x.device.type == "meta"
                torch.set_autocast_enabled(True)
                try:
                    return self.second(self.first(x))
                finally:
                    torch.set_autocast_enabled(False)

        self.assertEqual(self.types(self.export(Refusing(), torch.randn(4, 8)))["first/linear"], "float32")

    def test_autocast_on_the_meta_device(self) -> None:
        with self.assertWarnsRegex(UserWarning, 'meta device.*from "first/linear" on.*--precision amp-fp16'):
            types = self.types(self.export(Mixed().to("meta"), torch.randn(4, 8)))
        self.assertEqual(types["first/linear"], "float32")

    def test_models_without_numbers(self) -> None:
        with torch.no_grad():
            empty = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to("meta")
        self.assertEqual(list(self.export(empty, torch.randn(2, 4))), ["input", "0/linear", "1/relu"])
        self.assertEqual(list(self.export(empty, torch.empty(2, 4, device="meta")))[1:], ["0/linear", "1/relu"])

    def test_refused(self) -> None:
        x = torch.randn(2, 4)
        fake = FakeTensorMode()
        with fake:
            faked = fake.from_tensor(x)
        meta = Counted().to("meta")
        for model, inputs, options, message in (
            (meta, x, {}, r'Counted is on the meta device.* needs numbers, not only shapes, at "bool"'),
            (Counted(), x.to("meta"), {}, r'the inputs of Counted are on the meta device.* at "bool"'),
            (meta, x, {"measure": True}, "is on the meta device, so its ops cannot be measured"),
            (Counted(), faked, {}, "FakeTensor"),
        ):
            with self.subTest(message):
                with self.assertRaisesRegex(placewright.ExportError, message) as caught:
                    self.export(model, inputs, **options)
                self.assertIsInstance(caught.exception, placewright.PlacewrightError)
                self.assertIsInstance(caught.exception, ValueError)
        self.assertIn("block/0/linear", self.export(Counted(), x))  # with numbers
