# SPDX-License-Identifier: MIT
"""Tests measured steps, and the way from a model to a placed model through the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

import torch
from support import Machine, TestCase
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from transformers_like import Gpt2

import placewright

try:
    import torchvision
except ImportError:
    torchvision = None

CLI = os.environ.get("PLACEWRIGHT_CLI")


class Counting(nn.Sequential):
    """Keeps the batch sizes of its calls."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        self.batches: list[int] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.batches.append(len(x))
        assert self.training
        return super().forward(x)


class Benchmark(TestCase):
    def test_first_and_partial_batches_do_not_count(self) -> None:
        model = Counting().eval()
        loader = DataLoader(
            TensorDataset(torch.zeros(18, 3), torch.zeros(18, dtype=torch.int64)), batch_size=4
        )
        times = placewright.benchmark(model, None, loader)
        self.assertEqual(model.batches, [4, 4, 4, 4])
        self.assertEqual((len(times.times_s), times.batch), (3, 4))
        self.assertFalse(model.training)

    def test_one_batch_for_all_steps(self) -> None:
        model = Counting()
        before = model[0].weight.detach().clone()
        times = placewright.benchmark(
            model, None, (torch.ones(5, 3), torch.ones(5, dtype=torch.int64)), steps=6
        )
        self.assertEqual(model.batches, [5] * 7)
        self.assertEqual(len(times.times_s), 6)
        self.assertFalse(torch.equal(before, model[0].weight))
        self.assertTrue(all(time > 0 for time in times.times_s))

    def test_batch_of_a_loader(self) -> None:
        loader = torch.utils.data.DataLoader([(torch.ones(3), index % 2) for index in range(4)], batch_size=2)
        times = placewright.benchmark(Counting(), None, next(iter(loader)), steps=3)
        self.assertEqual((len(times.times_s), times.batch), (3, 2))

    def test_statistics(self) -> None:
        times = placewright.StepTimes((1.0, 2.0, 6.0), 4)
        self.assertEqual((times.mean_s, times.median_s), (3.0, 2.0))
        self.assertAlmostEqual(times.deviation_s, 7.0**0.5)
        self.assertEqual(placewright.StepTimes((1.0,), 4).deviation_s, 0)
        self.assertIn("3 steps of batch 4: mean 3000.000 ms", str(times))

    def test_loss_optimizer_and_trace(self) -> None:
        model = Counting()
        optimizer = torch.optim.Adam(model.parameters())
        seen = []

        def loss(output: torch.Tensor, targets: None) -> torch.Tensor:
            seen.append(targets)
            return output.square().sum()

        placewright.benchmark(
            model,
            None,
            torch.ones(2, 3),
            steps=2,
            optimizer=optimizer,
            loss=loss,
            trace=self.folder / "trace.json",
        )
        self.assertEqual(seen, [None] * 4)
        self.assertEqual(optimizer.state[model[0].weight]["step"], 4)
        trace = json.loads((self.folder / "trace.json").read_text())
        events = trace if isinstance(trace, list) else trace["traceEvents"]
        self.assertTrue(any("addmm" in str(event.get("name")) for event in events))

    def test_placed(self) -> None:
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        file = self.write_placement({"input": "gpu:0", "0/linear": "gpu:0", "1/linear": "gpu:1"})
        data = (torch.ones(5, 3), torch.ones(5, dtype=torch.int64))
        placewright.benchmark(model, file, data, steps=1, devices={"gpu:0": "cpu", "gpu:1": "cpu"})
        self.assertIn("forward", vars(model))

    def test_too_few_data(self) -> None:
        with self.assertRaisesRegex(ValueError, "fewer than two whole batches"):
            placewright.benchmark(Counting(), None, [torch.ones(2, 3)])


