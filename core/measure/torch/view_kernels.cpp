// SPDX-License-Identifier: MIT
// Views and rearrangements: what moves the numbers of a tensor without changing them.
#include <algorithm>
#include <array>
#include <numeric>

#include "core/measure/torch/kernel_request.hpp"

namespace placewright {
namespace {

Kernel one_input(std::function<at::Tensor(const at::Tensor&)> forward) {
    return {{}, {}, [forward = std::move(forward)](const KernelCall& call) -> Tensors {
                return {forward(call.inputs[0])};
            }};
}

std::vector<std::int64_t> counted_from_front(std::vector<std::int64_t> dims, std::size_t rank) {
    for (std::int64_t& dim : dims) {
        if (dim < 0) dim += static_cast<std::int64_t>(rank);
        if (dim < 0 || dim >= static_cast<std::int64_t>(rank)) refuse("its dimensions are out of range");
    }
    return dims;
}

/// A permutation of dimensions that makes `to` of `from`: the first that is not the identity, if there is
/// one.
std::vector<std::int64_t> permutation(const Shape& from, const Shape& to) {
    if (from.size() != to.size() || from.size() > 8)
        refuse("no order of the dimensions of " + shape_text(from) + " gives " + shape_text(to));
    std::vector<std::int64_t> dims(from.size());
    std::iota(dims.begin(), dims.end(), std::int64_t{0});
    const std::vector<std::int64_t> identity = dims;
    bool identity_fits = false;
    do {
        bool fits = true;
        for (std::size_t k = 0; k < dims.size() && fits; ++k)
            fits = from[static_cast<std::size_t>(dims[k])] == to[k];
        if (!fits) continue;
        if (dims != identity) return dims;
        identity_fits = true;
    } while (std::next_permutation(dims.begin(), dims.end()));
    if (!identity_fits)
        refuse("no order of the dimensions of " + shape_text(from) + " gives " + shape_text(to));
    return identity;
}

/// Two dimensions whose exchange makes `to` of `from`; the last such pair.
std::vector<std::int64_t> swapped(const Shape& from, const Shape& to) {
    if (from.size() == to.size()) {
        for (std::size_t second = from.size(); second-- > 1;) {
            for (std::size_t first = second; first-- > 0;) {
                Shape moved = from;
                std::swap(moved[first], moved[second]);
                if (moved == to) return {static_cast<std::int64_t>(first), static_cast<std::int64_t>(second)};
            }
        }
    }
    refuse("no exchange of two dimensions of " + shape_text(from) + " gives " + shape_text(to));
}

Kernel transpose(const KernelRequest& request) {
    const Shape& from = request.input();
    auto dims = request.integers("dims");
    if (from.size() == 1) return one_input([](const at::Tensor& x) { return x.view_as(x); });
    if (!dims || dims->size() != 2) dims = swapped(from, request.output());
    const auto pair = counted_from_front(*dims, from.size());
    return one_input([pair](const at::Tensor& x) { return x.transpose(pair[0], pair[1]); });
}

Kernel permute(const KernelRequest& request) {
    const Shape& from = request.input();
    auto dims = request.integers("dims");
    if (!dims || dims->size() != from.size()) dims = permutation(from, request.output());
    return one_input(
        [order = counted_from_front(*dims, from.size())](const at::Tensor& x) { return x.permute(order); });
}

/// The dimension of `whole` that `part` lacks.
std::int64_t removed_dimension(const KernelRequest& request, const Shape& whole, const Shape& part) {
    const auto lacks = [&](std::size_t dim) {
        Shape rest = whole;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(dim));
        return rest == part;
    };
    if (const auto dim = request.dim(whole.size()); dim && lacks(static_cast<std::size_t>(*dim))) return *dim;
    if (whole.size() == part.size() + 1) {
        // Where several fit, the first is that of the samples.
        for (std::size_t dim = 1; dim < whole.size(); ++dim) {
            if (lacks(dim)) return static_cast<std::int64_t>(dim);
        }
        if (lacks(0)) return 0;
    }
    refuse("its input is " + shape_text(whole) + ", and its output " + shape_text(part) +
           " is not that without one dimension");
}

/// What an index does to one dimension: it takes `length` elements, or one and drops the dimension.
struct Cut {
    std::int64_t dim = 0, start = 0, length = 1, step = 1;
    bool drops = false;
};

at::Tensor cut(const at::Tensor& x, const std::vector<Cut>& cuts) {
    at::Tensor result = x;
    std::int64_t dropped = 0;
    for (const Cut& each : cuts) {
        const std::int64_t dim = each.dim - dropped;
        if (each.drops) {
            result = result.select(dim, each.start);
            ++dropped;
        } else {
            result = result.slice(dim, each.start, each.start + (each.length - 1) * each.step + 1, each.step);
        }
    }
    return result.is_same(x) ? x.view_as(x) : result;
}

/// The cuts that the attributes name: "dim" and "index" of dimensions that are dropped; "dim", "start",
/// "step" and "drops" (which of them are dropped) of others, each a number or a list. Nothing if the file
/// does not have them or they do not make `to` of `from`.
std::optional<std::vector<Cut>> given_cuts(const KernelRequest& request, const Shape& from, const Shape& to) {
    const auto dims = request.integers("dim"), index = request.integers("index");
    const auto starts = index ? index : request.integers("start");
    if (!dims || !starts || dims->size() != starts->size()) return std::nullopt;
    const auto steps = request.integers("step").value_or(Shape(dims->size(), 1));
    if (steps.size() != dims->size()) return std::nullopt;
    const auto drops = request.integers("drops").value_or(Shape());
    std::vector<Cut> cuts(from.size());
    std::vector<bool> named(from.size());
    for (std::size_t k = 0; k < dims->size(); ++k) {
        const std::int64_t dim =
            (*dims)[k] < 0 ? (*dims)[k] + static_cast<std::int64_t>(from.size()) : (*dims)[k];
        if (dim < 0 || dim >= static_cast<std::int64_t>(from.size()) || steps[k] < 1) return std::nullopt;
        const auto at = static_cast<std::size_t>(dim);
        named[at] = true;
        const std::int64_t start = (*starts)[k] < 0 ? (*starts)[k] + from[at] : (*starts)[k];
        cuts[at] = {dim, std::max<std::int64_t>(0, start), 1, steps[k],
                    index || std::ranges::find(drops, (*dims)[k]) != drops.end()};
    }
    std::vector<Cut> wanted;
    std::size_t kept = 0;
    for (std::size_t dim = 0; dim < from.size(); ++dim) {
        Cut& cut = cuts[dim];
        if (!cut.drops) {
            if (kept == to.size() || (!named[dim] && to[kept] != from[dim])) return std::nullopt;
            cut.length = to[kept++];
        }
        if (!named[dim]) continue;
        if (cut.length < 1 || cut.start + (cut.length - 1) * cut.step >= from[dim]) return std::nullopt;
        wanted.push_back(cut);
    }
    if (kept != to.size()) return std::nullopt;
    return wanted;
}

/// The cuts of an index such as x[0, :, 2:5], which makes `to` of `from`: those of the attributes, else the
/// first that fit.
std::vector<Cut> cuts_of(const KernelRequest& request, const Shape& from, const Shape& to) {
    if (auto cuts = given_cuts(request, from, to)) return *std::move(cuts);
    const std::int64_t start = request.integer("start").value_or(request.integer("index").value_or(0));
    if (from.size() == to.size() + 1 &&
        (request.has("dim") || request.kind() == "select" || from[0] * product(to) == product(from))) {
        try {
            const std::int64_t dim = removed_dimension(request, from, to);
            const std::int64_t last = from[static_cast<std::size_t>(dim)] - 1;
            const std::int64_t index =
                start < 0 ? std::max<std::int64_t>(0, last + 1 + start) : std::min(start, last);
            return {{.dim = dim, .start = index, .drops = true}};
        } catch (const std::invalid_argument&) {  // shortened as well: below
        }
    }
    std::vector<Cut> cuts;
    // Dimensions to drop are taken from the front.
    std::size_t drops = from.size() > to.size() ? from.size() - to.size() : 0;
    std::size_t k = 0;
    for (std::size_t dim = 0; dim < from.size(); ++dim) {
        const bool fits = k < to.size() && to[k] <= from[dim];
        if (drops > 0 && !(fits && to[k] == from[dim] && from.size() - dim > drops)) {
            cuts.push_back({.dim = static_cast<std::int64_t>(dim), .drops = true});
            --drops;
            continue;
        }
        if (!fits) refuse(shape_text(to) + " is no part of " + shape_text(from));
        if (to[k] < from[dim]) {
            const std::int64_t step = std::max<std::int64_t>(1, request.integer("step").value_or(1));
            const std::int64_t most = from[dim] - (to[k] - 1) * step - 1;
            if (most < 0) refuse("its step is too long for " + shape_text(from));
            cuts.push_back({.dim = static_cast<std::int64_t>(dim),
                            .start = std::clamp<std::int64_t>(start < 0 ? from[dim] + start : start, 0, most),
                            .length = to[k],
                            .step = step});
        }
        ++k;
    }
    if (k < to.size()) refuse(shape_text(to) + " is no part of " + shape_text(from));
    return cuts;
}

Kernel part_of(const KernelRequest& request) {
    const Shape &from = request.input(), &to = request.output();
    // An index that adds dimensions: x[:, None].
    if (to.size() > from.size() && product(from) == product(to))
        return one_input([to](const at::Tensor& x) { return x.view(to); });
    return one_input([cuts = cuts_of(request, from, to)](const at::Tensor& x) { return cut(x, cuts); });
}

/// x[1:, 2:5] = y; a y that is a number is not in the file, and a product takes its place. x itself stays as
/// it is for its other readers.
Kernel put(const KernelRequest& request) {
    const Shape& from = request.input();
    if (from != request.output())
        refuse("its input is " + shape_text(from) + ", and its output " + shape_text(request.output()));
    if (request.inputs() == 1) return one_input([](const at::Tensor& x) { return x * at::ones_like(x); });
    return {{}, {}, [cuts = cuts_of(request, from, request.input(1))](const KernelCall& call) -> Tensors {
                at::Tensor result = call.inputs[0].clone();
                cut(result, cuts).copy_(call.inputs[1]);
                return {result};
            }};
}

/// The dimension along which the shapes of `parts` add up to `whole`.
std::int64_t joined_dimension(const KernelRequest& request, const Shape& whole,
                              const std::vector<Shape>& parts) {
    const auto adds_up = [&](std::size_t dim) {
        std::int64_t sum = 0;
        for (const Shape& part : parts) {
            if (part.size() != whole.size()) return false;
            Shape rest = part;
            sum += rest[dim];
            rest[dim] = whole[dim];
            if (rest != whole) return false;
        }
        return sum == whole[dim];
    };
    if (const auto dim = request.dim(whole.size()); dim && adds_up(static_cast<std::size_t>(*dim)))
        return *dim;
    for (std::size_t dim = 0; dim < whole.size(); ++dim) {
        if (adds_up(dim)) return static_cast<std::int64_t>(dim);
    }
    refuse("its parts do not add up to " + shape_text(whole) + " along any dimension");
}

/// Parts of a tensor, or of a parameter.
Kernel split(const KernelRequest& request) {
    Kernel kernel;
    if (request.inputs() == 0) {
        if (request.held_shapes().size() != 1)
            refuse("the network file does not give the shape of its parameter");
        kernel.parameters = request.held_shapes();
    } else {
        request.expect_parameters({});
    }
    const Shape& whole = request.inputs() == 0 ? kernel.parameters.front() : request.input();
    const std::int64_t dim = joined_dimension(request, whole, request.output_shapes());
    std::vector<std::int64_t> sizes;
    for (const Shape& part : request.output_shapes()) sizes.push_back(part[static_cast<std::size_t>(dim)]);
    kernel.forward = [sizes, dim](const KernelCall& call) -> Tensors {
        return (call.inputs.empty() ? call.parameters[0] : call.inputs[0]).split_with_sizes(sizes, dim);
    };
    return kernel;
}

Kernel unbind(const KernelRequest& request) {
    const std::int64_t dim = removed_dimension(request, request.input(), request.output());
    if (request.input()[static_cast<std::size_t>(dim)] != static_cast<std::int64_t>(request.outputs()))
        refuse("its input is " + shape_text(request.input()) + ", but it has " +
               std::to_string(request.outputs()) + " outputs");
    return {{}, {}, [dim](const KernelCall& call) -> Tensors { return call.inputs[0].unbind(dim); }};
}

/// Inputs of the op, then its parameters.
Tensors operands(const KernelCall& call) {
    Tensors all = call.inputs;
    all.insert(all.end(), call.parameters.begin(), call.parameters.end());
    return all;
}

Kernel cat(const KernelRequest& request) {
    std::vector<Shape> parts;
    for (std::size_t k = 0; k < request.inputs(); ++k) parts.push_back(request.input(k));
    const Shape& whole = request.output();
    Kernel kernel;
    if (request.parameter_count() > 0) {
        // A class token is expanded to the batch.
        if (parts.empty()) refuse("it has no input");
        std::int64_t missing = product(whole);
        for (const Shape& part : parts) missing -= product(part);
        const std::int64_t count = request.parameter_count();
        Shape token = whole;
        for (std::size_t dim = 0; dim < whole.size(); ++dim) {
            const std::int64_t slab = product(whole) / std::max<std::int64_t>(1, whole[dim]);
            if (whole[dim] == 0 || missing % slab != 0) continue;
            Shape part = whole;
            part[dim] = missing / slab;
            std::vector<Shape> all = parts;
            all.push_back(part);
            std::int64_t sum = 0;
            bool fits = true;
            for (Shape each : all) {
                sum += each.size() == whole.size() ? each[dim] : 0;
                if (each.size() != whole.size()) fits = false;
                if (fits) each[dim] = whole[dim], fits = each == whole;
            }
            if (!fits || sum != whole[dim]) continue;
            token = part;
            parts = std::move(all);
            break;
        }
        if (parts.size() == request.inputs()) refuse("its parameters do not fit its output");
        Shape held = token;
        if (count != product(token)) held[0] = 1;
        kernel.parameters = {held};
        request.expect_parameters(kernel.parameters);
        const std::int64_t dim = joined_dimension(request, whole, parts);
        // Tokens stand before what they are added to.
        kernel.forward = [dim, token](const KernelCall& call) -> Tensors {
            Tensors all{call.parameters[0].expand(token)};
            all.insert(all.end(), call.inputs.begin(), call.inputs.end());
            return {at::cat(all, dim)};
        };
        return kernel;
    }
    const std::int64_t dim = joined_dimension(request, whole, parts);
    kernel.forward = [dim](const KernelCall& call) -> Tensors { return {at::cat(operands(call), dim)}; };
    return kernel;
}

Kernel stack(const KernelRequest& request) {
    request.expect_inputs(1);
    const Shape& whole = request.output();
    const std::int64_t dim = removed_dimension(request, whole, request.input());
    if (whole[static_cast<std::size_t>(dim)] != static_cast<std::int64_t>(request.inputs()))
        refuse("it reads " + std::to_string(request.inputs()) + " tensors, but its output is " +
               shape_text(whole));
    return {{}, {}, [dim](const KernelCall& call) -> Tensors { return {at::stack(call.inputs, dim)}; }};
}

Kernel repeat(const KernelRequest& request) {
    Shape from;
    Kernel kernel;
    if (request.inputs() > 0) {
        from = request.input();
    } else {
        from = request.output();
        // A parameter that is repeated for each sample, or along the first of its dimensions.
        const std::int64_t count = request.parameter_count();
        for (std::int64_t& extent : from) {
            if (product(from) <= count) break;
            extent = 1;
            if (count > 0 && count % product(from) == 0) extent = count / product(from);
            if (product(from) == count) break;
            extent = 1;
        }
        kernel.parameters = {from};
        request.expect_parameters(kernel.parameters);
    }
    const Shape& to = request.output();
    Shape padded(to.size() - std::min(to.size(), from.size()), 1);
    padded.insert(padded.end(), from.begin(), from.end());
    std::vector<std::int64_t> times(to.size());
    for (std::size_t k = 0; k < to.size(); ++k) {
        if (padded.size() != to.size() || padded[k] == 0 || to[k] % padded[k] != 0)
            refuse(shape_text(from) + " cannot be repeated to " + shape_text(to));
        times[k] = to[k] / padded[k];
    }
    kernel.forward = [times](const KernelCall& call) -> Tensors { return {operands(call)[0].repeat(times)}; };
    return kernel;
}

Kernel pad(const KernelRequest& request) {
    const Shape &from = request.input(), &to = request.output();
    if (from.size() != to.size()) refuse("its output has other dimensions than its input");
    if (from == to && !request.has("pad")) {
        // As in NASNet: the image moves by a pixel, and zeros come in from the other side.
        if (from.size() != 4) return one_input([](const at::Tensor& x) { return x.clone(); });
        return one_input([](const at::Tensor& x) {
            return at::constant_pad_nd(x, {0, 1, 0, 1}).slice(2, 1).slice(3, 1).contiguous();
        });
    }
    std::vector<std::int64_t> amounts;  // as in torch.nn.functional.pad: the last dimension first
    if (const auto given = request.integers("pad")) {
        amounts = *given;
    } else {
        for (std::size_t k = from.size(); k-- > 0;) {
            const std::int64_t missing = to[k] - from[k];
            amounts.push_back(missing / 2);
            amounts.push_back(missing - missing / 2);
        }
    }
    const std::string mode = request.text("mode");
    if (!mode.empty() && mode != "constant")
        return one_input([amounts, mode](const at::Tensor& x) { return at::pad(x, amounts, mode); });
    return one_input([amounts](const at::Tensor& x) { return at::constant_pad_nd(x, amounts); });
}

}  // namespace

