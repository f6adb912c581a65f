// SPDX-License-Identifier: MIT
#include "core/job/option_values.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/io/placements/constraints_file.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

using Value = std::optional<OptionValue>;

/// How an option is written (nothing: its default) and read.
struct NamedOption {
    std::string name;
    std::function<Value(const JobOptions&)> get;
    std::function<void(JobOptions&, const OptionValue&)> set;
};

[[noreturn]] void refuse(const std::string& name, const OptionValue& value) {
    throw OptionError(name + " cannot be " + to_string(value));
}

/// An option that has a text for each of its values.
template <class Get, class From>
NamedOption by_text(const std::string& name, Get get, From from) {
    return {name,
            [get](const JobOptions& options) -> Value {
                JobOptions defaults;
                const auto& value = get(options);
                if (value == get(defaults)) return {};
                return OptionValue(std::string(to_string(value)));
            },
            [name, get, from](JobOptions& options, const OptionValue& value) {
                const auto* text = std::get_if<std::string>(&value);
                const auto found = text != nullptr ? from(*text) : std::nullopt;
                if (!found) refuse(name, value);
                get(options) = *found;
            }};
}

template <class Get>
NamedOption by_number(const std::string& name, Get get, double least, double most) {
    return {name,
            [get](const JobOptions& options) -> Value {
                JobOptions defaults;
                const auto& value = get(options);
                if (value == get(defaults)) return {};
                using Number = std::decay_t<decltype(value)>;
                if constexpr (std::is_same_v<Number, bool>) return OptionValue(value);
                if constexpr (std::is_floating_point_v<Number>) return OptionValue(double(value));
                return OptionValue(static_cast<std::int64_t>(value));
            },
            [=](JobOptions& options, const OptionValue& value) {
                auto& target = get(options);
                using Number = std::decay_t<decltype(target)>;
                if constexpr (std::is_same_v<Number, bool>) {
                    const auto* truth = std::get_if<bool>(&value);
                    if (truth == nullptr) refuse(name, value);
                    target = *truth;
                } else {
                    const auto* whole = std::get_if<std::int64_t>(&value);
                    const auto* real = std::get_if<double>(&value);
                    if (whole == nullptr && (real == nullptr || !std::is_floating_point_v<Number>))
                        refuse(name, value);
                    const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
                    if (!(number >= least && number <= most)) refuse(name, value);
                    target = whole != nullptr ? static_cast<Number>(*whole) : static_cast<Number>(*real);
                }
            }};
}

/// A number that may be absent.
template <class Get>
NamedOption by_optional(const std::string& name, Get get, double least, double most) {
    return {name,
            [get](const JobOptions& options) -> Value {
                const auto& value = get(options);
                if (!value) return {};
                using Number = std::decay_t<decltype(*value)>;
                if constexpr (std::is_floating_point_v<Number>) return OptionValue(double(*value));
                return OptionValue(static_cast<std::int64_t>(*value));
            },
            [=](JobOptions& options, const OptionValue& value) {
                const auto* whole = std::get_if<std::int64_t>(&value);
                const auto* real = std::get_if<double>(&value);
                if (whole == nullptr && real == nullptr) refuse(name, value);
                const double number = whole != nullptr ? static_cast<double>(*whole) : *real;
                if (!(number >= least && number <= most)) refuse(name, value);
                auto& target = get(options);
                using Number = std::decay_t<decltype(*target)>;
                target = whole != nullptr ? static_cast<Number>(*whole) : static_cast<Number>(*real);
            }};
}

/// A text that may be absent.
template <class Get, class From>
NamedOption by_optional_text(const std::string& name, Get get, From from) {
    return {name,
            [get](const JobOptions& options) -> Value {
                const auto& value = get(options);
                if (!value) return {};
                return OptionValue(std::string(to_string(*value)));
            },
            [name, get, from](JobOptions& options, const OptionValue& value) {
                const auto* text = std::get_if<std::string>(&value);
                get(options) = text != nullptr ? from(*text) : std::nullopt;
                if (!get(options)) refuse(name, value);
            }};
}

template <class Get>
NamedOption by_path(const std::string& name, Get get) {
    return {name,
            [get](const JobOptions& options) -> Value {
                const Path& path = get(options);
                if (path.empty()) return {};
                return OptionValue(path.string());
            },
            [name, get](JobOptions& options, const OptionValue& value) {
                const auto* text = std::get_if<std::string>(&value);
                if (text == nullptr) refuse(name, value);
                get(options) = *text;
            }};
}