@unittest.skipIf(not CLI, "PLACEWRIGHT_CLI is missing")
class ThereAndBack(TestCase):
    def optimize(self) -> Path:
        placement = self.folder / "placement.json"
        command = [
            CLI,
            "optimize",
            self.folder / "model.json",
            "--machine",
            "4x-v100-nvlink",
            "--algorithm",
            "random",
        ]
        subprocess.run([*command, "--evaluations", "3", "--out", placement], check=True, capture_output=True)
        return placement

    def cpu(self, model: str = "here") -> Path:
        """Returns a machine of one CPU."""
        device = {
            "name": "cpu:0",
            "kind": "cpu",
            "model": model,
            "peak_flops": 1e9,
            "memory_bandwidth": 1e9,
            "memory_bytes": 1e10,
        }
        machine = {
            "format": "placewright.machine",
            "version": 1,
            "name": "here",
            "devices": [device],
            "channels": [],
            "routes": [],
        }
        return self.write(machine, "machine.json")

    def test_optimized_placement_runs(self) -> None:
        model = Gpt2(2, 8, 2, 30, 16)
        tokens = torch.randint(30, (2, 9))
        placewright.export(model, tokens, self.folder / "model.json")
        placement = self.optimize()
        by_op = json.loads(placement.read_text())["placement"]
        self.assertEqual(set(by_op), set(self.ops()))
        model.eval()
        expected = model(tokens)
        with Machine() as machine:
            placewright.apply(model, placement, graph=self.folder / "model.json")
            machine.ran.clear()
            found = model(tokens)
        self.assertTrue(torch.equal(found, expected))
        # Every op that also runs in evaluation ran on its device of the placement.
        torch_device = {f"gpu:{index}": f"cuda:{index}" for index in range(4)} | {"cpu:0": "cpu"}
        products = [
            torch_device[by_op[name]]
            for name, op in self.ops().items()
            if op["kind"] in ("linear", "embedding", "layer_norm")
        ]
        self.assertEqual(
            [place for name, place in machine.ran if name in ("linear", "embedding", "layer_norm")], products
        )

    def test_times_of_a_trace(self) -> None:
        """Ops that are no modules have times; no op is counted twice, not even in a module that is called
        again."""

        class Square(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x.square()

        class Attention(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.query, self.square, self.once = nn.Linear(64, 64), Square(), Square()

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                scores = (self.query(x) @ x.transpose(-1, -2)).softmax(-1)
                return x + self.once(self.square(self.square(scores @ x)))

        data = torch.randn(8, 32, 64)
        for placed in (False, True):
            model = nn.Sequential(Attention(), nn.Tanh())
            placewright.export(model, data, self.folder / "model.json", training=False)
            file = self.write_placement(dict.fromkeys(self.ops(), "gpu:0")) if placed else None
            placewright.benchmark(
                model, file, data, steps=1, trace=self.folder / "trace.json", devices={"gpu:0": "cpu"}
            )
            self.assertEqual("forward" in vars(model), placed)
            trace = json.loads((self.folder / "trace.json").read_text())
            events = [
                event
                for event in (trace if isinstance(trace, list) else trace["traceEvents"])
                if event.get("ph") == "X"
            ]
            names = [event["name"] for event in events]
            self.assertEqual(names.count("0/softmax"), 1)
            self.assertFalse([name for name in names if re.fullmatch(r"0/(zeros|record|square/).*", name)])
            # Calls within a module count as part of it.
            counted = "0.query 0/matmul 0/softmax 0/matmul_1 0.square 0.once 0/add 1".split()
            taken = sum(event["dur"] for event in events if event["name"] in counted) * 1e-6
            command = [
                CLI,
                "simulate",
                self.folder / "model.json",
                "--machine",
                self.cpu(),
                "--cost",
                "measured",
                "--json",
            ]
            command += ["--times", f"{self.folder}/trace.json=here"]
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            self.assertAlmostEqual(result["step_time_s"], taken, places=9)

    def test_measured_times_are_simulated(self) -> None:
        model = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        placewright.export(
            model, torch.zeros(8, 64), self.folder / "model.json", measure=["cpu"], training=False
        )
        times = [op["time_s"] for op in self.ops().values() if "time_s" in op]
        self.assertEqual(len(times), 2)
        (name,) = times[0]
        command = [
            CLI,
            "simulate",
            self.folder / "model.json",
            "--machine",
            self.cpu(name),
            "--cost",
            "measured",
        ]
        result = json.loads(
            subprocess.run([*command, "--json"], check=True, capture_output=True, text=True).stdout
        )
        self.assertAlmostEqual(result["step_time_s"], sum(time[name]["forward"] for time in times), places=12)

    @unittest.skipIf(torchvision is None, "torchvision is missing")
    def test_example(self) -> None:
        example = Path(__file__).parent.parent / "examples" / "train_resnet50.py"
        run = [sys.executable, str(example), "--size", "32", "--batch", "2", "--steps", "1"]
        subprocess.run([*run, "--export", str(self.folder / "model.json")], check=True, capture_output=True)
        self.assertEqual(len(self.ops()), 176)
        devices = [f"gpu:{index}=cpu" for index in range(4)] + ["cpu:0=cpu"]
        run += ["--placement", str(self.optimize()), "--devices", *devices]
        result = subprocess.run(run, check=True, capture_output=True, text=True)
        self.assertIn("1 steps of batch 2: mean ", result.stdout)


if __name__ == "__main__":
    unittest.main()
