#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what a placement adds to the calls of a model, on this computer's CPU.

    OMP_NUM_THREADS=1 python3 measure_apply.py

The model is tiny, so that a step is nearly all host time. "one device": everything is on one device; "whole
layers": each layer is on one of two devices, here both the CPU under two names; "cut layers": the ops of each
layer are on both.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, Optional

import torch
from torch import nn

import placewright

DEVICES = {"gpu:0": "cpu", "gpu:1": "cpu:0"}  # equal, but two devices to PyTorch


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        for _ in range(8):
            y = (y * 2 - x).tanh()
        return x + self.second(self.first(y).relu())


def microseconds(model: nn.Module, x: torch.Tensor, rounds: int) -> float:
    """Returns the median time of a forward pass."""
    times = []
    with torch.no_grad():
        for _ in range(rounds):
            start = time.perf_counter()
            model(x)
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main(layers: int = 8, rounds: int = 300) -> None:
    x = torch.randn(2, 8)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        placewright.export(nn.Sequential(*(Layer() for _ in range(layers))), x, file)
        ops = [op["name"] for op in json.loads(file.read_text())["ops"]]
    rules: Dict[str, Optional[Callable[[int, str], int]]] = {
        "not placed": None,
        "one device": lambda index, name: 0,
        "whole layers": lambda index, name: int(name.partition("/")[0] or 0) % 2 if name[0].isdigit() else 0,
        "cut layers": lambda index, name: index % 2,
    }
    plain = 0.0
    for text, device_of in rules.items():
        model = nn.Sequential(*(Layer() for _ in range(layers)))
        if device_of is not None:
            placement = {name: f"gpu:{device_of(index, name)}" for index, name in enumerate(ops)}
            document = {"format": "placewright.placement", "version": 1, "placement": placement}
            placewright.apply(model, document, devices=DEVICES, on_conflict="majority")
        took = microseconds(model, x, rounds)
        plain = plain or took
        print(f"{text:<13} {took:7.0f} us a pass, {(took - plain) / len(ops):+6.2f} us for each of {len(ops)} ops")


if __name__ == "__main__":
    main()
