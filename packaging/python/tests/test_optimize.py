# SPDX-License-Identifier: MIT
"""Searches from Python: placements, device maps, machines, and how they show themselves."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import unittest
import warnings
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, Callable, List
from unittest import mock

import torch
from support import Machine, TestCase
from torch import nn

import placewright
from placewright import command_line, display
from placewright.optimize import depth_of_lists

CLI = os.environ.get("PLACEWRIGHT_CLI")
GPUS = "2x RTX 4090"


class Towers(nn.Module):
    """Two towers that can run at the same time."""

    def __init__(self, width: int = 2048) -> None:
        super().__init__()
        self.left = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.right = nn.ModuleList(nn.Linear(width, width) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for one, other in zip(self.left, self.right):
            x, y = one(x).tanh(), other(y).tanh()
        return x + y


class FakeBar:
    """Takes the place of a bar of tqdm."""

    made: "List[FakeBar]" = []

    def __init__(self, **options: Any) -> None:
        self.options, self.seen, self.n = options, [], 0.0
        FakeBar.made.append(self)

    def __enter__(self) -> "FakeBar":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def refresh(self) -> None:
        self.seen.append(self.n)


def search(model: nn.Module, inputs: Any, machine: Any = GPUS, **options: Any) -> placewright.Placement:
    return placewright.optimize(model, inputs, machine, None, evaluations=300, **options)


@unittest.skipIf(not CLI, "PLACEWRIGHT_CLI is missing")
class Optimize(TestCase):
    def setUp(self) -> None:
        super().setUp()
        # What the command line says of these small models is no matter here.
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def test_placement(self) -> None:
        model, x = Towers().to("meta"), torch.empty(4096, 2048, device="meta")
        placement = search(model, x)
        again = search(model, x)
        self.assertEqual(placement.ops, again.ops)
        self.assertEqual(placement.step_time_s, again.step_time_s)
        low, high = placement.interval_s
        self.assertLess(low, placement.step_time_s)
        self.assertLess(placement.step_time_s, high)
        self.assertGreater(placement.speedup, 1)
        self.assertLessEqual(placement.lower_bound_s, placement.step_time_s)
        self.assertEqual(set(placement.ops.values()), {"gpu:0", "gpu:1"})
        self.assertEqual([load.device for load in placement.loads], ["cpu:0", "gpu:0", "gpu:1"])
        for load in placement.loads[1:]:
            self.assertEqual(load.ops, list(placement.ops.values()).count(load.device))
            self.assertTrue(0 < load.busy <= 1)
            self.assertTrue(0 < load.peak_bytes < load.memory_bytes)
        pipeline = search(model, x, batches=4, in_flight=4)
        self.assertTrue(all(load.busy <= 1 for load in pipeline.loads))
        self.assertGreater(sum(load.busy for load in pipeline.loads), 1)
        # Inference takes a part of a training step.
        self.assertLess(search(model, x, training=False).step_time_s, 0.7 * placement.step_time_s)
        # The model is neither loaded nor changed.
        self.assertTrue(model.left[0].weight.is_meta)
        with self.assertRaisesRegex(placewright.PlacementError, "Towers is on the meta device"):
            placement.apply()

    def test_applied(self) -> None:
        torch.manual_seed(1)
        model, x = Towers(64), torch.randn(8, 64)
        expected = model(x)
        rules = [
            {"rule": "pin", "modules": ["left"], "devices": ["gpu:1"]},
            {"rule": "pin", "modules": ["right"], "devices": ["gpu:0"]},
        ]
        constraints = {"format": "placewright.constraints", "version": 1, "rules": rules}
        placement = search(model, x, constraints=constraints)
        placement.save(self.folder / "placement.json")
        for how in (
            lambda: placement.apply(),
            lambda: placewright.apply(model, placement),
            lambda: placewright.apply(model, placement.document),
            lambda: placewright.apply(model, placement.device_map),
            lambda: placewright.apply(model, self.folder / "placement.json"),
        ):
            with Machine():
                placed = how()
                found = placed(x)
                self.assertEqual(Machine.place(model.left[2].weight), "cuda:1")
                self.assertEqual(Machine.place(model.right[2].weight), "cuda:0")
            torch.testing.assert_close(found, expected)
            with Machine():
                placewright.apply(model, {"": "cpu"})

    def test_files(self) -> None:
        model, x = Towers(64), torch.randn(8, 64)
        placement = search(model, x)
        placement.save(self.folder / "map.json", "device-map")
        self.assertEqual(json.loads((self.folder / "map.json").read_text()), placement.device_map)
        with self.assertRaisesRegex(placewright.CommandLineError, "banana"):
            placement.save(self.folder / "map.json", "banana")
        # A network file in place of a model.
        placewright.export(model, x, self.folder / "model.json")
        found = placewright.optimize(self.folder / "model.json", None, GPUS, None, evaluations=300)
        self.assertEqual(found.ops, placement.ops)
        with self.assertRaisesRegex(placewright.PlacementError, "give the model"):
            found.apply()
        with self.assertRaisesRegex(placewright.ExportError, "inputs are missing, expected what Towers"):
            placewright.optimize(model, machine=GPUS)

    def test_shown(self) -> None:
        placement = search(Towers(), torch.empty(512, 2048, device="meta"))
        text = repr(placement)
        self.assertRegex(text, r"A step of Towers takes \S+ .?s \(\S+ .?s to \S+ .?s\).* Machine: 2x RTX 4090")
        self.assertRegex(text, r"gpu:1 +NVIDIA GeForce RTX 4090 +\d+ +\d+% +\S+ .B of 2\d.* GB")
        shown = xml.etree.ElementTree.fromstring(f"<div>{placement._repr_html_()}</div>")
        self.assertEqual(len(shown.findall("table/tr")), 1 + len(placement.loads))
        svg = shown.find("{http://www.w3.org/2000/svg}svg")
        titles = [item.text for item in svg.iter("{http://www.w3.org/2000/svg}title")]
        self.assertTrue(any("(forward)" in title for title in titles))
        self.assertTrue(any("(backward)" in title for title in titles))
        self.assertTrue(any("left/0/linear" in title for title in titles))

    def test_progress(self) -> None:
        FakeBar.made.clear()
        fake = mock.Mock(tqdm=FakeBar)
        model, x = Towers(64), torch.randn(8, 64)
        with mock.patch.dict(sys.modules, {"tqdm": fake, "tqdm.auto": fake}):
            placewright.optimize(model, x, GPUS, seconds=0.7, progress=True)
            search(model, x, progress=False)
        (bar,) = FakeBar.made
        self.assertEqual((bar.options["total"], bar.options["disable"]), (0.7, False))
        self.assertEqual(bar.seen, sorted(bar.seen))
        self.assertTrue(0 < bar.seen[0] <= bar.seen[-1] <= 0.7)

    def test_no_placement_fits(self) -> None:
        model = nn.Linear(300_000, 300_000, device="meta")
        with self.assertRaises(placewright.CommandLineError) as caught:
            search(model, torch.empty(1, 300_000, device="meta"))
        self.assertEqual(caught.exception.status, 4)
        with self.assertRaisesRegex(placewright.CommandLineError, "no shipped machine has this name"):
            search(model, torch.empty(1, 300_000, device="meta"), "nonsense")
        with self.assertRaisesRegex(placewright.CommandLineError, "nonsense"):
            search(model, torch.empty(1, 300_000, device="meta"), nonsense=3)

    def test_interrupt_returns_the_best(self) -> None:
        """As Ctrl+C does, or a notebook's stop button."""

        class Interrupting(FakeBar):
            def refresh(self) -> None:
                if self.n > 2:
                    raise KeyboardInterrupt

        fake = mock.Mock(tqdm=Interrupting)
        with mock.patch.dict(sys.modules, {"tqdm": fake, "tqdm.auto": fake}):
            placement = placewright.optimize(Towers(64), torch.randn(8, 64), GPUS, seconds=60, progress=True)
        self.assertGreater(placement.step_time_s, 0)

    @unittest.skipUnless(sys.platform == "linux", "needs /proc")
    def test_search_ends_with_python(self) -> None:
        """When Python is killed, as a notebook's kernel is, nobody waits for the result."""
        code = "import placewright; placewright.optimize('inception_v3', machine='4x-v100-pcie', seconds=100)"
        python = subprocess.Popen([sys.executable, "-c", code])
        children = Path(f"/proc/{python.pid}/task/{python.pid}/children")

        def wait_for(what: Callable[[], Any]) -> Any:
            for _ in range(600):
                found = what()
                if found:
                    return found
                time.sleep(0.1)
            self.fail("waited for a minute in vain")

        # The first child may tell what the program can do; a search lasts.
        def search() -> Any:
            for child in children.read_text().split():
                with contextlib.suppress(OSError):
                    if b"optimize" in Path(f"/proc/{child}/cmdline").read_bytes():
                        return child
            return None

        try:
            child = wait_for(search)
            time.sleep(1)
        finally:
            python.kill()
            python.wait()

        def ended() -> bool:
            try:
                return Path(f"/proc/{child}/stat").read_text().split()[2] == "Z"
            except OSError:
                return True

        wait_for(ended)

    def test_this_machine(self) -> None:
        machine = placewright.machine()
        self.assertIn("cpu:0", machine.devices)
        self.assertIn("cpu:0", repr(machine))
        shown = xml.etree.ElementTree.fromstring(f"<div>{machine._repr_html_()}</div>")
        self.assertEqual(len(shown.findall("table/tr")), 1 + len(machine.devices))
        machine.save(self.folder / "machine.json")
        model, x = Towers(64), torch.randn(8, 64)
        found = [search(model, x, where) for where in (machine, self.folder / "machine.json", "this")]
        self.assertEqual([load.device for load in found[0].loads], machine.devices)
        self.assertEqual(len({placement.document["machine"] for placement in found}), 1)

    def test_device_map_keeps_blocks_whole(self) -> None:
        class Block(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = nn.Linear(2048, 4096), nn.Linear(4096, 2048)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x + self.second(self.first(x).relu())

        class Model(nn.Module):
            main_input_name = "input_ids"

            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(50, 2048)
                self.layers = nn.ModuleList(Block() for _ in range(6))

            def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
                x = self.embed(input_ids)
                for layer in self.layers:
                    x = layer(x)
                return x

        model = Model().to("meta")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            # The tokens are known, and no block with a residual connection is cut.
            memory = {"usable_memory": 0.012, "framework": "none"}
            found = placewright.device_map(model, None, GPUS, None, evaluations=200, **memory)
        self.assertEqual({found[f"layers.{layer}"] for layer in range(6)}, {0, 1})
        self.assertEqual(set(found), {"embed", *(f"layers.{layer}" for layer in range(6))})
        placewright.apply(Model(), found, devices={0: "cpu", 1: "cpu"})
        with self.assertRaisesRegex(placewright.ExportError, "decode.*config.json"):
            placewright.device_map(model, None, GPUS, phase="decode")
        with self.assertRaisesRegex(placewright.ExportError, "inputs are missing, expected what Towers"):
            placewright.device_map(Towers(), None, GPUS)

    def test_device_map_of_a_file(self) -> None:
        found = placewright.device_map("resnet50", machine=GPUS, seconds=None, evaluations=50, batch=2)
        self.assertTrue(set(found.values()) <= {0, 1, "cpu"})

    def test_device_map_of_a_config(self) -> None:
        config = {
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "hidden_size": 4096,
            "num_hidden_layers": 48,
            "num_attention_heads": 32,
            "intermediate_size": 11008,
            "vocab_size": 32000,
        }

        class Config:
            def to_dict(self) -> Any:
                return {**config, "torch_dtype": torch.bfloat16}

        for model in (config, Config()):
            found = placewright.device_map(model, machine=GPUS, seconds=None, evaluations=50, dtype="fp32")
            self.assertIn("model.layers.0", found)
            self.assertEqual(set(found.values()), {0, 1})
        for wrong in ({}, {"hidden_size": 1}, 3, None):
            with self.assertRaisesRegex(placewright.ExportError, 'is no model: expected .*"model_type"'):
                placewright.device_map(wrong, machine=GPUS)


class Parts(TestCase):
    def test_training_of_a_language_model(self) -> None:
        """A path is read in the phase of the command line, decode, unless training is asked for."""
        seen: List[List[str]] = []

        def stop(arguments: Any, *_: Any, **__: Any) -> None:
            seen.append([str(item) for item in arguments])
            raise placewright.CommandLineError("stop")

        with mock.patch.object(sys.modules["placewright.optimize"], "run", stop):
            for training in (True, None):
                with self.assertRaises(placewright.CommandLineError):
                    placewright.optimize({"model_type": "llama"}, machine=GPUS, training=training)
        self.assertIn("--phase training", " ".join(seen[0]))
        self.assertNotIn("--phase", seen[1])

    def test_wrong_placement(self) -> None:
        model = nn.Linear(2, 2)
        with self.assertRaisesRegex(placewright.PlacementError, "SGD is no placement: expected a file"):
            placewright.apply(model, torch.optim.SGD(model.parameters(), lr=1))  # type: ignore[arg-type]

    def test_sizes_go_to_the_command_line(self) -> None:
        """Language models are files, which the command line reads with these options."""
        seen: List[List[str]] = []

        def stop(arguments: Any, *_: Any, **__: Any) -> None:
            seen.append([str(item) for item in arguments])
            raise placewright.CommandLineError("stop")

        with mock.patch.object(sys.modules["placewright.optimize"], "run", stop):
            with self.assertRaises(placewright.CommandLineError):
                placewright.device_map(
                    Path("llama/config.json"),
                    machine=GPUS,
                    phase="decode",
                    batch=4,
                    sequence=2048,
                    group="scope:3",
                    kv_dtype="fp8",
                )
        self.assertEqual(seen[0][:2], ["optimize", "llama/config.json"])
        text = " ".join(seen[0])
        for option in ("--phase decode", "--batch 4", "--sequence 2048", "--group scope:3", "--kv-dtype fp8"):
            self.assertIn(option, text)
        self.assertNotIn("--inference", text)

    def test_options(self) -> None:
        options = {"in_flight": 2, "accumulate": True, "recompute": None, "run": False, "set": ["a=1", "b=2"]}
        expected = ["--in-flight", "2", "--accumulate", "--set", "a=1", "--set", "b=2"]
        self.assertEqual(command_line.arguments_of(options), expected)

    def test_depth_of_lists(self) -> None:
        self.assertEqual(depth_of_lists(["model/embed", "model/layers/0/mlp/0", "model/layers/10"]), 3)
        self.assertEqual(depth_of_lists(["conv1", "layer1/0/conv1", "layer1/1/conv2", "fc"]), 2)
        self.assertEqual(depth_of_lists(["encoder/layers/encoder_layer_0/mlp/0", "heads/head"]), 3)
        self.assertEqual(depth_of_lists(["features/denseblock1/denselayer1/conv1", "classifier"]), 4)
        self.assertEqual(depth_of_lists([""]), 1)

    def test_many_spans_are_few_bars(self) -> None:
        spans = [
            display.Span("gpu:0", f"op<{index}>", "forward", index * 1e-6, (index + 1) * 1e-6)
            for index in range(50_000)
        ]
        svg = display.timeline_svg(spans, ["gpu:0", "gpu:1"], 0.05)
        self.assertLess(len(svg), 200_000)
        root = xml.etree.ElementTree.fromstring(svg)
        bars = root.findall("{http://www.w3.org/2000/svg}rect/{http://www.w3.org/2000/svg}title")
        self.assertIn("op<0> and", bars[0].text)

    def test_missing_command_line(self) -> None:
        with mock.patch.dict(os.environ, {"PLACEWRIGHT_CLI": "", "PATH": str(self.folder)}):
            with mock.patch.object(command_line, "_checkouts", lambda: iter([self.folder])):
                with self.assertRaisesRegex(
                    placewright.CommandLineError, "placewright-cli is missing.*PLACEWRIGHT_CLI.*PATH.*build it"
                ):
                    placewright.machine()
                # The one that was built last is found.
                (self.folder / "CMakePresets.json").write_text("{}")
                for age, preset in enumerate(("dev", "release", "asan")):
                    program = self.folder / "build" / preset / "bin" / "placewright-cli"
                    program.parent.mkdir(parents=True)
                    program.write_text("")
                    program.chmod(0o755)
                    os.utime(program, (0, 100 if preset == "release" else age))
                self.assertEqual(command_line.find(), self.folder / "build/release/bin/placewright-cli")
            program = self.folder / "placewright-cli"
            program.write_text("")
            program.chmod(0o755)
            self.assertEqual(command_line.find(), program)
        with mock.patch.dict(os.environ, {"PLACEWRIGHT_CLI": str(self.folder / "none")}):
            with self.assertRaisesRegex(placewright.CommandLineError, "none', which is no program"):
                placewright.machine()

    def test_errors_and_warnings_of_the_command_line(self) -> None:
        program = self.folder / "cli"
        program.write_text(
            f"#!{sys.executable}\nimport sys\nprint('placewright-cli: warning: slow', file=sys.stderr)\n"
            "if sys.argv[1] == 'bad':\n    print('placewright-cli: net.json: is empty', file=sys.stderr)\n"
            "    sys.exit(3)\nprint('{\"arguments\": \"' + ' '.join(sys.argv[1:]) + '\"}')\n"
        )
        program.chmod(0o755)
        with mock.patch.dict(os.environ, {"PLACEWRIGHT_CLI": str(program)}):
            with self.assertWarnsRegex(UserWarning, "^slow$") as warned:
                self.assertEqual(command_line.run(["good", Path("a")]), {"arguments": "good a --json"})
            self.assertEqual(warned.filename, __file__)
            with warnings.catch_warnings(), self.assertRaisesRegex(
                placewright.CommandLineError, "^net.json: is empty$"
            ) as caught:
                warnings.simplefilter("ignore")
                command_line.run(["bad"])
            self.assertEqual(caught.exception.status, 3)
