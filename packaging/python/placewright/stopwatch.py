# SPDX-License-Identifier: MIT
"""Measures calls on devices."""

from __future__ import annotations

import contextlib
import math
import platform
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple, Union

import torch
from torch.utils._pytree import tree_map

from .errors import ExportError
from .tensors import tensors_in

TIMED_RUNS = 5
UNTIMED_RUNS = 2
#: A call that takes less than this is measured several times in a row: clock and start of the backward pass
#: take some microseconds themselves. Longer calls are not: their results would push each other out of the
#: caches, where the next op finds them in a training step.
_LEAST_S = 60e-6
_MOST_CALLS = 16
#: Bytes of tensors that are copied for calls that change them.
_MOST_COPIED_BYTES = 64 << 20

Times = Dict[str, Dict[str, float]]


class _Overhead(NamedTuple):
    """Seconds of a measurement that a training step does not spend."""

    clock_s: float  #: to read the clock
    start_s: float  #: of each call of torch.autograd.grad, with the clock
    leaf_s: float  #: of each tensor that it returns a gradient of


class Stopwatch:
    """Measures the time of calls on each of some devices."""

    def __init__(self, devices: Sequence[Union[str, torch.device]]) -> None:
        self._devices = {model_name(torch.device(device)): torch.device(device) for device in devices}
        self._overheads: Dict[torch.device, _Overhead] = {}
        self._sums: Dict[Tuple[Any, ...], float] = {}  # seconds by device, shape and type

    @property
    def has_cpu(self) -> bool:
        return any(device.type == "cpu" for device in self._devices.values())

    def without_cpu(self) -> Stopwatch:
        """Returns a stopwatch for the GPUs among the devices."""
        return Stopwatch([device for device in self._devices.values() if device.type != "cpu"])

    def times(
        self,
        function: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        differentiable: Callable[[torch.Tensor], bool],
        is_view: bool = False,
        is_part: bool = False,
    ) -> Times:
        """Returns the median forward and backward seconds of a call, by device model.

        A view keeps a CPU busy, but no GPU. Only the backward of a view of a part is work for a GPU: it fills
        the gradient of the whole with zeros, and copies into it.
        """
        times = {}
        for model, device in self._devices.items():
            is_free = is_view and device.type != "cpu"
            if is_free and not is_part:
                continue
            times[model] = self._times_on(device, function, args, kwargs, differentiable)
            if is_free:
                del times[model]["forward"]
        return times

    def add_sums(self, times: Times, shape: torch.Size, dtype: torch.dtype, gradients: int) -> None:
        """Adds to the backward seconds of an op those of summing `gradients` gradients of an output, which
        PyTorch does one after the other before it runs the op's backward."""
        for model, device in self._devices.items():
            key = (device, shape, dtype)
            if key not in self._sums:
                pair = tuple(torch.zeros(shape, dtype=dtype, device=device) for _ in range(2))
                self._sums[key] = self._times_on(device, torch.add, pair, {}, lambda tensor: False)["forward"]
            entry = times.setdefault(model, {})
            entry["backward"] = entry.get("backward", 0.0) + (gradients - 1) * self._sums[key]

    def _times_on(
        self,
        device: torch.device,
        function: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        differentiable: Callable[[torch.Tensor], bool],
    ) -> Dict[str, float]:
        if device not in self._overheads:
            self._overheads[device] = _overhead_on(device)
        overhead = self._overheads[device]
        call = _Call(device, function, args, kwargs, differentiable)

        def median_of(item: int, first_s: float) -> Tuple[float, int]:
            """Returns the median seconds of a number of calls or of their backward passes."""
            calls = max(1, min(call.most_calls, math.ceil(_LEAST_S / max(first_s, 1e-9))))
            seconds = [call.run(calls)[item] for _ in range(UNTIMED_RUNS + TIMED_RUNS)]
            return statistics.median(seconds[UNTIMED_RUNS:]), calls

        first_s = call.run(1)
        seconds, calls = median_of(0, first_s[0])
        times = {"forward": max(0.0, seconds - overhead.clock_s) / calls}
        if call.has_backward:
            seconds, calls = median_of(1, first_s[1])
            one_s = (seconds - overhead.start_s) / calls
            times["backward"] = max(0.0, one_s - call.leaves * overhead.leaf_s)
        return times


