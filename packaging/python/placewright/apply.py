# SPDX-License-Identifier: MIT
"""From a placement file to a PyTorch model that runs like it."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

import torch
from torch.utils._pytree import tree_map

from .calls import Call, Calls, Pass, tensors_in, unwatch
from .flops import VIEWS, has_formula
from .placement import Devices, File, Plan, read_placement

Model = TypeVar("Model", bound=torch.nn.Module)

# They change buffers beside computing, and run where these are.
_STATEFUL = ("batch_norm", "instance_norm")


def _version(tensor: torch.Tensor) -> Optional[int]:
    """Counts changes in place; None where nobody counts."""
    return None if tensor.is_inference() else tensor._version


class _Copy(NamedTuple):
    tensor: torch.Tensor
    version: int
    source_version: int


class _Copies:
    """Copies of tensors on other devices, so that each is sent to a device once. They live as long as the tensor."""

    def __init__(self) -> None:
        self._copies: Dict[int, Dict[torch.device, _Copy]] = {}  # by identity of the source
        self._sources: Dict[int, "weakref.ref[torch.Tensor]"] = {}  # by identity of the copy
        self._replacements: Dict[int, torch.Tensor] = {}  # what a tensor became by a change in place on another device
        self._watched: Dict[int, "weakref.ref[torch.Tensor]"] = {}

    @property
    def any_replaced(self) -> bool:
        return bool(self._replacements)

    def newest(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor itself, or what stands for it since it was changed on another device."""
        while id(tensor) in self._replacements:
            tensor = self._replacements[id(tensor)]
        return tensor

    def on(self, tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        """The tensor on a device; gradients flow back."""
        if tensor.device == device:
            return tensor
        version = _version(tensor)
        known = self._copies.get(id(tensor), {}).get(device)
        if known is not None and known.source_version == version and known.version == _version(known.tensor):
            # A copy that was made without gradients is of no use where there are some.
            if known.tensor.requires_grad or not (tensor.requires_grad and torch.is_grad_enabled()):
                return known.tensor
        moved = tensor.to(device)
        moved_version = _version(moved)
        self._watch(tensor)
        self._watch(moved)
        self._sources[id(moved)] = weakref.ref(tensor)
        if version is not None and moved_version is not None:
            self._copies.setdefault(id(tensor), {})[device] = _Copy(moved, moved_version, version)
        return moved

    def changed(self, tensor: torch.Tensor, replaces: bool) -> None:
        """After a change in place: if it hit a copy, it is made where the source is too, or stands for the source from now on."""
        base = tensor._base if tensor._is_view() else tensor
        source = self._sources.get(id(base), lambda: None)()
        if base is None or source is None:
            return
        # What is changed through a view has to be where the view is from.
        if replaces and base is tensor and not source._is_view():
            self._replacements[id(source)] = tensor
            self._copies.pop(id(source), None)
            del self._sources[id(base)]
        else:
            source.copy_(base)
            self.changed(source, False)

    def settle(self) -> None:
        """Makes changes where the source is that had only a replacement so far: of buffers, of what the caller gave."""
        for key, replacement in self._replacements.items():
            source = self._watched[key]()
            if source is not None:
                source.copy_(replacement)

    def _watch(self, tensor: torch.Tensor) -> None:
        """Forgets a tensor when it is gone: another may get its identity."""
        key = id(tensor)
        if key not in self._watched:

            def forget(gone: "weakref.ref[torch.Tensor]") -> None:
                if self._watched.get(key) is gone:
                    for table in (self._watched, self._copies, self._sources, self._replacements):
                        table.pop(key, None)  # type: ignore[attr-defined]

            self._watched[key] = weakref.ref(tensor, forget)


class _PlacedPass(Pass):
    def __init__(self) -> None:
        super().__init__()
        self.copies = _Copies()


class _Placed(Calls):
    """Runs each call on its device."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    def begin(self) -> Pass:
        return _PlacedPass()

    def run(self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        copies = self.current.copies
        args, kwargs = self._newest((args, kwargs))
        tensors = tensors_in((args, kwargs))
        device = self._device_of(call, args, tensors)
        if device is not None and any(tensor.device != device for tensor in tensors):
            args, kwargs = tree_map(lambda item: copies.on(item, device) if isinstance(item, torch.Tensor) else item, (args, kwargs))
        result = function(*args, **kwargs)
        if call.changes_input and args:
            copies.changed(args[0], call.replaces_input)
        return result

    def _newest(self, value: Any) -> Any:
        """What stands for the tensors in a value."""
        copies = self.current.copies
        if not copies.any_replaced:
            return value
        return tree_map(lambda item: copies.newest(item) if isinstance(item, torch.Tensor) else item, value)

    def _device_of(self, call: Call, args: Tuple[Any, ...], tensors: List[torch.Tensor]) -> Optional[torch.device]:
        if not tensors:
            return None
        if call.kind in _STATEFUL and len(args) > 1 and isinstance(args[1], torch.Tensor):
            return args[1].device
        device = self._plan.calls.get(call.name)
        if device is not None:
            return device
        # Of this call nothing was said. What only looks at a tensor, or at a part of it, need not move it.
        if call.kind in VIEWS or not has_formula(call.kind):
            # Numbers on the CPU go with anything.
            if len({tensor.device for tensor in tensors if tensor.dim() > 0 or tensor.device.type != "cpu"}) <= 1:
                return None
        return self._plan.modules.get(call.scope, tensors[0].device)

    def result(self, result: Any) -> Any:
        return self._newest(result)

    def settle(self) -> None:
        self.current.copies.settle()


def _move_state(model: torch.nn.Module, plan: Plan) -> None:
    with torch.no_grad():
        for prefix, module in model.named_modules():
            for table in (module._parameters, module._buffers):
                for key, tensor in table.items():
                    if tensor is None:
                        continue
                    device = plan.tensors[f"{prefix}.{key}" if prefix else key]
                    tensor.data = tensor.data.to(device)
                    if tensor.grad is not None:
                        tensor.grad = tensor.grad.to(device)
            if isinstance(module, torch.nn.RNNBase):
                module.flatten_parameters()


def apply(
    model: Model, placement: File, devices: Optional[Devices] = None, graph: Optional[File] = None, on_conflict: str = "error"
) -> Model:
    """Puts a model on the devices of a placement file, and gives it back.

    Parameters and buffers go where the op is that holds them. Each call of the forward pass runs on its device, with its tensors moved
    there; a tensor is sent to a device once, and gradients take the same way back. Calls of which the file says nothing run where their
    module is: where most of its ops are. The results are those of the model on one device, and stay on the devices of the ops that give
    them. One thing is different: after `x += y` or relu(x, inplace=True) on another device than x, what is a view of x
    still has its old numbers.

    Applied again, the new placement counts. An optimizer that has state is to be made anew.

    Args:
        placement: a placement of Placewright (placewright.placement), or a device_map of Hugging Face Accelerate. Modules on "cpu" run
            on the CPU there.
        devices: PyTorch's device for each one of the file: {"gpu:0": "cuda:0", "gpu:1": "cpu"}. If not given, "gpu:1" and 1 are "cuda:1".
        graph: the network file that was placed. Needed if it was not written by `export`, whose names are enough otherwise: then modules
            are placed, each where most of its ops are.
        on_conflict: what to do if a module with parameters of its own has ops on several devices, and no `graph` says which holds them:
            "error", or "majority" for the device of most of them.

    Raises:
        PlacementError: the file can't be read, or does not fit the model or this computer.
    """
    plan = read_placement(model, placement, devices, graph, on_conflict)
    unwatch(model)
    _move_state(model, plan)
    _Placed(plan).watch(model)
    return model