#define PLACEWRIGHT_FIELD(path) \
    [](auto& of) -> auto& {     \
        return of.path;         \
    }

const std::vector<NamedOption>& named_options() {
    constexpr double kMost = std::numeric_limits<std::int32_t>::max(), kAny = 1e300;
    constexpr double kMostWhole = 9e15;
    static const std::vector<NamedOption> all{
        by_optional("batch", PLACEWRIGHT_FIELD(reading.batch), 1, kMostWhole),
        by_number("run", PLACEWRIGHT_FIELD(reading.run), 0, 1),
        by_text("language.phase", PLACEWRIGHT_FIELD(reading.language.phase), language_phase_from),
        by_optional("language.sequence", PLACEWRIGHT_FIELD(reading.language.sequence), 1, kMostSequence),
        by_optional_text("language.weights", PLACEWRIGHT_FIELD(reading.language.weights), weight_type_from),
        by_optional_text("language.cache", PLACEWRIGHT_FIELD(reading.language.cache), weight_type_from),
        by_text("language.latent_cache", PLACEWRIGHT_FIELD(reading.language.latent_cache), latent_cache_from),
        by_number("language.full_cache", PLACEWRIGHT_FIELD(reading.language.full_cache), 0, 1),
        by_number("language.split_layers", PLACEWRIGHT_FIELD(reading.language.split_layers), 0, 1),
        by_path("file.parameters", PLACEWRIGHT_FIELD(supplements.parameters)),
        by_path("file.profile", PLACEWRIGHT_FIELD(profile)),
        by_optional("compute_efficiency", PLACEWRIGHT_FIELD(problem.cost.compute_efficiency), 0, 1),
        by_optional("channel_efficiency", PLACEWRIGHT_FIELD(problem.cost.channel_efficiency), 0, 1),
        by_number("inference", PLACEWRIGHT_FIELD(problem.inference), 0, 1),
        by_text("precision", PLACEWRIGHT_FIELD(problem.precision), precision_from),
        by_number("optimizer_states", PLACEWRIGHT_FIELD(problem.optimizer_states), 0, 1000),
        by_text("memory", PLACEWRIGHT_FIELD(problem.memory), memory_model_from),
        by_text("recomputation", PLACEWRIGHT_FIELD(problem.recomputation), recomputation_from),
        by_number("accumulate_gradients", PLACEWRIGHT_FIELD(problem.accumulate_gradients), 0, 1),
        by_number("optimizer_in_backward", PLACEWRIGHT_FIELD(problem.optimizer_in_backward), 0, 1),
        by_number("in_place", PLACEWRIGHT_FIELD(problem.in_place), 0, 1),
        by_number("workspace_limit_bytes", PLACEWRIGHT_FIELD(problem.workspace_limit_bytes), 0, kAny),
        by_text("framework", PLACEWRIGHT_FIELD(problem.framework), framework_from),
        by_optional("context_bytes", PLACEWRIGHT_FIELD(problem.context_bytes), 0, kAny),
        by_number("usable_memory", PLACEWRIGHT_FIELD(problem.usable_memory), 0, 1),
        by_text("grouping", PLACEWRIGHT_FIELD(problem.grouping.rule), grouping_rule_from),
        by_number("grouping_depth", PLACEWRIGHT_FIELD(problem.grouping.scope_depth), 0, kMost),
        by_number("grouping_groups", PLACEWRIGHT_FIELD(problem.grouping.merge_groups), 0, kMost),
        by_number("grouping_bytes", PLACEWRIGHT_FIELD(problem.grouping.merge_below_bytes), 0, kMostWhole),
        by_number("batches", PLACEWRIGHT_FIELD(simulation.batches), 1, kMost),
        by_number("in_flight", PLACEWRIGHT_FIELD(simulation.in_flight), 1, kMost),
        by_text("order", PLACEWRIGHT_FIELD(simulation.order), order_from),
        by_number("pipeline_order", PLACEWRIGHT_FIELD(pipeline_order), 0, 1),
        by_text("runtime", PLACEWRIGHT_FIELD(simulation.runtime), runtime_from),
        by_number("host_time_s", PLACEWRIGHT_FIELD(simulation.host_time_s), 0, kAny),
        by_text("memory_rule", PLACEWRIGHT_FIELD(penalty.rule), memory_rule_from),
        by_number("penalty_per_mb", PLACEWRIGHT_FIELD(penalty.seconds_per_mb), 0, kAny),
        by_number("penalty_per_gb", PLACEWRIGHT_FIELD(penalty.seconds_per_gb), 0, kAny),
        by_number("penalty_out_of_memory", PLACEWRIGHT_FIELD(penalty.out_of_memory_s), 0, kAny),
        {"objective",
         [](const JobOptions& of) -> Value {
             if (of.objective == JobOptions().objective) return {};
             return OptionValue(std::string(of.objective->id));
         },
         [](JobOptions& of, const OptionValue& value) {
             const auto* id = std::get_if<std::string>(&value);
             of.objective = id != nullptr ? find_objective(*id) : nullptr;
             if (of.objective == nullptr) refuse("objective", value);
         }},
        {"cost_model",
         [](const JobOptions& of) -> Value {
             if (of.problem.cost.model == JobOptions().problem.cost.model) return {};
             return OptionValue(std::string(of.problem.cost.model->id));
         },
         [](JobOptions& of, const OptionValue& value) {
             const auto* id = std::get_if<std::string>(&value);
             of.problem.cost.model = id != nullptr ? find_cost_model(*id) : nullptr;
             if (of.problem.cost.model == nullptr) refuse("cost_model", value);
         }},
        by_optional_text("allocator", PLACEWRIGHT_FIELD(problem.allocator), allocator_from),
        {"constraints",
         [](const JobOptions& of) -> Value {
             if (of.problem.constraints.rules.empty()) return {};
             return OptionValue(constraints_text(of.problem.constraints));
         },
         [](JobOptions& of, const OptionValue& value) {
             const auto* text = std::get_if<std::string>(&value);
             if (text == nullptr) refuse("constraints", value);
             try {
                 of.problem.constraints = constraints_from_text(*text, "constraints");
             } catch (const InputError& error) {
                 throw OptionError(error.what());
             }
         }},
        by_optional_text("crossing", PLACEWRIGHT_FIELD(problem.crossing), crossing_from),
        by_text("offload", PLACEWRIGHT_FIELD(problem.offload), offload_from),
    };
    return all;
}

