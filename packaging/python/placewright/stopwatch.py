# SPDX-License-Identifier: MIT
"""Measures calls on devices."""

from __future__ import annotations

import contextlib
import platform
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import torch
from torch.utils._pytree import tree_map

from .calls import tensors_in

_TIMED_RUNS = 5
_UNTIMED_RUNS = 2


class Stopwatch:
    """Measures the time of calls on each of some devices."""

    def __init__(self, devices: Sequence[Union[str, torch.device]]) -> None:
        self._devices = {_model_name(torch.device(device)): torch.device(device) for device in devices}

    def times(
        self,
        function: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        differentiable: Callable[[torch.Tensor], bool],
    ) -> Dict[str, Dict[str, float]]:
        """Returns the median forward and backward seconds of a call, by device model."""
        return {
            model: self._times_on(device, function, args, kwargs, differentiable)
            for model, device in self._devices.items()
        }

    @staticmethod
    def _times_on(
        device: torch.device,
        function: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        differentiable: Callable[[torch.Tensor], bool],
    ) -> Dict[str, float]:
        leaves: List[torch.Tensor] = []

        def copy(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            tensor = value.detach().to(device, copy=True)
            if not differentiable(value):
                return tensor
            leaves.append(tensor.requires_grad_())
            # PyTorch refuses an in-place change of a leaf.
            return tensor.clone() if _is_changed(function, kwargs) else tensor

        forward, backward = [], []
        for run in range(_UNTIMED_RUNS + _TIMED_RUNS):
            leaves.clear()
            with torch.enable_grad():
                own_args, own_kwargs = tree_map(copy, args), tree_map(copy, kwargs)
                seconds, result = _timed(device, lambda: function(*own_args, **own_kwargs))
            if run >= _UNTIMED_RUNS:
                forward.append(seconds)
            outputs = [tensor for tensor in tensors_in(result) if tensor.grad_fn is not None]
            if leaves and outputs:
                gradients = [torch.ones_like(output) for output in outputs]
                seconds, _ = _timed(
                    device, lambda: torch.autograd.grad(outputs, leaves, gradients, allow_unused=True)
                )
                if run >= _UNTIMED_RUNS:
                    backward.append(seconds)
        times = {"forward": statistics.median(forward)}
        if backward:
            times["backward"] = statistics.median(backward)
        return times


def _is_changed(function: Callable[..., Any], kwargs: Dict[str, Any]) -> bool:
    name = getattr(function, "__name__", "")
    return bool(kwargs.get("inplace")) or name.endswith("_")


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
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _model_name(device: torch.device) -> str:
    """Returns the name of a device's model, as machine files spell it."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type != "cpu":
        raise ValueError(f"can't measure on {device}, expected cpu or cuda devices")
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "cpu"
