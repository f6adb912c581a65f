# SPDX-License-Identifier: MIT
"""Names of the calls that a forward pass makes.

Every function of PyTorch that a model calls is named after the module that calls it and what it is: "layer1/0/conv1/conv2d",
"layer1/0/relu/relu" and, for the second call, "layer1/0/relu/relu_1". A model that makes the same calls gets the same names each time, so
that what was exported can be placed.
"""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import functools
import threading
import types
from typing import Any, Callable, Container, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import checkpoint

from .flops import VIEWS

# Other names of PyTorch for a kind of core/graph/kinds.cpp.
_KINDS = {
    "T": "transpose",
    "mT": "transpose",
    "H": "transpose",
    "mH": "transpose",
    "t": "transpose",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "tile": "repeat",
    "repeat_interleave": "repeat",
    "movedim": "permute",
    "moveaxis": "permute",
    "data": "detach",
    "view_as": "view",
    "reshape_as": "reshape",
    "ravel": "flatten",
    "expand_as": "expand",
    "broadcast_to": "expand",
    "tensor_split": "split",
    "unsafe_chunk": "chunk",
    "split_with_sizes": "split",
    "concat": "cat",
    "concatenate": "cat",
    "dot": "matmul",
    "vdot": "matmul",
    "mv": "matmul",
    "std": "var",
    "var_mean": "var",
    "std_mean": "var",
    "linalg_vector_norm": "norm",
    "vector_norm": "norm",
    "frobenius_norm": "norm",
    "fliplr": "flip",
    "flipud": "flip",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "invert": "bitwise_not",
    "rsub": "sub",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "truediv": "div",
    "negative": "neg",
    "absolute": "abs",
    "clip": "clamp",
    "clamp_min": "clamp",
    "clamp_max": "clamp",
    "square": "pow",
    "maximum": "max",
    "minimum": "min",
    "amax": "max",
    "amin": "min",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "feature_dropout": "dropout2d",
    "special_expit": "sigmoid",
    "log_sigmoid": "logsigmoid",
    "rnn_tanh": "rnn",
    "rnn_relu": "rnn",
    "rnn_tanh_cell": "rnn_cell",
    "rnn_relu_cell": "rnn_cell",
    "convolution": "conv2d",
    "convolution_overrideable": "conv2d",
    "reshape_alias": "view",
    "unsafe_view": "view",
    "alias": "identity",
    "grid_sampler": "grid_sample",
    # Of another type or on another device it is a copy.
    "float": "clone",
    "half": "clone",
    "bfloat16": "clone",
    "double": "clone",
    "type_as": "clone",
    "to": "clone",
    "to_copy": "clone",
    "cuda": "clone",
    "cpu": "clone",
}


@functools.lru_cache(maxsize=None)
def kind_named(name: str) -> str:
    """The kind of a function that PyTorch calls `name`: add_ and __iadd__ are add."""
    if name in _KINDS:
        return _KINDS[name]
    name = name.strip("_")
    if name.startswith("native_"):
        name = name[len("native_") :]
    if name.endswith("_with_indices"):
        name = name[: -len("_with_indices")]
    return _KINDS.get(name, name)


# Functions with the names of others: x.unfold() is a view.
_CALLED_OTHERWISE = {torch.nn.functional.unfold: "im2col", torch.nn.functional.fold: "col2im"}

# Attributes that are tensors, and methods that need no numbers of their tensor and give none.
_TENSOR_ATTRIBUTES = frozenset(("H", "T", "_base", "data", "grad", "imag", "mH", "mT", "real"))
_QUESTIONS = frozenset(
    (
        "__len__ data_ptr dim element_size get_device has_names is_complex is_contiguous is_floating_point is_inference is_pinned"
        " nelement numel register_hook requires_grad_ retain_grad size storage_offset stride"
    ).split()
)


@functools.lru_cache(maxsize=None)
def _describe(function: Callable[..., Any]) -> Tuple[str, bool]:
    """The name of a function, and whether it is a call that counts: not one that only asks (x.shape), or sets an attribute."""
    if function in _CALLED_OTHERWISE:
        return _CALLED_OTHERWISE[function], True
    name = getattr(function, "__name__", type(function).__name__)
    if name not in ("__get__", "__set__"):
        return name, name not in _QUESTIONS
    # x.T is a call of T.__get__.
    attribute = getattr(function.__self__, "__name__", name)  # type: ignore[attr-defined]
    return attribute, name == "__get__" and attribute in _TENSOR_ATTRIBUTES


def _kind_of_index(index: Any) -> str:
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, (torch.Tensor, list)) for item in items):
        return "index_select"
    if any(isinstance(item, int) for item in items):
        return "select"
    return "slice" if any(isinstance(item, slice) and item != slice(None) for item in items) else "view"


def tensors_in(value: Any) -> List[torch.Tensor]:
    """The tensors in sequences, mappings and dataclasses, in order."""
    found: List[torch.Tensor] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: List[torch.Tensor]) -> None:
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple)):  # what max(0) gives is a tuple too
        for item in value:
            _collect(item, found)
    elif isinstance(value, (dict, collections.abc.Mapping)):
        for item in value.values():
            _collect(item, found)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in vars(value).values():
            _collect(item, found)


