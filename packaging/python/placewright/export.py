# SPDX-License-Identifier: MIT
"""From a PyTorch model to a network file."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import math
import os
import platform
import re
import statistics
import time
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .calls import Call, Calls, changed_by, kind_named, refuse_script, storage_of, tensors_in, unwatch
from .flops import RANGES, SHAPED, VIEWS, forward_flops, has_formula

#: Constants up to this size are held by every op that reads them.
_SMALL_CONSTANT_BYTES = 64 << 10
_TIMED_RUNS = 5
_UNTIMED_RUNS = 2

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

Inputs = Union[torch.Tensor, Sequence[Any], Mapping[str, Any]]
Devices = Union[bool, Sequence[Union[str, torch.device]]]


@dataclasses.dataclass(frozen=True)
class Summary:
    """What an export wrote."""

    ops: int
    parameters: int  #: trained ones, tied ones once
    parameter_bytes: int
    forward_flops: float  #: two per multiply-add
    estimated: Tuple[str, ...]  #: ops of which not all FLOPs are known


class _Value(NamedTuple):
    """Where a tensor comes from: output `output` of node `index`, or input or parameter `index`."""

    source: str  # "node", "input" or "parameter"
    index: int
    output: int = 0


@dataclasses.dataclass
class _Parameter:
    """A parameter or buffer of a model."""

    tensor: torch.Tensor
    path: str  # "layer1.0.conv1.weight"; of a tied one the first
    names: List[str]  # in the state_dict: several if it is tied, none if it is not saved
    trained: bool


@dataclasses.dataclass
class _Node:
    call: Call
    inputs: List[_Value]
    outputs: List[Dict[str, Any]]
    flops: Optional[float]  # None: not known
    least_flops: float  # those that are known
    times: Dict[str, Dict[str, float]]
    packed_bytes: int = 0  # of weights that no parameter or buffer is


class _Change(NamedTuple):
    """A change in place."""

    node: int
    differentiable: bool


def _state(model: torch.nn.Module) -> List[_Parameter]:
    """Parameters and buffers, tied ones once."""
    found: Dict[int, _Parameter] = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        for table in (module._parameters, module._buffers):
            for key, tensor in table.items():
                if tensor is None:
                    continue
                path = f"{prefix}.{key}" if prefix else key
                trained = table is module._parameters and tensor.requires_grad
                parameter = found.setdefault(id(tensor), _Parameter(tensor, path, [], trained))
                if key not in module._non_persistent_buffers_set:
                    parameter.names.append(path)
    return list(found.values())


def _bytes_of(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _size_of(tensor: torch.Tensor) -> Dict[str, Any]:
    dtype = _DTYPES.get(tensor.dtype)
    return {"bytes": _bytes_of(tensor)} if dtype is None else {"shape": list(tensor.shape), "dtype": dtype}


def _packed_in(args: Tuple[Any, ...]) -> List[Tuple[Any, List[torch.Tensor]]]:
    """Objects that hold weights in the form of a library, as those of torch.quantization do, with these weights."""
    packed = [item for item in args if isinstance(item, torch.ScriptObject) and hasattr(item, "unpack")]
    return [(item, tensors_in(item.unpack())) for item in packed]


def _operands(kind: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[List[int]]:
    """Shapes of the tensors of a call in the order that forward_flops wants."""
    if kind in ("lstm", "gru", "rnn"):
        # The states are a tensor or a tuple, the weights a list.
        args = (args[0], *(item for item in args[1:] if isinstance(item, list)))
    elif kind in ("lstm_cell", "gru_cell", "rnn_cell"):
        args = (args[0], *args[2:])
    packed = [tensor for _, tensors in _packed_in(args) for tensor in tensors]
    return [list(tensor.shape) for tensor in tensors_in((args, kwargs)) + packed]


#: Points in a row that an element is made of, by the mode of an interpolation (torch.grid_sampler has numbers for them).
_POINTS = {
    **dict.fromkeys(("nearest", "nearest-exact", 1), 1),
    **dict.fromkeys(("linear", "bilinear", "trilinear", 0), 2),
    **dict.fromkeys(("bicubic", 2), 4),
}


def _window(kind: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> int:
    """What forward_flops calls so."""
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
    """Counts the FLOPs of a function that has no formula by the functions that it is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0.0
        self.known = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs, outputs = tensors_in((args, kwargs)), tensors_in(result)
        # What is made of nothing (empty, arange) moves data at most.
        if inputs and outputs:
            kind = kind_named(func._schema.name.split("::")[1])
            window = _window(kind, args, kwargs or {})
            flops = forward_flops(kind, _operands(kind, args, kwargs or {}), [output.shape for output in outputs], window)
            self.flops += flops or 0
            self.known &= flops is not None
        return result