class _Call:
    """A call with its tensors on a device."""

    def __init__(
        self,
        device: torch.device,
        function: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        differentiable: Callable[[torch.Tensor], bool],
    ) -> None:
        self._device, self._function = device, function
        self._differentiable = {id(tensor) for tensor in tensors_in((args, kwargs)) if differentiable(tensor)}
        self._given = (args, kwargs)
        self._copies = {
            id(tensor): tensor.detach().to(device, copy=True) for tensor in tensors_in((args, kwargs))
        }
        self._changes = _is_changed(function, kwargs)
        self.leaves = 0  #: number of tensors that a gradient is computed of
        self.has_backward = False
        copied = sum(tensor.numel() * tensor.element_size() for tensor in self._copies.values())
        self.most_calls = max(1, _MOST_COPIED_BYTES // max(1, copied)) if self._changes else _MOST_CALLS

    def run(self, calls: int) -> Tuple[float, float]:
        """Returns the seconds of `calls` calls and of their backward pass, which starts once."""
        leaves: List[torch.Tensor] = []

        def own(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            # Shares the numbers, but not the count of their changes, which the backward pass checks.
            tensor = self._copies[id(value)].data
            if id(value) in self._differentiable:
                leaves.append(tensor.requires_grad_())
            # PyTorch refuses an in-place change of a leaf.
            return tensor.clone() if self._changes else tensor

        with torch.enable_grad():
            given = [tree_map(own, self._given) for _ in range(calls)]
            function = self._function
            forward_s, results = _timed(
                self._device, lambda: [function(*args, **kwargs) for args, kwargs in given]
            )
        outputs = [tensor for tensor in tensors_in(results) if tensor.grad_fn is not None]
        self.leaves = len(leaves) // calls
        self.has_backward = bool(leaves and outputs)
        if not self.has_backward:
            return forward_s, 0.0
        ones = [torch.ones_like(output) for output in outputs[: len(outputs) // calls]] * calls
        backward_s, _ = _timed(
            self._device, lambda: torch.autograd.grad(outputs, leaves, ones, allow_unused=True)
        )
        return forward_s, backward_s


def _overhead_on(device: torch.device) -> _Overhead:
    def seconds(leaves: int, length: int) -> float:
        """Returns the median seconds of the backward pass of chains of views, one for each leaf."""
        runs = []
        for _ in range(UNTIMED_RUNS + 3 * TIMED_RUNS):
            tensors = [torch.zeros(1, device=device, requires_grad=True) for _ in range(leaves)]
            outputs = tensors
            with torch.enable_grad():
                for _ in range(length):
                    outputs = [output.view(1) for output in outputs]
            ones = [torch.ones(1, device=device)] * leaves
            runs.append(_timed(device, lambda: torch.autograd.grad(outputs, tensors, ones))[0])
        return statistics.median(runs[UNTIMED_RUNS:])

    clock_s = statistics.median(_timed(device, lambda: None)[0] for _ in range(3 * TIMED_RUNS))
    single_s = seconds(1, 1)
    leaf_s = (seconds(17, 1) - single_s) / 16
    view_s = (seconds(1, 17) - single_s) / 16
    return _Overhead(clock_s, max(0.0, single_s - leaf_s), max(0.0, leaf_s - view_s))


def _is_changed(function: Callable[..., Any], kwargs: Dict[str, Any]) -> bool:
    name = getattr(function, "__name__", "")
    return bool(kwargs.get("inplace")) or name.endswith("_")


def clock() -> float:
    """Returns seconds: CPU time where PyTorch has one thread, so that other programs do not count."""
    return time.thread_time() if torch.get_num_threads() == 1 else time.perf_counter()


def _timed(device: torch.device, work: Callable[[], Any]) -> Tuple[float, Any]:
    """Returns the seconds that `work` takes on a device, and its result."""
    if device.type == "cuda":
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.device(device):
            start.record()
            result = work()
            end.record()
            end.synchronize()
        return start.elapsed_time(end) / 1e3, result
    began = clock()
    result = work()
    return clock() - began, result


def model_name(device: torch.device) -> str:
    """Returns the name of a device's model, as machine files spell it."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type != "cpu":
        raise ExportError(f"can't measure on {device}, expected cpu or cuda devices")
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "cpu"
