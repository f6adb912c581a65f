# SPDX-License-Identifier: MIT
"""Searches for placements with placewright-cli."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

import torch

from .command_line import Folder, arguments_of, progress_bar, run
from .errors import ExportError
from .export import Devices, Inputs, export
from .machines import MachineLike, machine_argument
from .placement import DeviceMap, Placement, Search

Network = Union[torch.nn.Module, str, "os.PathLike[str]", Mapping[str, Any]]

# Options of a search; all others are of the simulation, and count wherever the placement is used.
_SEARCH = frozenset(
    "algorithm set evaluations seconds seed threads refine headroom measure_best measure_evaluations"
    " measure_steps throttle scores".split()
)


def optimize(
    model: Network,
    inputs: Optional[Inputs] = None,
    machine: MachineLike = "this",
    seconds: Optional[float] = 30,
    *,
    training: Optional[bool] = None,
    measure: Devices = False,
    progress: Optional[bool] = None,
    **options: Any,
) -> Placement:
    """Searches for the fastest placement of a model's ops on the devices of a machine.

        placement = placewright.optimize(model, images, machine="2x RTX 4090")
        placement                   # step time, devices, and in a notebook a timeline
        placement.apply()           # the model now runs on these devices

    An interrupt (Ctrl+C, a notebook's stop button) ends the search early; the best that it found is returned.

    Args:
        model: any module, also on the meta device; or the path of a network that the command line reads
            (core/io/README.md); or the config of a language model of Transformers, or its dict.
        inputs: what the model is called with, as in `export`; None for a path.
        machine: "this": this computer; or a Machine, a machine file, a shipped machine ("4x-v100-nvlink"), or
            parts by name ("2x RTX 4090").
        seconds: time limit of the search. None: `evaluations=N` limits it, and gives the same result each time.
        training: a step is forward, backward and update; False: inference. None: training, but for a path of a
            language model what the command line does, which is decode (see `phase` there).
        measure: True, or devices: takes measured times of the ops (see `export`), where the machine has the
            devices that they were measured on.
        progress: a progress bar by tqdm. None: on terminals and in notebooks, if tqdm is installed.
        options: options of `placewright-cli optimize`, with "_" for "-": precision="amp-fp16", batches=4,
            group="scope:2", algorithm="genetic". `constraints` may also be the object that such a file holds.

    Raises:
        ExportError: the model cannot be exported.
        CommandLineError: placewright-cli is missing or refuses the search; `status` is 4 if no placement fits
            the memory.
    """
    folder = Folder()
    model = _with_config_in_file(model, folder.path)
    network, own = _network(model, inputs, folder.path, training is not False, measure)
    if training and not isinstance(model, torch.nn.Module) and _is_language_model(Path(network)):
        own = {"phase": "training"}
    search, simulation = _split({**own, **options}, folder.path)
    machine_text = machine_argument(machine, folder.path)
    return _search(model, network, machine_text, seconds, progress, search, simulation, folder)


def device_map(
    model: Network,
    inputs: Optional[Inputs] = None,
    machine: MachineLike = "this",
    seconds: Optional[float] = 30,
    *,
    phase: Optional[str] = None,
    batch: Optional[int] = None,
    sequence: Optional[int] = None,
    progress: Optional[bool] = None,
    **options: Any,
) -> DeviceMap:
    """Searches for the fastest placement of whole modules, for `from_pretrained(device_map=...)`.

        placewright.device_map("Llama-3.1-8B/config.json", machine="2x RTX 4090", phase="decode")

    Layers with residual connections are not cut.

    Args:
        model: a module, also on the meta device; or a path that the command line reads, such as the folder or
            the config.json of a language model; or the config of such a model, or its dict.
        inputs: what a module is called with. None: tokens, if the model takes "input_ids".
        machine, seconds, progress, options: as in `optimize`.
        phase: "training", "prefill" or "decode". None: that of the command line for a path, else inference on
            the inputs. A module has no "decode": its cache is no part of a call.
        batch: sequences, or examples, in a step.
        sequence: tokens of the prompt or, for "decode", in the cache.

    Returns:
        The number of a GPU, or "cpu", by the path of a module.

    Raises:
        ExportError: the model cannot be exported.
        CommandLineError: as in `optimize`.
    """
    folder = Folder()
    model = _with_config_in_file(model, folder.path)
    sizes: Dict[str, Any] = {}
    training = phase == "training" or not isinstance(model, torch.nn.Module)
    if isinstance(model, torch.nn.Module):
        if phase == "decode":
            raise ExportError(
                'phase="decode" needs a path, such as that of config.json: the cache is no part of a call of a'
                ' module. Expected "training", "prefill" or None'
            )
        if inputs is None:
            inputs = _tokens_for(model, batch or 1, sequence or 128)
    else:
        sizes = {"phase": phase, "batch": batch, "sequence": sequence}
    network, own = _network(model, inputs, folder.path, training, False)
    search, simulation = _split({**own, **sizes, **options}, folder.path)
    machine_text = machine_argument(machine, folder.path)
    if "group" not in simulation:
        where = [network, "--machine", machine_text, *arguments_of(simulation)]
        simulation["group"] = f"scope:{_block_depth(model, where, folder.path)}"
    return _search(model, network, machine_text, seconds, progress, search, simulation, folder).device_map


def _search(
    model: Network,
    network: str,
    machine: str,
    seconds: Optional[float],
    progress: Optional[bool],
    search: Dict[str, Any],
    simulation: Dict[str, Any],
    folder: Folder,
) -> Placement:
    out = folder.path / "placement.json"
    arguments = [network, "--machine", machine, "--out", str(out)]
    search = {"seconds": seconds, **search}
    with progress_bar("Search", seconds, progress) as tick:
        result = run(["optimize", *arguments, *arguments_of({**search, **simulation})], tick)
    module = model if isinstance(model, torch.nn.Module) else None
    return Placement(Search(network, machine, simulation, result, folder), module)


def _with_config_in_file(model: Network, folder: Path) -> Union[torch.nn.Module, str, "os.PathLike[str]"]:
    """Writes the config of a language model to a file; returns modules and paths as they are."""
    if isinstance(model, (torch.nn.Module, str, os.PathLike)):
        return model
    config = model.to_dict() if hasattr(model, "to_dict") else model
    if not isinstance(config, Mapping) or "model_type" not in config:
        raise ExportError(
            f"{type(model).__name__} is no model: expected a module, a path, or the config of a language model,"
            ' which has a "model_type"'
        )
    file = folder / "config.json"
    file.write_text(json.dumps(dict(config), default=str), encoding="utf-8")
    return file


def _network(
    model: Network, inputs: Optional[Inputs], folder: Path, training: bool, measure: Devices
) -> Tuple[str, Dict[str, Any]]:
    """Returns a network for the command line, and the options that belong to it."""
    if isinstance(model, torch.nn.Module):
        if inputs is None:
            raise ExportError(
                f"inputs are missing, expected what {type(model).__name__} is called with: a tensor, a sequence"
                " of arguments, or a mapping of named ones"
            )
        file = folder / "network.json"
        export(model, inputs, file, measure=measure, training=training)
        return str(file), {"cost": "measured"} if measure else {}
    if inputs is not None or measure:
        raise ExportError("inputs and measure are for modules; a file says its own sizes and times")
    return os.fspath(model), {} if training else {"inference": True}


def _is_language_model(path: Path) -> bool:
    if path.is_dir() or path.suffix == ".gguf":
        return True
    try:
        return path.suffix == ".json" and "model_type" in json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _split(options: Mapping[str, Any], folder: Path) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Returns options of the search and of the simulation."""
    options = dict(options)
    if isinstance(options.get("constraints"), Mapping):
        file = folder / "constraints.json"
        file.write_text(json.dumps(options["constraints"]), encoding="utf-8")
        options["constraints"] = file
    given = {name: value for name, value in options.items() if value is not None}
    search = {name: given.pop(name) for name in _SEARCH & given.keys()}
    return search, given


def _tokens_for(model: torch.nn.Module, batch: int, sequence: int) -> Dict[str, torch.Tensor]:
    """Returns tokens without numbers for a model of Transformers."""
    if getattr(model, "main_input_name", None) != "input_ids":
        raise ExportError(
            f"inputs are missing, expected what {type(model).__name__} is called with: they are known for"
            " language models of Transformers alone"
        )
    return {"input_ids": torch.zeros(batch, sequence, dtype=torch.int64)}


def _block_depth(model: Network, where: List[str], folder: Path) -> int:
    """Returns how many parts of a module's path name a block that no device map should cut: a layer of a
    language model, a residual block."""
    names = [name.split(".") for name, _ in _unsplit(model)]
    if names:
        return min(map(len, names))
    file = folder / "ops.csv"
    run(["export", *where, "--to", "csv", "--out", file], quiet=True)
    with file.open(encoding="utf-8", newline="") as lines:
        return depth_of_lists({row["scope"] for row in csv.DictReader(lines)})


def _unsplit(model: Network) -> Iterator[Tuple[str, torch.nn.Module]]:
    """Yields the modules that a model of Transformers wants whole, and their paths."""
    kinds = getattr(model, "_no_split_modules", None) or ()
    if isinstance(model, torch.nn.Module):
        yield from (item for item in model.named_modules() if type(item[1]).__name__ in kinds and item[0])


def depth_of_lists(scopes: Iterable[str]) -> int:
    """Returns the least depth at which modules are numbered from 0 ("h/0", "encoder_layer_0"); that of the
    innermost modules if none are."""
    depths, deepest = [], 1
    for scope in scopes:
        parts = scope.split("/")
        deepest = max(deepest, len(parts))
        depths += [depth for depth, part in enumerate(parts, 1) if re.search(r"(?:^|\D)0$", part)][:1]
    return min(depths, default=deepest)
