# SPDX-License-Identifier: MIT
"""Exports models of torchvision and runs a step of each with LibTorch, split over two logical devices.

    python3 run_torchvision.py PLACEWRIGHT-CLI

Exits with 77, which CTest counts as skipped, where PyTorch or torchvision is missing.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("torchvision") is None:
    print("skipped: PyTorch or torchvision is missing")
    sys.exit(77)

import torch
import torchvision

sys.path.insert(0, str(Path(__file__).parents[2] / "packaging" / "python" / "tests"))
from support import uninitialised  # noqa: E402

import placewright  # noqa: E402

MODELS = torchvision.models

#: What is built, images of a batch, their size, whether it is trained.
CASES = {
    "resnet18": (MODELS.resnet18, 2, 64, True),
    "mobilenet_v3_small": (MODELS.mobilenet_v3_small, 2, 64, True),
    "shufflenet_v2_x0_5": (MODELS.shufflenet_v2_x0_5, 2, 64, True),
    "googlenet": (lambda: MODELS.googlenet(init_weights=True), 1, 64, False),
    "densenet121": (MODELS.densenet121, 2, 64, True),
    "swin_t": (MODELS.swin_t, 1, 64, True),
    "vit_b_16": (lambda: MODELS.vit_b_16(image_size=64), 1, 64, True),
    "efficientnet_b0": (MODELS.efficientnet_b0, 2, 64, True),
}

DEVICES = ("gpu:0", "gpu:1")


def machine() -> Dict[str, Any]:
    speeds = {"peak_flops": 5e10, "memory_bandwidth": 1e10, "memory_bytes": 8e9, "efficiency": 0.9}
    return {
        "format": "placewright.machine",
        "version": 1,
        "name": "two cores",
        "devices": [{"name": name, "kind": "gpu", "model": "logical", **speeds} for name in DEVICES],
        "channels": [{"name": "link", "bandwidth": 2e9, "latency_s": 1e-5}],
        "routes": [
            {"from": a, "to": b, "channels": ["link"]} for a in DEVICES for b in DEVICES if a != b
        ],
    }


def split(ops: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Returns a placement whose ops change the device four times on their way through the network."""
    parts = 5
    return {
        "format": "placewright.placement",
        "version": 1,
        "graph": "",
        "machine": "",
        "placement": {
            op["name"]: DEVICES[index * parts // len(ops) % len(DEVICES)] for index, op in enumerate(ops)
        },
        "predicted": {},
    }


def failure(cli: str, name: str, folder: Path) -> str:
    """Exports and runs a model; returns what went wrong, or an empty text."""
    make: Callable[[], torch.nn.Module]
    make, batch, size, training = CASES[name]
    with uninitialised():
        model = make()
    network, placement, devices = (folder / f"{part}.json" for part in ("network", "placement", "machine"))
    placewright.export(model, torch.zeros(batch, 3, size, size), network, name=name, training=training)
    ops = json.loads(network.read_text())["ops"]
    placement.write_text(json.dumps(split(ops)))
    devices.write_text(json.dumps(machine()))
    command = [cli, "benchmark", network, "--machine", devices, "--placement", placement]
    run = subprocess.run([*command, "--steps", "1", "--json"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return f"exit status {run.returncode}: {run.stderr.strip()}"
    busy = [device["busy_s"] for device in json.loads(run.stdout)["devices"]]
    if len(busy) != len(DEVICES) or min(busy) <= 0:
        return f"the devices were busy for {busy} s, expected all of them at work"
    return ""


def main() -> int:
    failed = 0
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            problem = failure(sys.argv[1], name, Path(folder))
        print(f"{'FAILED' if problem else 'passed'} {name} {problem}".strip(), flush=True)
        failed += bool(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
