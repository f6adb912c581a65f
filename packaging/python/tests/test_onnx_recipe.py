# SPDX-License-Identifier: MIT
"""Runs the export to ONNX that core/io/README.md recommends, and reads the file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
import warnings
from pathlib import Path
from typing import Any, List

import torch
from support import TestCase
from torch import nn

try:
    import torchvision
except ImportError:
    torchvision = None

CLI = os.environ.get("PLACEWRIGHT_CLI")
README = Path(__file__).parents[3] / "core" / "io" / "README.md"


class Clip(nn.Module):
    """Two towers with parameters of the model itself, as in OpenAI's CLIP."""

    def __init__(self) -> None:
        super().__init__()
        self.visual, self.words = nn.Conv2d(3, 8, 4, 4), nn.Embedding(20, 8)
        self.class_embedding = nn.Parameter(torch.randn(8))
        self.image_projection = nn.Parameter(torch.randn(8, 6))
        self.text_projection = nn.Parameter(torch.randn(8, 6))
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        x = self.visual(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_embedding.expand(x.shape[0], 1, -1), x], 1)
        y = self.words(text).mean(1)
        return self.logit_scale.exp() * (x[:, 0] @ self.image_projection) @ (y @ self.text_projection).t()


@unittest.skipIf(not CLI, "PLACEWRIGHT_CLI is missing")
class Recipe(TestCase):
    def check(self, model: nn.Module, inputs: Any, names: List[str], options: str = "") -> None:
        code = re.search(r"```python\n(names = .*?)```", README.read_text(), re.S).group(1)
        code = re.sub(r"names = .*", f"names = {names}", code, 1)
        code = code.replace("net.onnx", f"{self.folder}/net.onnx")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code if not options else code[: code.rindex(",\n")] + options, {**globals(), **locals()})
        where = [f"{self.folder}/net.onnx", *([] if options else ["--batch", "2"])]
        subprocess.run([CLI, "convert", *where, f"{self.folder}/model.json"], check=True, capture_output=True)
        ops = self.ops().values()
        held = [name for op in ops for name in op.get("attributes", {}).get("parameters", [])]
        self.assertEqual(sorted(held), sorted(model.state_dict()))
        self.assertEqual([op["name"] for op in ops if op["kind"] == "input"], names)
        out = self.folder / "device_map.json"
        command = [CLI, "export", *where, "--machine", "4x-v100-nvlink", "--to", "device-map-full"]
        subprocess.run([*command, "--out", out], check=True, capture_output=True)
        device_map = json.loads(out.read_text())
        if "" not in device_map:
            own = {name for name in model.state_dict() if "." not in name}
            self.assertLessEqual(own, set(device_map))

    def test_parameters_of_the_model_itself(self) -> None:
        self.check(Clip(), (torch.randn(2, 3, 8, 8), torch.randint(20, (2, 5))), ["image", "text"])
        # With a fixed batch size.
        inputs = (torch.randn(2, 3, 8, 8), torch.randint(20, (2, 5)))
        self.check(Clip(), inputs, ["image", "text"], ")")

    @unittest.skipIf(torchvision is None, "torchvision is missing")
    def test_vision_transformer(self) -> None:
        model = torchvision.models.VisionTransformer(32, 8, 2, 2, 16, 32)
        self.check(model, torch.randn(2, 3, 32, 32), ["image"])
        self.check(model, torch.randn(2, 3, 32, 32), ["image"], ")")
