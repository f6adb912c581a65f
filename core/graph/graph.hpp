// SPDX-License-Identifier: MIT
// The graph to be placed: the ops of a neural network in topological order. Immutable once a GraphBuilder has
// built it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

using OpId = std::uint32_t;
inline constexpr OpId kInvalidOp = std::numeric_limits<OpId>::max();

enum class Phase : std::uint8_t { forward, backward, update };

/// Which part of a training step an op list describes.
/// `implicit`: forward ops only; backward and update ops are derived (see training.hpp).
/// `explicit_`: the list holds backward and update ops itself.  `none`: inference.
enum class Training : std::uint8_t { implicit, explicit_, none };

enum class DType : std::uint8_t {
    float64,
    float32,
    float16,
    bfloat16,
    int64,
    int32,
    int16,
    int8,
    uint8,
    boolean
};

std::string_view to_string(Phase phase);
std::string_view to_string(Training training);
std::string_view to_string(DType dtype);
std::optional<Phase> phase_from(std::string_view text);
std::optional<Training> training_from(std::string_view text);
std::optional<DType> dtype_from(std::string_view text);
std::int64_t bytes_per_element(DType dtype);
/// Whether the type has fractions, and so gradients: float64, float32, float16 or bfloat16.
bool is_floating(DType dtype);

/// One output of an op. `shape` is empty for a scalar and absent where a file gives only `bytes`.
struct Tensor {
    std::optional<std::vector<std::int64_t>> shape;
    DType dtype = DType::float32;
    std::int64_t bytes = 0;
    /// Seconds on each channel of the route, if a file gives them; otherwise computed from bytes and channel.
    std::optional<double> transfer_s = {};

    bool operator==(const Tensor&) const = default;
};

/// A tensor of `shape`; bytes are computed. Throws std::invalid_argument for a negative extent or if the size
/// does not fit into 63 bits.
Tensor make_tensor(std::vector<std::int64_t> shape, DType dtype = DType::float32);

/// Number of elements of the tensor, or bytes / bytes_per_element if the shape is unknown.
std::int64_t element_count(const Tensor& tensor);

/// Output `output` of op `op`.
struct TensorRef {
    OpId op = kInvalidOp;
    std::uint32_t output = 0;

    bool operator==(const TensorRef&) const = default;
};

/// Seconds measured for an op on one device model.
struct MeasuredTime {
    std::optional<double> forward_s;
    std::optional<double> backward_s;  ///< of all gradients
    std::optional<double> weight_gradient_s =
        {};                               ///< the part of backward_s for the parameters, if it is known
    std::optional<double> update_s = {};  ///< of the optimizer

    bool operator==(const MeasuredTime&) const = default;
};

/// One operation. `kind` follows PyTorch's functional names (see kinds.hpp).
struct Op {
    std::string name;
    std::string kind;
    std::string scope;  ///< path of the module that contains it, '/' separated; empty if unknown
    Phase phase = Phase::forward;
    double flops = 0;                      ///< two per multiply-add
    std::optional<double> backward_flops;  ///< data and weight gradients together; derived when absent
    std::int64_t parameter_bytes = 0;
    std::optional<DType> parameter_dtype;  ///< of the parameters, if not that of the first output (autocast)
    /// Memory held for the whole step beside the parameters; the training optimizer keeps no copy of it.
    std::int64_t resident_bytes = 0;
    /// Bytes that the op reads in a step of its parameters and of resident_bytes, where these are not all
    /// parameters and nothing else: rows of a table, the experts that tokens are routed to, a cache.
    std::optional<std::int64_t> read_bytes = {};
    std::int64_t workspace_bytes = 0;  ///< scratch memory, held while the op runs
    /// The first output overwrites the first input if no other op reads that input (PyTorch's inplace=True).
    bool in_place = false;
    std::vector<Tensor> outputs;
    std::vector<TensorRef> inputs;
    std::string colocate;              ///< ops with the same non-empty label share a device
    std::vector<std::string> devices;  ///< names or kinds of the devices that may hold it; empty: any
    std::map<std::string, MeasuredTime> time_s;  ///< by device model
    /// All other attributes of the op in a file: unchanged JSON text by key ("kernel" -> "[3,3]").
    std::map<std::string, std::string> attributes;
    /// For a derived backward or update op: the forward op that it was derived from and is placed with.
    OpId forward_op = kInvalidOp;
    /// All outputs sent to one device travel as one message; otherwise each tensor is a message of its own.
    bool sends_together = false;
    /// The op repeats its forward op in the backward pass (recomputation.hpp).
    bool recomputes = false;
    /// A cast that autocast adds (precision.hpp). The model itself has no such op, so files for it leave the
    /// cast out; it shares the label of the op that it is placed with.
    bool autocast = false;
};

