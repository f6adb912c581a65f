// SPDX-License-Identifier: MIT
#include "core/graph/graph.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include <queue>

#include "core/base/saturated_sum.hpp"
#include "core/base/sorted.hpp"
#include "core/base/text.hpp"

namespace placewright {
namespace {

template <class Enum>
struct Name {
    Enum value;
    std::string_view text;
};

constexpr std::array<Name<Phase>, 3> kPhases{
    {{Phase::forward, "forward"}, {Phase::backward, "backward"}, {Phase::update, "update"}}};

constexpr std::array<Name<Training>, 3> kTrainings{
    {{Training::implicit, "implicit"}, {Training::explicit_, "explicit"}, {Training::none, "none"}}};

constexpr std::array<Name<DType>, 10> kDTypes{{{DType::float64, "float64"},
                                               {DType::float32, "float32"},
                                               {DType::float16, "float16"},
                                               {DType::bfloat16, "bfloat16"},
                                               {DType::int64, "int64"},
                                               {DType::int32, "int32"},
                                               {DType::int16, "int16"},
                                               {DType::int8, "int8"},
                                               {DType::uint8, "uint8"},
                                               {DType::boolean, "bool"}}};

template <class Enum, std::size_t N>
std::string_view text_of(const std::array<Name<Enum>, N>& names, Enum value) {
    return names[static_cast<std::size_t>(value)].text;
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const std::array<Name<Enum>, N>& names, std::string_view text) {
    for (const auto& name : names) {
        if (name.text == text) return name.value;
    }
    return std::nullopt;
}

void require_not_negative(const Op& op, const std::string& what, double value) {
    if (std::isfinite(value) && value >= 0) return;
    fail_at(op.name, what + " is " + short_number(value) + ", expected a finite number of at least 0");
}

void check_numbers(const Op& op) {
    require_not_negative(op, "flops", op.flops);
    if (op.backward_flops) require_not_negative(op, "backward_flops", *op.backward_flops);
    require_not_negative(op, "parameter_bytes", static_cast<double>(op.parameter_bytes));
    require_not_negative(op, "resident_bytes", static_cast<double>(op.resident_bytes));
    require_not_negative(op, "read_bytes", static_cast<double>(op.read_bytes.value_or(0)));
    require_not_negative(op, "workspace_bytes", static_cast<double>(op.workspace_bytes));
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        const std::string output = "output " + std::to_string(k);
        require_not_negative(op, output + ": bytes", static_cast<double>(op.outputs[k].bytes));
        if (op.outputs[k].transfer_s)
            require_not_negative(op, output + ": transfer_s", *op.outputs[k].transfer_s);
        if (!op.outputs[k].shape) continue;
        for (const std::int64_t extent : *op.outputs[k].shape)
            require_not_negative(op, output + ": extent", static_cast<double>(extent));
    }
    for (const auto& [model, time] : op.time_s) {
        const auto check = [&, on = " time on " + in_quotes(model)](const char* part,
                                                                    std::optional<double> part_s) {
            if (part_s) require_not_negative(op, part + on, *part_s);
        };
        check("forward", time.forward_s);
        check("backward", time.backward_s);
        check("weight gradient", time.weight_gradient_s);
        check("update", time.update_s);
    }
}

/// Product of the extents; nothing if it does not fit.
std::optional<std::int64_t> product(std::span<const std::int64_t> extents) {
    std::int64_t result = 1;
    for (const std::int64_t extent : extents) {
        if (__builtin_mul_overflow(result, extent, &result)) return std::nullopt;
    }
    return result;
}

std::string shape_text(std::span<const std::int64_t> shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

/// Splits "op:k" into op and k; nothing if it does not end in a colon and digits.
std::optional<std::pair<std::string_view, std::uint32_t>> split_output(std::string_view input) {
    const std::size_t colon = input.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view digits = input.substr(colon + 1);
    std::uint32_t output = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), output);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return std::pair(input.substr(0, colon), output);
}

std::string output_count(const Op& op) {
    const std::size_t count = op.outputs.size();
    if (count == 0) return "has no outputs";
    return "has only " + std::to_string(count) + (count == 1 ? " output" : " outputs");
}

