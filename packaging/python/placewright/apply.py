# SPDX-License-Identifier: MIT
"""Runs a PyTorch model on the devices that a placement gives it."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, TypeVar

import torch
from torch.utils._pytree import tree_map

from .calls import Call, Calls, Pass, changed_by, unwatch
from .copies import Copies, Twin, version_of
from .errors import PlacementError
from .flops import VIEWS, has_formula
from .plan import Devices, File, Plan, Source, read_placement
from .tensors import Replacement, tensors_in
from .whole import Whole, whole_modules

Model = TypeVar("Model", bound=torch.nn.Module)

# Kinds that also change buffers: they run on the device of these buffers.
_STATEFUL = ("batch_norm", "instance_norm")

# Kinds whose result is a view where the strides of their input allow it, else a copy.
_VIEWS_IF_POSSIBLE = ("reshape", "flatten", "contiguous")


def _keeps_strides(tensor: torch.Tensor) -> bool:
    """Returns whether a copy on another device has the strides of the tensor."""
    return (
        tensor.layout == torch.strided and torch.empty_like(tensor, device="meta").stride() == tensor.stride()
    )


class _Seen(NamedTuple):
    """An input of a whole module."""

    tensor: torch.Tensor
    copy: torch.Tensor  #: what the module read: the tensor itself or its copy
    version: Optional[int]  #: of the copy, before the module ran


class _PlacedPass(Pass):
    def __init__(self) -> None:
        super().__init__()
        self.copies = Copies()


def _lengths_in(call: Call, args: Tuple[Any, ...]) -> Optional[torch.Tensor]:
    """Returns the lengths of packed sequences, which PyTorch needs on the CPU whatever the device of the
    sequences; None for a call without them."""
    packs = call.kind in ("pack_padded_sequence", "pad_packed_sequence")
    if not packs and call.kind not in ("lstm", "gru", "rnn"):
        return None
    second = args[1] if len(args) > 1 else None
    # Where sequences are not packed, the second argument of a recurrent layer is its state.
    return second if isinstance(second, torch.Tensor) and _may_be_lengths(second) else None


def _may_be_lengths(tensor: torch.Tensor) -> bool:
    return tensor.dtype == torch.int64 and tensor.dim() == 1


class _Placed(Calls):
    """Runs each call on its device, and whole modules at once where they are on one device."""

    def __init__(self, plan: Plan, whole: Whole) -> None:
        super().__init__()
        self._plan = plan
        self._whole = whole
        self._running: Dict[int, torch.device] = {}  # device of the whole module that each thread runs

    def place(self, model: torch.nn.Module) -> None:
        """Runs a model under the placement from now on."""
        self.watch(model, self._whole.inside)

    @contextlib.contextmanager
    def each_call(self, model: torch.nn.Module) -> Iterator[None]:
        """Context in which every call is intercepted, also in modules on one device."""
        whole, self._whole = self._whole, Whole({}, set(), set())
        self.place(model)
        try:
            yield
        finally:
            self._whole = whole
            unwatch(model)
            self.place(model)

    def run_module(
        self, scope: str, forward: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        thread = threading.get_ident()
        around = self._running.get(thread)
        device = self._whole.devices.get(scope)
        if around is not None and around == device:
            return forward(*args, **kwargs)
        if around is not None:  # a module from elsewhere in the model
            del self._running[thread]
            try:
                with self if thread in self._passes else contextlib.nullcontext():
                    return self.run_module(scope, forward, args, kwargs)
            finally:
                self._running[thread] = around
        if device is None:
            return super().run_module(scope, forward, args, kwargs)
        self._running[thread] = device
        try:
            with self.not_intercepting():
                return self._run_whole(scope, device, forward, args, kwargs)
        finally:
            del self._running[thread]

    def _run_whole(
        self,
        scope: str,
        device: torch.device,
        forward: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
    ) -> Any:
        """Runs a module on a device as if it were a single call."""
        in_pass = threading.get_ident() in self._passes
        copies = self.current.copies if in_pass else Copies()
        seen: Dict[int, _Seen] = {}

        def move(tensor: torch.Tensor) -> torch.Tensor:
            if scope in self._whole.recurrent and _may_be_lengths(tensor) and tensor.device.type == "cpu":
                return tensor
            newest = copies.newest(tensor)
            if id(newest) not in seen:
                copy = newest if newest.device == device else copies.on(newest, device, True)
                seen[id(newest)] = _Seen(newest, copy, version_of(copy))
            return seen[id(newest)].copy

        replacement = Replacement(move)
        try:
            args, kwargs = replacement.replaced((args, kwargs))
            taken = {id(tensor) for tensor in tensors_in((args, kwargs))}
            result = forward(*args, **kwargs)
            results = tensors_in(result)
            written = [tensor for tensor in tensors_in((args, kwargs)) if id(tensor) not in taken]
        except RuntimeError as error:
            if "same device" not in str(error):
                raise
            raise RuntimeError(
                f"module {json.dumps(scope)} runs whole on {device}, but reads a tensor on another device: make"
                " tensors on the device of its inputs (device=x.device), and register those that it keeps as"
                f" buffers. {error}"
            ) from error
        finally:
            replacement.give_back()
        moved = [Twin(item.tensor, item.copy) for item in seen.values() if item.copy is not item.tensor]
        if in_pass:
            copies.give(results + written, moved, [item.copy for item in seen.values()])
        for item in seen.values():
            # An inference tensor does not tell whether it was changed.
            changed = copies.any_twins if item.version is None else item.version != version_of(item.copy)
            if changed:
                is_result = any(tensor is item.copy for tensor in results)
                copies.changed(item.tensor, item.copy, in_pass and is_result)
        return replacement.original_containers(result)

    def begin(self) -> Pass:
        return _PlacedPass()

    def run(
        self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        copies = self.current.copies
        args, kwargs = self._newest((args, kwargs))
        lengths = _lengths_in(call, args)
        if lengths is not None:
            lengths = copies.on(lengths, torch.device("cpu"))
            args = (args[0], lengths, *args[2:])
        tensors = [tensor for tensor in tensors_in((args, kwargs)) if tensor is not lengths]
        device = self._device_of(call, args, tensors)
        sources = changed_by(call, args, kwargs)
        moved: List[Twin] = []

        def move(item: Any) -> Any:
            if not isinstance(item, torch.Tensor) or item is lengths or item.device == device:
                return item
            moved.append(Twin(item, copies.on(item, device)))
            return moved[-1].copy

        if device is None or all(tensor.device == device for tensor in tensors):
            result = self.execute(call, function, args, kwargs)
        elif call.kind in _VIEWS_IF_POSSIBLE and not _keeps_strides(tensors[0]):
            here = self.execute(call, function, args, kwargs)
            copies.give([here], [], tensors)
            result = move(here)
        else:
            args, kwargs = tree_map(move, (args, kwargs))
            result = self.execute(call, function, args, kwargs)
        copies.give(tensors_in(result), moved, tensors_in((args, kwargs)))
        for source, tensor in zip(sources, changed_by(call, args, kwargs)):
            copies.changed(source, tensor, call.replaces_input)
        return result

    def _newest(self, value: Any) -> Any:
        """Returns a value whose tensors are replaced by their newest versions."""
        copies = self.current.copies
        if not copies.any_replaced:
            return value
        return tree_map(lambda item: copies.newest(item) if isinstance(item, torch.Tensor) else item, value)

    def _device_of(
        self, call: Call, args: Tuple[Any, ...], tensors: List[torch.Tensor]
    ) -> Optional[torch.device]:
        # Models change x through x.data; a copy of x.data on another device would hide the change from x.
        if not tensors or call.kind == "detach":
            return None
        if call.kind in _STATEFUL and len(args) > 1 and isinstance(args[1], torch.Tensor):
            return args[1].device
        device = self._plan.calls.get(call.name)
        if device is not None:
            return device
        # The placement does not name this call. A view, or a call without a formula, need not move its
        # tensors.
        if call.kind in VIEWS or not has_formula(call.kind):
            # Scalars on the CPU can be combined with tensors on any device.
            if (
                len({tensor.device for tensor in tensors if tensor.dim() > 0 or tensor.device.type != "cpu"})
                <= 1
            ):
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
    model: Model,
    placement: Source,
    devices: Optional[Devices] = None,
    graph: Optional[File] = None,
    on_conflict: str = "error",
) -> Model:
    """Puts a model on the devices of a placement and returns it.

    Parameters and buffers move to the device of the op that holds them. Each call of the forward pass runs on
    its device, and its tensors are moved there; a tensor is sent to a device once, and gradients return the
    same way. A call that the file does not name runs on the device of its module, which is that of most of
    the module's ops. The results equal those of the model on a single device, and stay on the devices of the
    ops that compute them. An in-place change is visible in all views of the changed tensor, whatever their
    devices. Calls that PyTorch does not show are not moved: those in TorchScript and in the backward of an
    autograd.Function.

    A module that is on one device with everything in it runs there as one call, without a cost for each of its
    own: its inputs are moved, and tensors that it makes must be on the device of its inputs.

    A second call of `apply` replaces the first placement. An optimizer that has state must be created anew.

    Args:
        model: the module to place; it is changed.
        placement: what `optimize` found; or the path of a placement of Placewright (placewright.placement) or
            of a device_map of Hugging Face Accelerate; or what such a file holds: {"": 0, "h.1": "cpu"}.
            Modules on "cpu" run on the CPU.
        devices: PyTorch's device for each device of the file: {"gpu:0": "cuda:0", "gpu:1": "cpu"}. If not
            given, "gpu:1" and 1 are "cuda:1".
        graph: the network file that was placed. Required if `export` did not write it: then whole modules are
            placed, each on the device of most of its ops. For a network of `export` the op names suffice; there
            `graph` says which op holds each parameter. What `optimize` found knows its network.
        on_conflict: what to do if a module with parameters of its own has ops on several devices and no
            `graph` says which op holds them: "error", or "majority" for the device of most of these ops.

    Raises:
        PlacementError: the placement cannot be read, or does not fit the model or this computer; or the model
            has no numbers to move (it is on the meta device).
        ValueError: `on_conflict` is neither "error" nor "majority".
    """
    if any(tensor.is_meta for tensor in itertools.chain(model.parameters(), model.buffers())):
        raise PlacementError(
            f"{type(model).__name__} is on the meta device and has no numbers to move: load it first"
            ' (model.to_empty(device="cpu") and load_state_dict, or from_pretrained)'
        )
    plan = read_placement(model, placement, devices, graph, on_conflict)
    unwatch(model)
    _move_state(model, plan)
    _Placed(plan, whole_modules(model, plan)).place(model)
    return model
