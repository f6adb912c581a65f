# SPDX-License-Identifier: MIT
"""Finds and replaces the tensors in what functions take and return."""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
from typing import Any, Callable, List

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
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in vars(value).values():
            _collect(item, found)


def with_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Returns a value with `change` of each of its tensors, in the same containers as `tensors_in` looks into;
    the value itself if that changes none."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, PackedSequence):  # its lengths stay on the CPU
        data = change(value.data)
        if data is value.data:
            return value
        orders = [item if item is None else change(item) for item in (value[2], value[3])]
        return PackedSequence(data, value.batch_sizes, *orders)
    if isinstance(value, (list, tuple)):
        items = [with_tensors(item, change) for item in value]
        if all(new is old for new, old in zip(items, value)):
            return value
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    if isinstance(value, collections.abc.Mapping):
        changed = {key: with_tensors(item, change) for key, item in value.items()}
        changed = {key: item for key, item in changed.items() if item is not value[key]}
        if changed:
            value = copy.copy(value)
            for key, item in changed.items():
                value[key] = item  # type: ignore[index]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {name: with_tensors(item, change) for name, item in vars(value).items()}
        changed = {name: item for name, item in changed.items() if item is not vars(value)[name]}
        if changed:
            value = copy.copy(value)
            for name, item in changed.items():
                object.__setattr__(value, name, item)
    return value


def storage_of(tensor: torch.Tensor) -> int:
    """Returns an id of a tensor's memory, shared by its views and valid while one of them lives."""
    try:
        # PyTorch 1 has only _storage().
        return int(
            (tensor.untyped_storage if hasattr(tensor, "untyped_storage") else tensor._storage)()._cdata
        )
    except RuntimeError:  # a sparse tensor, which has several storages
        return id(tensor)
