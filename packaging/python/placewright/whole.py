# SPDX-License-Identifier: MIT
"""Finds the modules that a placement does not cut: they need no care for each of their calls."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Set

import torch

from .calls import is_called
from .plan import Plan
from .tensors import tensors_in


class Whole(NamedTuple):
    """Modules that run on one device with everything in them."""

    #: By scope ("layers/0"); those inside of others too, as a model may call an inner module by itself.
    devices: Dict[str, torch.device]
    inside: Set[str]  #: paths ("layers.0.norm") of modules that need not be watched: all of a whole model's
    recurrent: Set[str]  #: scopes of those that hold recurrent layers


def whole_modules(model: torch.nn.Module, plan: Plan) -> Whole:
    """Returns the modules whose calls, parameters and buffers a plan puts on one device."""
    modules = dict(model.named_modules(remove_duplicate=False))
    # None stands for a device that is not known.
    devices: Dict[str, Set[Optional[torch.device]]] = {path: set() for path in modules}
    names: Dict[int, List[str]] = {}
    for path, module in modules.items():
        names.setdefault(id(module), []).append(path)
        own = [*module._parameters.items(), *module._buffers.items()]
        for key, tensor in own:
            if tensor is not None:
                devices[path].add(plan.tensors[f"{path}.{key}" if path else key])
        if _holds_others(module, {id(tensor) for _, tensor in own}):
            devices[path].add(None)
    paths = {path.replace(".", "/"): path for path in modules}
    for scope, device in plan.named.items():
        devices[paths[scope]].add(device)
    for name, device in plan.calls.items():
        path = paths.get(name.rpartition("/")[0])
        if path is not None:
            devices[path].add(device)
    # A module with several names has its calls under one of them.
    for same in names.values():
        if len(same) > 1:
            union: Set[Optional[torch.device]] = set().union(*(devices[path] for path in same))
            devices.update((path, set(union)) for path in same)
    for path in sorted(modules, key=lambda path: -path.count(".")):
        if path:
            devices[path.rpartition(".")[0]] |= devices[path]
    whole = Whole({}, set(), set())
    for path, module in model.named_modules():
        (device,) = devices[path] if len(devices[path]) == 1 else (None,)
        if device is None or not is_called(module):
            continue
        scope = path.replace(".", "/")
        whole.devices[scope] = device
        if any(isinstance(inner, torch.nn.RNNBase) for inner in module.modules()):
            whole.recurrent.add(scope)
    if "" in whole.devices:
        whole.inside.update(path for path, _ in model.named_modules() if path)
    return whole


def _holds_others(module: torch.nn.Module, own: Set[int]) -> bool:
    """Returns whether a module holds tensors that are neither parameters nor buffers, which stay where they
    are."""
    return any(
        id(tensor) not in own
        for key, value in vars(module).items()
        if key not in ("_parameters", "_buffers", "_modules")
        for tensor in tensors_in(value)
    )
