// SPDX-License-Identifier: MIT
// Language models op by op, as NeuSight (Lee, Phanishayee, Mahajan, 2025) measured them: graphs.json.gz has
// the ops before, in and after a layer, times.json.gz what each took on each GPU, and what the whole took.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_set>

#include "app/experiments/measured_data.hpp"
#include "app/experiments/measured_run.hpp"
#include "core/base/text.hpp"

namespace placewright {
namespace {

/// Where the sum of the op times differs by more from the time of the whole, the measurement is in doubt.
constexpr double kAgreement = 0.25;
/// Shorter ops are mostly the time that the host takes to launch them.
constexpr double kTellingTime_s = 20e-6;
constexpr std::array kPhasesOfNetwork{"pre", "layer", "post"};

struct NetworkOp {
    Op op;
    std::vector<std::string> inputs;
    bool in_layer = false;
};

struct LayeredModel {
    std::int64_t batch = 0, layers = 0;
    std::vector<NetworkOp> ops;  ///< of one layer, in the order of the times
    std::unordered_set<std::string> layer_ops;
    std::string carried_in, carried_out;  ///< what a layer reads of the one before, and what it leaves
};

Tensor tensor_of(const JsonValue& value) {
    std::vector<std::int64_t> shape;
    value.at(0).for_each_item([&](const JsonValue& extent) { shape.push_back(extent.whole()); });
    const JsonValue type = value.at(1);
    const auto dtype = dtype_from(type.text());
    if (!dtype) type.fail("is " + in_quotes(type.text()) + ", which is no type of numbers");
    try {
        return make_tensor(std::move(shape), *dtype);
    } catch (const std::invalid_argument& error) {
        value.fail(error.what());
    }
}

/// [name, kind, inputs, outputs, parameter bytes, FLOPs]; a dropout does nothing in inference.
NetworkOp op_of(const JsonValue& value, bool in_layer, bool training) {
    constexpr std::size_t kFields = 6;
    if (value.size() != kFields) value.fail("has not the six fields of an op");
    NetworkOp made;
    made.in_layer = in_layer;
    made.op.name = value.at(0).text();
    made.op.kind = value.at(1).text();
    value.at(2).for_each_item([&](const JsonValue& input) { made.inputs.push_back(input.text()); });
    value.at(3).for_each_item([&](const JsonValue& output) { made.op.outputs.push_back(tensor_of(output)); });
    made.op.parameter_bytes = value.at(4).whole();
    made.op.flops = value.at(5).number();
    if (!training && made.op.kind == "dropout") {
        made.op.kind = "identity";
        made.op.flops = 0;
    }
    return made;
}

LayeredModel model_of(const JsonValue& value, bool training) {
    LayeredModel model;
    model.batch = value.at("batch").whole(1, 1'000'000);
    model.layers = value.at("num_layer").whole(1, 10'000);
    model.carried_in = value.at("carry").at(0).text();
    model.carried_out = value.at("carry").at(1).text();
    for (const char* part : kPhasesOfNetwork) {
        value.at(part).for_each_item([&](const JsonValue& op) {
            model.ops.push_back(op_of(op, part == std::string_view("layer"), training));
            if (model.ops.back().in_layer) model.layer_ops.insert(model.ops.back().op.name);
        });
    }
    return model;
}

std::string in_layer(std::int64_t layer, const std::string& name) {
    return "layer" + std::to_string(layer) + '/' + name;
}

/// Name of an op or input of layer `layer`, or of what follows the last one.
std::string renamed(const LayeredModel& model, const std::string& name, std::int64_t layer) {
    return model.layer_ops.contains(name.substr(0, name.find(':'))) ? in_layer(layer, name) : name;
}

void add_op(GraphBuilder& builder, const LayeredModel& model, const NetworkOp& from, std::int64_t layer) {
    NetworkOp copy = from;
    copy.op.name = renamed(model, from.op.name, layer);
    for (std::string& input : copy.inputs) {
        const bool carried = from.in_layer && layer > 0 && input == model.carried_in;
        input = carried ? in_layer(layer - 1, model.carried_out) : renamed(model, input, layer);
    }
    builder.add(std::move(copy.op), std::move(copy.inputs));
}

/// The whole network of `layers` equal layers.
Graph graph_of(const LayeredModel& model, const std::string& name, bool training) {
    GraphBuilder builder(name, model.batch, training ? Training::implicit : Training::none);
    const auto layer_begin = std::ranges::find(model.ops, true, &NetworkOp::in_layer);
    const auto layer_end =
        std::find_if(layer_begin, model.ops.end(), [](const NetworkOp& op) { return !op.in_layer; });
    for (auto op = model.ops.begin(); op != layer_begin; ++op) add_op(builder, model, *op, 0);
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
        for (auto op = layer_begin; op != layer_end; ++op) add_op(builder, model, *op, layer);
    }
    for (auto op = layer_end; op != model.ops.end(); ++op) add_op(builder, model, *op, model.layers - 1);
    return builder.build();
}

/// Kinds that run no kernel, or that only inference leaves out.
bool is_run(const Op& op) {
    static constexpr std::array<std::string_view, 12> kNotRun{"input",   "constant",  "parameter", "view",
                                                              "permute", "transpose", "unsqueeze", "expand",
                                                              "slice",   "split",     "identity",  "reshape"};
    return std::ranges::find(kNotRun, op.kind) == kNotRun.end();
}

/// Times of an op without what the source's timing adds to one that launches nothing, in ms.
struct OpTime {
    const NetworkOp* op = nullptr;
    double times = 1;  ///< how often it occurs
    double forward_ms = 0, backward_ms = 0;
};

/// The `list` of times, one for each op; none where the file has no such list.
std::vector<double> times_of(const JsonValue& entry, const char* list, std::size_t ops) {
    const auto value = entry.find(list);
    if (!value) return std::vector<double>(ops, 0.0);
    if (value->size() != ops)
        value->fail("has " + std::to_string(value->size()) + " times, but the network has " +
                    std::to_string(ops) + " ops");
    std::vector<double> times;
    value->for_each_item([&](const JsonValue& time) { times.push_back(time.number()); });
    return times;
}

std::vector<OpTime> op_times_of(const LayeredModel& model, const JsonValue& entry) {
    const double floor_ms = entry.at("floor_ms").number();
    const auto forward = times_of(entry, "fw", model.ops.size());
    const auto backward = times_of(entry, "bw", model.ops.size());
    const auto summed = times_of(entry, "acc", model.ops.size());
    const auto net = [&](double time_ms) { return std::max(0.0, time_ms - floor_ms); };
    std::vector<OpTime> times;
    for (std::size_t i = 0; i < model.ops.size(); ++i) {
        if (!is_run(model.ops[i].op)) continue;
        times.push_back({&model.ops[i], model.ops[i].in_layer ? static_cast<double>(model.layers) : 1.0,
                         net(forward[i]), net(backward[i]) + net(summed[i])});
    }
    return times;
}

/// Whether the op times add up to what the whole took.
bool agrees(const std::vector<OpTime>& times, const JsonValue& entry, bool training) {
    double forward_ms = 0, backward_ms = 0;
    for (const OpTime& time : times) {
        forward_ms += time.times * time.forward_ms;
        backward_ms += time.times * time.backward_ms;
    }
    const auto close = [](double sum_ms, double whole_ms) {
        return std::abs(sum_ms / whole_ms - 1) <= kAgreement;
    };
    return close(forward_ms, positive(entry.at("forward_ms"))) &&
           (!training || close(backward_ms, positive(entry.at("backward_ms"))));
}

/// A network on a GPU.
struct Pair {
    std::string name;  ///< "Tesla_P4/bert_large-inf-512-8"
    std::string gpu;   ///< model
    double measured_s = 0;
    const LayeredModel& model;
    std::vector<OpTime> times;
    bool counted = true;
    ExperimentRun run;
};

void for_each_pair(const SuiteRun& suite, const std::function<void(const Pair&)>& use) {
    const MeasuredJson graphs(suite.folder / "graphs.json.gz"), times(suite.folder / "times.json.gz");
    bool stopped = false;
    times.root().for_each_member([&](const std::string& gpu, const JsonValue& entries) {
        entries.for_each_member([&](const std::string& key, const JsonValue& entry) {
            const std::string name = gpu + '/' + key;
            if (stopped || !suite.next(name)) {
                stopped = true;
                return;
            }
            const bool training = key.find("-train-") != std::string::npos;
            const JsonValue used = entry.at("graph");
            const auto graph = graphs.root().find(used.text());
            if (!graph) used.fail("is " + in_quotes(used.text()) + ", which graphs.json.gz has not");
            const LayeredModel model = model_of(*graph, training);
            const auto op_times = op_times_of(model, entry);
            try {
                Pair pair{name,
                          gpu_model(gpu, entries),
                          positive(entry.at("e2e_ms")) * 1e-3,
                          model,
                          op_times,
                          agrees(op_times, entry, training),
                          run_on(machine_of({.gpu = gpu}), graph_of(model, key, training), training_with(0))};
                use(pair);
            } catch (const GraphError& error) {
                graph->fail(error.what());
            }
        });
    });
}

/// Classes of ops as NeuSight groups them.
std::string op_group(const std::string& kind) {
    static const std::map<std::string_view, std::string_view> groups{
        {"linear", "linear"},   {"addmm", "linear"},          {"matmul", "bmm"},         {"bmm", "bmm"},
        {"softmax", "softmax"}, {"layer_norm", "layer norm"}, {"embedding", "embedding"}};
    const auto found = groups.find(kind);
    return std::string(found == groups.end() ? "elementwise" : found->second);
}

}  // namespace

void neusight_steps(const SuiteRun& suite) {
    for_each_pair(suite, [&](const Pair& pair) {
        suite.add({.name = pair.name,
                   .group = pair.gpu,
                   .device = pair.gpu,
                   .measured_s = pair.measured_s,
                   .simulated_s = pair.run.total_time_s,
                   .interval = pair.run.interval(pair.run.total_time_s),
                   .counted = pair.counted,
                   .fits = pair.run.fits});
    });
}

void neusight_ops(const SuiteRun& suite) {
    for_each_pair(suite, [&](const Pair& pair) {
        double whole_ms = 0;
        for (const OpTime& time : pair.times) whole_ms += time.times * time.forward_ms;
        const Problem& problem = *pair.run.problem;
        for (const OpTime& time : pair.times) {
            if (time.forward_ms == 0) continue;
            const std::string name = renamed(pair.model, time.op->op.name, 0);
            const OpId op = problem.graph->find(name).value();
            suite.add({.name = pair.name + '/' + name,
                       .group = op_group(time.op->op.kind),
                       .device = pair.gpu,
                       .measured_s = time.forward_ms * 1e-3,
                       .simulated_s = problem.time_s(op, gpu_device(0)),
                       .counted = pair.counted,
                       .weight = time.times * time.forward_ms / whole_ms,
                       .too_short = time.forward_ms * 1e-3 <= kTellingTime_s});
        }
    });
}

}  // namespace placewright