class _Stopwatch:
    """Measures calls on some devices."""

    def __init__(self, devices: Sequence[Union[str, torch.device]]) -> None:
        self._devices = {_model_name(torch.device(device)): torch.device(device) for device in devices}

    def times(
        self, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any], differentiable: Callable[[torch.Tensor], bool]
    ) -> Dict[str, Dict[str, float]]:
        """Medians of the forward and backward seconds of a call, by device model."""
        return {model: self._times_on(device, function, args, kwargs, differentiable) for model, device in self._devices.items()}

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
            # A leaf can't be changed in place.
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
                seconds, _ = _timed(device, lambda: torch.autograd.grad(outputs, leaves, gradients, allow_unused=True))
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
    """Seconds that `work` takes on a device, and what it gives."""
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
    """What a device is called in machine files: its model."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type != "cpu":
        raise ValueError(f"can't measure on {device}, expected cpu or cuda devices")
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "cpu"


class _Recorder(Calls):
    """Records the calls of a forward pass, and from where each takes its tensors."""

    def __init__(self, state: List[_Parameter], inputs: List[torch.Tensor], stopwatch: Optional[_Stopwatch]) -> None:
        super().__init__()
        self.nodes: List[_Node] = []
        self._state = state
        self._stopwatch = stopwatch
        # By identity. The tensors are kept, so that no other gets the identity of one that is gone.
        self._values: Dict[int, _Value] = {}
        self._differentiable: Set[int] = set()
        self._kept: List[Any] = []
        self._packed: Set[int] = set()
        self._changes: Dict[int, _Change] = {}  # the last of each storage
        for index, tensor in enumerate(inputs):
            self._set(tensor, _Value("input", index), False)
        for index, parameter in enumerate(state):
            self._set(parameter.tensor, _Value("parameter", index), parameter.trained)

    def value_of(self, tensor: torch.Tensor) -> Optional[_Value]:
        """Where a tensor comes from; None for a number of the program, which depends on no input or parameter."""
        value = self._values.get(id(tensor))
        change = self._changes.get(storage_of(tensor))
        if change is None or (value is not None and value.source == "node" and value.index >= change.node):
            return value
        # Changed since, through a view of it or as a view of what was changed: the change gives this tensor too, now that it is read.
        outputs = self.nodes[change.node].outputs
        self._set(tensor, _Value("node", change.node, len(outputs)), change.differentiable)
        outputs.append(_size_of(tensor))
        return self._values[id(tensor)]

    def _set(self, tensor: torch.Tensor, value: _Value, differentiable: bool) -> None:
        self._values[id(tensor)] = value
        self._kept.append(tensor)
        if differentiable and tensor.is_floating_point():
            self._differentiable.add(id(tensor))

    def _packed_bytes(self, args: Tuple[Any, ...]) -> int:
        """Bytes of packed weights that no call before has read."""
        size = 0
        for item, tensors in _packed_in(args):
            if id(item) not in self._packed:
                self._packed.add(id(item))
                self._kept.append(item)
                size += sum(map(_bytes_of, tensors))
        return size

    def run(self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        tensors = tensors_in((args, kwargs))
        changed = changed_by(call, args, kwargs)
        counter = _Counter()
        window = _window(call.kind, args, kwargs)
        by_formula = has_formula(call.kind) and window > 0
        with contextlib.nullcontext() if by_formula else counter:
            result = function(*args, **kwargs)
        outputs = tensors_in(result)
        if result is None:
            outputs = changed
        # What gives no tensor is no op, nor is what gives back what it got (dropout when not training).
        unchanged = not changed and all(any(output is tensor for tensor in tensors) for output in outputs)
        if not outputs or unchanged or call.kind in SHAPED:
            return result
        values = [value for value in map(self.value_of, tensors) if value is not None]
        if not values:
            return result
        differentiable = call.kind != "detach" and any(id(tensor) in self._differentiable for tensor in tensors)
        if call.kind in VIEWS and call.kind not in RANGES and len(outputs) == 1 and values[0].source == "parameter":
            self._set(outputs[0], values[0], differentiable)
            return result
        if by_formula:
            flops = forward_flops(call.kind, _operands(call.kind, args, kwargs), [tensor.shape for tensor in outputs], window)
        else:
            flops = counter.flops if counter.known else None
        times = {}
        if self._stopwatch is not None and call.kind not in VIEWS:
            times = self._stopwatch.times(function, args, kwargs, lambda tensor: id(tensor) in self._differentiable)
        node = _Node(call, values, [_size_of(output) for output in outputs], flops, counter.flops, times, self._packed_bytes(args))
        for index, output in enumerate(outputs):
            self._set(output, _Value("node", len(self.nodes), index), differentiable)
        for tensor in changed:
            self._changes[storage_of(tensor)] = _Change(len(self.nodes), differentiable)
        self.nodes.append(node)
        return result


class _Network:
    """The ops of a recorded forward pass."""

    def __init__(
        self, state: List[_Parameter], inputs: List[Tuple[str, Dict[str, Any]]], nodes: List[_Node], results: List[_Value]
    ) -> None:
        self._nodes = nodes
        self._needed = self._find_needed(results)
        readers: List[Set[int]] = [set() for _ in state]
        read: Set[int] = set()
        for index, node in self._needed_nodes():
            for value in node.inputs:
                if value.source == "parameter":
                    readers[value.index].add(index)
                elif value.source == "input":
                    read.add(value.index)
        self.unread = [parameter.path for nodes, parameter in zip(readers, state) if parameter.trained and not nodes]
        # What no op reads has no gradient.
        self._state = [
            parameter if nodes else dataclasses.replace(parameter, trained=False) for nodes, parameter in zip(readers, state)
        ]
        # A parameter belongs to the op that reads it; one that several read is an op.
        self._shared = [
            len(nodes) > 1 and (parameter.trained or _bytes_of(parameter.tensor) > _SMALL_CONSTANT_BYTES)
            for nodes, parameter in zip(readers, state)
        ]
        self._holders = self._find_holders(readers)
        taken = {node.call.name for node in nodes}
        self._input_names = [self._unique(name, taken) for name, _ in inputs]
        self._parameter_names = [self._unique(parameter.path.replace(".", "/"), taken) for parameter in state]
        self.ops: List[Dict[str, Any]] = []
        self.estimated: List[str] = []
        for index, (_, size) in enumerate(inputs):
            if index in read:
                self._add({"name": self._input_names[index], "kind": "input"}, [], [size])
        for index in range(len(state)):
            if self._shared[index]:
                self._add_parameter(index)
        for index, node in self._needed_nodes():
            self._add_node(index, node)

    @staticmethod
    def _unique(name: str, taken: Set[str]) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    def _needed_nodes(self) -> Iterator[Tuple[int, _Node]]:
        return ((index, node) for index, node in enumerate(self._nodes) if self._needed[index])

    def _find_needed(self, results: List[_Value]) -> List[bool]:
        """What the results depend on; everything if they come from no op."""
        found = [value.index for value in results if value.source == "node"]
        needed = [not found] * len(self._nodes)
        while found:
            index = found.pop()
            if not needed[index]:
                needed[index] = True
                found += [value.index for value in self._nodes[index].inputs if value.source == "node"]
        return needed

    def _find_holders(self, readers: List[Set[int]]) -> Dict[int, List[int]]:
        """Parameters by the node that holds them. What no op reads (the number of batches that a batch_norm has seen) stays with the first
        op of its module, or of the nearest around it."""
        in_module: Dict[str, int] = {}
        for index, node in self._needed_nodes():
            scope = node.call.scope
            while in_module.setdefault(scope, index) == index and scope:
                scope = scope.rpartition("/")[0]
        holders: Dict[int, List[int]] = {}
        for index, parameter in enumerate(self._state):
            if self._shared[index]:
                continue
            nodes = readers[index]
            if not nodes and in_module:
                module = parameter.path.rpartition(".")[0].replace(".", "/")
                while module not in in_module:
                    module = module.rpartition("/")[0]
                nodes = {in_module[module]}
            for node in nodes:
                holders.setdefault(node, []).append(index)
        return holders

    def _name_of(self, value: _Value) -> str:
        if value.source == "input":
            return self._input_names[value.index]
        if value.source == "parameter":
            return self._parameter_names[value.index]
        name = self._nodes[value.index].call.name
        # "norm:1" could be output 1 of "norm".
        return f"{name}:{value.output}" if value.output or re.search(r":\d+$", name) else name

    def _add(self, op: Dict[str, Any], held: List[int], outputs: List[Dict[str, Any]], packed_bytes: int = 0) -> None:
        parameter_bytes, resident_bytes = 0, packed_bytes
        names: List[str] = []
        sizes: List[int] = []
        buffers: List[str] = []
        for index in held:
            parameter = self._state[index]
            size = _bytes_of(parameter.tensor)
            if parameter.trained:
                parameter_bytes += size
            else:
                resident_bytes += size
                buffers += parameter.names
            names += parameter.names
            # All names of a tied parameter are the same bytes.
            sizes += [size if first else 0 for first in (name == parameter.names[0] for name in parameter.names)]
        op = {"inputs": [], "flops": 0, **op, "outputs": outputs, "parameter_bytes": parameter_bytes}
        if resident_bytes:
            op["resident_bytes"] = resident_bytes
        if names:
            op["attributes"] = {"parameters": names, "parameter_bytes": sizes}
            if buffers:
                op["attributes"]["buffers"] = buffers
        self.ops.append(op)

    def _add_parameter(self, index: int) -> None:
        parameter = self._state[index]
        op = {"name": self._parameter_names[index], "kind": "parameter" if parameter.trained else "constant"}
        scope = parameter.path.rpartition(".")[0].replace(".", "/")
        self._add({**op, "scope": scope}, [index], [_size_of(parameter.tensor)])

    def _add_node(self, index: int, node: _Node) -> None:
        inputs = [self._name_of(value) for value in node.inputs if value.source != "parameter" or self._shared[value.index]]
        op: Dict[str, Any] = {"name": node.call.name, "kind": node.call.kind, "scope": node.call.scope, "inputs": inputs}
        op["flops"] = node.least_flops if node.flops is None else node.flops
        if node.flops is None:
            self.estimated.append(node.call.name)
        if node.call.changes_input:
            op["in_place"] = True
        if node.times:
            op["time_s"] = node.times
        self._add(op, self._holders.get(index, []), node.outputs, node.packed_bytes)


@contextlib.contextmanager
def _unchanged(model: torch.nn.Module) -> Iterator[None]:
    """Leaves a model as it was: what a forward pass stores in modules, and which tensors they hold."""
    before = [
        (module, dict(module.__dict__), dict(module._parameters), dict(module._buffers)) for module in model.modules()
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


def _replace_state(
    model: torch.nn.Module, state: List[_Parameter], replace: Callable[[torch.Tensor], torch.Tensor]
) -> List[_Parameter]:
    """Replaces the tensors of a model, by such that have shapes only or are elsewhere."""

    def replaced(tensor: torch.Tensor) -> torch.Tensor:
        new = replace(tensor.detach())
        return torch.nn.Parameter(new, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else new

    tensors = {id(parameter.tensor): replaced(parameter.tensor) for parameter in state}
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for key, tensor in table.items():
                if tensor is not None:
                    table[key] = tensors[id(tensor)]
        # Recurrent layers, for one, have a list of them beside.
        for key, value in list(module.__dict__.items()):
            if isinstance(value, (list, tuple, dict)) and key not in ("_parameters", "_buffers", "_modules"):
                if any(id(tensor) in tensors for tensor in tensors_in(value)):
                    module.__dict__[key] = tree_map(lambda item: tensors.get(id(item), item), value)
    return [dataclasses.replace(parameter, tensor=tensors[id(parameter.tensor)]) for parameter in state]


class _Run(NamedTuple):
    recorder: _Recorder
    results: List[torch.Tensor]


def _record(
    model: torch.nn.Module, state: List[_Parameter], args: Tuple[Any, ...], kwargs: Dict[str, Any], stopwatch: Optional[_Stopwatch]
) -> _Run:
    recorder = _Recorder(state, tensors_in((args, kwargs)), stopwatch)
    with torch.no_grad(), recorder.watching(model):
        result = model(*args, **kwargs)
    return _Run(recorder, tensors_in(result))


def _record_shapes(model: torch.nn.Module, state: List[_Parameter], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[_Run]:
    """Records a forward pass that computes nothing; None if the model needs numbers, not only shapes."""
    with _unchanged(model):
        empty = tree_map(lambda item: _without_data(item) if isinstance(item, torch.Tensor) else item, (args, kwargs))
        try:
            return _record(model, _replace_state(model, state, _without_data), *empty, None)
        except Exception:  # pylint: disable=broad-except
            # Whatever it is: either a real forward pass raises it too, or it has to do with the missing numbers.
            return None


def _record_numbers(
    model: torch.nn.Module, state: List[_Parameter], args: Tuple[Any, ...], kwargs: Dict[str, Any], stopwatch: Optional[_Stopwatch]
) -> _Run:
    """Records a real forward pass, on the device where the model is."""
    device = state[0].tensor.device if state else torch.device("cpu")
    args, kwargs = tree_map(lambda item: item.to(device) if isinstance(item, torch.Tensor) else item, (args, kwargs))
    buffers = [(parameter.tensor, parameter.tensor.clone()) for parameter in state if not isinstance(parameter.tensor, torch.nn.Parameter)]
    with _unchanged(model), torch.random.fork_rng(range(torch.cuda.device_count())):
        try:
            return _record(model, state, args, kwargs, stopwatch)
        except RuntimeError as error:
            if "does not require grad" not in str(error):
                raise
            raise ValueError(
                f"{type(model).__name__} computes gradients in its forward pass (torch.autograd.grad), which are not recorded: export the"
                " part of it that they are of"
            ) from error
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)


def _inputs_of(model: torch.nn.Module, example_inputs: Inputs) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    return tuple(example_inputs), {}


def _input_names(model: torch.nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[str]:
    """A name for each tensor: that of the argument, with a number if it holds several."""
    named: Dict[str, Any] = {f"input_{index}": value for index, value in enumerate(args)}
    named.update(kwargs)
    with contextlib.suppress(TypeError, ValueError):
        bound = inspect.signature(model.forward).bind(*args, **kwargs)
        named = {}
        for name, value in bound.arguments.items():
            named.update(value if bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD else {name: value})
    by_tensor: Dict[int, str] = {}
    for name, value in named.items():
        tensors = tensors_in(value)
        for index, tensor in enumerate(tensors):
            by_tensor[id(tensor)] = name if len(tensors) == 1 else f"{name}_{index}"
    return [by_tensor[id(tensor)] for tensor in tensors_in((args, kwargs))]


def _write(path: Path, document: Dict[str, Any]) -> None:
    """Writes beside the file and renames, so that nothing half-written is ever there."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(document), encoding="utf-8")
    os.replace(partial, path)


