# SPDX-License-Identifier: MIT
"""Counts the FLOPs of a call by its kind and shapes, with the conventions of core/graph/flops.hpp.

A multiply-add is two FLOPs. Further counts:

- convolutions, products and linear layers: nothing for a bias;
- normalisations: 4 per element;
- softmax: 5 per element;
- functions of an element: 1; composed functions the sum of their parts;
- pools: 1 for each element in each window;
- sums and means: 1 per element of the input;
- interpolations: 2 for each point that an element is made of;
- recurrent layers: their products, and what each step does to an element of the state;
- attention: its two products and a softmax over the scores;
- kinds that only move data: 0.
"""

from __future__ import annotations

from math import prod
from typing import Callable, Dict, Optional, Sequence

Shape = Sequence[int]
Formula = Callable[[Sequence[Shape], Sequence[Shape], int], float]


def _each(count: int) -> Formula:
    """`count` FLOPs per element of the first output."""
    return lambda inputs, outputs, window: count * prod(outputs[0])


def _each_input(count: int) -> Formula:
    """`count` FLOPs per element of the first input."""
    return lambda inputs, outputs, window: count * prod(inputs[0])


def _convolution(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    """Each output element sums over the input channels of its group and the kernel."""
    return 2 * prod(outputs[0]) * prod(inputs[1][1:])


def _transposed_convolution(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    """Each input element goes to the output channels of its group and the kernel."""
    return 2 * prod(inputs[0]) * prod(inputs[1][1:])


def _product(operand: int) -> Formula:
    """Matrix product of the inputs `operand` and `operand + 1`."""
    return lambda inputs, outputs, window: 2 * prod(outputs[0]) * inputs[operand][-1]


def _bilinear(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    _, first, second = inputs[2]
    return 2 * prod(outputs[0]) * (first * second + second)


def _attention(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    query, key, value = inputs[:3]
    return prod(query[:-1]) * key[-2] * (2 * query[-1] + 2 * value[-1] + 5)


def _pool(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    return prod(outputs[0]) * window


def _of_points(extents: int, outputs: Sequence[Shape], window: int) -> float:
    """A product and a sum for each point that an element is made of; 0 for the nearest point, which is only
    copied."""
    return 2 * window**extents * prod(outputs[0]) if window > 1 else 0


def _interpolation(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    return _of_points(sum(before != after for before, after in zip(inputs[0], outputs[0])), outputs, window)


def _grid_sample(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    return _of_points(len(inputs[0]) - 2, outputs, window)


def _added(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    """A sum for each element of the last input, which is added to elements of the first."""
    return prod(inputs[-1])


def _distances(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    """A difference, its square and a sum for each coordinate of each pair of points."""
    return 3 * prod(outputs[0]) * inputs[0][-1]


def _embedding_bag(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    """A sum of those rows of the table that the first input selects."""
    return prod(inputs[0]) * outputs[0][-1]


def _local_response_norm(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    return prod(outputs[0]) * (window + 5)


def _cells(gates: int, each: int) -> Formula:
    """All matrices once per step, and `each` FLOPs per element of the state for every layer and direction.

    The weights have the shape (gates * hidden, columns); every second one is that of the state.
    """

    def count(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
        rows = prod(inputs[0][:-1])
        matrices = [shape for shape in inputs[1:] if len(shape) == 2]
        return rows * (
            sum(2 * prod(shape) for shape in matrices)
            + sum(each * shape[0] / gates for shape in matrices[1::2])
        )

    return count


def _none(inputs: Sequence[Shape], outputs: Sequence[Shape], window: int) -> float:
    return 0


#: Kinds whose outputs share the memory of their first input.
VIEWS = frozenset(
    (
        "chunk detach diagonal expand flatten identity narrow permute reshape select slice split squeeze"
        " transpose unbind unflatten unfold"
        " unsqueeze view"
    ).split()
)
#: Views of a part of their input.
RANGES = frozenset(("diagonal", "narrow", "select", "slice"))
#: Kinds that use only the shape of their input.
SHAPED = frozenset(
    (
        "empty_like full_like ones_like rand_like randint_like randn_like zeros_like"
        " new_empty new_full new_ones new_tensor new_zeros"
    ).split()
)

_FORMULAS: Dict[str, Formula] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), _convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _transposed_convolution),
    **dict.fromkeys(("conv1d_relu", "conv2d_relu", "conv3d_relu"), _convolution),
    **dict.fromkeys(("linear", "matmul", "bmm", "mm"), _product(0)),
    **dict.fromkeys(("linear_dynamic", "linear_relu", "linear_relu_dynamic"), _product(0)),
    **dict.fromkeys(("addmm", "baddbmm"), _product(1)),
    "bilinear": _bilinear,
    "scaled_dot_product_attention": _attention,
    "embedding_bag": _embedding_bag,
    "cdist": _distances,
    "pairwise_distance": _each_input(4),
    "cosine_similarity": _each_input(6),
    "index_add": _added,
    "scatter_add": _added,
    **dict.fromkeys(("batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"), _each(4)),
    "normalize": _each(3),
    "weight_norm": _each(3),
    "local_response_norm": _local_response_norm,
    "gelu": _each(8),
    "hardswish": _each(5),
    **dict.fromkeys(("mish", "hardsigmoid"), _each(4)),
    **dict.fromkeys(("softplus", "elu", "selu", "celu", "logsigmoid"), _each(3)),
    **dict.fromkeys(
        ("glu", "silu", "hardtanh", "relu6", "clamp", "leaky_relu", "prelu", "rsqrt", "alpha_dropout"),
        _each(2),
    ),
    **dict.fromkeys(("softmax", "log_softmax"), _each(5)),
    **dict.fromkeys((f"{pool}_pool{rank}d" for pool in ("max", "avg") for rank in (1, 2, 3)), _pool),
    **dict.fromkeys(
        (f"adaptive_{pool}_pool{rank}d" for pool in ("max", "avg") for rank in (1, 2, 3)), _each_input(1)
    ),
    "interpolate": _interpolation,
    "grid_sample": _grid_sample,
    **dict.fromkeys(
        ("mean", "sum", "prod", "max", "min", "cumsum", "argmax", "argmin", "nll_loss", "col2im"),
        _each_input(1),
    ),
    "norm": _each_input(2),
    "logsumexp": _each_input(3),
    "var": _each_input(4),
    **dict.fromkeys(("cross_entropy", "kl_div"), _each_input(4)),
    **dict.fromkeys(("mse_loss", "l1_loss"), _each_input(3)),
    **dict.fromkeys(("all", "any"), _each_input(1)),
    **dict.fromkeys(("addcmul", "addcdiv", "lerp"), _each(3)),
    "smooth_l1_loss": _each_input(5),
    "binary_cross_entropy": _each_input(6),
    "binary_cross_entropy_with_logits": _each_input(7),
    **dict.fromkeys(("lstm", "lstm_cell"), _cells(4, 13)),
    **dict.fromkeys(("gru", "gru_cell"), _cells(3, 12)),
    **dict.fromkeys(("rnn", "rnn_cell"), _cells(1, 3)),
    **dict.fromkeys(
        (
            "relu sigmoid tanh exp log sqrt pow abs neg round sign add sub mul div dropout dropout1d"
            " dropout2d dropout3d"
            " erf sin cos ceil floor log1p expm1 reciprocal remainder maximum minimum"
        ).split(),
        _each(1),
    ),
    **dict.fromkeys(("threshold", "dequantize"), _each(2)),
    **dict.fromkeys(("softsign", "quantize_per_tensor"), _each(3)),
    **dict.fromkeys(
        (
            "embedding cat stack clone contiguous pad pixel_shuffle gather index_select masked_fill where"
            " one_hot eq ge gt le lt ne"
            " index_put copy roll flip bernoulli fill zero pixel_unshuffle repeat to tril triu arange full"
            " isinf isnan isfinite bucketize"
            " im2col pack_padded_sequence pad_packed_sequence"
            " logical_and logical_not logical_or logical_xor bitwise_and bitwise_not bitwise_or scatter"
        ).split(),
        _none,
    ),
    **dict.fromkeys(VIEWS, _none),
    **dict.fromkeys(SHAPED, _none),
}


def has_formula(kind: str) -> bool:
    """Returns whether forward_flops knows a kind."""
    return kind in _FORMULAS


def forward_flops(
    kind: str, inputs: Sequence[Shape], outputs: Sequence[Shape], window: int = 1
) -> Optional[float]:
    """Returns the FLOPs of a call; None for a kind, or shapes, without a formula.

    Args:
        kind: one of core/graph/kinds.cpp.
        inputs: shapes of its tensors, parameters included, in the order of the functional form: conv2d(input,
            weight, bias). States of recurrent layers are left out.
        outputs: shapes of its results.
        window: for a pool, the number of elements in the window; for a normalisation across channels, the
            number of these channels; for an interpolation, the number of points per dimension that an element
            is made of: 1 nearest, 2 linear, 4 cubic, 0 unknown.
    """
    formula = _FORMULAS.get(kind)
    if formula is None or window < 1:
        return None
    try:
        return float(formula(inputs, outputs, window))
    except (IndexError, ValueError):
        return None
