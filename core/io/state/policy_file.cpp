// SPDX-License-Identifier: MIT
#include "core/io/state/policy_file.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <unordered_set>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/io/state/safetensors.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/option_json.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

constexpr auto kPolicyFormat = "placewright.policy";
constexpr std::int64_t kPolicyVersion = 1;
constexpr std::int64_t kMostDevices = 65'535, kMostNodes = 100'000'000;

template <class Number>
constexpr const char* dtype_of() {
    if constexpr (std::is_same_v<Number, float>) return "F32";
    if constexpr (std::is_same_v<Number, double>) return "F64";
    if constexpr (std::is_same_v<Number, std::int64_t>) return "I64";
    if constexpr (std::is_same_v<Number, std::uint16_t>) return "U16";
}

std::string to_text(const Shape& shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
}

std::string number(double value) {
    return to_string(OptionValue(value));
}

bool is_policy(const std::optional<JsonValue>& metadata) {
    return metadata && metadata->text_or("format", "") == kPolicyFormat;
}

/// Whether a file is a complete safetensors file that is a policy, or none.
bool contains(const Path& path, bool policy) {
    try {
        const SafetensorsFile file(path, "a file of weights");
        return is_policy(file.metadata()) == policy;
    } catch (const InputError&) {
        return false;
    }
}

class TensorWriter {
public:
    template <class Number>
    void add(const std::string& name, const Shape& shape, std::span<const Number> values) {
        const auto bytes = std::as_bytes(values);
        const std::size_t begin = data_.size();
        data_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        header_[name] = {
            {"dtype", dtype_of<Number>()}, {"shape", shape}, {"data_offsets", {begin, data_.size()}}};
    }
    template <class Number>
    void add(const std::string& name, const std::vector<Number>& values) {
        add(name, {static_cast<std::int64_t>(values.size())}, std::span(values));
    }
    std::string text(Json metadata) {
        Json header = {{"__metadata__", std::move(metadata)}};
        for (const auto& [name, entry] : header_.items()) append_member(header, name, entry);
        std::string json = header.dump(-1, ' ', false, Json::error_handler_t::replace);
        json.resize((json.size() + 7) / 8 * 8, ' ');  // tensors begin where doubles may lie
        const std::uint64_t length = json.size();
        std::string file(sizeof length, '\0');
        std::memcpy(file.data(), &length, sizeof length);
        return file + json + data_;
    }

private:
    Json header_ = Json::object();
    std::string data_;
};

/// The tensors of a policy; require_all_used() checks that each was read.
class TensorFile {
public:
    explicit TensorFile(const Path& file) : file_(file, "a policy") {}

    const Path& path() const { return file_.path(); }
    std::optional<JsonValue> metadata() const { return file_.metadata(); }
    [[noreturn]] void fail(const std::string& where, const std::string& problem) const {
        file_.fail(where, problem);
    }

    /// Returns the values of a tensor. A negative extent in `expected` permits any extent.
    template <class Number>
    std::vector<Number> values(const std::string& name, const Shape& expected) {
        const auto found = file_.entries().find(name);
        if (found == file_.entries().end())
            fail("", "has no tensor " + in_quotes(name) + ", which this policy needs");
        const SafetensorsFile::Entry& entry = found->second;
        const bool fits = std::ranges::equal(entry.shape, expected, [](std::int64_t is, std::int64_t wanted) {
            return wanted < 0 || is == wanted;
        });
        if (!fits || entry.dtype != dtype_of<Number>())
            fail("tensor " + in_quotes(name),
                 "is " + entry.dtype + ' ' + to_text(entry.shape) + ", expected " + dtype_of<Number>() + ' ' +
                     to_text(expected) + (std::ranges::count(expected, -1) > 0 ? " (-1: any)" : "") +
                     "; if another version of Placewright wrote it, train again");
        used_.insert(name);
        std::vector<Number> values((entry.end - entry.begin) / sizeof(Number));
        file_.read(entry, std::as_writable_bytes(std::span(values)));
        if constexpr (std::is_floating_point_v<Number>) {
            if (!std::ranges::all_of(values, [](Number value) { return std::isfinite(value); }))
                fail("tensor " + in_quotes(name),
                     "holds a number that is not finite: the training diverged; train again with a lower "
                     "learning rate");
        }
        return values;
    }

    /// Returns values(), none of which may be negative.
    template <class Number>
    std::vector<Number> not_negative(const std::string& name, const Shape& expected) {
        std::vector<Number> all = values<Number>(name, expected);
        const auto negative = std::ranges::find_if(all, [](Number value) { return value < 0; });
        if (negative != all.end())
            fail("tensor " + in_quotes(name),
                 "item " + std::to_string(negative - all.begin() + 1) + " is " +
                     number(static_cast<double>(*negative)) +
                     ", expected no negative numbers; train again, or take another copy of the file");
        return all;
    }

