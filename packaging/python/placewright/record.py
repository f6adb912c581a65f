# SPDX-License-Identifier: MIT
"""Records a model's forward pass: the calls that it makes, and where their tensors come from."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import math
import re
from typing import Any, Callable, Counter, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .attributes import attributes_of
from .calls import Call, Calls, changed_by, kind_named
from .errors import ExportError
from .flops import RANGES, SHAPED, VIEWS, forward_flops, has_formula
from .step_times import step_times
from .stopwatch import Stopwatch, model_name
from .tensors import storage_of, tensors_in

_DTYPES = {
    torch.float64: "float64",
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.int64: "int64",
    torch.int32: "int32",
    torch.int16: "int16",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
    torch.qint8: "int8",
    torch.quint8: "uint8",
    torch.qint32: "int32",
}


class Value(NamedTuple):
    """Source of a tensor: output `output` of node `index`, or input or parameter `index`."""

    source: str  # "node", "input" or "parameter"
    index: int
    output: int = 0


@dataclasses.dataclass
class Parameter:
    """A parameter or buffer of a model."""

    tensor: torch.Tensor
    path: str  # "layer1.0.conv1.weight"; the first name of a tied parameter
    names: List[str]  # in the state_dict: several if tied, none if not saved
    trained: bool
    times: Dict[str, Dict[str, float]] = dataclasses.field(default_factory=dict)  # to sum its gradients


@dataclasses.dataclass
class Node:
    call: Call
    inputs: List[Value]
    outputs: List[Dict[str, Any]]
    flops: Optional[float]  # None: not all known
    least_flops: float  # the known part of the FLOPs
    times: Dict[str, Dict[str, float]]
    packed_bytes: int = 0  # of weights that are neither parameters nor buffers
    casts: Dict[Value, Dict[str, Any]] = dataclasses.field(default_factory=dict)  # sizes of cast inputs
    differentiable: Set[Value] = dataclasses.field(default_factory=set)  # inputs that have a gradient
    attributes: Dict[str, Any] = dataclasses.field(default_factory=dict)


def needed_nodes(nodes: List[Node], results: List[Value]) -> List[bool]:
    """Returns which nodes the results depend on; all nodes if no result comes from a node."""
    found = [value.index for value in results if value.source == "node"]
    needed = [not found] * len(nodes)
    while found:
        index = found.pop()
        if not needed[index]:
            needed[index] = True
            found += [value.index for value in nodes[index].inputs if value.source == "node"]
    return needed


class _Change(NamedTuple):
    """An in-place change of a storage, made by node `node`."""

    node: int
    differentiable: bool


def state_of(model: torch.nn.Module) -> List[Parameter]:
    """Returns the parameters and buffers of a model, tied ones once."""
    found: Dict[int, Parameter] = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        for table in (module._parameters, module._buffers):
            for key, tensor in table.items():
                if tensor is None:
                    continue
                path = f"{prefix}.{key}" if prefix else key
                trained = table is module._parameters and tensor.requires_grad
                parameter = found.setdefault(id(tensor), Parameter(tensor, path, [], trained))
                if key not in module._non_persistent_buffers_set:
                    parameter.names.append(path)
    return list(found.values())


def device_of(state: List[Parameter]) -> torch.device:
    """Returns the device of a model; the CPU if it holds nothing."""
    return state[0].tensor.device if state else torch.device("cpu")


def bytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def size_of(tensor: torch.Tensor) -> Dict[str, Any]:
    dtype = _DTYPES.get(tensor.dtype)
    return {"bytes": bytes_of(tensor)} if dtype is None else {"shape": list(tensor.shape), "dtype": dtype}


def _packed_in(args: Tuple[Any, ...]) -> List[Tuple[Any, List[torch.Tensor]]]:
    """Returns objects that hold weights in a library's own layout, as in torch.quantization, with these
    weights."""
    packed = [item for item in args if isinstance(item, torch.ScriptObject) and hasattr(item, "unpack")]
    return [(item, tensors_in(item.unpack())) for item in packed]


def _operands(kind: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[List[int]]:
    """Returns the shapes of the tensors of a call in the order that forward_flops expects."""
    if kind in ("lstm", "gru", "rnn"):
        # States are a tensor or a tuple, weights a list.
        args = (args[0], *(item for item in args[1:] if isinstance(item, list)))
    elif kind in ("lstm_cell", "gru_cell", "rnn_cell"):
        args = (args[0], *args[2:])
    packed = [tensor for _, tensors in _packed_in(args) for tensor in tensors]
    return [list(tensor.shape) for tensor in tensors_in((args, kwargs)) + packed]


#: Points per dimension that an element is made of, by the mode of an interpolation (a number in
#: torch.grid_sampler).
_POINTS = {
    **dict.fromkeys(("nearest", "nearest-exact", 1), 1),
    **dict.fromkeys(("linear", "bilinear", "trilinear", 0), 2),
    **dict.fromkeys(("bicubic", 2), 4),
}


def _window(kind: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> int:
    """Returns the `window` argument of forward_flops for a call."""
    if kind == "interpolate":
        mode = kwargs.get("mode", args[3] if len(args) > 3 else "nearest")
        return 0 if kwargs.get("antialias") else _POINTS.get(mode, 0)
    if kind == "grid_sample":
        return _POINTS.get(kwargs.get("mode", args[2] if len(args) > 2 else "bilinear"), 0)
    second = args[1] if len(args) > 1 else None
    if kind == "local_response_norm":
        return int(kwargs.get("size", second))
    pool = re.fullmatch(r"(?:max|avg)_pool(\d)d", kind)
    if not pool:
        return 1
    extent = kwargs.get("kernel_size", second)
    extents = [extent] if isinstance(extent, int) else list(extent)
    return math.prod(extents if len(extents) > 1 else extents * int(pool.group(1)))


class _Counter(TorchDispatchMode):
    """Counts the FLOPs of a function without a formula as the sum of the functions that it calls."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0.0
        self.known = True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs, outputs = tensors_in((args, kwargs)), tensors_in(result)
        # Functions without tensor inputs (empty, arange) compute nothing.
        if inputs and outputs:
            kind = kind_named(func._schema.name.split("::")[1])
            window = _window(kind, args, kwargs or {})
            flops = forward_flops(
                kind, _operands(kind, args, kwargs or {}), [output.shape for output in outputs], window
            )
            self.flops += flops or 0
            self.known &= flops is not None
        return result