def export(
    model: torch.nn.Module,
    example_inputs: Inputs,
    file: Union[str, Path],
    name: Optional[str] = None,
    measure: Devices = False,
    training: bool = True,
) -> Summary:
    """Writes a model as a network file (placewright.graph) that the window and placewright-cli open.

    Every function of PyTorch that the forward pass calls is an op, named after the module that calls it, with the control flow that the
    example inputs lead to. The forward pass runs on shapes alone if it can, else for real once. The model stays as it is. A model that
    `apply` has placed gives the file that it would give without: no copies between devices. So does one with torch.utils.checkpoint:
    what is computed again in the backward pass is chosen where the file is used (`--recompute`).

    Args:
        model: any module; where its parameters are does not matter.
        example_inputs: a tensor, a sequence of positional arguments, or a mapping of named ones. The first extent of the first tensor is
            the batch size.
        file: what to write.
        name: of the network; the class of the model if not given.
        measure: True measures forward and backward of every op on the CPU and all GPUs, a sequence of devices on those: medians of
            5 runs after 2 that do not count, in seconds. `--cost measured` takes them for devices whose `model` in the machine file is the
            name that PyTorch gives to the GPU, or /proc/cpuinfo to the CPU.
        training: as model.train() or model.eval(), and whether the network stands for a training step.

    Raises:
        ValueError: the inputs hold no tensor, the model calls no function of PyTorch, or it computes gradients or holds TorchScript.
    """
    refuse_script(model)
    args, kwargs = _inputs_of(model, example_inputs)
    tensors = tensors_in((args, kwargs))
    if not tensors:
        raise ValueError("example_inputs hold no tensor, expected what the model is called with")
    stopwatch = None
    if measure:
        devices = measure if measure is not True else ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
        stopwatch = _Stopwatch(devices)
    with _unchanged(model):
        placed = unwatch(model)
        model.train(training)
        state = _state(model)
        if not training:
            state = [dataclasses.replace(item, trained=isinstance(item.tensor, torch.nn.Parameter)) for item in state]
        run = None if stopwatch else _record_shapes(model, state, args, kwargs)
        if run is None:
            if placed:
                device = state[0].tensor.device if state else torch.device("cpu")
                state = _replace_state(model, state, lambda tensor: tensor.to(device))
            run = _record_numbers(model, state, args, kwargs, stopwatch)
    results = [value for value in map(run.recorder.value_of, run.results) if value is not None]
    inputs = [(name, _size_of(tensor)) for name, tensor in zip(_input_names(model, args, kwargs), tensors)]
    network = _Network(state, inputs, run.recorder.nodes, results)
    if not run.recorder.nodes:
        raise ValueError(f"{type(model).__name__} calls no function of PyTorch on its inputs, expected at least one")
    batch = next((int(tensor.shape[0]) for tensor in tensors if tensor.dim() > 0), 1)
    document = {
        "format": "placewright.graph",
        "version": 1,
        "name": name or type(model).__name__,
        "batch": max(batch, 1),
        "training": "implicit" if training else "none",
        "ops": network.ops,
    }
    _write(Path(file), document)
    if network.estimated:
        shown = ", ".join(network.estimated[:5]) + (" ..." if len(network.estimated) > 5 else "")
        warnings.warn(f"not all FLOPs are known of {len(network.estimated)} of {len(network.ops)} ops: {shown}", stacklevel=2)
    if network.unread:
        shown = ", ".join(network.unread[:5]) + (" ..." if len(network.unread) > 5 else "")
        warnings.warn(
            f"nothing that the results depend on reads {len(network.unread)} of the parameters: {shown}. They are unused, or what reads"
            " them is missing here: calls of functions that are TorchScript (torch.jit.script) are not seen",
            stacklevel=2,
        )
    return Summary(
        ops=len(network.ops),
        parameters=sum(item.tensor.numel() for item in state if item.trained),
        parameter_bytes=sum(op["parameter_bytes"] for op in network.ops),
        forward_flops=sum(op["flops"] for op in network.ops),
        estimated=tuple(network.estimated),
    )
