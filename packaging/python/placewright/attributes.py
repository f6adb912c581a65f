# SPDX-License-Identifier: MIT
"""What a call of PyTorch says of its op beyond kind and shapes: windows, dimensions, groups, heads.

The names and forms are those of the readers of ONNX and torch.export (core/io), so that costs, shards and
kernels (core/measure) read one vocabulary:

- convolutions and pools: "kernel", "stride", "padding" (one number a dimension, or all begins and then all
  ends), and where they are not 1, 1 and false "dilation", "groups", "ceil_mode";
- "dim" of what works along a dimension, a list for several; "shifts" of roll beside it;
- "dims" of permute and transpose: their order, or the two that change places;
- x[2] and select: "dim", "index"; x[1:9:2] and narrow: "dim", "start" and, if it is not 1, "step", with
  numbers that count from the front. An index that cuts several dimensions has lists; with x[0, 1:9] "drops"
  has those that the output lacks. x[2] = y has the same;
- "groups" of group_norm, "normalized_shape", "pad", "mode", "equation";
- of multi_head_attention_forward "heads", and where they are so "dropout": 1 if the scores are dropped and
  "fused": 1 if PyTorch computes them in one kernel, without keeping them.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch
from torch.nn import functional

Attributes = Dict[str, Any]
Arguments = Mapping[str, Any]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _integers(value: Any) -> Optional[List[int]]:
    """Returns the numbers of an integer or a sequence of them; None for anything else."""
    items = [value] if _is_integer(value) else value
    if not isinstance(items, (list, tuple)) or not items or not all(map(_is_integer, items)):
        return None
    return [int(item) for item in items]


def _extents(value: Any, rank: int) -> Optional[List[int]]:
    """Returns one number per dimension of a window, where a single one counts for all."""
    numbers = _integers(value)
    if numbers is not None and len(numbers) == 1:
        numbers *= rank
    return numbers if numbers is not None and len(numbers) == rank else None


def _window(
    kernel: Optional[List[int]],
    stride: Optional[List[int]],
    padding: Optional[List[int]],
    dilation: Optional[List[int]],
) -> Attributes:
    if kernel is None:
        return {}
    result: Attributes = {"kernel": kernel}
    if stride is not None:
        result["stride"] = stride
    if padding is not None:
        result["padding"] = padding
    if dilation is not None and set(dilation) != {1}:
        result["dilation"] = dilation
    return result


def _same_padding(kernel: List[int], dilation: List[int]) -> List[int]:
    """Returns what padding="same" adds: the smaller half before the image."""
    sums = [step * (extent - 1) for extent, step in zip(kernel, dilation)]
    begins = [total // 2 for total in sums]
    ends = [total - begin for total, begin in zip(sums, begins)]
    return begins if begins == ends else begins + ends


def _convolution(arguments: Arguments) -> Attributes:
    weight = arguments.get("weight")
    if not isinstance(weight, torch.Tensor) or weight.dim() < 3:
        return {}
    kernel = list(weight.shape[2:])
    rank = len(kernel)
    dilation = _extents(arguments.get("dilation", 1), rank)
    padding = arguments.get("padding", 0)
    if padding == "same" and dilation is not None:
        padding = _same_padding(kernel, dilation)
    else:
        padding = _extents(0 if padding == "valid" else padding, rank)
    result = _window(kernel, _extents(arguments.get("stride", 1), rank), padding, dilation)
    groups = arguments.get("groups", 1)
    if _is_integer(groups) and groups != 1:
        result["groups"] = groups
    return result


def _pool(rank: int) -> Callable[[Arguments], Attributes]:
    def describe(arguments: Arguments) -> Attributes:
        kernel = _extents(arguments.get("kernel_size"), rank)
        # The windows lie side by side if the call gives no stride: None, or an empty list.
        result = _window(
            kernel,
            _extents(arguments.get("stride") or kernel, rank),
            _extents(arguments.get("padding", 0), rank),
            _extents(arguments.get("dilation", 1), rank),
        )
        if arguments.get("ceil_mode"):
            result["ceil_mode"] = 1
        return result

    return describe


def _dim(default: Optional[int] = None) -> Callable[[Arguments], Attributes]:
    def describe(arguments: Arguments) -> Attributes:
        dims = _integers(arguments.get("dim", default))
        return {} if dims is None else {"dim": dims[0] if len(dims) == 1 else dims}

    return describe


def _softmax(arguments: Arguments) -> Attributes:
    dim, tensor = arguments.get("dim"), arguments.get("input")
    if dim is None and isinstance(tensor, torch.Tensor):
        # The choice of torch.nn.functional for calls without it.
        dim = 0 if tensor.dim() in (0, 1, 3) else 1
    return _dim(dim)({})


def _roll(arguments: Arguments) -> Attributes:
    shifts, dims = _integers(arguments.get("shifts")), _integers(arguments.get("dim"))
    if shifts is None:
        return {}
    # Without dimensions it moves the elements in one row.
    return {"shifts": shifts} if dims is None else {"shifts": shifts, "dim": dims}


def _flip_of(*dims: int) -> Callable[[Arguments], Attributes]:
    return lambda arguments: {"dim": list(dims)}


def _permute(arguments: Arguments) -> Attributes:
    dims = _integers(arguments.get("dims"))
    return {} if dims is None else {"dims": dims}


def _move(arguments: Arguments) -> Attributes:
    """torch.movedim: dimensions `source` come to the places `destination`, the others keep their order."""
    source, destination = _integers(arguments.get("source")), _integers(arguments.get("destination"))
    rank = arguments["input"].dim()
    if source is None or destination is None or len(source) != len(destination):
        return {}
    source, destination = ([dim % rank for dim in dims] for dims in (source, destination))
    rest = iter(dim for dim in range(rank) if dim not in source)
    places = dict(zip(destination, source))
    return {"dims": [places[place] if place in places else next(rest) for place in range(rank)]}


def _exchange(arguments: Arguments) -> Attributes:
    dims = _integers([arguments.get("dim0"), arguments.get("dim1")])
    return {} if dims is None else {"dims": dims}


def _turn(arguments: Arguments) -> Attributes:
    """x.T, x.t(), x.mT: the last two dimensions; of other ranks x.T is deprecated."""
    return {"dims": [-2, -1]} if arguments["input"].dim() >= 2 else {}


def _select(arguments: Arguments) -> Attributes:
    dim, index = _integers(arguments.get("dim")), _integers(arguments.get("index"))
    tensor = arguments["input"]
    if dim is None or index is None:
        return {}
    return {"dim": dim[0], "index": index[0] % max(1, tensor.shape[dim[0]])}


def _narrow(arguments: Arguments) -> Attributes:
    dim, start = _integers(arguments.get("dim")), _integers(arguments.get("start"))
    tensor = arguments["input"]
    if dim is None or start is None:
        return {}
    return {"dim": dim[0], "start": start[0] % max(1, tensor.shape[dim[0]])}


class _Cut(NamedTuple):
    """A dimension of which an index takes a part, or one element."""

    dim: int
    start: int
    step: int = 1
    drops: bool = False


def _extent_of(item: Any) -> int:
    """Returns the number of dimensions that an item of an index stands for; -1 if it is not known."""
    if item is None:
        return 0
    if _is_integer(item) or isinstance(item, slice):
        return 1
    if isinstance(item, torch.Tensor):
        return 1 if item.dtype in (torch.int64, torch.int32) else -1
    return 1 if isinstance(item, (list, tuple)) and _integers(item) is not None else -1


def _index(arguments: Arguments) -> Attributes:
    shape, index = list(arguments["input"].shape), arguments.get("index")
    items: List[Any] = list(index) if isinstance(index, tuple) else [index]
    extents = [0 if item is Ellipsis else _extent_of(item) for item in items]
    if min(extents, default=0) < 0 or sum(extents) > len(shape):
        return {}
    cuts: List[_Cut] = []
    lists: List[int] = []
    dim = 0
    for item, extent in zip(items, extents):
        if item is Ellipsis:
            dim += len(shape) - sum(extents)
        elif isinstance(item, slice):
            start, stop, step = item.indices(shape[dim])
            if len(range(start, stop, step)) != shape[dim]:
                cuts.append(_Cut(dim, start, step))
        elif _is_integer(item):
            cuts.append(_Cut(dim, item % max(1, shape[dim]), drops=True))
        elif extent:
            lists.append(dim)
        dim += extent
    if lists:  # an index_select where nothing else is cut
        return {"dim": lists[0]} if len(lists) == 1 and not cuts else {}
    return _described(cuts)


def _described(cuts: Sequence[_Cut]) -> Attributes:
    if not cuts:
        return {}

    def numbers(values: Sequence[int]) -> Any:
        return list(values) if len(cuts) > 1 else values[0]

    starts = numbers([cut.start for cut in cuts])
    result: Attributes = {"dim": numbers([cut.dim for cut in cuts])}
    if all(cut.drops for cut in cuts):
        return {**result, "index": starts}
    result["start"] = starts
    if any(cut.step != 1 for cut in cuts):
        result["step"] = numbers([cut.step for cut in cuts])
    if any(cut.drops for cut in cuts):
        result["drops"] = [cut.dim for cut in cuts if cut.drops]
    return result


def _pad(arguments: Arguments) -> Attributes:
    amounts = _integers(arguments.get("pad"))
    mode = arguments.get("mode", "constant")
    if amounts is None:
        return {}
    return {"pad": amounts} if mode == "constant" else {"pad": amounts, "mode": mode}


def _text(key: str, default: str = "") -> Callable[[Arguments], Attributes]:
    def describe(arguments: Arguments) -> Attributes:
        text = arguments.get(key, default)
        return {key: text} if isinstance(text, str) and text else {}

    return describe


def _number(argument: str, key: str) -> Callable[[Arguments], Attributes]:
    """An integer argument under another name."""

    def describe(arguments: Arguments) -> Attributes:
        value = arguments.get(argument)
        return {key: value} if _is_integer(value) else {}

    return describe


def _attention(arguments: Arguments) -> Attributes:
    result = _number("num_heads", "heads")(arguments)
    if arguments.get("training", True) and arguments.get("dropout_p"):
        result["dropout"] = 1
    # From PyTorch 2 on.
    if not arguments.get("need_weights", True) and hasattr(functional, "scaled_dot_product_attention"):
        result["fused"] = 1
    return result


def _normalized_shape(arguments: Arguments) -> Attributes:
    shape = _integers(arguments.get("normalized_shape"))
    return {} if shape is None else {"normalized_shape": shape}


def _same(names: str, entry: Tuple[str, Callable[[Arguments], Attributes]]) -> Dict[str, Any]:
    return dict.fromkeys(names.split(), entry)


#: Arguments in their order and what they say, by the name of a function without underscores around it, or
#: by kind. "*dims" takes all arguments that are left: x.permute(0, 2, 1).
_FUNCTIONS: Dict[str, Tuple[str, Callable[[Arguments], Attributes]]] = {
    **_same(
        "conv1d conv2d conv3d",
        ("input weight bias stride padding dilation groups", _convolution),
    ),
    **_same(
        "conv_transpose1d conv_transpose2d conv_transpose3d",
        ("input weight bias stride padding output_padding groups dilation", _convolution),
    ),
    **_same(
        "convolution convolution_overrideable",
        ("input weight bias stride padding dilation transposed output_padding groups", _convolution),
    ),
    **{
        f"max_pool{rank}d": ("input kernel_size stride padding dilation ceil_mode", _pool(rank))
        for rank in (1, 2, 3)
    },
    **{
        f"avg_pool{rank}d": ("input kernel_size stride padding ceil_mode", _pool(rank)) for rank in (1, 2, 3)
    },
    **_same("cat stack", ("tensors dim", _dim(0))),
    **_same("split chunk", ("input sections dim", _dim(0))),
    "unbind": ("input dim", _dim(0)),
    **_same("softmax log_softmax", ("input dim", _softmax)),
    **_same(
        "mean sum prod max min argmax argmin var logsumexp all any cumsum",
        ("input dim", _dim()),
    ),
    "norm": ("input p dim", _dim()),
    "normalize": ("input p dim", _dim(1)),
    "glu": ("input dim", _dim(-1)),
    **_same("gather scatter scatter_add index_add index_select", ("input dim index", _dim())),
    "flip": ("input *dim", _dim()),
    "fliplr": ("input", _flip_of(1)),
    "flipud": ("input", _flip_of(0)),
    "roll": ("input shifts dim", _roll),
    "permute": ("input *dims", _permute),
    **_same("movedim moveaxis", ("input source destination", _move)),
    "transpose": ("input dim0 dim1", _exchange),
    **_same("t T mT H mH", ("input", _turn)),
    "select": ("input dim index", _select),
    "narrow": ("input dim start", _narrow),
    **_same("getitem setitem", ("input index", _index)),
    "pad": ("input pad mode", _pad),
    "interpolate": ("input size scale_factor mode", _text("mode", "nearest")),
    "group_norm": ("input num_groups", _number("num_groups", "groups")),
    **_same("layer_norm rms_norm", ("input normalized_shape", _normalized_shape)),
    "multi_head_attention_forward": (
        "query key value embed_dim_to_check num_heads in_proj_weight in_proj_bias bias_k bias_v add_zero_attn"
        " dropout_p out_proj_weight out_proj_bias training key_padding_mask need_weights",
        _attention,
    ),
    "einsum": ("equation", _text("equation")),
}

#: PyTorch's other names of arguments.
_ALIASES = {
    "self": "input",
    "axis": "dim",
    "dims": "dim",
    "axis0": "dim0",
    "axis1": "dim1",
    "concat_dim": "dim",
    "split_size_or_sections": "sections",
}


def _bound(signature: str, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the arguments of a call by name; those that the signature does not have are left out."""
    names = signature.replace("*", "").split()
    arguments: Dict[str, Any] = dict(zip(names, args))
    for name, value in kwargs.items():
        known = name if name in names else _ALIASES.get(name, name)
        if known in names:
            arguments[known] = value
    if "*" in signature and len(args) >= len(names):
        rest = args[len(names) - 1 :]
        arguments[names[-1]] = rest[0] if len(rest) == 1 else rest
    return arguments


def attributes_of(name: str, kind: str, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Attributes:
    """Returns the attributes of a call, ready for JSON; none for a kind that has none, or for arguments that
    are no plain numbers (a start that is a tensor).

    Args:
        name: of the function, such as "conv2d", "__getitem__", "movedim".
        kind: one of core/graph/kinds.cpp.
        args: positional arguments of the call, with its tensors.
        kwargs: named arguments.
    """
    entry = _FUNCTIONS.get(name.strip("_")) or _FUNCTIONS.get(kind)
    if entry is None:
        return {}
    signature, describe = entry
    return describe(_bound(signature, args, kwargs))