    /// Throws InputError if there is a tensor that was not read.
    void require_all_used() const {
        for (const auto& [name, entry] : file_.entries()) {
            if (!used_.contains(name))
                fail("tensor " + in_quotes(name), "belongs to no parameter of this policy");
        }
    }

private:
    SafetensorsFile file_;
    std::unordered_set<std::string> used_;
};

Json json_of(const TrainingRecord& record) {
    Json conditions = Json::object(), graphs = Json::array();
    for (const auto& [name, value] : record.conditions) conditions[name] = value;
    for (const TrainingRecord::Graph& graph : record.graphs)
        graphs.push_back(
            {{"network", graph.network}, {"machine", graph.machine}, {"fingerprint", graph.fingerprint}});
    return {{"policy", record.policy},
            {"options", options_json(record.options)},
            {"devices", record.size.devices},
            {"nodes", record.size.nodes},
            {"seed", std::to_string(record.seed)},  // more than many readers of JSON take
            {"planned_updates", record.planned_updates},
            {"conditions", std::move(conditions)},
            {"graphs", std::move(graphs)}};
}

/// A member of the metadata whose text is a JSON object.
class MetadataPart {
public:
    MetadataPart(const TensorFile& file, const std::string& name)
        : file_(file.path(), file.metadata().value().at(name).text()),
          json_(file_.parse()),
          place_("__metadata__: " + name) {}
    JsonValue value() const { return JsonValue(file_, json_).placed_at(place_); }

private:
    JsonFile file_;
    Json json_;
    std::string place_;
};

TrainingRecord record_from(const JsonValue& value, const PolicyInfo*& info) {
    TrainingRecord record;
    record.policy = value.at("policy").text();
    info = find_policy(record.policy);
    if (info == nullptr) {
        std::string known;
        for (const PolicyInfo& policy : policies()) known += (known.empty() ? "" : ", ") + policy.id;
        value.at("policy").fail("is unknown; there are " + known);
    }
    const JsonValue options = value.at("options");
    options.for_each_member([&](const std::string& name, const JsonValue& option) {
        try {
            record.options[name] =
                checked_option(info->options[position(info->options, name)], option_from(option));
        } catch (const OptionError& error) {
            options.fail(std::string("are not those of this version: ") + error.what());
        }
    });
    record.options.insert(info->older.begin(), info->older.end());
    record.size.devices = static_cast<std::uint32_t>(value.at("devices").whole(1, kMostDevices));
    record.size.nodes = static_cast<std::uint32_t>(value.at("nodes").whole(1, kMostNodes));
    const std::string seed = value.at("seed").text();
    const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), record.seed);
    if (error != std::errc() || end != seed.data() + seed.size())
        value.at("seed").fail("is not a whole number");
    record.planned_updates = static_cast<std::uint64_t>(
        value.at("planned_updates").whole(1, std::numeric_limits<std::int64_t>::max()));
    value.at("conditions").for_each_member([&](const std::string& name, const JsonValue& text) {
        record.conditions.emplace_back(name, text.text());
    });
    value.at("graphs").for_each_item([&](const JsonValue& graph) {
        record.graphs.push_back(
            {graph.at("network").text(), graph.at("machine").text(), graph.at("fingerprint").text()});
    });
    if (record.graphs.empty()) value.at("graphs").fail("is empty, expected at least one");
    return record;
}

/// Splits a flat list into lists of these lengths.
template <class Number>
std::vector<std::vector<Number>> divided(const std::vector<Number>& flat,
                                         const std::vector<std::int64_t>& lengths, const TensorFile& file,
                                         const std::string& name) {
    std::vector<std::vector<Number>> parts;
    std::size_t from = 0;
    for (const std::int64_t length : lengths) {
        if (length < 0 || static_cast<std::uint64_t>(length) > flat.size() - from)
            file.fail("tensor " + in_quotes(name), "has wrong lengths");
        const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(from);
        parts.emplace_back(begin, begin + length);
        from += static_cast<std::size_t>(length);
    }
    if (from != flat.size()) file.fail("tensor " + in_quotes(name), "has wrong lengths");
    return parts;
}

