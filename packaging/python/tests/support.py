# SPDX-License-Identifier: MIT
"""Models, devices and folders that the tests share."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten


@contextlib.contextmanager
def uninitialised() -> Iterator[None]:
    """Context in which models are created fast, with arbitrary parameters."""
    names = [name for name in dir(torch.nn.init) if name.endswith("_") and not name.startswith("_")]
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(
                mock.patch.object(torch.nn.init, name, lambda tensor, *args, **kwargs: tensor)
            )
        yield


class Move(NamedTuple):
    shape: tuple
    source: str
    target: str


class Machine(TorchFunctionMode):
    """Simulates a computer with GPUs on the CPU: every tensor has a device, to() copies between devices, and
    a call with tensors of several devices fails as in PyTorch."""

    def __init__(self, gpus: int = 4) -> None:
        super().__init__()
        self._gpus = mock.patch("torch.cuda.device_count", return_value=gpus)
        self.moves: List[Move] = []
        self.ran: List[tuple] = []  # name of the function, device

    def __enter__(self) -> "Machine":
        self._gpus.start()
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._gpus.stop()

    @staticmethod
    def place(tensor: torch.Tensor) -> str:
        return tensor.__dict__.get("place", "cpu")

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = func.__name__
        attribute = getattr(func, "__self__", None)
        if name == "__get__" and attribute is torch.Tensor.device:
            return torch.device(self.place(args[0]))
        if name == "__set__":
            if attribute is torch.Tensor.data:
                args[0].place = self.place(args[1])
            return func(*args, **kwargs)
        if name == "to" and len(args) > 1 and isinstance(args[1], (torch.device, str)):
            tensor, target = args[0], str(torch.device(args[1]))
            if self.place(tensor) == target:
                return tensor
            self.moves.append(Move(tuple(tensor.shape), self.place(tensor), target))
            result = tensor.clone()
            result.place = target
            return result
        tensors = [item for item in tree_flatten((args, kwargs))[0] if isinstance(item, torch.Tensor)]
        packed = (
            name in ("_pack_padded_sequence", "_pad_packed_sequence", "lstm", "gru") and args[1] is tensors[1]
        )
        if packed and args[1].dtype == torch.int64:
            lengths = tensors.pop(1)
            if self.place(lengths) != "cpu":
                raise RuntimeError(
                    f"'lengths' argument should be a 1D CPU int64 tensor, but {name} got one on"
                    f" {self.place(lengths)}"
                )
        places = {self.place(tensor) for tensor in tensors if tensor.dim() > 0}
        # Gradients come from the autograd engine, which does not know the simulated devices.
        if len(places) > 1 and name not in ("copy_", "is_same_size"):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but {name} got {sorted(places)}"
            )
        place = self.place(args[0]) if name == "copy_" else next(iter(places), "cpu")
        if kwargs.get("device") is not None:
            place = str(torch.device(kwargs["device"]))
            # Tensors on the meta device have no numbers here either.
            if place != "meta":
                kwargs["device"] = "cpu"
        result = func(*args, **kwargs)
        results = [item for item in tree_flatten(result)[0] if isinstance(item, torch.Tensor)]
        if tensors and results and name != "__get__":
            self.ran.append((name, place))
        if name == "_pack_padded_sequence":
            results[1].place = "cpu"
        for item in results:
            item.__dict__.setdefault("place", place)
        return result


class TestCase(unittest.TestCase):
    """Has a folder that is removed after the test."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ops(self, name: str = "model.json") -> Dict[str, Dict[str, Any]]:
        """Returns the ops of a network file by name."""
        return {op["name"]: op for op in json.loads((self.folder / name).read_text())["ops"]}

    def write(self, document: Any, name: str = "placement.json") -> Path:
        file = self.folder / name
        file.write_text(json.dumps(document))
        return file

    def write_placement(self, placement: Dict[str, str]) -> Path:
        return self.write(
            {
                "format": "placewright.placement",
                "version": 1,
                "graph": "g",
                "machine": "m",
                "placement": placement,
                "predicted": {},
            }
        )

    def random_placement(self, names: Any, devices: int = 4, seed: int = 1) -> Path:
        draw = random.Random(seed)
        return self.write_placement({name: f"gpu:{draw.randrange(devices)}" for name in names})