/// The type of an op's parameters: Op::parameter_dtype, or that of the values that they are combined with.
DType parameter_type(const Op& op);

/// The integers of an attribute such as "kernel": "[3,3]" or "3"; nothing if it is absent or anything else.
std::optional<std::vector<std::int64_t>> integer_attribute(const Op& op, const std::string& key);

/// Thrown for an op list that is not a valid graph. `op` names the op at fault (empty if the fault concerns
/// the whole graph); what() names it too.
class GraphError : public std::runtime_error {
public:
    GraphError(std::string op, const std::string& what) : std::runtime_error(what), op_(std::move(op)) {}
    const std::string& op() const { return op_; }

private:
    std::string op_;
};

/// Throws GraphError for an op: "op "conv1": its output has no bytes".
[[noreturn]] void fail_at(const std::string& op, const std::string& problem);

class Graph {
public:
    const std::string& name() const { return name_; }
    std::int64_t batch() const { return batch_; }
    Training training() const { return training_; }

    /// In topological order: an op's inputs come from ops before it.
    std::span<const Op> ops() const { return ops_; }
    const Op& op(OpId id) const { return ops_[id]; }
    std::size_t size() const { return ops_.size(); }

    std::optional<OpId> find(std::string_view name) const;

    /// Distinct ops that read any output of `id`, in topological order.
    std::span<const OpId> consumers(OpId id) const;
    /// Distinct ops that `id` reads from, in the order of its inputs.
    std::span<const OpId> producers(OpId id) const;
    /// The consumers of `id` in the model itself: in place of each cast of autocast, the ops that read it.
    std::vector<OpId> model_consumers(OpId id) const;

private:
    friend class GraphBuilder;

    /// Finds ops by name: a hash table of ids with open addressing. The names stay in the ops.
    class NameIndex {
    public:
        std::optional<OpId> find(std::string_view name, std::span<const Op> ops) const;
        /// Adds the last op. Its name must be new.
        void add_last(std::span<const Op> ops);
        /// Replaces each id by id_of[id].
        void renumber(std::span<const OpId> id_of);

    private:
        struct Slot {
            OpId op = kInvalidOp;
            std::uint32_t hash = 0;
        };
        void enter(Slot slot);

        std::vector<Slot> slots_;  ///< a power of two of them, at most half of them in use
        std::size_t used_ = 0;
    };

    std::string name_;
    std::int64_t batch_ = 1;
    Training training_ = Training::implicit;
    std::vector<Op> ops_;
    NameIndex by_name_;
    std::vector<std::uint32_t> consumer_begin_, producer_begin_;
    std::vector<OpId> consumers_, producers_;
};

/// Collects ops in any order and checks them. An input is written "op" (its output 0) or "op:k".
class GraphBuilder {
public:
    explicit GraphBuilder(std::string name, std::int64_t batch = 1, Training training = Training::implicit);

    /// Adds an op; `op.inputs` is ignored, `inputs` may name ops that are added later. Throws GraphError for
    /// an empty or repeated name, a negative or non-finite number, or a derived op whose forward op is
    /// unknown.
    void add(Op op, std::vector<std::string> inputs);

    /// Adds an op whose `op.inputs` refer to ops added before it, by the order in which they were added.
    /// Throws as above, and for an unknown input.
    void add(Op op);

    std::size_t size() const { return ops_.size(); }

    /// Resolves the inputs and sorts the ops topologically; ops already in topological order keep their
    /// order. Throws GraphError if there are no ops, an input or output is unknown, the ops form a cycle, or
    /// a graph of implicit training contains backward or update ops. Leaves the builder empty. O((ops +
    /// inputs) log ops).
    Graph build();

private:
    Graph graph_;
    std::vector<Op> ops_;
    std::vector<std::vector<std::string>> inputs_;
};

/// Sums over the forward ops.
struct GraphTotals {
    std::size_t ops = 0;
    double forward_flops = 0;
    std::int64_t parameter_bytes = 0;
    std::int64_t output_bytes = 0;
};
GraphTotals totals(const Graph& graph);

}  // namespace placewright