/// Writes the state except for the counters.
void write_training(const TrainingState& state, TensorWriter& tensors) {
    tensors.add("training/first_moments", state.first_moments);
    tensors.add("training/second_moments", state.second_moments);

    std::vector<std::int64_t> lengths, episodes;
    std::vector<double> returns;
    for (const auto& graph : state.returns) {
        episodes.push_back(static_cast<std::int64_t>(graph.size()));
        for (const auto& episode : graph) {
            lengths.push_back(static_cast<std::int64_t>(episode.size()));
            returns.insert(returns.end(), episode.begin(), episode.end());
        }
    }
    tensors.add("training/returns.episodes", episodes);
    tensors.add("training/returns.lengths", lengths);
    tensors.add("training/returns", returns);

    std::vector<double> averages;
    std::vector<std::int64_t> averaged;
    for (const TrainingState::Average& average : state.averages) {
        averages.push_back(average.value);
        averaged.push_back(static_cast<std::int64_t>(average.episodes));
    }
    tensors.add("training/averages", averages);
    tensors.add("training/averages.episodes", averaged);

    lengths.clear();
    std::vector<double> scores;
    Placement placements;
    for (const BestPlacement& best : state.best) {
        lengths.push_back(static_cast<std::int64_t>(best.placement.size()));
        placements.insert(placements.end(), best.placement.begin(), best.placement.end());
        for (const double value : {best.score.penalised_s, best.score.value_s, best.score.fits ? 1.0 : 0.0})
            scores.push_back(value);
    }
    tensors.add("training/best.lengths", lengths);
    tensors.add("training/best", placements);
    tensors.add<double>("training/best.scores", {static_cast<std::int64_t>(state.best.size()), 3}, scores);

    std::vector<std::int64_t> counts;
    std::vector<double> curve;
    for (const TrainingPoint& point : state.curve) {
        for (const std::uint64_t value : {point.updates, point.evaluations})
            counts.push_back(static_cast<std::int64_t>(value));
        for (const double value : {point.cost, point.cost_spread, point.best_cost, point.entropy,
                                   point.divergence, point.learning_rate, point.entropy_weight})
            curve.push_back(value);
    }
    const auto points = static_cast<std::int64_t>(state.curve.size());
    tensors.add<std::int64_t>("training/curve.counts", {points, 2}, counts);
    tensors.add<double>("training/curve", {points, 7}, curve);
}

void read_training(TensorFile& file, std::size_t graph_count, TrainingState& state) {
    const auto size = static_cast<std::int64_t>(state.weights.size());
    const auto graphs = static_cast<std::int64_t>(graph_count);
    state.first_moments = file.values<float>("training/first_moments", {size});
    state.second_moments = file.not_negative<float>("training/second_moments", {size});

    const auto episodes = file.values<std::int64_t>("training/returns.episodes", {graphs});
    const auto lengths = file.values<std::int64_t>("training/returns.lengths", {-1});
    const auto returns =
        divided(file.values<double>("training/returns", {-1}), lengths, file, "training/returns");
    state.returns = divided(returns, episodes, file, "training/returns.lengths");

    const auto averages = file.values<double>("training/averages", {graphs});
    const auto averaged = file.not_negative<std::int64_t>("training/averages.episodes", {graphs});
    for (std::size_t i = 0; i < graph_count; ++i)
        state.averages.push_back({averages[i], static_cast<std::uint64_t>(averaged[i])});

    const auto placed = file.values<std::int64_t>("training/best.lengths", {graphs});
    const auto placements =
        divided(file.values<DeviceId>("training/best", {-1}), placed, file, "training/best");
    const auto scores = file.not_negative<double>("training/best.scores", {graphs, 3});
    for (std::size_t i = 0; i < graph_count; ++i)
        state.best.push_back({placements[i], {scores[3 * i], scores[3 * i + 1], scores[3 * i + 2] != 0}});

    const auto counts = file.not_negative<std::int64_t>("training/curve.counts", {-1, 2});
    const auto curve =
        file.values<double>("training/curve", {static_cast<std::int64_t>(counts.size() / 2), 7});
    for (std::size_t i = 0; i < counts.size() / 2; ++i) {
        const double* const point = &curve[7 * i];
        state.curve.push_back({static_cast<std::uint64_t>(counts[2 * i]),
                               static_cast<std::uint64_t>(counts[2 * i + 1]), point[0], point[1], point[2],
                               point[3], point[4], point[5], point[6]});
    }
}

}  // namespace

