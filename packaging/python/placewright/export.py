# SPDX-License-Identifier: MIT
"""Writes a PyTorch model as a network file."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import itertools
import json
import os
import warnings
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from .calls import refuse_script, unwatch
from .errors import ExportError
from .network import Network
from .record import (
    NeedsNumbers,
    Parameter,
    Run,
    add_step_times,
    device_of,
    record_numbers,
    record_shapes,
    replace_state,
    size_of,
    state_of,
    unchanged,
)
from .stopwatch import Stopwatch
from .tensors import tensors_in

Inputs = Union[torch.Tensor, Sequence[Any], Mapping[str, Any]]
Devices = Union[bool, Sequence[Union[str, torch.device]]]


@dataclasses.dataclass(frozen=True)
class Summary:
    """Sizes of the network that an export wrote."""

    ops: int
    parameters: int  #: number of trained elements, tied parameters counted once
    parameter_bytes: int
    forward_flops: float  #: a multiply-add is two
    estimated: Tuple[str, ...]  #: names of ops whose FLOPs are not all known


def _inputs_of(model: torch.nn.Module, example_inputs: Inputs) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,), {}
    return tuple(example_inputs), {}


def _input_names(model: torch.nn.Module, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[str]:
    """Returns a name for each input tensor: that of its argument, with a number if the argument holds
    several."""
    named: Dict[str, Any] = {f"input_{index}": value for index, value in enumerate(args)}
    named.update(kwargs)
    with contextlib.suppress(TypeError, ValueError):
        bound = inspect.signature(model.forward).bind(*args, **kwargs)
        named = {}
        for name, value in bound.arguments.items():
            named.update(
                value
                if bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
                else {name: value}
            )
    by_tensor: Dict[int, str] = {}
    for name, value in named.items():
        tensors = tensors_in(value)
        for index, tensor in enumerate(tensors):
            by_tensor[id(tensor)] = name if len(tensors) == 1 else f"{name}_{index}"
    return [by_tensor[id(tensor)] for tensor in tensors_in((args, kwargs))]


def _without_numbers(model: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> str:
    """Returns what has no numbers, with its verb; empty if everything has."""
    if any(tensor.is_meta for tensor in itertools.chain(model.parameters(), model.buffers())):
        return f"{type(model).__name__} is"
    return f"the inputs of {type(model).__name__} are" if any(item.is_meta for item in inputs) else ""


def _refuse_fakes(model: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> None:
    """Raises ExportError for tensors that PyTorch's own tracers made in place of real ones."""
    for tensor in itertools.chain(inputs, model.parameters(), model.buffers()):
        if type(tensor).__name__ in ("FakeTensor", "FunctionalTensor") or isinstance(tensor, torch.fx.Proxy):
            raise ExportError(
                f"found a {type(tensor).__name__} of shape {list(tensor.shape)}, expected plain tensors: call"
                " this outside of FakeTensorMode and torch.compile; tensors on the meta device will do"
                ' (torch.empty(shape, device="meta"))'
            )


def _run(
    model: torch.nn.Module,
    state: List[Parameter],
    args: Tuple[Any, ...],
    kwargs: Dict[str, Any],
    stopwatch: Optional[Stopwatch],
    training: bool,
    placed: bool,
) -> Run:
    """Records a forward pass: on shapes if nothing is measured and the model allows it, else for real."""
    if stopwatch is None:
        try:
            return record_shapes(model, state, args, kwargs)
        except NeedsNumbers as error:
            without = _without_numbers(model, tensors_in((args, kwargs)))
            if without:
                raise ExportError(
                    f"{without} on the meta device, but its forward pass needs numbers, not only shapes,"
                    f" {error}. Export it on the CPU, or change what needs them"
                ) from error
    if placed:
        device = device_of(state)
        state = replace_state(model, state, lambda tensor: tensor.to(device))
    # What the model's own CPU can run as a step is measured in steps, all else op by op.
    is_here = stopwatch is not None and stopwatch.has_cpu and device_of(state).type == "cpu"
    others = stopwatch.without_cpu() if stopwatch is not None and is_here else stopwatch
    run = record_numbers(model, state, args, kwargs, others)
    if is_here and not add_step_times(run, model, state, args, kwargs, training):
        run = record_numbers(model, state, args, kwargs, stopwatch)
    return run