def storage_of(tensor: torch.Tensor) -> int:
    """What identifies the memory of a tensor, which its views share, while one of them lives."""
    try:
        # PyTorch 1 has the other.
        return int((tensor.untyped_storage if hasattr(tensor, "untyped_storage") else tensor._storage)()._cdata)
    except RuntimeError:  # a sparse one, which has no single memory
        return id(tensor)


class Call(NamedTuple):
    """A call of a function in a forward pass."""

    name: str
    kind: str
    scope: str  #: the module that calls, '/' separated
    changes_input: bool  #: add_, relu(inplace=True), x[0] = y: the first argument is changed
    replaces_input: bool  #: its result stands for the input that it changes: not so for x[0] = y


def changed_by(call: Call, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[torch.Tensor]:
    """The tensors that a call changes in place."""
    first = (args[0] if args else kwargs.get("input")) if call.changes_input else None
    return tensors_in((first, kwargs.get("out")))


# Changes that are written "x += y" as well; all others are made for their effect on the tensor.
_OPERATORS = frozenset(("add_", "sub_", "mul_", "div_", "pow_"))


def _shown(index: Any) -> Any:
    """The index with an ellipsis, where it has none: the same elements."""
    if isinstance(index, list) and not all(isinstance(item, int) for item in index):
        return index  # as a tuple, or nested
    items = index if isinstance(index, tuple) else (index,)
    return items if any(item is Ellipsis for item in items) and len(items) > 1 else (*items, Ellipsis)


class _Patch:
    """Changes PyTorch while at least one mode is active."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0

    def begin(self) -> None:
        with self._lock:
            self._active += 1
            if self._active == 1:
                self._set()

    def end(self) -> None:
        with self._lock:
            self._active -= 1
            if self._active == 0:
                self._unset()

    def _set(self) -> None:
        raise NotImplementedError

    def _unset(self) -> None:
        raise NotImplementedError


class _Indexing(_Patch):
    """Makes modes see x[0], x[indices] and x[0] = y, which PyTorch 1.13 hides from them (x[0, ...] it shows)."""

    def __init__(self) -> None:
        super().__init__()
        self._hidden = self._find_hidden()

    @staticmethod
    def _find_hidden() -> List[str]:
        shown = []

        class Probe(TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                shown.append(getattr(func, "__name__", ""))
                return func(*args, **(kwargs or {}))

        tensor = torch.zeros(1)
        with Probe():
            tensor[0] = tensor[0]
        return [name for name in ("__getitem__", "__setitem__") if name not in shown]

    @staticmethod
    def _show(name: str) -> None:
        inherited = getattr(torch.Tensor, name)

        @functools.wraps(inherited)
        def indexed(tensor: torch.Tensor, index: Any, *value: Any) -> Any:
            return inherited(tensor, _shown(index), *value)

        setattr(torch.Tensor, name, indexed)

    def _set(self) -> None:
        for name in self._hidden:
            self._show(name)

    def _unset(self) -> None:
        for name in self._hidden:
            delattr(torch.Tensor, name)


class _Checkpoints(_Patch):
    """Makes modes see functions that are checkpointed when they run again, in the backward pass, too."""

    def __init__(self) -> None:
        super().__init__()
        self._originals: Dict[str, Any] = {}

    def _set(self) -> None:
        # What checkpoint() hands its function to, by whatever name it is imported; later versions of PyTorch have the last.
        names = ("CheckpointFunction", "_checkpoint_without_reentrant", "_checkpoint_without_reentrant_generator")
        self._originals = {name: getattr(checkpoint, name) for name in names if hasattr(checkpoint, name)}
        for name, original in self._originals.items():
            if isinstance(original, type):
                setattr(checkpoint, name, types.SimpleNamespace(apply=self._watched(original.apply)))
            else:
                setattr(checkpoint, name, self._watched(original))

    def _unset(self) -> None:
        for name, original in self._originals.items():
            setattr(checkpoint, name, original)

    @staticmethod
    def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            calls = getattr(_RUNNING, "calls", None)
            return original(function if calls is None else calls.again(function), *args, **kwargs)

        return run


_PATCHES = (_Indexing(), _Checkpoints())
_RUNNING = threading.local()  # the calls of the pass that this thread is in


_UNSEEN = threading.local()


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """What this thread calls in this context is of no model."""
    _UNSEEN.now = True
    try:
        yield
    finally:
        _UNSEEN.now = False


@contextlib.contextmanager
def recorded(name: str) -> Iterator[None]:
    """Has what runs in this context under a name in a profiler's trace."""
    with _unseen():
        record = torch.profiler.record_function(name)
        record.__enter__()
    try:
        yield
    finally:
        with _unseen():
            record.__exit__(None, None, None)


class Pass:
    """What is known during a forward pass."""

    def __init__(self) -> None:
        self.scopes: List[str] = []  #: the modules that run, the innermost last
        self.counts: Dict[Tuple[str, str], int] = {}  #: how often a scope has called a kind


class Calls(TorchFunctionMode):
    """Sees and names all calls of a model's forward pass; what is done with them is `run`'s. Several threads may run the model."""

    def __init__(self) -> None:
        super().__init__()
        self._passes: Dict[int, Any] = {}  # by thread
        self.traced: Container[str] = ()  #: scopes whose calls are in a profiler's trace under their names

    def __enter__(self) -> Any:
        for patch in _PATCHES:
            patch.begin()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for patch in _PATCHES:
            patch.end()

    def begin(self) -> Pass:
        """What a new pass starts with."""
        return Pass()

    @property
    def current(self) -> Any:
        """The pass of this thread."""
        return self._passes[threading.get_ident()]

    def run(self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Runs a call and gives its result."""
        return self.execute(call, function, args, kwargs)

    def execute(self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Runs the function of a call itself."""
        # A view computes nothing: its event would have the time of Python.
        with recorded(call.name) if call.scope in self.traced and call.kind not in VIEWS else contextlib.nullcontext():
            return function(*args, **kwargs)

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name, counts = _describe(func)
        if not counts or getattr(_UNSEEN, "now", False):
            return func(*args, **kwargs)
        current = self.current
        scope = current.scopes[-1]
        if name == "__getitem__":
            kind = _kind_of_index(args[1])
        elif name == "__setitem__":
            kind = "index_put"
        else:
            kind = kind_named(name)
        count = current.counts.get((scope, kind), 0)
        current.counts[scope, kind] = count + 1
        label = (scope + "/" if scope else "") + kind + (f"_{count}" if count else "")
        functional = bool(kwargs.get("inplace", False))
        changes = functional or name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
        return self.run(Call(label, kind, scope, changes, functional or name in _OPERATORS), func, args, kwargs)

    def result(self, result: Any) -> Any:
        """What a module gives back for what its forward gave."""
        return result

    def settle(self) -> None:
        """After a pass that raised no error."""

    def run_module(self, scope: str, forward: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Runs the forward of a module; the first one is a pass."""
        current = self._passes.get(threading.get_ident())
        if current is None:
            return self._run_pass(scope, forward, args, kwargs)
        current.scopes.append(scope)
        try:
            return self.result(forward(*args, **kwargs))
        finally:
            current.scopes.pop()

    def again(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of this pass that is a pass by itself when it runs after it, with the names that its calls have in this one."""
        scope, counts = self.current.scopes[-1], dict(self.current.counts)

        @functools.wraps(function, updated=())
        def run(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() in self._passes:
                return function(*args, **kwargs)
            return self._run_pass(scope, function, args, kwargs, counts)

        return run

    def _run_pass(
        self,
        scope: str,
        forward: Callable[..., Any],
        args: Tuple[Any, ...],
        kwargs: Dict[str, Any],
        counts: Optional[Dict[Tuple[str, str], int]] = None,
    ) -> Any:
        thread = threading.get_ident()
        self._passes[thread] = self.begin()
        self.current.scopes.append(scope)
        self.current.counts.update(counts or {})
        before = getattr(_RUNNING, "calls", None)
        _RUNNING.calls = self
        try:
            with self:
                result = self.result(forward(*args, **kwargs))
            self.settle()
            return result
        finally:
            _RUNNING.calls = before
            del self._passes[thread]

    def watch(self, model: torch.nn.Module) -> None:
        """From now on sees the calls of `model`. A module that runs by itself (again, for the backward pass of a checkpoint) is a pass
        too."""
        for path, module in list(model.named_modules()):
            # A ModuleList has none.
            if getattr(module.forward, "__func__", None) is torch.nn.Module.forward:
                continue
            module.forward = Watched(self, path.replace(".", "/"), module.forward)  # type: ignore[method-assign,assignment]

    @contextlib.contextmanager
    def watching(self, model: torch.nn.Module) -> Iterator[None]:
        """Sees the calls of `model` while in this context."""
        self.watch(model)
        try:
            yield
        finally:
            unwatch(model)


def refuse_script(model: torch.nn.Module) -> None:
    """Raises ValueError if a model holds TorchScript, whose calls nobody sees."""
    for path, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise ValueError(f"module {path!r} is TorchScript, expected one of Python: save it by torch.jit.save and open that file")


class Watched:
    """The forward of a module, in its scope."""

    def __init__(self, calls: Calls, scope: str, forward: Callable[..., Any]) -> None:
        functools.update_wrapper(self, forward)
        self.calls = calls
        self._scope = scope
        self._forward = forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.calls.run_module(self._scope, self._forward, args, kwargs)


def unwatch(model: torch.nn.Module) -> bool:
    """Undoes `watch`; whether there was one."""
    found = False
    for module in model.modules():
        watched = module.__dict__.get("forward")
        if isinstance(watched, Watched):
            found = True
            del module.forward
            # A forward that is the object's own, not its class's.
            if watched._forward != module.forward:
                module.forward = watched._forward  # type: ignore[method-assign,assignment]
    return found