std::string to_text(const TrainingRecord& record) {
    return json_of(record).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string difference(const TrainingRecord& found, const TrainingRecord& expected) {
    const auto differs = [](const std::string& what, const std::string& is, const std::string& wanted) {
        return "its " + what + " is " + printable(is, 200) + ", not " + printable(wanted, 200);
    };
    if (found.policy != expected.policy) return differs("policy", found.policy, expected.policy);
    for (const auto& [name, value] : expected.options) {
        const auto other = found.options.find(name);
        if (other == found.options.end()) return "it has no option " + name;
        if (other->second != value) return differs(name, to_string(other->second), to_string(value));
    }
    if (found.seed != expected.seed)
        return differs("seed", std::to_string(found.seed), std::to_string(expected.seed));
    if (found.planned_updates != expected.planned_updates)
        return differs("number of updates", std::to_string(found.planned_updates),
                       std::to_string(expected.planned_updates));
    for (const auto& [name, value] : expected.conditions) {
        const auto other =
            std::ranges::find(found.conditions, name, &std::pair<std::string, std::string>::first);
        if (other == found.conditions.end()) return "it has no " + name;
        if (other->second != value) return differs(name, other->second, value);
    }
    if (found.graphs.size() != expected.graphs.size())
        return differs("number of graphs", std::to_string(found.graphs.size()),
                       std::to_string(expected.graphs.size()));
    for (std::size_t i = 0; i < found.graphs.size(); ++i) {
        const TrainingRecord::Graph &is = found.graphs[i], &wanted = expected.graphs[i];
        const std::string which = "graph " + std::to_string(i + 1);
        if (is.network != wanted.network) return differs(which, is.network, wanted.network);
        if (is.machine != wanted.machine) return differs("machine of " + which, is.machine, wanted.machine);
        if (is.fingerprint != wanted.fingerprint)
            return "its " + which + " (" + printable(is.network, 200) + " on " + printable(is.machine, 200) +
                   ") has other ops, groups, times or devices";
    }
    if (found != expected) return differs("size", to_text(found), to_text(expected));
    return {};
}

void write_policy(const TrainingRecord& record, const TrainingState& state, const Policy& policy,
                  const Path& file) {
    TensorWriter tensors;
    std::size_t from = 0;
    for (const PolicyParameter& parameter : policy.parameters()) {
        tensors.add<float>(parameter.name, parameter.shape,
                           std::span(state.weights).subspan(from, parameter.size()));
        from += parameter.size();
    }
    write_training(state, tensors);
    const Json counters{{"updates", state.updates},
                        {"evaluations", state.evaluations},
                        {"steps", state.steps},
                        {"divergence_weight", state.divergence_weight}};
    write_file(file, tensors.text({{"format", kPolicyFormat},
                                   {"version", std::to_string(kPolicyVersion)},
                                   {"record", to_text(record)},
                                   {"state", counters.dump()}}));
}

PolicyFile read_policy(const Path& file) {
    TensorFile tensors(file);
    const std::optional<JsonValue> own = tensors.metadata();
    if (!is_policy(own))
        tensors.fail("__metadata__", "is not a policy: expected \"format\" " + in_quotes(kPolicyFormat) +
                                         ", which train writes. Weights of a network give the sizes of its "
                                         "parameters: --parameters, or Run ▸ "
                                         "Simulation… in the window");
    const JsonValue& metadata = *own;
    if (const std::string version = metadata.at("version").text(); version != std::to_string(kPolicyVersion))
        tensors.fail("__metadata__", "version is " + in_quotes(version) + ", expected \"" +
                                         std::to_string(kPolicyVersion) +
                                         "\"; use the version of Placewright that wrote it, or train again");

    PolicyFile policy;
    const PolicyInfo* info = nullptr;
    policy.record = record_from(MetadataPart(tensors, "record").value(), info);
    try {
        policy.design = info->make(policy.record.options, policy.record.size);
    } catch (const OptionError& error) {
        tensors.fail("__metadata__: record", error.what());
    }
    TrainingState& state = policy.state;
    const MetadataPart part(tensors, "state");
    const JsonValue counters = part.value();
    const auto count = [&](const char* name) {
        return static_cast<std::uint64_t>(
            counters.at(name).whole(0, std::numeric_limits<std::int64_t>::max()));
    };
    state.updates = count("updates");
    state.evaluations = count("evaluations");
    state.steps = count("steps");
    const JsonValue divergence = counters.at("divergence_weight");
    state.divergence_weight = divergence.number();
    if (!(state.divergence_weight > 0))
        divergence.fail("is " + number(state.divergence_weight) +
                        ", expected a number above 0; train again, or take another copy of the file");
    for (const PolicyParameter& parameter : policy.design.policy->parameters()) {
        const auto values = tensors.values<float>(parameter.name, parameter.shape);
        state.weights.insert(state.weights.end(), values.begin(), values.end());
    }
    read_training(tensors, policy.record.graphs.size(), state);
    tensors.require_all_used();
    return policy;
}

bool holds_weights(const Path& path) {
    return contains(path, false);
}

bool holds_policy(const Path& path) {
    return contains(path, true);
}

}  // namespace placewright
