# SPDX-License-Identifier: MIT
"""Reads a placement for a model: the device of each call, module, parameter and buffer."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NoReturn, Optional, Protocol, Set, Union

import torch

from .errors import PlacementError

Devices = Mapping[Union[str, int], Union[str, torch.device]]
File = Union[str, "os.PathLike[str]"]


class Found(Protocol):
    """A placement that a search found (placewright.Placement)."""

    document: Dict[str, Any]

    @property
    def network_file(self) -> Optional[str]: ...


#: A file, what such a file holds, or what a search found.
Source = Union[File, Mapping[str, Any], Found]


@dataclasses.dataclass
class Plan:
    """The devices of a model."""

    calls: Dict[str, torch.device]  #: by name; a call that is missing here runs on the device of its module
    modules: Dict[str, torch.device]  #: by path, '/' separated; without modules that the file omits
    tensors: Dict[str, torch.device]  #: devices of parameters and buffers, by name
    named: Dict[str, torch.device]  #: the modules that the placement names itself; others are in one of these


@dataclasses.dataclass
class _Op:
    """An op of the placement."""

    name: str
    device: torch.device
    module: str  # dotted
    holds: List[str]  # names of parameters and buffers


def _dotted(name: str) -> str:
    return name.replace("/", ".")


def _list(names: Iterable[str]) -> str:
    """Lists at most five names, each once: `"a", "b", "c", "d", "e" and 4 more`."""
    names = list(dict.fromkeys(names))
    shown = ", ".join(json.dumps(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


class _Reader:
    def __init__(
        self,
        model: torch.nn.Module,
        source: Source,
        devices: Optional[Devices],
        graph: Optional[File],
        on_conflict: str,
    ) -> None:
        if on_conflict not in ("error", "majority"):
            raise ValueError(f'on_conflict is {on_conflict!r}, expected "error" or "majority"')
        if isinstance(source, (str, os.PathLike)):
            self._name, self._document = os.fspath(source), self._json(source)
        else:
            self._name = "the placement"
            document = source if isinstance(source, Mapping) else getattr(source, "document", None)
            if not isinstance(document, Mapping):
                raise PlacementError(
                    f"{type(source).__name__} is no placement: expected a file, a mapping, or what"
                    " placewright.optimize returns"
                )
            self._document = dict(document)
            graph = graph or getattr(source, "network_file", None)
        self._graph = graph
        self._majority = on_conflict == "majority"
        self._devices = devices
        self._resolved: Dict[Any, torch.device] = {}
        # Module paths by their dotted form: in names of ops, a "/" in a ModuleDict's key reads like a ".".
        self._modules = {_dotted(path): path for path, _ in model.named_modules(remove_duplicate=False)}
        # All names of each tensor: several if it is tied.
        self._tensors: Dict[int, List[str]] = {}
        self._is_parameter: Dict[str, bool] = {}
        self._unsaved: Set[str] = set()  # buffers that the state_dict does not hold
        for prefix, module in model.named_modules(remove_duplicate=False):
            for table in (module._parameters, module._buffers):
                for key, tensor in table.items():
                    if tensor is not None:
                        name = f"{prefix}.{key}" if prefix else key
                        self._tensors.setdefault(id(tensor), []).append(name)
                        self._is_parameter[name] = table is module._parameters
                        if key in module._non_persistent_buffers_set:
                            self._unsaved.add(name)
        self._spelled = {_dotted(name): name for name in self._is_parameter}

    def fail(self, problem: str) -> NoReturn:
        raise PlacementError(f"{self._name}: {problem}")

    def _json(self, file: File) -> Dict[str, Any]:
        try:
            document = json.loads(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            raise PlacementError(f"{file}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise PlacementError(f"{file}: is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise PlacementError(f"{file}: holds no object, expected a placement")
        return document

    def read(self) -> Plan:
        document = self._document
        if "format" not in document:
            self._refuse_others(document)
            return self._read_device_map(document)
        if document["format"] != "placewright.placement":
            self.fail(
                f'"format" is {document["format"]!r}, expected "placewright.placement", or a device_map'
                ' without "format"'
            )
        if document.get("version") != 1:
            self.fail(f'"version" is {document.get("version")!r}, expected 1')
        placement = document.get("placement")
        if not isinstance(placement, dict) or not all(
            isinstance(device, str) for device in placement.values()
        ):
            self.fail('"placement" is not an object of device names by op')
        parts = [name for name in placement if re.search(r"_shard\d+$", name)]
        if parts:
            self.fail(
                f"places parts of ops, but PyTorch runs ops whole: {_list(parts)}; search again without"
                " --shard"
            )
        return self._plan([(name, self._device(device)) for name, device in placement.items()])

    def _refuse_others(self, document: Dict[str, Any]) -> None:
        """Fails for a file in one of the other export formats of placements."""
        what = None
        if isinstance(document.get("traceEvents"), list):
            what = "a trace of a run"
        elif isinstance(document.get("split_spec"), dict):
            what = "split points for a pipeline"
        elif document and all(
            isinstance(device, str) and re.search("/(device:)?(CPU|GPU):", device, re.I)
            for device in document.values()
        ):
            what = "TensorFlow devices"
        if what is not None:
            self.fail(
                f"holds {what}, not a placement for PyTorch; export it as placewright.placement or as a"
                " device_map"
            )

    def _device(self, name: Union[str, int]) -> torch.device:
        if name not in self._resolved:
            self._resolved[name] = self._resolve(name)
        return self._resolved[name]

    def _resolve(self, name: Union[str, int]) -> torch.device:
        if self._devices is not None:
            if isinstance(name, int):  # device maps number the GPUs
                name = next(
                    (
                        other
                        for other in (name, str(name), f"gpu:{name}", f"cuda:{name}")
                        if other in self._devices
                    ),
                    name,
                )
            if name not in self._devices:
                self.fail(
                    f"device {json.dumps(name)} is not in devices, which has"
                    f" {_list(map(str, self._devices)) or 'none'}"
                )
            wanted = self._devices[name]
        elif isinstance(name, int):
            wanted = f"cuda:{name}"
        else:
            kind, _, index = name.partition(":")
            wanted = {"gpu": f"cuda:{index or 0}", "cpu": "cpu"}.get(kind, name)
        example = 'devices={"gpu:0": "cuda:0", "gpu:1": "cpu"}'
        try:
            device = torch.device(wanted)
        except RuntimeError:
            device = torch.device("meta")
        if device.type == "meta":
            given = f" is {json.dumps(str(wanted))} in devices, which" if self._devices is not None else ""
            self.fail(
                f"device {json.dumps(name)}{given} has no counterpart in PyTorch; name one as in {example}"
            )
        if device.type == "cuda" and device.index is None:
            device = torch.device("cuda", 0)
        if device.type == "cuda" and device.index >= torch.cuda.device_count():
            self.fail(
                f"device {json.dumps(name)} is {device}, but there are {torch.cuda.device_count()} GPUs;"
                f" map it to another device as in {example}"
            )
        return device

    def _plan(self, placement: List[Any]) -> Plan:
        ops = self._ops_by_graph(placement) if self._graph is not None else self._ops_by_name(placement)
        by_module: Dict[str, List[_Op]] = {}
        for op in ops:
            by_module.setdefault(op.module, []).append(op)
        modules: Dict[str, torch.device] = {}
        for path in self._modules.values():
            # A module that the file does not mention runs with the module around it.
            own = by_module.get(path)
            if own:
                modules[path] = _most(op.device for op in own)
            elif path and path.rpartition(".")[0] in modules:
                modules[path] = modules[path.rpartition(".")[0]]
        return Plan(
            calls={op.name: op.device for op in ops},
            modules={path.replace(".", "/"): device for path, device in modules.items()},
            named={path.replace(".", "/"): modules[path] for path in modules.keys() & by_module.keys()},
            tensors=self._place_tensors(ops, by_module, modules),
        )

    def _ops_by_name(self, placement: List[Any]) -> List[_Op]:
        """Returns the ops by their names in a network of `export`: the path of the module and the kind of the
        call, or the path of a parameter that several ops read."""
        ops, unknown = [], []
        for name, device in placement:
            dotted = _dotted(name)
            module = self._modules.get(dotted.rpartition(".")[0])
            if module is None:
                unknown.append(name)
                continue
            ops.append(_Op(name, device, module, [self._spelled[dotted]] if dotted in self._spelled else []))
        if unknown:
            self.fail(
                f"ops of modules that the model does not have: {_list(unknown)}; if placewright.export did"
                " not"
                " write the network, pass it as graph= (placewright-cli convert NETWORK graph.json writes it)"
            )
        return ops

    def _ops_by_graph(self, placement: List[Any]) -> List[_Op]:
        assert self._graph is not None
        document = self._json(self._graph)
        by_name = {}
        try:
            for op in document["ops"]:
                held = list(op.get("attributes", {}).get("parameters", []))
                # The file names what the state_dict holds; another buffer that is an op has the op's name.
                own = self._spelled.get(_dotted(op["name"]))
                if own in self._unsaved and op.get("kind") == "constant":
                    held.append(own)
                by_name[op["name"]] = (_dotted(op.get("scope", "")), held)
        except (KeyError, TypeError, AttributeError) as error:
            raise PlacementError(
                f"{self._graph}: is no network, expected a file of placewright.export or placewright-cli"
                " convert"
            ) from error
        missing = [name for name, _ in placement if name not in by_name]
        if missing:
            self.fail(f"ops that are not in {self._graph}: {_list(missing)}")
        unknown = [name for name, _ in placement if by_name[name][0] not in self._modules]
        if unknown:
            raise PlacementError(
                f"{self._graph}: ops of modules that the model does not have: {_list(unknown)}"
            )
        return [
            _Op(name, device, self._modules[scope], held)
            for name, device in placement
            for scope, held in [by_name[name]]
        ]

    def _place_tensors(
        self, ops: List[_Op], by_module: Dict[str, List[_Op]], modules: Dict[str, torch.device]
    ) -> Dict[str, torch.device]:
        held = {name: op.device for op in ops for name in op.holds}
        silent = [
            module
            for names in self._tensors.values()
            for module in [names[0].rpartition(".")[0]]
            if self._is_parameter[names[0]]
            and module not in by_module
            and not any(name in held for name in names)
        ]
        if silent:
            warnings.warn(
                f"{self._name}: does not mention modules that have parameters: {_list(silent)}; they go to"
                " the device of the module around them. If the placement is for this model, pass graph= (the"
                " network file that"
                " placewright.export wrote) to place them.",
                stacklevel=6,
            )
        result: Dict[str, torch.device] = {}
        conflicts: Dict[str, List[_Op]] = {}
        for names in self._tensors.values():
            device = next((held[name] for name in names if name in held), None)
            if device is None:
                module = names[0].rpartition(".")[0]
                own = by_module.get(module, [])
                if self._is_parameter[names[0]] and len({op.device for op in own}) > 1:
                    conflicts[module] = own
                device = modules.get(module, ops[0].device if ops else torch.device("cpu"))
            result.update(dict.fromkeys(names, device))
        if conflicts and not self._majority:
            module, own = next(iter(conflicts.items()))
            places = ", ".join(f"{json.dumps(op.name)} on {op.device}" for op in own[:6]) + (
                " ..." if len(own) > 6 else ""
            )
            self.fail(
                f"module {json.dumps(module)} has parameters, and its ops are on several devices: {places}."
                " Pass the network file as graph=, which says which op holds them, or"
                ' on_conflict="majority" to put them on the device of most of these ops'
                + (f" ({len(conflicts)} modules have this conflict)" if len(conflicts) > 1 else "")
            )
        return result

    @staticmethod
    def _beside(name: str, placed: Dict[str, torch.device]) -> torch.device:
        """Returns the device of the first tensor of a buffer's module or, where that has none, of the modules
        around it: device maps cover the state_dict only."""
        module = name
        while module:
            module = module.rpartition(".")[0]
            for other, device in placed.items():
                if not module or other.startswith(module + "."):
                    return device
        return torch.device("cpu")

    def _read_device_map(self, document: Dict[str, Any]) -> Plan:
        """Reads a device_map of Hugging Face Accelerate: the longest dotted prefix of a name decides, "" is
        the whole model."""
        devices: Dict[str, torch.device] = {}
        for key, value in document.items():
            if value == "disk":
                self.fail(
                    f"{json.dumps(key)} is on disk, which only Accelerate's dispatch_model supports;"
                    " expected a device"
                )
            if isinstance(value, bool) or not isinstance(value, (int, str)):
                self.fail(
                    f"{json.dumps(key)} is {json.dumps(value)}, expected the number of a GPU or the name of"
                    " a device"
                )
            devices[key] = self._device(value)

        def device_of(name: str) -> Optional[torch.device]:
            while name and name not in devices:
                name = name.rpartition(".")[0]
            return devices.get(name)

        paths = set(self._modules.values())
        unknown = [key for key in devices if key and key not in self._is_parameter and key not in paths]
        if unknown:
            self.fail(f"neither modules nor parameters of the model: {_list(unknown)}")
        result: Dict[str, torch.device] = {}
        missing, unsaved = [], []
        for names in self._tensors.values():
            places = {name: device_of(name) for name in names}
            for name, device in places.items():
                if device is None:
                    (unsaved if name in self._unsaved else missing).append(name)
            found = {device for device in places.values() if device is not None}
            if len(found) > 1:
                self.fail(f"{_list(names)} are one tied parameter, but on several devices")
            result.update((name, device) for name, device in places.items() if device is not None)
        if missing:
            self.fail(f"no device for {_list(missing)}")
        for name in unsaved:
            result[name] = self._beside(name, result)
        modules = {
            path.replace(".", "/"): device
            for path in paths
            for device in [device_of(path)]
            if device is not None
        }
        return Plan(calls={}, modules=modules, named=modules, tensors=result)


def _most(devices: Iterable[torch.device]) -> torch.device:
    """Returns the most frequent device; the first of several that are equally frequent."""
    return Counter(devices).most_common(1)[0][0]


def read_placement(
    model: torch.nn.Module,
    source: Source,
    devices: Optional[Devices] = None,
    graph: Optional[File] = None,
    on_conflict: str = "error",
) -> Plan:
    """Returns the devices that a placement gives to a model; arguments and errors are those of
    `apply`."""
    return _Reader(model, source, devices, graph, on_conflict).read()
