# SPDX-License-Identifier: MIT
"""A placement that was found for a network, with what it is expected to take."""

from __future__ import annotations

import collections
import html
import json
import os
import warnings
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch

from .apply import apply
from .command_line import Folder, Options, arguments_of, run
from .display import bytes_text, seconds_text, spans_of, table_html, table_text, timeline_svg
from .errors import PlacementError
from .plan import Devices

DeviceMap = Dict[str, Union[int, str]]


class Load(NamedTuple):
    """What a device does in a step."""

    device: str
    model: str
    ops: int  #: forward ops that are placed there
    busy: float  #: share of the time
    peak_bytes: float
    memory_bytes: float


class Search(NamedTuple):
    """The files that a search read, and its result. Paths are as the command line takes them."""

    network: str
    machine: str
    options: Options  #: of the simulation
    result: Dict[str, Any]  #: of `placewright-cli optimize --json`
    folder: Folder  #: holds the files that live as long as the placement


class Placement:
    """The device of every op, the step time that follows, and ways to use it. Shows itself in a notebook as a
    table of devices and a timeline.

    Attributes:
        ops: the device of each op: {"conv1/conv2d": "gpu:0"}.
        step_time_s: simulated seconds of a step.
        interval_s: the least and the largest step time that the error of the cost model leaves likely, in
            seconds.
        speedup: how many times as fast as the best single device; None if no single device holds the network.
        lower_bound_s: no placement is faster; None if there is no proof.
        loads: what each device does in a step.
        document: the placement file (placewright.placement).
    """

    def __init__(self, search: Search, model: Optional[torch.nn.Module]) -> None:
        self._search = search
        self._model = model
        self._device_map: Optional[DeviceMap] = None
        file = self._file("placement.json")
        self.document: Dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self.ops: Dict[str, str] = self.document["placement"]
        best = search.result["best"]
        self.step_time_s = float(best["step_time_s"])
        self.interval_s: Tuple[float, float] = (
            float(best.get("step_time_low_s") or self.step_time_s),
            float(best.get("step_time_high_s") or self.step_time_s),
        )
        self.speedup: Optional[float] = best.get("speedup")
        self.lower_bound_s: Optional[float] = search.result.get("lower_bound_s")
        trace = self._file("trace.json")
        simulated = run(["simulate", *self._where(), "--placement", file, "--trace", trace], quiet=True)
        self._spans, self._lanes = spans_of(json.loads(trace.read_text(encoding="utf-8")))
        counts = collections.Counter(self.ops.values())
        self.loads = [
            Load(
                device["name"],
                device["model"],
                counts[device["name"]],
                device["busy_s"] / (simulated["total_time_s"] or 1.0),
                device["peak_bytes"],
                device["memory_bytes"],
            )
            for device in simulated["devices"]
        ]
        used = {span.lane for span in self._spans}
        devices = {load.device for load in self.loads}
        self._lanes = [lane for lane in self._lanes if lane in devices or lane in used]

    @property
    def network_file(self) -> Optional[str]:
        """The network that was placed, if it is a file of `export`."""
        return self._search.network if self._model is not None else None

    def _file(self, name: str) -> Path:
        return self._search.folder.path / name

    def _where(self) -> List[str]:
        return [self._search.network, "--machine", self._search.machine, *arguments_of(self._search.options)]

    @property
    def device_map(self) -> DeviceMap:
        """The placement by modules, for `dispatch_model` and `from_pretrained(device_map=...)`: the number of a
        GPU, or "cpu". A module whose ops are on several devices is put where most of its parameters are;
        a warning says what that costs."""
        if self._device_map is None:
            file = self._file("device_map.json")
            placed = ["--placement", self._file("placement.json"), "--repair"]
            written = run(["export", *self._where(), *placed, "--to", "device-map", "--out", file])
            self._device_map = json.loads(file.read_text(encoding="utf-8"))
            before, after = written["step_time_before_s"], written["step_time_s"]
            if before is not None and after is not None and abs(after - before) > 0.01 * before:
                warnings.warn(
                    f"a step takes {seconds_text(after)} with whole modules, {seconds_text(before)} as placed;"
                    " placewright.device_map searches for whole modules",
                    stacklevel=2,
                )
        return dict(self._device_map or {})

    def apply(
        self,
        model: Optional[torch.nn.Module] = None,
        devices: Optional[Devices] = None,
    ) -> torch.nn.Module:
        """Puts a model on the devices and returns it; see `placewright.apply`.

        Args:
            model: that of the search if not given.
            devices: PyTorch's device for each device: {"gpu:0": "cuda:0", "gpu:1": "cpu"}. If not given,
                "gpu:1" is "cuda:1".
        """
        target = self._model if model is None else model
        if target is None:
            raise PlacementError("this placement was made for a file: give the model to apply it to")
        return apply(target, self, devices)

    def save(self, file: Union[str, "os.PathLike[str]"], format: str = "placement") -> None:
        """Writes a file.

        Args:
            format: "placement" (for `apply`, the window and the command line), "device-map", "pipeline",
                "chrome-trace", "csv" or another of `placewright-cli export --to`.
        """
        source = ["--placement", self._file("placement.json")]
        run(["export", *self._where(), *source, "--to", format, "--out", os.fspath(file)])

    def _rows(self) -> List[List[str]]:
        rows = [["device", "model", "ops", "busy", "memory"]]
        for load in self.loads:
            memory = f"{bytes_text(load.peak_bytes)} of {bytes_text(load.memory_bytes)}"
            rows.append([load.device, load.model, str(load.ops), f"{load.busy:.0%}", memory])
        return rows

    def _headline(self) -> str:
        low, high = map(seconds_text, self.interval_s)
        text = f"A step of {self.document['graph']} takes {seconds_text(self.step_time_s)} ({low} to {high})"
        if self.speedup is not None and self.speedup > 1.005:
            text += f", {self.speedup:.3g} times as fast as on the best single device"
        if self.lower_bound_s:
            text += f"; no placement takes less than {seconds_text(self.lower_bound_s)}"
        return f"{text}. Machine: {self.document['machine']}"

    def __repr__(self) -> str:
        return f"{self._headline()}\n{table_text(self._rows())}"

    def _repr_html_(self) -> str:
        return (
            f"<p>{html.escape(self._headline())}</p>{table_html(self._rows())}"
            + timeline_svg(self._spans, self._lanes, max((span.end_s for span in self._spans), default=0))
        )
