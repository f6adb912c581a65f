// SPDX-License-Identifier: MIT
// Describes the options of an algorithm once, for the window's form, the command line's --set and the
// documentation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace placewright {

using OptionValue = std::variant<bool, std::int64_t, double, std::string>;
using OptionValues = std::map<std::string, OptionValue>;

struct OptionInfo {
    std::string name;           ///< snake_case
    OptionValue default_value;  ///< its alternative is the option's type
    std::optional<double> min, max;
    std::vector<std::string> choices;  ///< for text options
    std::string help;
    std::string title = {};  ///< plain name with unit, filled in by algorithms(): "Evaluations per turn"
    std::vector<std::string> choice_titles = {};  ///< of the choices, in their order; empty: as they are
};

/// Values of some options that belong together; the other options keep their defaults.
struct OptionPreset {
    std::string name;  ///< "thesis"
    std::string help;
    OptionValues values;
};

/// "bool", "int", "float" or "choice".
std::string_view type_name(const OptionInfo& option);
std::string to_string(const OptionValue& value);

/// Thrown for an invalid option value; the message names option, value and what is expected.
class OptionError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Reads `text` as the option's type and checks its range. Throws OptionError.
OptionValue parse_option(const OptionInfo& option, std::string_view text);

/// Checks type and range; an int is accepted for a float. Throws OptionError.
OptionValue checked_option(const OptionInfo& option, const OptionValue& value);

/// Returns the index of the option called `name`. Throws OptionError that lists the known names.
std::size_t position(const std::vector<OptionInfo>& infos, const std::string& name);

/// Returns the preset called `name`. Throws OptionError that lists the known names.
const OptionPreset& find_preset(const std::vector<OptionPreset>& presets, const std::string& name);

/// Binds the options of an algorithm to the members of a struct:
///
///     const auto& schema() {
///         static const auto schema = OptionSchema<GeneticOptions>{}
///             .add("population_size", &GeneticOptions::population_size, 2, 100'000, "Placements in a
///             generation.") .add(...);
///         return schema;
///     }
///
/// Defaults are those of a default-constructed struct.
template <class Options>
class OptionSchema {
public:
    /// `Base`: Options, or the class from which it inherits the member.
    template <class Number, class Base>
    requires std::is_arithmetic_v<Number> &&
        (!std::is_same_v<Number, bool>)OptionSchema& add(std::string name, Number Base::*member, double min,
                                                         double max, std::string help) {
        using Stored = std::conditional_t<std::is_floating_point_v<Number>, double, std::int64_t>;
        infos_.push_back(
            {std::move(name), static_cast<Stored>(defaults_.*member), min, max, {}, std::move(help)});
        setters_.push_back([member](Options& options, const OptionValue& value) {
            options.*member = static_cast<Number>(std::get<Stored>(value));
        });
        return *this;
    }

    OptionSchema& add(std::string name, bool Options::*member, std::string help) {
        infos_.push_back({std::move(name), defaults_.*member, {}, {}, {}, std::move(help)});
        setters_.push_back([member](Options& options, const OptionValue& value) {
            options.*member = std::get<bool>(value);
        });
        return *this;
    }

    OptionSchema& add(std::string name, std::string Options::*member, std::vector<std::string> choices,
                      std::string help) {
        infos_.push_back({std::move(name), defaults_.*member, {}, {}, std::move(choices), std::move(help)});
        setters_.push_back([member](Options& options, const OptionValue& value) {
            options.*member = std::get<std::string>(value);
        });
        return *this;
    }

    const std::vector<OptionInfo>& infos() const { return infos_; }

    /// Throws OptionError for an unknown name, a wrong type or a value out of range.
    Options parse(const OptionValues& values) const {
        Options options = defaults_;
        for (const auto& [name, value] : values) {
            const std::size_t index = position(infos_, name);
            setters_[index](options, checked_option(infos_[index], value));
        }
        return options;
    }

private:
    Options defaults_{};
    std::vector<OptionInfo> infos_;
    std::vector<std::function<void(Options&, const OptionValue&)>> setters_;
};

}  // namespace placewright
