# SPDX-License-Identifier: MIT
"""Copies of tensors on other devices that change with their sources."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Set

import torch

from .tensors import storage_of


def version_of(tensor: torch.Tensor) -> Optional[int]:
    """Returns the number of in-place changes so far; None for an inference tensor, which has no counter."""
    return None if tensor.is_inference() else tensor._version


class _Copy(NamedTuple):
    tensor: torch.Tensor
    version: int
    source_version: int


class Twin(NamedTuple):
    """A copy that the model holds, itself or through views, where on a single device it would hold the
    source."""

    source: torch.Tensor
    copy: torch.Tensor


class Copies:
    """Copies of tensors on other devices, so that each tensor is sent to a device once.

    A copy lives as long as its source tensor, a twin as long as the model holds a view of the copy.
    """

    def __init__(self) -> None:
        self._copies: Dict[int, Dict[torch.device, _Copy]] = {}  # by identity of the source
        self._replacements: Dict[int, torch.Tensor] = {}  # by identity of a tensor that was changed on
        # another device
        self._watched: Dict[int, "weakref.ref[torch.Tensor]"] = {}
        # Results of calls, by storage and identity: the tensors in which a change of the storage is visible.
        self._given: Dict[int, Dict[int, "weakref.ref[torch.Tensor]"]] = {}
        self._twins: Dict[int, Twin] = {}  # by storage of the copy
        self._before: Set[int] = set()  # storages that existed before the pass and of which calls returned
        # views

    @property
    def any_replaced(self) -> bool:
        return bool(self._replacements)

    @property
    def any_twins(self) -> bool:
        return bool(self._twins)

    def newest(self, tensor: torch.Tensor) -> torch.Tensor:
        """Returns the tensor itself, or its replacement if it was changed on another device."""
        while id(tensor) in self._replacements:
            tensor = self._replacements[id(tensor)]
        return tensor

    def on(self, tensor: torch.Tensor, device: torch.device, countable: bool = False) -> torch.Tensor:
        """Returns the tensor on a device; gradients flow back to it.

        Args:
            countable: the copy counts its changes, even where PyTorch's inference mode does without.
        """
        if tensor.device == device:
            return tensor
        known = self._copies.get(id(tensor), {}).get(device)
        if (
            known is not None
            and known.source_version == version_of(tensor)
            and known.version == version_of(known.tensor)
        ):
            # A copy that was made without gradients cannot be used where gradients are needed.
            if known.tensor.requires_grad or not (tensor.requires_grad and torch.is_grad_enabled()):
                return known.tensor
        if countable and tensor.is_inference():
            with torch.inference_mode(False), torch.no_grad():
                return tensor.to(device)
        moved = tensor.to(device)
        self._keep(tensor, moved)
        return moved

    def _keep(self, tensor: torch.Tensor, copy: torch.Tensor) -> None:
        """Records that a copy equals the tensor."""
        source_version, version = version_of(tensor), version_of(copy)
        if source_version is not None and version is not None:
            self._watch(tensor)
            self._copies.setdefault(id(tensor), {})[copy.device] = _Copy(copy, version, source_version)

    def give(self, results: List[torch.Tensor], moved: List[Twin], taken: List[torch.Tensor]) -> None:
        """Registers the results of a call: `moved` are the copies that it read, `taken` all tensors that it
        read, copies included."""
        twins = {storage_of(twin.copy): twin for twin in moved}
        older = {storage_of(tensor) for tensor in taken} - twins.keys() - self._given.keys()
        self._before.update(older.intersection(map(storage_of, results)))
        for result in results:
            storage = storage_of(result)
            if storage in twins:
                self._twins.setdefault(storage, twins[storage])
            given = self._given.setdefault(storage, {})
            if id(result) not in given:
                given[id(result)] = weakref.ref(
                    result, functools.partial(_forget_given, weakref.ref(self), storage, id(result))
                )

    def forget_given(self, storage: int, key: int) -> None:
        given = self._given.get(storage, {})
        given.pop(key, None)
        if not given:
            self._given.pop(storage, None)
            self._twins.pop(storage, None)

    def changed(self, source: torch.Tensor, tensor: torch.Tensor, replaces: bool) -> None:
        """Handles an in-place change of `tensor`, which is `source` or a copy of it: the change becomes
        visible in all tensors that would show it on a single device."""
        if tensor is source:
            self._spread(tensor)
        elif replaces and source.stride() == tensor.stride() and self._is_seen_alone(source, tensor):
            self._watch(source)
            self._replacements[id(source)] = tensor
            self._copies.pop(id(source), None)
            self._twins.pop(storage_of(tensor), None)
            self._spread(tensor)
        else:
            self._write(tensor, source, source)
            self._spread(source, self._twins.get(storage_of(tensor)))

    def _is_seen_alone(self, source: torch.Tensor, copy: torch.Tensor) -> bool:
        """Returns whether no other tensor, made before the pass or in it, shows the contents of `source`."""
        storage = storage_of(source)
        return (
            list(self._given.get(storage, ())) == [id(source)]
            and storage not in self._before
            and storage not in self._twins
            and all(twin.copy is copy or storage_of(twin.source) != storage for twin in self._twins.values())
        )

    def _spread(self, tensor: torch.Tensor, known: Optional[Twin] = None) -> None:
        """Copies a change of a tensor to all twins of its storage, and on to their twins; `known` is the twin
        that the change came from, which is skipped."""
        storage = storage_of(tensor)
        for twin in list(self._twins.values()):
            if twin is known:
                continue
            if storage_of(twin.copy) == storage:
                self._write(twin.copy, twin.source, twin.source)
                self._spread(twin.source, twin)
            elif storage_of(twin.source) == storage:
                self._write(twin.source, twin.copy, twin.source)
                self._spread(twin.copy, twin)

    def _write(self, changed: torch.Tensor, other: torch.Tensor, source: torch.Tensor) -> None:
        """Copies `changed` into `other`, where one of the two is the source and one its copy; gradients flow
        back."""
        other.copy_(changed)
        self._keep(source, changed if other is source else other)

    def settle(self) -> None:
        """Writes replacements back into their sources, as far as the model still holds these."""
        for key, replacement in self._replacements.items():
            source = self._watched[key]()
            if source is not None:
                source.copy_(replacement)

    def _watch(self, tensor: torch.Tensor) -> None:
        """Forgets a tensor when it is freed, because another tensor may get its identity."""
        key = id(tensor)
        if key not in self._watched:
            self._watched[key] = weakref.ref(tensor, functools.partial(_forget, weakref.ref(self), key))

    def forget(self, key: int) -> None:
        for table in (self._watched, self._copies, self._replacements):
            table.pop(key, None)  # type: ignore[attr-defined]


# These callbacks hold weak references only, so that the copies are freed with the pass and not by the cycle
# collector.
def _forget(copies: "weakref.ref[Copies]", key: int, _gone: Any) -> None:
    owner = copies()
    if owner is not None:
        owner.forget(key)


def _forget_given(copies: "weakref.ref[Copies]", storage: int, key: int, _gone: Any) -> None:
    owner = copies()
    if owner is not None:
        owner.forget_given(storage, key)
