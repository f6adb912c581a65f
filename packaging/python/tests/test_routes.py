# SPDX-License-Identifier: MIT
"""One model counts the same, whichever file it is read from: of placewright.export, TorchScript or ONNX."""

from __future__ import annotations

import json
import math
import os
import subprocess
import unittest
import warnings
from typing import Any, Dict, List, NamedTuple, Tuple

import torch
from support import TestCase, uninitialised
from torch import nn
from transformers_like import Bert, Gpt2, ViT

import placewright

CLI = os.environ.get("PLACEWRIGHT_CLI")


class Costs(NamedTuple):
    step_time_s: float
    peak_bytes: int


class NewGelu(nn.Module):
    """GELU in single ops, as Transformers' GPT-2 has it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


class RMSNorm(nn.Module):
    """The norm in single ops, as Transformers' LLaMA and T5 have it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Steps(nn.Module):
    """nn.MultiheadAttention in the steps that PyTorch computes, each a call of its own."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.projections, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: torch.Tensor, _key: torch.Tensor, _value: torch.Tensor, need_weights: bool
    ) -> Tuple[torch.Tensor, None]:
        batch, tokens, width = x.shape
        x = x.transpose(1, 0)
        q, k, v = (
            part.contiguous().view(tokens, batch * self.heads, width // self.heads).transpose(0, 1)
            for part in self.projections(x).chunk(3, -1)
        )
        scores = torch.bmm(q / math.sqrt(width // self.heads), k.transpose(1, 2)).softmax(-1)
        mixed = torch.bmm(self.dropout(scores), v).transpose(0, 1).contiguous()
        return self.out(mixed.view(tokens * batch, width)).view(tokens, batch, width).transpose(1, 0), None


@unittest.skipIf(not CLI, "PLACEWRIGHT_CLI is missing")
class Routes(TestCase):
    def costs(self, *arguments: str) -> Costs:
        command = [CLI, "simulate", *arguments, "--machine", "4x-v100-nvlink", "--json"]
        report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return Costs(report["step_time_s"], max(device["peak_bytes"] for device in report["devices"]))

    def files(
        self, model: nn.Module, inputs: Tuple[torch.Tensor, ...], **options: Any
    ) -> Dict[str, List[str]]:
        """Writes a model as each format; returns the arguments that read it. The options are those of
        torch.onnx.export."""
        where = {kind: f"{self.folder}/model.{kind}" for kind in ("json", "pt", "onnx")}
        placewright.export(model, inputs, where["json"], training=True)
        modes = torch.onnx.TrainingMode
        names = [f"input{place}" for place in range(len(inputs))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.trace(model, inputs, check_trace=False).save(where["pt"])
            torch.onnx.export(
                model,
                inputs,
                where["onnx"],
                training=modes.TRAINING if model.training else modes.EVAL,
                opset_version=14,
                input_names=names,
                dynamic_axes={name: {0: "batch"} for name in names},
                **{"do_constant_folding": False, "export_params": False, **options},
            )
        shapes = []
        for tensor in inputs:
            shape = "x".join(map(str, tensor.shape))
            shapes += ["--input", shape + (":int64" if tensor.dtype == torch.int64 else "")]
        return {
            "placewright.export": [where["json"]],
            "TorchScript": [where["pt"], *shapes],
            "ONNX": [where["onnx"], "--batch", str(len(inputs[0]))],
        }

    def check(self, model: nn.Module, *inputs: torch.Tensor, **options: Any) -> None:
        costs = {
            route: self.costs(*arguments) for route, arguments in self.files(model, inputs, **options).items()
        }
        expected = costs["placewright.export"]
        for route, found in costs.items():
            for name, value, wanted in zip(found._fields, found, expected):
                self.assertLess(abs(value / wanted - 1), 0.02, f"{name} of {route}: {costs}")

    def test_bert(self) -> None:
        tokens = torch.zeros(8, 64, dtype=torch.int64)
        with uninitialised():
            model = Bert(2, 64, 4, 100, 64)
        self.check(model, tokens, tokens)

    def test_gpt2(self) -> None:
        with uninitialised():
            model = Gpt2(2, 64, 4, 100, 64)
        self.check(model, torch.zeros(8, 64, dtype=torch.int64))

    def test_functions_in_parts(self) -> None:
        # A function of PyTorch is one op, also where the exporter to ONNX writes several nodes; what the
        # model spells out itself is several.
        tokens = torch.zeros(8, 64, dtype=torch.int64)
        for make in (lambda: nn.GELU(approximate="tanh"), NewGelu, lambda: RMSNorm(256)):
            with self.subTest(make=make), uninitialised():
                model = Gpt2(2, 64, 4, 100, 64)
                for block in model.h:
                    block.feed_forward[1] = make()
                self.check(model, tokens)

    def test_vision_transformer(self) -> None:
        for dropout in (0.0, 0.1):
            with self.subTest(dropout=dropout), uninitialised():
                self.check(ViT(2, 64, 4, 32, 4, dropout), torch.zeros(8, 3, 32, 32))

    def test_constants_are_folded(self) -> None:
        # The exporter then stores weights transposed, under names such as "onnx::MatMul_21".
        image = torch.zeros(8, 3, 32, 32)
        for parameters in (False, True):
            with self.subTest(parameters=parameters):
                model = ViT(2, 64, 4, 32, 4).eval()
                self.check(model, image, do_constant_folding=True, export_params=parameters)

    @unittest.skipIf(hasattr(nn.functional, "scaled_dot_product_attention"), "PyTorch has no steps")
    def test_attention_keeps_what_its_steps_keep(self) -> None:
        image = torch.zeros(8, 3, 32, 32)
        for dropout in (0.0, 0.1):
            with self.subTest(dropout=dropout), uninitialised():
                model = ViT(3, 64, 4, 32, 4, dropout)
                peaks = []
                for whole in (True, False):
                    if not whole:
                        for layer in model.layers:
                            layer.attention = Steps(64, 4, dropout)
                    file = f"{self.folder}/{whole}.json"
                    placewright.export(model, image, file)
                    peaks.append(self.costs(file).peak_bytes)
                self.assertLess(abs(peaks[0] / peaks[1] - 1), 0.02, peaks)
