// SPDX-License-Identifier: MIT
// An op as the makers of kernels read it: shapes, attributes, sizes of parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/measure/torch/kernel.hpp"

namespace placewright {

/// "[32, 3, 224, 224]".
std::string shape_text(const Shape& shape);
std::int64_t product(const Shape& shape);

/// Throws std::invalid_argument: "its output is [1], but ...".
[[noreturn]] void refuse(const std::string& reason);

class KernelRequest {
public:
    /// Throws std::invalid_argument if a tensor has no shape.
    KernelRequest(const Graph& graph, OpId op);

    const Op& op() const { return op_; }
    const std::string& kind() const { return op_.kind; }
    std::size_t inputs() const { return inputs_.size(); }
    const Shape& input(std::size_t index = 0) const { return inputs_.at(index); }
    DType input_type(std::size_t index = 0) const { return input_types_.at(index); }
    std::size_t outputs() const { return outputs_.size(); }
    const Shape& output(std::size_t index = 0) const { return outputs_.at(index); }
    const std::vector<Shape>& output_shapes() const { return outputs_; }

    /// Throws std::invalid_argument unless the op has at least that number of inputs.
    void expect_inputs(std::size_t least) const;
    void expect_rank(std::size_t rank, std::size_t input = 0) const;

    bool has(const std::string& key) const { return op_.attributes.contains(key); }
    std::optional<std::vector<std::int64_t>> integers(const std::string& key) const;
    std::optional<std::int64_t> integer(const std::string& key) const;
    /// One number per dimension of a window; a single number counts for all.
    std::optional<std::vector<std::int64_t>> window(const std::string& key, std::size_t dimensions) const;
    /// Text of a JSON string; empty if absent.
    std::string text(const std::string& key) const;
    /// `dim` of the op, counted from the front; nothing if absent or a list.
    std::optional<std::int64_t> dim(std::size_t rank) const;

    std::int64_t parameter_count() const;  ///< trained numbers
    /// Numbers of each trained parameter, if the file lists them.
    const std::vector<std::int64_t>& parameter_counts() const { return counts_; }
    /// Shapes of all parameters and buffers that the op holds, if the file lists them.
    const std::vector<Shape>& held_shapes() const { return held_shapes_; }
    /// [held]: whether it is trained.
    const std::vector<bool>& held_trained() const { return held_trained_; }
    /// Throws std::invalid_argument unless the parameters have that number of elements in all.
    void expect_parameters(const std::vector<Shape>& shapes) const;

private:
    void read_held();

    const Op& op_;
    std::vector<Shape> inputs_, outputs_;
    std::vector<DType> input_types_;
    std::vector<std::int64_t> counts_;
    std::vector<Shape> held_shapes_;
    std::vector<bool> held_trained_;
};

/// Makers by family of kinds; each returns nothing for a kind of another family.
std::optional<Kernel> make_view(const KernelRequest& request);
std::optional<Kernel> make_product(const KernelRequest& request);
std::optional<Kernel> make_image_kernel(const KernelRequest& request);
std::optional<Kernel> make_elementwise(const KernelRequest& request);
std::optional<Kernel> make_reduction(const KernelRequest& request);
std::optional<Kernel> make_other(const KernelRequest& request);

}  // namespace placewright
