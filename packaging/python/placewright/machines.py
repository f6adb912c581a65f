# SPDX-License-Identifier: MIT
"""Machines: this computer, and those that the command line knows."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any, Dict, List, Union

from .command_line import run
from .display import bytes_text, flops_text, table_html, table_text


class Machine:
    """The devices of a computer and the links between them.

    Attributes:
        document: the machine file (placewright.machine).
    """

    def __init__(self, document: Dict[str, Any]) -> None:
        self.document = document

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def devices(self) -> List[str]:
        """Names of the devices: "gpu:0" is cuda:0."""
        return [str(device["name"]) for device in self.document["devices"]]

    def save(self, file: Union[str, Path]) -> None:
        """Writes a machine file, for `machine=` and `--machine`."""
        Path(file).write_text(json.dumps(self.document, indent=2) + "\n", encoding="utf-8")

    def _rows(self) -> List[List[str]]:
        rows = [["device", "model", "memory", "bandwidth", "float32"]]
        for device in self.document["devices"]:
            flops = device.get("peak_flops")
            flops = flops.get("float32", flops.get("fp32")) if isinstance(flops, dict) else flops
            bandwidth = device.get("memory_bandwidth")
            rows.append(
                [
                    device["name"],
                    device.get("model", ""),
                    bytes_text(device["memory_bytes"]) if "memory_bytes" in device else "",
                    f"{bytes_text(bandwidth)}/s" if bandwidth else "",
                    flops_text(flops) if flops else "",
                ]
            )
        return rows

    def __repr__(self) -> str:
        return "\n".join([self.name, table_text(self._rows()), *self.document.get("notes", [])])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.document.get("notes", []))
        return f"<p>{html.escape(self.name)}</p>{table_html(self._rows())}" + (notes and f"<ul>{notes}</ul>")


#: This computer ("this"), a machine, a machine file, or what the command line takes: "4x-v100-nvlink", "2x RTX
#: 4090".
MachineLike = Union[str, "os.PathLike[str]", Machine]


def machine() -> Machine:
    """Returns this computer: its CPU, its GPUs and their links, as far as they can be found.

    Raises:
        CommandLineError: placewright-cli, which looks for them, is missing.
    """
    return Machine(run(["machines", "--detect"]))


def machine_argument(machine_like: MachineLike, folder: Path) -> str:
    """Returns the value of `--machine`; writes a machine that is no file into `folder`."""
    if machine_like == "this":
        machine_like = machine()
    if isinstance(machine_like, Machine):
        file = folder / "machine.json"
        machine_like.save(file)
        return str(file)
    return os.fspath(machine_like)