/// Positions of the ops in a topological order that keeps the order of addition where the inputs allow it.
/// Ops on a cycle and those that depend on one are missing.
std::vector<OpId> sorted_positions(std::span<const Op> ops) {
    std::vector<std::uint32_t> begin(ops.size() + 1), waiting(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
        waiting[i] = static_cast<std::uint32_t>(ops[i].inputs.size());
        for (const TensorRef& input : ops[i].inputs) ++begin[input.op + 1];
    }
    for (std::size_t i = 0; i < ops.size(); ++i) begin[i + 1] += begin[i];
    std::vector<OpId> readers(begin.back());
    std::vector<std::uint32_t> fill(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        for (const TensorRef& input : ops[i].inputs) readers[fill[input.op]++] = static_cast<OpId>(i);
    }

    std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (waiting[i] == 0) ready.push(static_cast<OpId>(i));
    }
    std::vector<OpId> order;
    order.reserve(ops.size());
    while (!ready.empty()) {
        const OpId position = ready.top();
        ready.pop();
        order.push_back(position);
        for (std::uint32_t i = begin[position]; i < begin[position + 1]; ++i) {
            if (--waiting[readers[i]] == 0) ready.push(readers[i]);
        }
    }
    return order;
}

/// Throws GraphError with a cycle in the direction of the data, "a -> b -> a", shortened in the middle.
/// `sorted` holds the ops that are on no cycle.
[[noreturn]] void fail_with_cycle(std::span<const Op> ops, std::span<const OpId> sorted) {
    std::vector<bool> free(ops.size(), false);
    for (const OpId position : sorted) free[position] = true;
    const auto blocking_input = [&](OpId position) {
        const auto& inputs = ops[position].inputs;
        return std::find_if(inputs.begin(), inputs.end(),
                            [&](const TensorRef& input) { return !free[input.op]; })
            ->op;
    };

    // Every op that could not be sorted reads another such op, so following inputs must lead to a cycle.
    OpId position = static_cast<OpId>(std::find(free.begin(), free.end(), false) - free.begin());
    std::vector<bool> seen(ops.size(), false);
    while (!seen[position]) {
        seen[position] = true;
        position = blocking_input(position);
    }
    std::vector<OpId> cycle{position};
    for (OpId other = blocking_input(position); other != position; other = blocking_input(other))
        cycle.push_back(other);
    std::reverse(cycle.begin(), cycle.end());
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());

    constexpr std::size_t kShown = 6;
    std::string path;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        if (cycle.size() > kShown && i >= kShown / 2 && i < cycle.size() - kShown / 2) {
            if (i == kShown / 2) path += "... -> ";
            continue;
        }
        path += ops[cycle[i]].name + " -> ";
    }
    fail_at(ops[cycle.front()].name,
            "is on a cycle of " + std::to_string(cycle.size()) + (cycle.size() == 1 ? " op: " : " ops: ") +
                path + ops[cycle.front()].name + ", expected ops that do not wait for themselves");
}

std::uint32_t short_hash(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
}

}  // namespace

void fail_at(const std::string& op, const std::string& problem) {
    throw GraphError(op, "op " + in_quotes(op) + ": " + problem);
}

std::string_view to_string(Phase phase) {
    return text_of(kPhases, phase);
}
std::string_view to_string(Training training) {
    return text_of(kTrainings, training);
}
std::string_view to_string(DType dtype) {
    return text_of(kDTypes, dtype);
}
std::optional<Phase> phase_from(std::string_view text) {
    return value_of(kPhases, text);
}
std::optional<Training> training_from(std::string_view text) {
    return value_of(kTrainings, text);
}
std::optional<DType> dtype_from(std::string_view text) {
    return value_of(kDTypes, text);
}

std::int64_t bytes_per_element(DType dtype) {
    static constexpr std::array<std::int64_t, kDTypes.size()> bytes{8, 4, 2, 2, 8, 4, 2, 1, 1, 1};
    return bytes[static_cast<std::size_t>(dtype)];
}

bool is_floating(DType dtype) {
    return dtype == DType::float64 || dtype == DType::float32 || dtype == DType::float16 ||
           dtype == DType::bfloat16;
}

DType parameter_type(const Op& op) {
    if (op.parameter_dtype) return *op.parameter_dtype;
    return op.outputs.empty() ? DType::float32 : op.outputs.front().dtype;
}

Tensor make_tensor(std::vector<std::int64_t> shape, DType dtype) {
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) {
        throw std::invalid_argument("shape " + shape_text(shape) +
                                    " has a negative extent, expected at least 0");
    }
    std::optional<std::int64_t> elements = product(shape);
    // An extent of 0 makes the tensor empty, however large the others are.
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) elements = 0;
    std::int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, bytes_per_element(dtype), &bytes)) {
        throw std::invalid_argument("shape " + shape_text(shape) +
                                    " has too many elements, expected less than 2^63 bytes");
    }
    return Tensor{std::move(shape), dtype, bytes};
}

