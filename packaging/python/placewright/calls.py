# SPDX-License-Identifier: MIT
"""Names the calls that a forward pass makes.

A call of a PyTorch function is named after the module that makes it and the kind of the function:
"layer1/0/conv1/conv2d", "layer1/0/relu/relu" and, for the second call, "layer1/0/relu/relu_1". A model that
makes the same calls gets the same names each time, so that a placement of the exported network can be applied
to the model.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from typing import Any, Callable, Container, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode, _pop_mode, _push_mode
from torch.utils import checkpoint

from .errors import ExportError
from .flops import VIEWS
from .tensors import tensors_in

# PyTorch's other names for the kinds of core/graph/kinds.cpp.
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
    # These copy the tensor if the type or device changes.
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
    """Returns the kind of the PyTorch function `name`: "add" for "add_" and "__add__"."""
    if name in _KINDS:
        return _KINDS[name]
    name = name.strip("_")
    if name.startswith("native_"):
        name = name[len("native_") :]
    if name.endswith("_with_indices"):
        name = name[: -len("_with_indices")]
    return _KINDS.get(name, name)


# Functions that share a name with another: x.unfold() is a view.
_CALLED_OTHERWISE = {torch.nn.functional.unfold: "im2col", torch.nn.functional.fold: "col2im"}

# Attributes that are tensors, and methods that neither read nor write the numbers of their tensor.
_TENSOR_ATTRIBUTES = frozenset(("H", "T", "_base", "data", "grad", "imag", "mH", "mT", "real"))
_QUESTIONS = frozenset(
    (
        "__len__ data_ptr dim element_size get_device has_names is_complex is_contiguous is_floating_point"
        " is_inference is_pinned"
        " nelement numel register_hook requires_grad_ retain_grad size storage_offset stride"
    ).split()
)


@functools.lru_cache(maxsize=None)
def _describe(function: Callable[..., Any]) -> Tuple[str, bool]:
    """Returns the name of a function and whether its calls are recorded: not if it only queries a property
    (x.shape) or sets an attribute."""
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


class Call(NamedTuple):
    """A call of a function in a forward pass."""

    name: str
    kind: str
    scope: str  #: the calling module, '/' separated
    changes_input: bool  #: add_, relu(inplace=True), x[0] = y: the first argument is changed
    replaces_input: bool  #: the result takes the place of the changed input; false for x[0] = y
    function: str  #: name of the PyTorch function: "__getitem__" for a "select"


def changed_by(call: Call, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[torch.Tensor]:
    """Returns the tensors that a call changes in place."""
    first = (args[0] if args else kwargs.get("input")) if call.changes_input else None
    return tensors_in((first, kwargs.get("out")))


# In-place functions with an operator ("x += y"); all others are called for their effect on the tensor.
_OPERATORS = frozenset(("add_", "sub_", "mul_", "div_", "pow_"))


def _shown(index: Any) -> Any:
    """Returns an index of the same elements that contains an ellipsis."""
    if isinstance(index, list) and not all(isinstance(item, int) for item in index):
        return index  # PyTorch reads it as a tuple, or it is nested
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
    """Makes x[0], x[indices] and x[0] = y visible to modes: PyTorch 1.13 shows them only x[0, ...]."""

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
    """Makes checkpointed functions visible to modes also when the backward pass runs them again."""

    def __init__(self) -> None:
        super().__init__()
        self._originals: Dict[str, Any] = {}

    def _set(self) -> None:
        # checkpoint() passes its function to one of these, under whatever name it is imported. Only later
        # versions of PyTorch have the last one.
        names = (
            "CheckpointFunction",
            "_checkpoint_without_reentrant",
            "_checkpoint_without_reentrant_generator",
        )
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
_RUNNING = threading.local()  # .calls: the Calls whose forward pass this thread runs


_UNSEEN = threading.local()


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """Context in which calls of this thread are not recorded as calls of a model."""
    _UNSEEN.now = True
    try:
        yield
    finally:
        _UNSEEN.now = False


@contextlib.contextmanager
def recorded(name: str) -> Iterator[None]:
    """Context that a profiler records in its trace under `name`."""
    with _unseen():
        record = torch.profiler.record_function(name)
        record.__enter__()
    try:
        yield
    finally:
        with _unseen():
            record.__exit__(None, None, None)


def is_called(module: torch.nn.Module) -> bool:
    """Returns whether a module has a forward of its own; a ModuleList has none."""
    return getattr(module.forward, "__func__", None) is not torch.nn.Module.forward


class Pass:
    """State of a forward pass."""

    def __init__(self) -> None:
        self.scopes: List[str] = []  #: running modules, the innermost last
        self.counts: Dict[Tuple[str, str], int] = {}  #: number of calls so far, by scope and kind


class Calls(TorchFunctionMode):
    """Intercepts and names all calls of a model's forward pass, and hands them to `run`. Several threads may
    run the model."""

    def __init__(self) -> None:
        super().__init__()
        self._passes: Dict[int, Any] = {}  # by thread
        self.traced: Container[str] = ()  #: scopes whose calls a profiler records under their names

    def __enter__(self) -> Any:
        for patch in _PATCHES:
            patch.begin()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for patch in _PATCHES:
            patch.end()

    def begin(self) -> Pass:
        """Returns the state of a new pass."""
        return Pass()

    @property
    def current(self) -> Any:
        """The pass of this thread."""
        return self._passes[threading.get_ident()]

    def run(
        self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        """Runs a call and returns its result; subclasses override this."""
        return self.execute(call, function, args, kwargs)

    def execute(
        self, call: Call, function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        """Runs the function of a call, recorded for a profiler if its scope is traced."""
        # A view computes nothing: its event would only measure Python.
        with recorded(
            call.name
        ) if call.scope in self.traced and call.kind not in VIEWS else contextlib.nullcontext():
            return function(*args, **kwargs)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
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
        return self.run(
            Call(label, kind, scope, changes, functional or name in _OPERATORS, name), func, args, kwargs
        )

    def result(self, result: Any) -> Any:
        """Returns what a module returns for the result of its forward; subclasses override this."""
        return result

    def settle(self) -> None:
        """Called after a pass that raised no error; subclasses override this."""

    def run_module(
        self, scope: str, forward: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> Any:
        """Runs the forward of a module; the outermost one starts a pass."""
        current = self._passes.get(threading.get_ident())
        if current is None:
            return self._run_pass(scope, forward, args, kwargs)
        current.scopes.append(scope)
        try:
            return self.result(forward(*args, **kwargs))
        finally:
            current.scopes.pop()

    def again(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps a function of this pass that may run again after it (a checkpoint): it then is a pass of its
        own, whose calls have the same names as in this one."""
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

    @contextlib.contextmanager
    def not_intercepting(self) -> Iterator[None]:
        """Context in which this thread's calls are not intercepted, at no cost for a call."""
        # A mode that the model entered meanwhile is on top of this one, which then stays.
        active = _get_current_function_mode() is self
        before = getattr(_RUNNING, "calls", None)
        _RUNNING.calls = None
        if active:
            _pop_mode()
        try:
            yield
        finally:
            if active:
                _push_mode(self)
            _RUNNING.calls = before

    def watch(self, model: torch.nn.Module, without: Container[str] = ()) -> None:
        """Intercepts the calls of `model` from now on, but leaves modules alone whose paths are in `without`. A
        module that runs by itself (again, in the backward pass of a checkpoint) is a pass, too."""
        for path, module in list(model.named_modules()):
            if not is_called(module) or path in without:
                continue
            if isinstance(module.__dict__.get("forward"), Watched):
                continue
            watched = Watched(self, path.replace(".", "/"), module.forward)
            module.forward = watched  # type: ignore[method-assign,assignment]

    @contextlib.contextmanager
    def watching(self, model: torch.nn.Module) -> Iterator[None]:
        """Context in which the calls of `model` are intercepted."""
        self.watch(model)
        try:
            yield
        finally:
            unwatch(model)


def refuse_script(model: torch.nn.Module) -> None:
    """Raises ExportError if a model holds TorchScript, whose calls cannot be intercepted."""
    for path, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise ExportError(
                f"module {path!r} is TorchScript, expected a Python module: save it with torch.jit.save and"
                " open that file"
            )


class Watched:
    """The forward of a module; calls of it are run by a Calls in the module's scope."""

    def __init__(self, calls: Calls, scope: str, forward: Callable[..., Any]) -> None:
        functools.update_wrapper(self, forward)
        self.calls = calls
        self._scope = scope
        self._forward = forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.calls.run_module(self._scope, self._forward, args, kwargs)


def unwatch(model: torch.nn.Module) -> bool:
    """Undoes `watch`; returns whether the model was watched."""
    found = False
    for module in model.modules():
        watched = module.__dict__.get("forward")
        if isinstance(watched, Watched):
            found = True
            del module.forward
            # Restore a forward that was set on the object, not on its class.
            if watched._forward != module.forward:
                module.forward = watched._forward  # type: ignore[method-assign,assignment]
    return found