def _write(path: Path, document: Dict[str, Any]) -> None:
    """Writes a temporary file and renames it, so that the file is never half-written."""
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

    Every call of a PyTorch function in the forward pass is an op, named after the module that makes it. The
    network has the control flow that the example inputs lead to. The forward pass runs on shapes alone if
    possible, else once for real. The model is left unchanged. A model that `apply` has placed gives the same
    file as without a placement, without copies between devices. A model with torch.utils.checkpoint gives the
    same file as without it: which ops are computed again in the backward pass is an option where the file is
    used (`--recompute`).

    Where autocast acts on the model's device, around the export or in the model itself, the forward pass runs
    for real, and the file has the types of every output as they were, and the casts that autocast made for each
    op. torch.autocast("cuda") needs the model on a GPU. Without one, or on the meta device, export outside of
    autocast and choose the precision where the file is used (`--precision amp-fp16`).

    Args:
        model: any module, with its parameters on any device.
        example_inputs: a tensor, a sequence of positional arguments, or a mapping of named ones. The first
            extent of the first tensor is the batch size.
        file: path of the network file.
        name: name of the network; the model's class if not given.
        measure: True measures forward and backward of every op on the CPU and all GPUs; a sequence of devices
            measures on those. The file gets medians of 5 runs, after 2 runs that do not count, in seconds. A
            model on the CPU runs there as whole training steps (forward and backward; no optimizer), in which
            each op finds the caches as they are in training. On other devices every op runs alone. Times are
            CPU times if PyTorch has one thread (torch.set_num_threads(1)), else other programs disturb them.
            `--cost measured` uses them for devices whose `model` in the machine file is the name that PyTorch
            gives the GPU, or /proc/cpuinfo the CPU.
        training: whether the model runs as after model.train(), and the network stands for a training step;
            False: as after model.eval(), for inference.

    Returns:
        The sizes of the network.

    Raises:
        ExportError: the inputs hold no tensor or are FakeTensors, the model calls no PyTorch function on them,
            computes gradients in its forward pass or holds TorchScript; the model or its inputs are on the meta
            device, but the forward pass needs numbers or shall be measured; or `measure` names a device that is
            neither a CPU nor a CUDA GPU.
    """
    refuse_script(model)
    args, kwargs = _inputs_of(model, example_inputs)
    tensors = tensors_in((args, kwargs))
    if not tensors:
        raise ExportError("example_inputs hold no tensor, expected what the model is called with")
    _refuse_fakes(model, tensors)
    stopwatch = None
    if measure:
        without = _without_numbers(model, tensors)
        if without:
            raise ExportError(
                f"{without} on the meta device, so its ops cannot be measured: leave out measure, or give the"
                " model and its inputs numbers (model.to_empty(device=...))"
            )
        devices = (
            measure
            if measure is not True
            else ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
        )
        stopwatch = Stopwatch(devices)
    with unchanged(model):
        placed = unwatch(model)
        model.train(training)
        state = state_of(model)
        if not training:
            state = [
                dataclasses.replace(item, trained=isinstance(item.tensor, torch.nn.Parameter))
                for item in state
            ]
        run = _run(model, state, args, kwargs, stopwatch, training, placed)
    results = [value for value in map(run.recorder.value_of, run.results) if value is not None]
    inputs = [(name, size_of(tensor)) for name, tensor in zip(_input_names(model, args, kwargs), tensors)]
    network = Network(state, inputs, run.recorder.nodes, results)
    if not run.recorder.nodes:
        raise ExportError(
            f"{type(model).__name__} calls no function of PyTorch on its inputs, expected at least one"
        )
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
    if run.recorder.without_autocast is not None:
        warnings.warn(
            f"{type(model).__name__} is on the meta device, where autocast does nothing: from"
            f" {json.dumps(run.recorder.without_autocast)} on, types are as without it. Choose the precision"
            " where the file is used (--precision amp-fp16), or export the model on its device",
            stacklevel=2,
        )
    if network.estimated:
        shown = ", ".join(network.estimated[:5]) + (" ..." if len(network.estimated) > 5 else "")
        warnings.warn(
            f"not all FLOPs are known for {len(network.estimated)} of {len(network.ops)} ops: {shown}",
            stacklevel=2,
        )
    if network.unread:
        shown = ", ".join(network.unread[:5]) + (" ..." if len(network.unread) > 5 else "")
        warnings.warn(
            f"no op that the results depend on reads {len(network.unread)} of the parameters: {shown}. They"
            " are"
            " unused, or read by TorchScript functions (torch.jit.script), whose calls cannot be recorded",
            stacklevel=2,
        )
    return Summary(
        ops=len(network.ops),
        parameters=sum(item.tensor.numel() for item in state if item.trained),
        parameter_bytes=sum(op["parameter_bytes"] for op in network.ops),
        forward_flops=sum(op["flops"] for op in network.ops),
        estimated=tuple(network.estimated),
    )
