// SPDX-License-Identifier: MIT
// Sources, and ops that look numbers up.
#include <algorithm>

#include "core/measure/torch/kernel_request.hpp"

namespace placewright {
namespace {

/// Rows of a table [rows, ...features], or of another of its dimensions, by index. Indices are brought into
/// range, since those that no file gives are random.
Kernel lookup(const KernelRequest& request) {
    Kernel kernel;
    const Shape& to = request.output();
    const bool embeds = request.kind() == "embedding";
    // embedding reads index and table, index_select table and index.
    const std::size_t index_at = embeds ? 0 : 1, table_at = embeds ? 1 : 0;
    if (request.inputs() >= 2) {
        const Shape& table = request.input(table_at);
        const std::int64_t dim = request.dim(table.size()).value_or(0);
        if (table.empty() || table[static_cast<std::size_t>(dim)] < 1)
            refuse("its table is " + shape_text(table));
        request.expect_parameters({});
        kernel.forward = [index_at, table_at, dim, to](const KernelCall& call) -> Tensors {
            const at::Tensor& rows = call.inputs[table_at];
            const at::Tensor index = call.inputs[index_at].to(at::kLong).remainder(rows.size(dim));
            return {at::index_select(rows, dim, index.flatten()).reshape(to)};
        };
        if (embeds)
            kernel.forward = [](const KernelCall& call) -> Tensors {
                return {at::embedding(call.inputs[1], call.inputs[0])};
            };
        return kernel;
    }
    if (embeds && request.inputs() > 0) {
        const std::int64_t features = to.empty() ? 0 : to.back();
        if (features < 1 || request.parameter_count() % features != 0 || request.parameter_count() == 0)
            refuse("its table has " + std::to_string(request.parameter_count()) +
                   " numbers, and its output is " + shape_text(to));
        kernel.parameters = {{request.parameter_count() / features, features}};
        kernel.forward = [](const KernelCall& call) -> Tensors {
            return {at::embedding(call.parameters[0], call.inputs[0])};
        };
        return kernel;
    }
    // The index is a buffer of the op, and the table may be a parameter.
    const bool table_held = request.inputs() == 0;
    const Shape table = [&]() -> Shape {
        if (!table_held) return request.input();
        for (std::size_t k = 0; k < request.held_shapes().size(); ++k) {
            if (request.held_trained()[k]) return request.held_shapes()[k];
        }
        const std::int64_t features = to.empty() ? 0 : to.back();
        if (features < 1 || request.parameter_count() % features != 0) refuse("its table is unknown");
        return {request.parameter_count() / features, features};
    }();
    const std::int64_t dim = request.dim(table.size()).value_or(0);
    const std::int64_t rows = table.empty() ? 0 : table[static_cast<std::size_t>(dim)];
    if (rows < 1 || product(table) == 0 || product(to) % (product(table) / rows) != 0)
        refuse("its table is " + shape_text(table) + ", and its output is " + shape_text(to));
    const std::int64_t count = product(to) / (product(table) / rows);
    if (table_held) kernel.parameters = {table};
    request.expect_parameters(kernel.parameters);
    kernel.forward = [table_held, dim, rows, count, to](const KernelCall& call) -> Tensors {
        const at::Tensor& from = table_held ? call.parameters[0] : call.inputs[0];
        const at::Tensor index = at::arange(count, from.options().dtype(at::kLong)).remainder(rows);
        return {at::index_select(from, dim, index).reshape(to)};
    };
    return kernel;
}

}  // namespace

std::optional<Kernel> make_other(const KernelRequest& request) {
    const std::string& kind = request.kind();
    if (kind == "embedding" || kind == "index_select") return lookup(request);
    if (kind == "parameter") {
        Kernel kernel;
        kernel.parameters = request.output_shapes();
        request.expect_parameters(kernel.parameters);
        // Readers get the tensors themselves; their gradients come back from the readers.
        kernel.forward = [](const KernelCall& call) -> Tensors { return call.parameters; };
        return kernel;
    }
    const bool constant = kind == "constant" || kind == "full" || kind == "arange";
    if (kind == "input" || constant) {
        // Made once, before the first step: NetworkRunner keeps them.
        Kernel kernel;
        kernel.buffers = request.output_shapes();
        kernel.forward = [](const KernelCall& call) -> Tensors { return call.buffers; };
        return kernel;
    }
    return std::nullopt;
}

}  // namespace placewright