class _Casts(TorchDispatchMode):
    """Sees which tensors a function casts to another floating type."""

    def __init__(self) -> None:
        super().__init__()
        self.made: Dict[int, Dict[str, Any]] = {}  # size of the first cast by identity of the tensor

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten._to_copy.default:
            floating = args[0].is_floating_point() and result.is_floating_point()
            if floating and result.dtype != args[0].dtype:
                self.made.setdefault(id(args[0]), size_of(result))
        return result


def autocast_acts_on(kind: str) -> bool:
    """Returns whether the program is inside torch.autocast for devices of a type ("cpu", "cuda"), for the meta
    device of either."""
    if kind == "meta":
        return autocast_acts_on("cpu") or autocast_acts_on("cuda")
    try:
        return bool(torch.is_autocast_enabled(kind))
    except TypeError:  # PyTorch before 2.4
        return bool(torch.is_autocast_cpu_enabled() if kind == "cpu" else torch.is_autocast_enabled())


@contextlib.contextmanager
def _without_cached_casts() -> Iterator[None]:
    """Context in which autocast casts a parameter at each use. A cast that was cached here, without
    gradients, would take the place of one with gradients later in the program."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


class NeedsNumbers(Exception):
    """A forward pass needs numbers, not only shapes; the text is the reason."""


class Recorder(Calls):
    """Records the calls of a forward pass and the sources of their tensors. `device` is that of the model, even
    where tensors without data take the place of its own."""

    def __init__(
        self,
        state: List[Parameter],
        inputs: List[torch.Tensor],
        stopwatch: Optional[Stopwatch],
        device: torch.device,
    ) -> None:
        super().__init__()
        self.nodes: List[Node] = []
        self.failed: Optional[str] = None  #: name of the call that raised an error
        self.without_autocast: Optional[str] = None  #: name of the first call on which autocast cannot act
        self._state = state
        self._stopwatch = stopwatch
        self._device = device
        # By identity of the tensor. The tensors are kept, so that no identity is used twice.
        self._values: Dict[int, Value] = {}
        self._sizes: Dict[Value, Tuple[torch.Size, torch.dtype]] = {}
        self._differentiable: Set[int] = set()
        self._kept: List[Any] = []
        self._packed: Set[int] = set()
        self._changes: Dict[int, _Change] = {}  # the last change of each storage
        for index, tensor in enumerate(inputs):
            self._set(tensor, Value("input", index), False)
        for index, parameter in enumerate(state):
            self._set(parameter.tensor, Value("parameter", index), parameter.trained)

    def value_of(self, tensor: torch.Tensor) -> Optional[Value]:
        """Returns the source of a tensor; None for a constant, which depends on no input or parameter."""
        value = self._values.get(id(tensor))
        change = self._changes.get(storage_of(tensor))
        if change is None or (value is not None and value.source == "node" and value.index >= change.node):
            return value
        # The tensor's storage was changed later through another view. Now that the tensor is read, it becomes
        # one more output of the node that made the change.
        outputs = self.nodes[change.node].outputs
        self._set(tensor, Value("node", change.node, len(outputs)), change.differentiable)
        outputs.append(size_of(tensor))
        return self._values[id(tensor)]

    def add_gradient_sums(self, results: List[torch.Tensor]) -> None:
        """Adds to the times of ops and parameters those of summing the gradients of all their readers."""
        if self._stopwatch is None:
            return
        values = [value for value in map(self.value_of, results) if value is not None]
        readers: Counter[Value] = collections.Counter()
        for node, needed in zip(self.nodes, needed_nodes(self.nodes, values)):
            if needed:
                readers.update(value for value in node.inputs if value in node.differentiable)
        for value, count in readers.items():
            if count < 2:
                continue
            source = self.nodes[value.index] if value.source == "node" else self._state[value.index]
            self._stopwatch.add_sums(source.times, *self._sizes[value], count)

    def _set(self, tensor: torch.Tensor, value: Value, differentiable: bool) -> None:
        self._values[id(tensor)] = value
        self._sizes.setdefault(value, (tensor.shape, tensor.dtype))
        self._kept.append(tensor)
        if differentiable and tensor.is_floating_point():
            self._differentiable.add(id(tensor))

    def _packed_bytes(self, args: Tuple[Any, ...]) -> int:
        """Returns the bytes of packed weights that no earlier call has read."""
        size = 0
        for item, tensors in _packed_in(args):
            if id(item) not in self._packed:
                self._packed.add(id(item))
                self._kept.append(item)
                size += sum(map(bytes_of, tensors))
        return size

    def run(
        self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        tensors = tensors_in((args, kwargs))
        changed = changed_by(call, args, kwargs)
        counter = _Counter()
        window = _window(call.kind, args, kwargs)
        by_formula = has_formula(call.kind) and window > 0
        casts = _Casts()
        with contextlib.ExitStack() as modes:
            if not by_formula:
                modes.enter_context(counter)
            autocast = autocast_acts_on(self._device.type)
            if autocast and self._device.type == "meta":
                self.without_autocast = self.without_autocast or call.name
            elif autocast and any(tensor.is_meta for tensor in tensors):
                self.failed = call.name
                raise RuntimeError("autocast leaves tensors without data alone")
            # A copy that the model asks for is an op, no cast of autocast.
            if autocast and call.kind != "clone":
                modes.enter_context(casts)
            try:
                result = function(*args, **kwargs)
            except Exception:
                self.failed = call.name
                raise
        outputs = tensors_in(result)
        if result is None:
            outputs = changed
        # A call without a tensor as result is no op, nor is one that returns its input (dropout in
        # evaluation).
        unchanged = not changed and all(any(output is tensor for tensor in tensors) for output in outputs)
        if not outputs or unchanged or call.kind in SHAPED:
            return result
        sources = [(self.value_of(tensor), tensor) for tensor in tensors]
        values = [value for value, _ in sources if value is not None]
        if not values:
            return result
        differentiable = call.kind != "detach" and any(
            id(tensor) in self._differentiable for tensor in tensors
        )
        if (
            call.kind in VIEWS
            and call.kind not in RANGES
            and len(outputs) == 1
            and values[0].source == "parameter"
        ):
            self._set(outputs[0], values[0], differentiable)
            return result
        if by_formula:
            flops = forward_flops(
                call.kind, _operands(call.kind, args, kwargs), [tensor.shape for tensor in outputs], window
            )
        else:
            flops = counter.flops if counter.known else None
        times = {}
        if self._stopwatch is not None:
            times = self._stopwatch.times(
                function,
                args,
                kwargs,
                lambda tensor: id(tensor) in self._differentiable,
                call.kind in VIEWS,
                call.kind in RANGES,
            )
        node = Node(
            call,
            values,
            [size_of(output) for output in outputs],
            flops,
            counter.flops,
            times,
            self._packed_bytes(args),
            {value: casts.made[id(item)] for value, item in sources if value and id(item) in casts.made},
            {value for value, item in sources if value and id(item) in self._differentiable},
            attributes_of(call.function, call.kind, args, kwargs),
        )
        for index, output in enumerate(outputs):
            self._set(output, Value("node", len(self.nodes), index), differentiable)
        for tensor in changed:
            self._changes[storage_of(tensor)] = _Change(len(self.nodes), differentiable)
        self.nodes.append(node)
        return result


@contextlib.contextmanager
def unchanged(model: torch.nn.Module) -> Iterator[None]:
    """Restores a model on exit: the attributes that a forward pass sets in modules, and the tensors that they
    hold."""
    before = [
        (module, dict(module.__dict__), dict(module._parameters), dict(module._buffers))
        for module in model.modules()
    ]
    try:
        yield
    finally:
        for module, attributes, parameters, buffers in before:
            module.__dict__.clear()
            module.__dict__.update(attributes)
            for table, saved in ((module._parameters, parameters), (module._buffers, buffers)):
                table.clear()
                table.update(saved)


def _without_data(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(tensor, device="meta")


def replace_state(
    model: torch.nn.Module, state: List[Parameter], replace: Callable[[torch.Tensor], torch.Tensor]
) -> List[Parameter]:
    """Replaces the tensors of a model by `replace` of each: tensors without data, or on another device."""

    def replaced(tensor: torch.Tensor) -> torch.Tensor:
        new = replace(tensor.detach())
        return (
            torch.nn.Parameter(new, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else new
        )

    tensors = {id(parameter.tensor): replaced(parameter.tensor) for parameter in state}
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for key, tensor in table.items():
                if tensor is not None:
                    table[key] = tensors[id(tensor)]
        # Some modules, such as recurrent layers, list these tensors in other attributes as well.
        for key, value in list(module.__dict__.items()):
            if isinstance(value, (list, tuple, dict)) and key not in ("_parameters", "_buffers", "_modules"):
                if any(id(tensor) in tensors for tensor in tensors_in(value)):
                    module.__dict__[key] = tree_map(lambda item: tensors.get(id(item), item), value)
    return [dataclasses.replace(parameter, tensor=tensors[id(parameter.tensor)]) for parameter in state]


class Run(NamedTuple):
    recorder: Recorder
    results: List[torch.Tensor]


def _record(recorder: Recorder, model: torch.nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Run:
    with torch.no_grad(), _without_cached_casts(), recorder.watching(model):
        result = model(*args, **kwargs)
    results = tensors_in(result)
    recorder.add_gradient_sums(results)
    return Run(recorder, results)


def record_shapes(
    model: torch.nn.Module, state: List[Parameter], args: Tuple[Any, ...], kwargs: Dict[str, Any]
) -> Run:
    """Records a forward pass on tensors without data; raises NeedsNumbers if the model needs more."""
    with unchanged(model):
        empty = tree_map(
            lambda item: _without_data(item) if isinstance(item, torch.Tensor) else item, (args, kwargs)
        )
        without_data = replace_state(model, state, _without_data)
        recorder = Recorder(without_data, tensors_in(empty), None, device_of(state))
        try:
            return _record(recorder, model, *empty)
        except Exception as error:  # pylint: disable=broad-except
            # Any error: either the real forward pass raises it as well, or the missing numbers caused it.
            reason = str(error).strip().partition("\n")[0].partition(". ")[0]
            where = f"at {json.dumps(recorder.failed)}" if recorder.failed is not None else "outside of its ops"
            raise NeedsNumbers(f"{where}: {reason or type(error).__name__}") from error


def record_numbers(
    model: torch.nn.Module,
    state: List[Parameter],
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    stopwatch: Optional[Stopwatch],
) -> Run:
    """Records a real forward pass, on the device of the model."""
    device = device_of(state)
    args, kwargs = tree_map(
        lambda item: item.to(device) if isinstance(item, torch.Tensor) else item, (args, kwargs)
    )
    try:
        with _real_run(model, state):
            recorder = Recorder(state, tensors_in((args, kwargs)), stopwatch, device)
            return _record(recorder, model, args, kwargs)
    except RuntimeError as error:
        if "does not require grad" not in str(error):
            raise
        raise ExportError(
            f"{type(model).__name__} computes gradients in its forward pass (torch.autograd.grad), which"
            " are not recorded: export the"
            " part of the model that they are taken of"
        ) from error


@contextlib.contextmanager
def _real_run(model: torch.nn.Module, state: List[Parameter]) -> Iterator[None]:
    """Restores a model, its buffers and the random numbers on exit."""
    buffers = [
        (parameter.tensor, parameter.tensor.clone())
        for parameter in state
        if not isinstance(parameter.tensor, torch.nn.Parameter)
    ]
    with unchanged(model), torch.random.fork_rng(range(torch.cuda.device_count())):
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)


def add_step_times(
    run: Run,
    model: torch.nn.Module,
    state: List[Parameter],
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    training: bool,
) -> bool:
    """Measures the ops of a recorded run in real steps on the CPU, and returns whether such steps are
    possible."""
    trained = [parameter.tensor for parameter in state if parameter.trained]
    try:
        with _real_run(model, state), _without_cached_casts():
            times = step_times(model, trained, args, kwargs, training)
    except RuntimeError:
        # The forward pass has run before, so this is the backward pass, which the model may not support.
        return False
    cpu = model_name(torch.device("cpu"))
    for node in run.recorder.nodes:
        if node.call.name in times.ops:
            node.times[cpu] = times.ops[node.call.name]
    for parameter in state:
        if id(parameter.tensor) in times.parameters:
            parameter.times[cpu] = {"backward": times.parameters[id(parameter.tensor)]}
    return True
