# SPDX-License-Identifier: MIT
"""The ops of a network file, from a recorded forward pass."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, Iterator, List, Set, Tuple

from .record import Node, Parameter, Value, bytes_of, needed_nodes, size_of

#: Every op that reads a constant of up to this size holds a copy of it.
_SMALL_CONSTANT_BYTES = 64 << 10


_FLOATING = ("float64", "float32", "float16", "bfloat16")


class Network:
    """The ops of a recorded forward pass."""

    def __init__(
        self,
        state: List[Parameter],
        inputs: List[Tuple[str, Dict[str, Any]]],
        nodes: List[Node],
        results: List[Value],
    ) -> None:
        self._nodes = nodes
        self._needed = needed_nodes(nodes, results)
        readers: List[Set[int]] = [set() for _ in state]
        read: Set[int] = set()
        for index, node in self._needed_nodes():
            for value in node.inputs:
                if value.source == "parameter":
                    readers[value.index].add(index)
                elif value.source == "input":
                    read.add(value.index)
        self.unread = [
            parameter.path for nodes, parameter in zip(readers, state) if parameter.trained and not nodes
        ]
        # A parameter that no op reads has no gradient.
        self._state = [
            parameter if nodes else dataclasses.replace(parameter, trained=False)
            for nodes, parameter in zip(readers, state)
        ]
        # A parameter belongs to the op that reads it; one that several ops read is an op of its own.
        self._shared = [
            len(nodes) > 1 and (parameter.trained or bytes_of(parameter.tensor) > _SMALL_CONSTANT_BYTES)
            for nodes, parameter in zip(readers, state)
        ]
        self._holders = self._find_holders(readers)
        taken = self._taken = {node.call.name for node in nodes}
        self._input_names = [self._unique(name, taken) for name, _ in inputs]
        self._parameter_names = [self._unique(parameter.path.replace(".", "/"), taken) for parameter in state]
        self._cast_parameters: Dict[Tuple[int, str], str] = {}  # names of casts by index and type
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

    def _needed_nodes(self) -> Iterator[Tuple[int, Node]]:
        return ((index, node) for index, node in enumerate(self._nodes) if self._needed[index])

    def _find_holders(self, readers: List[Set[int]]) -> Dict[int, List[int]]:
        """Returns the indices of the parameters that each node holds.

        A tensor that no op reads (such as num_batches_tracked of a batch_norm) is held by the first op of its
        module, or else of the nearest enclosing module with ops.
        """
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

    def _name_of(self, value: Value) -> str:
        if value.source == "input":
            return self._input_names[value.index]
        if value.source == "parameter":
            return self._parameter_names[value.index]
        name = self._nodes[value.index].call.name
        # "norm:1" could be output 1 of "norm".
        return f"{name}:{value.output}" if value.output or re.search(r":\d+$", name) else name

    def _add(
        self, op: Dict[str, Any], held: List[int], outputs: List[Dict[str, Any]], packed_bytes: int = 0
    ) -> None:
        parameter_bytes, resident_bytes = 0, packed_bytes
        parameter_dtype = None
        names: List[str] = []
        sizes: List[int] = []
        shapes: List[List[int]] = []
        buffers: List[str] = []
        for index in held:
            parameter = self._state[index]
            size = bytes_of(parameter.tensor)
            if parameter.trained:
                parameter_bytes += size
                parameter_dtype = parameter_dtype or size_of(parameter.tensor).get("dtype")
            else:
                resident_bytes += size
                buffers += parameter.names
            names += parameter.names
            # The names of a tied parameter share its bytes: only the first has them.
            shapes += [list(parameter.tensor.shape)] * len(parameter.names)
            sizes += [
                size if first else 0 for first in (name == parameter.names[0] for name in parameter.names)
            ]
        op = {"inputs": [], "flops": 0, **op, "outputs": outputs, "parameter_bytes": parameter_bytes}
        written = outputs[0].get("dtype") if outputs else None
        if parameter_dtype in _FLOATING and written in _FLOATING and parameter_dtype != written:
            op["parameter_dtype"] = parameter_dtype
        if resident_bytes:
            op["resident_bytes"] = resident_bytes
        if names:
            op["attributes"] = {
                **op.get("attributes", {}),
                "parameters": names,
                "parameter_bytes": sizes,
                "parameter_shapes": shapes,
            }
            if buffers:
                op["attributes"]["buffers"] = buffers
        self.ops.append(op)

    def _add_parameter(self, index: int) -> None:
        parameter = self._state[index]
        kind = "parameter" if parameter.trained else "constant"
        op: Dict[str, Any] = {"name": self._parameter_names[index], "kind": kind}
        scope = parameter.path.rpartition(".")[0].replace(".", "/")
        if parameter.times:
            op["time_s"] = parameter.times
        self._add({**op, "scope": scope}, [index], [size_of(parameter.tensor)])

    def _add_cast(self, value: Value, size: Dict[str, Any], beside: Dict[str, Any]) -> str:
        """Adds a cast of autocast and returns its name, as `--precision` does (core/graph/precision.hpp): each
        op casts what it reads, and a parameter is cast once for all ops."""
        parameter = value.source == "parameter" and self._state[value.index].trained
        key = (value.index, size.get("dtype", ""))
        if parameter and key in self._cast_parameters:
            return self._cast_parameters[key]
        source = self._name_of(value)
        holder = next(op for op in self.ops if op["name"] == source) if parameter else beside
        stem = source.replace(":", "_")
        name = self._unique(f"{stem}_cast" if parameter else f"{holder['name']}_cast_{stem}", self._taken)
        cast = {"name": name, "kind": "to", "scope": holder.get("scope", ""), "inputs": [source]}
        holder.setdefault("colocate", holder["name"])
        self._add({**cast, "autocast": True, "colocate": holder["colocate"]}, [], [size])
        if parameter:
            self._cast_parameters[key] = name
        return name

    def _add_node(self, index: int, node: Node) -> None:
        op: Dict[str, Any] = {"name": node.call.name, "kind": node.call.kind, "scope": node.call.scope}
        casts: Dict[Value, str] = {}
        op["inputs"] = inputs = []
        for value in node.inputs:
            if value.source == "parameter" and not self._shared[value.index]:
                continue
            if value in node.casts and value not in casts:
                casts[value] = self._add_cast(value, node.casts[value], op)
            inputs.append(casts.get(value) or self._name_of(value))
        op["flops"] = node.least_flops if node.flops is None else node.flops
        if node.flops is None:
            self.estimated.append(node.call.name)
        if node.call.changes_input:
            op["in_place"] = True
        if node.times:
            op["time_s"] = node.times
        if node.attributes:
            op["attributes"] = dict(node.attributes)
        self._add(op, self._holders.get(index, []), node.outputs, node.packed_bytes)
