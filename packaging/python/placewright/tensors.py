# SPDX-License-Identifier: MIT
"""Finds and replaces the tensors in what functions take and return."""

from __future__ import annotations

import collections.abc
import dataclasses
from typing import Any, Callable, Dict, List, Optional

import torch
from torch.nn.utils.rnn import PackedSequence


def tensors_in(value: Any) -> List[torch.Tensor]:
    """Returns the tensors in nested sequences, mappings and dataclasses, in order."""
    found: List[torch.Tensor] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: List[torch.Tensor]) -> None:
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):  # the result of x.max(0) is a tuple too
        for item in value:
            _collect(item, found)
    elif isinstance(value, (dict, collections.abc.Mapping)):
        for item in value.values():
            _collect(item, found)
    elif _is_dataclass(value):
        for item in _members(value).values():
            _collect(item, found)


def with_tensors(
    value: Any, change: Callable[[torch.Tensor], torch.Tensor], changed: Optional[Dict[int, Any]] = None
) -> Any:
    """Returns a value with `change` of each of its tensors, in the same containers as `tensors_in` looks into.

    Lists, mappings and dataclasses get the changed tensors in place, so that they stay the objects that others
    hold. Tuples, and mappings that cannot be changed, are made anew if they hold a tensor that `change` changes.

    Args:
        changed: gets, by identity, each container that was looked into and can be changed.
    """
    changed = {} if changed is None else changed
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, PackedSequence):  # its lengths stay on the CPU
        data = change(value.data)
        if data is value.data:
            return value
        orders = [item if item is None else change(item) for item in (value[2], value[3])]
        return PackedSequence(data, value.batch_sizes, *orders)
    if id(value) in changed:
        return value
    if isinstance(value, tuple):
        items = [with_tensors(item, change, changed) for item in value]
        return value if all(new is old for new, old in zip(items, value)) else _tuple_like(value, items)
    if isinstance(value, list):
        changed[id(value)] = value
        for at, item in enumerate(value):
            new = with_tensors(item, change, changed)
            if new is not item:
                value[at] = new
    elif isinstance(value, collections.abc.MutableMapping):
        changed[id(value)] = value
        for key, item in list(value.items()):
            new = with_tensors(item, change, changed)
            if new is not item:
                value[key] = new
    elif isinstance(value, collections.abc.Mapping):
        items_of = {key: with_tensors(item, change, changed) for key, item in value.items()}
        if any(item is not value[key] for key, item in items_of.items()):
            return type(value)(items_of)  # type: ignore[call-arg]
    elif _is_dataclass(value):
        changed[id(value)] = value
        for name, item in _members(value).items():
            new = with_tensors(item, change, changed)
            if new is not item:
                object.__setattr__(value, name, new)  # frozen ones, too
    return value


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _members(value: Any) -> Dict[str, Any]:
    """Returns the members of a dataclass, whether it keeps them in a dictionary or in slots."""
    members = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    return {**members, **getattr(value, "__dict__", {})}


def _tuple_like(value: Any, items: List[Any]) -> Any:
    """Returns a tuple of the type of another, and with its attributes."""
    if hasattr(value, "n_sequence_fields"):  # the result of x.max(0)
        return type(value)(items)
    result = tuple.__new__(type(value), items)
    if hasattr(value, "__dict__"):
        result.__dict__.update(vars(value))
    return result


def storage_of(tensor: torch.Tensor) -> int:
    """Returns an id of a tensor's memory, shared by its views and valid while one of them lives."""
    try:
        # PyTorch 1 has only _storage().
        return int(
            (tensor.untyped_storage if hasattr(tensor, "untyped_storage") else tensor._storage)()._cdata
        )
    except RuntimeError:  # a sparse tensor, which has several storages
        return id(tensor)