std::int64_t element_count(const Tensor& tensor) {
    if (tensor.shape) {
        if (const auto elements = product(*tensor.shape)) return *elements;
    }
    return tensor.bytes / bytes_per_element(tensor.dtype);
}

std::optional<std::vector<std::int64_t>> integer_attribute(const Op& op, const std::string& key) {
    const auto attribute = op.attributes.find(key);
    if (attribute == op.attributes.end()) return std::nullopt;
    const char* at = attribute->second.data();
    const char* const end = at + attribute->second.size();
    const auto skip_spaces = [&] {
        at = std::find_if(at, end, [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r'; });
    };
    const auto take = [&](char c) {
        skip_spaces();
        if (at == end || *at != c) return false;
        ++at;
        return true;
    };

    std::vector<std::int64_t> values;
    const bool list = take('[');
    do {
        skip_spaces();
        std::int64_t value = 0;
        const auto [next, error] = std::from_chars(at, end, value);
        if (error != std::errc()) return std::nullopt;
        at = next;
        values.push_back(value);
    } while (list && take(','));
    if (list && !take(']')) return std::nullopt;
    skip_spaces();
    if (at != end) return std::nullopt;
    return values;
}

std::optional<OpId> Graph::find(std::string_view name) const {
    return by_name_.find(name, ops_);
}

std::optional<OpId> Graph::NameIndex::find(std::string_view name, std::span<const Op> ops) const {
    if (slots_.empty()) return std::nullopt;
    const std::uint32_t hash = short_hash(name);
    for (std::size_t i = hash;; ++i) {
        const Slot& slot = slots_[i & (slots_.size() - 1)];
        if (slot.op == kInvalidOp) return std::nullopt;
        if (slot.hash == hash && ops[slot.op].name == name) return slot.op;
    }
}

void Graph::NameIndex::add_last(std::span<const Op> ops) {
    if (2 * (used_ + 1) > slots_.size()) {
        std::vector<Slot> before(std::max<std::size_t>(16, 2 * slots_.size()));
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.op != kInvalidOp) enter(slot);
        }
    }
    enter({static_cast<OpId>(ops.size() - 1), short_hash(ops.back().name)});
    ++used_;
}

void Graph::NameIndex::enter(Slot slot) {
    std::size_t i = slot.hash;
    while (slots_[i & (slots_.size() - 1)].op != kInvalidOp) ++i;
    slots_[i & (slots_.size() - 1)] = slot;
}

void Graph::NameIndex::renumber(std::span<const OpId> id_of) {
    for (Slot& slot : slots_) {
        if (slot.op != kInvalidOp) slot.op = id_of[slot.op];
    }
}

std::span<const OpId> Graph::consumers(OpId id) const {
    return std::span(consumers_).subspan(consumer_begin_[id], consumer_begin_[id + 1] - consumer_begin_[id]);
}

std::span<const OpId> Graph::producers(OpId id) const {
    return std::span(producers_).subspan(producer_begin_[id], producer_begin_[id + 1] - producer_begin_[id]);
}

std::vector<OpId> Graph::model_consumers(OpId id) const {
    std::vector<OpId> readers;
    for (const OpId consumer : consumers(id)) {
        if (!ops_[consumer].autocast) {
            readers.push_back(consumer);
            continue;
        }
        const auto behind = consumers(consumer);
        readers.insert(readers.end(), behind.begin(), behind.end());
    }
    std::ranges::sort(readers);
    erase_repeats(readers);
    return readers;
}

GraphBuilder::GraphBuilder(std::string name, std::int64_t batch, Training training) {
    graph_.name_ = std::move(name);
    graph_.batch_ = batch;
    graph_.training_ = training;
}

void GraphBuilder::add(Op op, std::vector<std::string> inputs) {
    op.inputs.clear();
    add(std::move(op));
    inputs_.back() = std::move(inputs);
}

