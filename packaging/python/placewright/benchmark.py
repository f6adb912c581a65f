# SPDX-License-Identifier: MIT
"""Measures training steps under a placement."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import statistics
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Tuple

import torch
from torch.utils._pytree import tree_map

from .apply import apply
from .calls import Calls, Watched, recorded
from .plan import Devices, File, Source
from .tensors import tensors_in

Loss = Callable[[Any, Any], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class StepTimes:
    """Measured durations of training steps, in seconds."""

    times_s: Tuple[float, ...]
    batch: int

    @property
    def mean_s(self) -> float:
        return statistics.fmean(self.times_s)

    @property
    def deviation_s(self) -> float:
        """Sample standard deviation; 0 for a single step."""
        return statistics.stdev(self.times_s) if len(self.times_s) > 1 else 0.0

    @property
    def median_s(self) -> float:
        return statistics.median(self.times_s)

    def __str__(self) -> str:
        return (
            f"{len(self.times_s)} steps of batch {self.batch}: mean {self.mean_s * 1e3:.3f} ms, deviation"
            f" {self.deviation_s * 1e3:.3f} ms,"
            f" median {self.median_s * 1e3:.3f} ms"
        )


def _to(value: Any, device: Optional[torch.device]) -> Any:
    if device is None:
        return value
    return tree_map(lambda item: item.to(device) if isinstance(item, torch.Tensor) else item, value)


def _call(model: torch.nn.Module, inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return model(**inputs)
    return model(inputs) if isinstance(inputs, torch.Tensor) else model(*inputs)


def _default_loss(output: Any, targets: Any) -> torch.Tensor:
    """Returns the cross entropy of the first output, or its mean if there are no targets."""
    first = tensors_in(output)[0]
    return first.mean() if targets is None else torch.nn.functional.cross_entropy(first, targets)


def _wait(model: torch.nn.Module) -> None:
    """Waits until the GPUs that hold the model have finished."""
    for device in {
        tensor.device for tensor in itertools.chain(model.parameters(), model.buffers()) if tensor.is_cuda
    }:
        torch.cuda.synchronize(device)


def _batches(data: Any) -> Iterator[Tuple[Any, Any]]:
    """Yields pairs (inputs, targets); targets is None for a batch of inputs alone.

    A tensor, a pair or a mapping is a single batch, which is repeated without end. So is a list of two
    tensors that differ in dtype or in the shape of an item: a DataLoader yields inputs and targets in this
    form.
    """
    repeated = isinstance(data, (torch.Tensor, tuple, Mapping))
    if isinstance(data, list) and len(data) == 2 and all(isinstance(item, torch.Tensor) for item in data):
        repeated = (data[0].dtype, data[0].shape[1:]) != (data[1].dtype, data[1].shape[1:])
    for batch in itertools.repeat(data) if repeated else data:
        is_pair = isinstance(batch, (tuple, list)) and len(batch) == 2
        yield tuple(batch) if is_pair else (batch, None)  # type: ignore[misc]


@contextlib.contextmanager
def _counted(model: torch.nn.Module) -> Iterator[Dict[str, int]]:
    """Counts the calls of each module within this context, by module path."""
    counts: Dict[str, int] = collections.Counter()
    with contextlib.ExitStack() as stack:
        for path, module in model.named_modules():

            def count(_module: Any, _inputs: Any, path: str = path) -> None:
                counts[path] += 1

            stack.callback(module.register_forward_pre_hook(count).remove)
        yield counts


def _traced_scopes(model: torch.nn.Module, counts: Mapping[str, int]) -> Set[str]:
    """Returns the scopes whose function calls get events of their own in a trace.

    A module that is called several times and calls no other module is left out: its own events stand for its
    op, and events of its calls would be counted in addition.
    """
    return {
        path.replace(".", "/")
        for path, module in model.named_modules()
        if counts.get(path, 0) <= 1
        or any(counts.get(f"{path}.{name}" if path else name) for name, _ in module.named_modules() if name)
    }


class _Named:
    """Context in which a profiler records modules under their paths (which op times are matched against) and
    function calls under the names of their ops."""

    def __init__(self, model: torch.nn.Module, scopes: Set[str]) -> None:
        self._model = model
        self._scopes = scopes
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> None:
        for name, module in self._model.named_modules():
            if not name:
                continue
            open_records: List[Any] = []

            def begin(
                _module: Any, _inputs: Any, name: str = name, records: List[Any] = open_records
            ) -> None:
                records.append(recorded(name))
                records[-1].__enter__()

            def end(_module: Any, _inputs: Any, _output: Any, records: List[Any] = open_records) -> None:
                records.pop().__exit__(None, None, None)

            self._undo.callback(module.register_forward_pre_hook(begin).remove)
            self._undo.callback(module.register_forward_hook(end).remove)
        calls = _calls_of(self._model)
        if calls is None:
            # Calls inside TorchScript cannot be intercepted.
            if any(isinstance(module, torch.jit.ScriptModule) for module in self._model.modules()):
                return
            calls = Calls()
            self._undo.enter_context(calls.watching(self._model))
        else:
            self._undo.enter_context(calls.each_call(self._model))
        calls.traced = self._scopes
        self._undo.callback(setattr, calls, "traced", ())

    def __exit__(self, *_: Any) -> None:
        self._undo.close()


def _calls_of(model: torch.nn.Module) -> Any:
    """Returns the object that runs the calls of a placed model; None for a model that is not placed."""
    forward = vars(model).get("forward")
    return forward.calls if isinstance(forward, Watched) else None


def _write_trace(file: File, model: torch.nn.Module, scopes: Set[str], step: Callable[[], None]) -> None:
    profiler: Any
    if torch.profiler.kineto_available():
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        profiler = torch.profiler.profile(activities=activities)
    else:
        profiler = torch.autograd.profiler.profile(use_kineto=False)
    with profiler, _Named(model, scopes), torch.profiler.record_function("ProfilerStep#0"):
        step()
    profiler.export_chrome_trace(str(file))


def benchmark(
    model: torch.nn.Module,
    placement: Optional[Source],
    data: Any,
    steps: int = 20,
    optimizer: Optional[torch.optim.Optimizer] = None,
    loss: Optional[Loss] = None,
    trace: Optional[File] = None,
    devices: Optional[Devices] = None,
    graph: Optional[File] = None,
    on_conflict: str = "error",
) -> StepTimes:
    """Measures training steps of a model: forward, loss, backward and update, until its GPUs have finished.

    The first step is not counted, nor is a step with a smaller batch than the first (the last batch of an
    epoch). The measurement changes the model's parameters, as any training does.

    Args:
        model: the module to train.
        placement: what is applied first, with `devices`, `graph` and `on_conflict` as in `apply`; None
            leaves the model where it is.
        data: a loader of batches, or one batch for all steps: a pair (inputs, targets), or a tensor or
            mapping of inputs alone. Inputs have the form that `export` takes.
        steps: maximum number of steps that are counted.
        optimizer: optimizer of the model's parameters; SGD if not given.
        loss: function of outputs and targets (None if the batch has none), with targets on the device of the
            first output. If not given: cross entropy of the first output, or its mean without targets.
        trace: file for a Chrome trace of one more step, with modules under their paths and calls under the
            names that `export` gives them (input of `--times`).

    Returns:
        The seconds of each counted step, and the batch size.

    Raises:
        ValueError: the data hold fewer than two whole batches, or `steps` is less than 1.
        PlacementError: `apply` cannot use the placement.
    """
    if placement is not None:
        apply(model, placement, devices, graph, on_conflict)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)
    loss = loss or _default_loss
    # A placed model moves its inputs itself.
    start = (
        None
        if _calls_of(model) is not None
        else next((parameter.device for parameter in model.parameters()), None)
    )

    def step(inputs: Any, targets: Any) -> None:
        optimizer.zero_grad()
        output = _call(model, _to(inputs, start))
        first = tensors_in(output)[0]
        loss(output, _to(targets, first.device)).backward()
        optimizer.step()
        _wait(model)

    was_training = model.training
    model.train()
    times = []
    batch_size = None
    try:
        batches = _batches(data)
        for inputs, targets in batches:
            size = _batch_size(inputs)
            if batch_size is not None and size < batch_size:
                continue
            _wait(model)
            began = time.perf_counter()
            if batch_size is None:
                with _counted(model) as counts:
                    step(inputs, targets)
                batch_size, first = size, (inputs, targets)
            else:
                step(inputs, targets)
                times.append(time.perf_counter() - began)
            if len(times) >= steps:
                break
        if not times:
            raise ValueError(
                "no step to measure: the data hold fewer than two whole batches, or steps is less than 1"
            )
        if trace is not None:
            _write_trace(trace, model, _traced_scopes(model, counts), lambda: step(*first))
    finally:
        model.train(was_training)
    return StepTimes(tuple(times), batch_size or 0)


def _batch_size(inputs: Any) -> int:
    return next((int(tensor.shape[0]) for tensor in tensors_in(inputs) if tensor.dim() > 0), 1)
