# SPDX-License-Identifier: MIT
"""Measures the ops of a training step on the CPU while the step runs.

An op that is measured alone finds its tensors in the caches. In a step it does so or not, depending on what
runs between, which makes a difference of a quarter for small networks. The framework also sums the gradients of
a tensor that several ops read, and spends microseconds on each op, views included.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import statistics
from typing import (
    Any,
    Callable,
    Counter,
    DefaultDict,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Set,
    Tuple,
    Union,
)

import torch

from .calls import Call, Calls, changed_by
from .stopwatch import TIMED_RUNS, UNTIMED_RUNS, clock
from .tensors import tensors_in


class StepTimes(NamedTuple):
    """Median seconds of a step's ops."""

    ops: Dict[str, Dict[str, float]]  #: "forward" and "backward" by name of the call
    parameters: Dict[int, float]  #: of summing gradients, by identity of a parameter that several ops read


class _Timer(Calls):
    """Measures the calls of a forward pass and the autograd nodes that they make."""

    def __init__(self) -> None:
        super().__init__()
        self.forward: DefaultDict[str, float] = collections.defaultdict(float)  #: seconds by name of the call
        #: Likewise; by identity of the parameter for the gradients of one that several calls read.
        self.backward: DefaultDict[Union[str, int], float] = collections.defaultdict(float)
        self.events: Counter[Union[str, int]] = collections.Counter()  #: number of nodes, likewise
        self.repeated_s = 0.0  #: of calls that a checkpoint runs again in the backward pass
        self._readers: DefaultDict[int, Set[str]] = collections.defaultdict(set)  # names of calls
        self._nodes: Set[Any] = set()
        self._is_backward = False
        self._ended_s = 0.0  # when the last autograd node ended

    def run(
        self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        began = clock()
        result = function(*args, **kwargs)
        if not self._is_backward:
            self.forward[call.name] += clock() - began
        if torch.is_grad_enabled():
            self._follow(call.name, tensors_in(result) + changed_by(call, args, kwargs))
        if self._is_backward:
            now = clock()
            self.repeated_s += now - self._ended_s
            self._ended_s = now
        return result

    @contextlib.contextmanager
    def backward_pass(self) -> Iterator[None]:
        """Context in which autograd nodes run."""
        self._is_backward = True
        self._ended_s = clock()
        try:
            yield
        finally:
            # Nodes, their hooks and this object hold each other.
            self._nodes.clear()
        for parameter, readers in self._readers.items():
            if len(readers) == 1 and parameter in self.backward:
                (reader,) = readers
                self.backward[reader] += self.backward.pop(parameter)
                self.events[reader] += self.events.pop(parameter)

    def _follow(self, name: str, outputs: List[torch.Tensor]) -> None:
        """Measures the nodes that a call has made: those behind its outputs that no call before has made."""
        found = [output.grad_fn for output in outputs]
        while found:
            node = found.pop()
            if node is None:
                continue
            parameter = getattr(node, "variable", None)
            is_leaf = isinstance(parameter, torch.Tensor)
            if is_leaf:
                self._readers[id(parameter)].add(name)
            if node in self._nodes:
                continue
            self._nodes.add(node)
            key = id(parameter) if is_leaf else name
            self.backward[key] += 0.0
            node.register_hook(functools.partial(self._end, key))
            found += [following for following, _ in node.next_functions]

    def _end(self, key: Union[str, int], *_: Any) -> None:
        now = clock()
        self.backward[key] += now - self._ended_s
        self.events[key] += 1
        self._ended_s = clock()


@contextlib.contextmanager
def _left_alone(parameters: List[torch.Tensor]) -> Iterator[None]:
    """Context in which the gradients of parameters are not there, and nothing is collected."""
    gradients = [parameter.grad for parameter in parameters]
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        if collects:
            gc.enable()


def _step(
    model: torch.nn.Module,
    parameters: List[torch.Tensor],
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    training: bool,
    timer: Optional[_Timer],
) -> Tuple[float, float]:
    """Runs a step and returns the seconds of its forward and backward pass."""
    for parameter in parameters:
        parameter.grad = None
    with torch.set_grad_enabled(training), timer.watching(model) if timer else contextlib.nullcontext():
        began = clock()
        results = tensors_in(model(*args, **kwargs))
        forward_s = clock() - began
        results = [result for result in results if result.requires_grad]
        ones = [torch.ones_like(result) for result in results]
        began = clock()
        if results:
            with timer.backward_pass() if timer else contextlib.nullcontext():
                torch.autograd.backward(results, ones, inputs=parameters)
        return forward_s, clock() - began


def _without_measuring(seconds: Dict[Any, float], events: Dict[Any, int], whole_s: float) -> Dict[Any, float]:
    """Returns the seconds of a pass by op such that their sum is about that of a pass in which nothing is
    measured: each measured event takes some microseconds, as does the program between two ops."""
    each_s = (sum(seconds.values()) - whole_s) / max(1, sum(events.values()))
    # Half of an op's time stays in any case: these are averages.
    return {key: max(value / 2, value - events[key] * each_s) for key, value in seconds.items()}


def step_times(
    model: torch.nn.Module,
    parameters: List[torch.Tensor],
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    training: bool,
) -> StepTimes:
    """Runs a few steps (forward and backward; without `training` forward alone) of a model on the CPU and
    returns the times of its ops. `parameters` are those that are trained."""
    timers, wholes = [], []
    with _left_alone(parameters):
        for _ in range(UNTIMED_RUNS + TIMED_RUNS):
            wholes.append(_step(model, parameters, args, kwargs, training, None))
            timers.append(_Timer())
            _step(model, parameters, args, kwargs, training, timers[-1])
    timers, wholes = timers[UNTIMED_RUNS:], wholes[UNTIMED_RUNS:]

    def median(times: List[Dict[Any, float]]) -> Dict[Any, float]:
        return {key: statistics.median(item.get(key, 0.0) for item in times) for key in times[0]}

    forward = median([timer.forward for timer in timers])
    forward = _without_measuring(
        forward, dict.fromkeys(forward, 1), statistics.median(whole for whole, _ in wholes)
    )
    backward = _without_measuring(
        median([timer.backward for timer in timers]),
        timers[0].events,
        statistics.median(whole for _, whole in wholes)
        - statistics.median(timer.repeated_s for timer in timers),
    )
    ops: Dict[str, Dict[str, float]] = {name: {"forward": seconds} for name, seconds in forward.items()}
    gradients: Dict[int, float] = {}
    for key, seconds in backward.items():
        if isinstance(key, int):
            gradients[key] = seconds
        else:
            ops.setdefault(key, {})["backward"] = seconds
    return StepTimes(ops, gradients)
