// SPDX-License-Identifier: MIT
// The ops of the modules of a language model, with the tensors that they hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.hpp"
#include "core/io/language/language_model.hpp"
#include "core/io/language/language_options.hpp"
#include "core/io/language/tensor_book.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

/// A step of a language model: what its graph is built from. All of it outlives the builder.
struct LanguageStep {
    const LanguageModel& model;
    const LanguageOptions& options;
    std::int64_t batch = 1;
    TensorBook& book;
};

/// An output of an op.
struct OpOutput {
    OpId op = kInvalidOp;
    Shape shape;
};

/// Base of the builders: adds modules to the graph, each as one op with the tensors that the files hold.
class ModuleBuilder {
public:
    explicit ModuleBuilder(const LanguageStep& step);

protected:
    /// What a tensor is for, which decides how it is stored.
    enum class Role : std::uint8_t { plain, linear, expert, head };

    // Names.
    /// The path of a module `name` below that of a block; either may be empty.
    static std::string joined(const std::string& block, std::string_view name);
    std::string prefixed(std::string_view name) const;
    /// The colocation label of a module.
    std::string label_of(const std::string& module) const;

    // Tensors.
    static std::int64_t divided_up(std::int64_t number, std::int64_t by);
    std::int64_t bits(Role role, const std::string& module, const Shape& shape) const;
    bool is_quantized(Role role, const std::string& module) const;
    static std::int64_t bytes_of(const Shape& shape, std::int64_t bits);
    WantedTensor wanted(const std::string& leaf, Shape shape, Role role, const std::string& module) const;
    std::vector<WantedTensor> linear_tensors(const std::string& module, std::int64_t in, std::int64_t out,
                                             bool bias, Role role) const;
    std::vector<WantedTensor> norm_tensors(std::int64_t width) const;
    /// The tensors of an op.
    struct Held {
        std::int64_t bytes = 0;
        double elements = 0;  ///< of its weights; 0: as wanted
        Json names = Json::array(), sizes = Json::array();
    };
    void hold(Held& held, const std::string& module, std::span<const WantedTensor> tensors);

    // Ops.
    Op op(const std::string& module, const char* kind, const Held& held) const;
    OpOutput add(Op op, Shape shape, std::span<const OpOutput> inputs);
    /// An op without tensors in a module. Its FLOPs are those of its kind.
    OpOutput plain(const std::string& module, const std::string& name, const char* kind, Shape shape,
                   std::span<const OpOutput> inputs);
    OpOutput sum(const std::string& module, const std::string& name, const OpOutput& a, const OpOutput& b);
    /// A module that does not run in this phase and still takes memory.
    void idle(const std::string& module, std::span<const WantedTensor> tensors);
    /// A linear map of the last extent.
    OpOutput linear(const std::string& module, const OpOutput& from, std::int64_t in, std::int64_t out,
                    bool bias, Role role = Role::linear);
    OpOutput norm(const std::string& module, const OpOutput& from);
    OpOutput add_norm(Op made, const OpOutput& from, const Shape& shape);
    /// A norm of each head: of `width` values with weights that all heads share, or with weights of each.
    OpOutput head_norm(const std::string& module, const OpOutput& from, std::int64_t heads);
    /// Rows of the table of words, whose bytes are `table_bytes_` afterwards.
    OpOutput lookup(const std::string& module, const OpOutput& indices, std::int64_t rows, std::int64_t width,
                    std::int64_t tokens);
    /// What looking up `tokens` of each sequence reads of the table of words with `rows`.
    std::int64_t bytes_of_rows(std::int64_t rows, std::int64_t tokens) const;
    /// The rows of a table of positions, the same for all sequences.
    OpOutput positions(const std::string& module, std::int64_t rows, std::int64_t width, std::int64_t tokens);
    OpOutput tokens_input(const std::string& name, std::int64_t tokens);
    OpOutput activated(const std::string& module, const OpOutput& from, std::int64_t width);
    const char* activation() const;
    /// A convolution with a bias; `window`: channels and kernel.
    OpOutput convolution(const std::string& module, const char* kind, const OpOutput& from,
                         const Shape& window, Shape shape);

    const LanguageModel& model_;
    const LanguageFamily& family_;
    const LanguageOptions& options_;
    TensorBook& book_;
    GraphBuilder graph_;
    std::int64_t batch_, sequence_, tokens_ = 1;  ///< `tokens_`: those of a sequence that the step computes
    std::int64_t cache_bits_ = 16;
    DType type_ = DType::bfloat16;
    LanguagePhase phase_;
    std::int64_t table_bytes_ = 0;  ///< of the table of words
    std::string colocate_;          ///< label of the ops that are added
    std::string block_;             ///< block of the ops that are added, where its ops may part

private:
    double all_bytes_ = 0;
};

}  // namespace placewright
