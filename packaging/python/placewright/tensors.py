# SPDX-License-Identifier: MIT
"""Finds and replaces the tensors in what functions take and return."""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
from typing import Any, Callable, Dict, List, NamedTuple

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


class Replacement:
    """Puts other tensors in the place of those that a function is given, for as long as the function runs.

    Lists, mappings and dataclasses that hold a replaced tensor are copied, so that nobody else sees the other tensors;
    what the function changes in the copies is changed in the originals by `give_back`. Tuples, and mappings that cannot
    be changed, are made anew.
    """

    def __init__(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self._change = change
        self._held: Dict[int, torch.Tensor] = {}  # by identity of the other tensor: the first that it stands for
        self._seen: Dict[int, Any] = {}  # by identity of a container: its copy, or itself
        self._copies: Dict[int, _Copy] = {}  # by identity of the copy

    def replaced(self, value: Any) -> Any:
        """Returns a value with the other tensors, in the containers that `tensors_in` looks into; the value itself if
        it holds none that changes."""
        if isinstance(value, torch.Tensor):
            other = self._change(value)
            self._held.setdefault(id(other), value)
            return other
        if isinstance(value, PackedSequence):  # its lengths stay on the CPU
            data = self._change(value.data)
            if data is value.data:
                return value
            orders = [item if item is None else self._change(item) for item in (value[2], value[3])]
            return PackedSequence(data, value.batch_sizes, *orders)
        if isinstance(value, tuple):
            return _tuple_of(value, self.replaced)
        if id(value) not in self._seen and _is_container(value):
            self._seen[id(value)] = self._replaced_in(value)
        return self._seen.get(id(value), value)

    def _replaced_in(self, value: Any) -> Any:
        before = _items(value)
        items = {key: self.replaced(item) for key, item in before.items()}
        changed = {key: item for key, item in items.items() if item is not before[key]}
        if not changed:
            return value
        if not _is_changeable(value):
            return type(value)(items)
        other = copy.copy(value)
        for key, item in changed.items():
            _set_item(other, key, item)
        self._copies[id(other)] = _Copy(value, other, items, dict(getattr(other, "__dict__", {})))
        return other

    def give_back(self) -> None:
        """Makes the changes of the copies in the originals, which get their own tensors and containers."""
        for original, other, before, attributes in self._copies.values():
            now = _items(other)
            if isinstance(original, list):
                if not _same(now, before):
                    original[:] = [self._original(item) for item in other]
            else:
                for key in before.keys() - now.keys():
                    _delete_item(original, key)
                for key, item in now.items():
                    if key not in before or item is not before[key]:
                        _set_item(original, key, self._original(item))
            for name, item in getattr(other, "__dict__", {}).items():
                if not _is_dataclass(other) and (name not in attributes or item is not attributes[name]):
                    original.__dict__[name] = self._original(item)

    def _original(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._held.get(id(value), value)
        if isinstance(value, tuple) and not isinstance(value, PackedSequence):
            return _tuple_of(value, self._original)
        return self.original_containers(value)

    def original_containers(self, value: Any) -> Any:
        """Returns a value in which the copies of containers are the originals again."""
        if id(value) in self._copies:
            return self._copies[id(value)].original
        if isinstance(value, tuple) and not isinstance(value, PackedSequence):
            return _tuple_of(value, self.original_containers)
        if self._copies and _is_container(value) and _is_changeable(value):
            for key, item in _items(value).items():
                original = self.original_containers(item)
                if original is not item:
                    _set_item(value, key, original)
        return value


class _Copy(NamedTuple):
    original: Any
    copy: Any
    items: Dict[Any, Any]  #: of the copy, before the function ran
    attributes: Dict[str, Any]  #: of the copy beside its items, before the function ran


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, collections.abc.Mapping)) or _is_dataclass(value)


def _is_changeable(value: Any) -> bool:
    return not isinstance(value, collections.abc.Mapping) or isinstance(value, collections.abc.MutableMapping)


def _items(value: Any) -> Dict[Any, Any]:
    """Returns what a container holds, by index, key or name."""
    if isinstance(value, list):
        return dict(enumerate(value))
    return dict(value.items()) if isinstance(value, collections.abc.Mapping) else _members(value)


def _set_item(value: Any, key: Any, item: Any) -> None:
    if isinstance(value, (list, collections.abc.Mapping)):
        value[key] = item  # type: ignore[index]
    else:
        object.__setattr__(value, key, item)  # of frozen dataclasses, too


def _delete_item(value: Any, key: Any) -> None:
    if isinstance(value, collections.abc.Mapping):
        value.pop(key, None)  # type: ignore[attr-defined]
    else:
        object.__delattr__(value, key)


def _same(one: Dict[Any, Any], other: Dict[Any, Any]) -> bool:
    return one.keys() == other.keys() and all(item is other[key] for key, item in one.items())


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _members(value: Any) -> Dict[str, Any]:
    """Returns the members of a dataclass, whether it keeps them in a dictionary or in slots."""
    members = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    return {**members, **getattr(value, "__dict__", {})}


def _tuple_of(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns a tuple with `change` of each item, of the same type and with the same attributes; the tuple itself if
    that changes none."""
    items = [change(item) for item in value]
    if all(new is old for new, old in zip(items, value)):
        return value
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