void GraphBuilder::add(Op op) {
    if (op.name.empty())
        throw GraphError(
            "", "op " + std::to_string(ops_.size()) + " has no name, expected one that is not empty");
    if (graph_.by_name_.find(op.name, ops_))
        fail_at(op.name, "the name is taken, expected a name of its own for every op");
    check_numbers(op);
    if (op.forward_op != kInvalidOp && op.forward_op >= ops_.size()) {
        fail_at(op.name,
                "forward op " + std::to_string(op.forward_op) + " is unknown, expected an op added before");
    }
    for (const TensorRef& input : op.inputs) {
        if (input.op >= ops_.size())
            fail_at(op.name,
                    "input op " + std::to_string(input.op) + " is unknown, expected an op added before");
        const Op& producer = ops_[input.op];
        if (input.output >= producer.outputs.size()) {
            fail_at(op.name, "input " + in_quotes(producer.name + ':' + std::to_string(input.output)) +
                                 ": op " + in_quotes(producer.name) + ' ' + output_count(producer));
        }
    }
    ops_.push_back(std::move(op));
    graph_.by_name_.add_last(ops_);
    inputs_.emplace_back();
}

Graph GraphBuilder::build() {
    Graph graph = std::exchange(graph_, Graph());
    std::vector<Op> ops = std::exchange(ops_, {});
    const std::vector<std::vector<std::string>> inputs = std::exchange(inputs_, {});
    if (ops.empty()) throw GraphError("", "the graph has no ops, expected at least one");

    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (graph.training_ == Training::implicit && ops[i].phase != Phase::forward) {
            fail_at(ops[i].name, "phase is " + in_quotes(to_string(ops[i].phase)) +
                                     ", expected \"forward\" where training is implicit");
        }
        for (const std::string& input : inputs[i]) {
            TensorRef ref;
            if (const auto whole = graph.by_name_.find(input, ops)) {
                ref.op = *whole;
            } else if (const auto parts = split_output(input)) {
                ref = {graph.by_name_.find(parts->first, ops).value_or(kInvalidOp), parts->second};
            }
            if (ref.op == kInvalidOp) {
                fail_at(ops[i].name,
                        "input " + in_quotes(input) +
                            " is unknown, expected the name of an op, or \"op:k\" for its output k");
            }
            const Op& producer = ops[ref.op];
            if (ref.output >= producer.outputs.size()) {
                fail_at(ops[i].name, "input " + in_quotes(input) + ": op " + in_quotes(producer.name) + ' ' +
                                         output_count(producer));
            }
            ops[i].inputs.push_back(ref);
        }
    }

    const std::vector<OpId> order = sorted_positions(ops);
    if (order.size() < ops.size()) fail_with_cycle(ops, order);
    std::vector<OpId> id_of(ops.size());
    for (std::size_t id = 0; id < order.size(); ++id) id_of[order[id]] = static_cast<OpId>(id);

    graph.by_name_.renumber(id_of);

    graph.ops_.reserve(ops.size());
    graph.producer_begin_.push_back(0);
    graph.consumer_begin_.assign(ops.size() + 1, 0);
    std::vector<OpId> last_reader(ops.size(), kInvalidOp);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto id = static_cast<OpId>(i);
        Op& op = graph.ops_.emplace_back(std::move(ops[order[i]]));
        if (op.forward_op != kInvalidOp) op.forward_op = id_of[op.forward_op];
        for (TensorRef& input : op.inputs) {
            input.op = id_of[input.op];
            if (std::exchange(last_reader[input.op], id) == id) continue;
            graph.producers_.push_back(input.op);
            ++graph.consumer_begin_[input.op + 1];
        }
        graph.producer_begin_.push_back(static_cast<std::uint32_t>(graph.producers_.size()));
    }
    for (std::size_t i = 0; i < order.size(); ++i) graph.consumer_begin_[i + 1] += graph.consumer_begin_[i];
    graph.consumers_.resize(graph.producers_.size());
    std::vector<std::uint32_t> fill(graph.consumer_begin_.begin(), graph.consumer_begin_.end() - 1);
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (const OpId producer : graph.producers(static_cast<OpId>(i)))
            graph.consumers_[fill[producer]++] = static_cast<OpId>(i);
    }
    return graph;
}

GraphTotals totals(const Graph& graph) {
    GraphTotals sum;
    for (const Op& op : graph.ops()) {
        if (op.phase != Phase::forward) continue;
        ++sum.ops;
        sum.forward_flops += op.flops;
        sum.parameter_bytes = saturated_sum(sum.parameter_bytes, op.parameter_bytes);
        for (const Tensor& output : op.outputs)
            sum.output_bytes = saturated_sum(sum.output_bytes, output.bytes);
    }
    return sum;
}

}  // namespace placewright
