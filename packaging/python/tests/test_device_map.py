# SPDX-License-Identifier: MIT
"""Applies device maps to models with buffers that a state_dict does not hold, such as rotary tables."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from typing import Any, Dict, Optional, Tuple

import torch
from support import Machine, TestCase
from torch import nn

import placewright

CLI = os.environ.get("PLACEWRIGHT_CLI")

Tables = Tuple[torch.Tensor, torch.Tensor]


def rotary_tables(positions: int, width: int) -> Tables:
    angles = torch.outer(torch.arange(positions).float(), 10000 ** (-torch.arange(0, width, 2) / width))
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def add_tables(module: nn.Module, width: int) -> None:
    for name, table in zip(("cos", "sin"), rotary_tables(16, width)):
        module.register_buffer(name, table, persistent=False)


def rotated(x: torch.Tensor, tables: Tables) -> torch.Tensor:
    one, other = x.chunk(2, -1)
    return x * tables[0] + torch.cat([-other, one], -1) * tables[1]


class Rotary(nn.Module):
    """Computes the tables, as the models of Transformers do."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 10000 ** (-torch.arange(0, width, 2) / width), persistent=False)

    def forward(self, x: torch.Tensor) -> Tables:
        places = torch.arange(x.shape[1], device=x.device).to(x.dtype)
        angles = torch.outer(places, self.inv_freq)
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()


class Layer(nn.Module):
    def __init__(self, width: int, has_tables: bool) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        if has_tables:
            add_tables(self, width)

    def forward(self, x: torch.Tensor, tables: Optional[Tables]) -> torch.Tensor:
        if tables is None:
            tables = (self.cos[: x.shape[1]], self.sin[: x.shape[1]])
        query, key = rotated(self.query(x), tables), rotated(self.key(x), tables)
        return self.out((query @ key.transpose(1, 2)).softmax(-1) @ self.value(x))


class Decoder(nn.Module):
    """A decoder whose rotary tables are buffers of each layer, of the model, or of a module of their own."""

    def __init__(self, tables: str, width: int = 8) -> None:
        super().__init__()
        self.embedding = nn.Embedding(30, width)
        self.layers = nn.ModuleList(Layer(width, tables == "layer") for _ in range(2))
        self.head = nn.Linear(width, 30)
        self.rotary = Rotary(width) if tables == "module" else None
        self.has_tables = tables == "model"
        if self.has_tables:
            add_tables(self, width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        tables = None
        if self.has_tables:
            tables = (self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]])
        if self.rotary is not None:
            tables = self.rotary(x)
        for layer in self.layers:
            x = x + layer(x, tables)
        return self.head(x)


class RotaryTables(TestCase):
    TOKENS = torch.arange(18).view(2, 9)

    def check(self, tables: str, device_map: Any) -> Dict[str, str]:
        """Returns the devices of the buffers under a device map, after a pass with equal results."""
        torch.manual_seed(1)
        model = Decoder(tables).double()
        expected = model(self.TOKENS)
        with Machine() as machine:
            placewright.apply(model, device_map)
            found = model(self.TOKENS)
        torch.testing.assert_close(found, expected)
        places = {Machine.place(parameter) for parameter in model.parameters()}
        self.assertLessEqual(places, {place for _, place in machine.ran})
        return {name: Machine.place(buffer) for name, buffer in model.named_buffers()}

    def test_map_of_the_state_dict(self) -> None:
        """A device map need not name what is not in the state_dict."""
        layers = {
            f"layers.{layer}.{name}": 1 + layer
            for layer in range(2)
            for name in ("query", "key", "value", "out")
        }
        device_map = {"embedding": 3, **layers, "head": 2}
        self.assertEqual(
            self.check("layer", self.write(device_map)),
            {f"layers.{layer}.{name}": f"cuda:{1 + layer}" for layer in range(2) for name in ("cos", "sin")},
        )
        self.assertEqual(
            self.check("model", self.write(device_map)), dict.fromkeys(("cos", "sin"), "cuda:3")
        )
        self.assertEqual(self.check("module", self.write(device_map)), {"rotary.inv_freq": "cuda:3"})
        # A map that names them decides.
        self.assertEqual(
            self.check("model", self.write({**device_map, "cos": 1, "sin": 0})),
            {"cos": "cuda:1", "sin": "cuda:0"},
        )

    @unittest.skipIf(not CLI, "PLACEWRIGHT_CLI is missing")
    def test_maps_of_the_command_line(self) -> None:
        for tables in ("layer", "model", "module"):
            network, placement = self.folder / f"{tables}.json", self.folder / "placement.json"
            placewright.export(Decoder(tables), self.TOKENS, network)
            where = [str(network), "--machine", "4x-v100-nvlink"]
            search = ["--algorithm", "random", "--evaluations", "1", "--group", "scope:2"]
            command = [CLI, "optimize", *where, *search, "--out", placement]
            subprocess.run(command, check=True, capture_output=True)
            for form in ("device-map", "device-map-full"):
                out = self.folder / "device_map.json"
                command = [CLI, "export", *where, "--placement", placement, "--repair"]
                subprocess.run([*command, "--to", form, "--out", out], check=True, capture_output=True)
                with self.subTest(tables, form=form, device_map=json.loads(out.read_text())):
                    self.check(tables, out)

    def test_shared_table_of_a_placement(self) -> None:
        """A table that several ops read is an op, and is where that op is, with the graph and without."""

        class Twice(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(1024, 4)
                self.register_buffer("table", torch.randn(64, 1024), persistent=False)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.linear(x * self.table + self.table.sin())

        placewright.export(Twice(), torch.randn(64, 1024), self.folder / "model.json")
        self.assertEqual(self.ops()["table"]["kind"], "constant")
        file = self.write_placement({**dict.fromkeys(self.ops(), "gpu:1"), "table": "gpu:2"})
        for graph in (None, self.folder / "model.json"):
            model = Twice()
            with Machine():
                placewright.apply(model, file, graph=graph)
            self.assertEqual(Machine.place(model.table), "cuda:2")
            self.assertEqual(Machine.place(model.linear.weight), "cuda:1")