std::optional<Kernel> make_view(const KernelRequest& request) {
    const std::string& kind = request.kind();
    if (kind == "cat") return cat(request);
    if (kind == "stack") return stack(request);
    if (kind == "repeat") return repeat(request);
    if (kind == "index_put") {
        request.expect_inputs(1);
        request.expect_parameters({});
        return put(request);
    }
    static constexpr std::array kReshapes{"flatten", "reshape", "squeeze", "unflatten", "unsqueeze", "view"};
    const bool reshapes = std::ranges::find(kReshapes, kind) != kReshapes.end();
    static constexpr std::array kOthers{
        "identity", "detach", "expand", "permute",       "transpose",       "narrow",     "select",
        "slice",    "split",  "chunk",  "unbind",        "clone",           "contiguous", "to",
        "pad",      "roll",   "flip",   "pixel_shuffle", "pixel_unshuffle", "tril",       "triu"};
    if (!reshapes && std::ranges::find(kOthers, kind) == kOthers.end()) return std::nullopt;

    const bool splits = kind == "split" || kind == "chunk";
    if (!splits && request.inputs() == 0 && request.parameter_count() > 0) {
        // A parameter in another form.
        const Shape to = request.output();
        Kernel kernel{{to}, {}, [](const KernelCall& call) -> Tensors { return {call.parameters[0] * 1}; }};
        request.expect_parameters(kernel.parameters);
        if (kind != "clone" && kind != "contiguous" && kind != "to")
            kernel.forward = [](const KernelCall& call) -> Tensors {
                return {call.parameters[0].view_as(call.parameters[0])};
            };
        return kernel;
    }
    if (splits) return split(request);
    request.expect_inputs(1);
    const Shape& to = request.output();
    const auto same_count = [&] {
        if (product(request.input()) != product(to))
            refuse("its input is " + shape_text(request.input()) + ", which cannot become " + shape_text(to));
    };
    if (reshapes) {
        same_count();
        return one_input([to](const at::Tensor& x) { return x.reshape(to); });
    }
    if (kind == "identity") return one_input([](const at::Tensor& x) { return x.view_as(x); });
    if (kind == "detach") return one_input([](const at::Tensor& x) { return x.detach(); });
    if (kind == "expand") return one_input([to](const at::Tensor& x) { return x.expand(to); });
    if (kind == "permute") return permute(request);
    if (kind == "transpose") return transpose(request);
    if (kind == "unbind") return unbind(request);
    if (kind == "clone") return one_input([](const at::Tensor& x) { return x.clone(); });
    if (kind == "contiguous") return one_input([](const at::Tensor& x) { return x.contiguous(); });
    if (kind == "to") {
        const at::ScalarType type = scalar_type(request.op().outputs.front().dtype);
        return one_input([type](const at::Tensor& x) { return x.to(type); });
    }
    if (kind == "pad") return pad(request);
    if (kind == "roll" || kind == "flip") {
        same_count();
        std::vector<std::int64_t> dims = request.integers("dim").value_or(std::vector<std::int64_t>{});
        // A roll without dimensions moves the elements in one row.
        if (const auto shift = request.integer("shifts"); shift && dims.empty() && kind == "roll")
            return one_input([shift = *shift](const at::Tensor& x) { return x.roll({shift}, {}); });
        if (dims.empty()) dims.push_back(request.input().size() > 1 ? 1 : 0);
        dims = counted_from_front(dims, request.input().size());
        if (kind == "flip") return one_input([dims](const at::Tensor& x) { return x.flip(dims); });
        std::vector<std::int64_t> shifts = request.integers("shifts").value_or(std::vector<std::int64_t>{});
        shifts.resize(dims.size(), 1);
        return one_input([shifts, dims](const at::Tensor& x) { return x.roll(shifts, dims); });
    }
    if (kind == "pixel_shuffle" || kind == "pixel_unshuffle") {
        request.expect_rank(4);
        const std::int64_t small = std::min(to.back(), request.input().back());
        const std::int64_t factor = small > 0 ? std::max(to.back(), request.input().back()) / small : 0;
        if (factor < 1 || product(to) != product(request.input())) refuse("its shapes do not go together");
        if (kind == "pixel_shuffle")
            return one_input([factor](const at::Tensor& x) { return at::pixel_shuffle(x, factor); });
        return one_input([factor](const at::Tensor& x) { return at::pixel_unshuffle(x, factor); });
    }
    if (kind == "tril") return one_input([](const at::Tensor& x) { return at::tril(x); });
    if (kind == "triu") return one_input([](const at::Tensor& x) { return at::triu(x); });
    return part_of(request);
}

}  // namespace placewright