#undef PLACEWRIGHT_FIELD

constexpr std::string_view kDim = "dim.", kInput = "input.", kTimes = "file.times.", kModel = "times_model.";

}  // namespace

OptionValues option_values(const JobOptions& options) {
    OptionValues values;
    for (const NamedOption& option : named_options()) {
        if (const Value value = option.get(options)) values[option.name] = *value;
    }
    for (const auto& [name, extent] : options.reading.dims) values[std::string(kDim) + name] = extent;
    // Three digits keep the order.
    const auto numbered = [](std::string_view name, std::size_t number) {
        const std::string digits = std::to_string(number + 1000);
        return std::string(name) + digits.substr(1);
    };
    for (std::size_t i = 0; i < options.reading.inputs.size(); ++i)
        values[numbered(kInput, i)] = to_text(options.reading.inputs[i]);
    for (std::size_t i = 0; i < options.supplements.times.size(); ++i) {
        values[numbered(kTimes, i)] = options.supplements.times[i].trace.string();
        values[numbered(kModel, i)] = options.supplements.times[i].model;
    }
    return values;
}

JobOptions job_options_from(const OptionValues& values) {
    JobOptions options;
    for (const auto& [name, value] : values) {
        const auto* text = std::get_if<std::string>(&value);
        const auto* whole = std::get_if<std::int64_t>(&value);
        if (name.starts_with(kDim) && whole != nullptr && *whole > 0) {
            options.reading.dims[name.substr(kDim.size())] = *whole;
        } else if (name.starts_with(kInput) && text != nullptr) {
            try {
                options.reading.inputs.push_back(example_input_from(*text));
            } catch (const std::invalid_argument& error) {
                throw OptionError(name + ": " + error.what());
            }
        } else if (name.starts_with(kTimes) && text != nullptr) {
            const auto model = values.find(std::string(kModel) + name.substr(kTimes.size()));
            const auto* const of = model != values.end() ? std::get_if<std::string>(&model->second) : nullptr;
            options.supplements.times.push_back({*text, of != nullptr ? *of : std::string()});
        } else if (!name.starts_with(kModel)) {
            const auto& all = named_options();
            const auto found = std::ranges::find(all, name, &NamedOption::name);
            if (found == all.end()) throw OptionError("there is no option " + name);
            found->set(options, value);
        }
    }
    const CostModel* model = options.problem.cost.model;
    load_profile(options);
    options.problem.cost.model = model;
    return options;
}

}  // namespace placewright
