// SPDX-License-Identifier: MIT
#include "app/cli/search_arguments.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdlib.h>
#include <unistd.h>

#include "app/cli/usage.hpp"
#include "core/algorithms.hpp"
#include "core/base/exit_status.hpp"
#include "core/base/path.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

std::string option_names(const AlgorithmInfo& algorithm) {
    std::vector<std::string> names;
    for (const OptionInfo& option : algorithm.options) names.push_back(option.name);
    return usage::joined(names, ", ");
}

/// Whether both paths name one file, which need not exist.
bool is_same_file(const Path& first, const Path& second) {
    std::error_code none_there;
    if (std::filesystem::equivalent(first, second, none_there))
        return std::filesystem::is_regular_file(first, none_there);
    if (std::filesystem::exists(first, none_there) || std::filesystem::exists(second, none_there))
        return false;
    // Links that go in a circle have no such name; what uses the file says so.
    std::error_code circle;
    const Path one = std::filesystem::weakly_canonical(std::filesystem::absolute(first, circle), circle);
    const Path other = std::filesystem::weakly_canonical(std::filesystem::absolute(second, circle), circle);
    return !circle && one == other;
}

}  // namespace

OptionValues parse_settings(const AlgorithmInfo& algorithm, const std::vector<std::string>& settings,
                            const std::string& prefix) {
    OptionValues values;
    for (std::string setting : settings) {
        // Where there is one algorithm its name may be left out.
        if (const std::string own = algorithm.id + '.'; prefix.empty() && setting.starts_with(own))
            setting.erase(0, own.size());
        const auto equals = setting.find('=');
        if (equals == std::string::npos)
            throw UsageError("--set " + prefix + setting + ": expected " +
                             (prefix.empty() ? "" : "algorithm.") + "option=value; " + algorithm.id +
                             " has " + option_names(algorithm));
        const std::string name = setting.substr(0, equals);
        if (const std::string other = name.substr(0, name.find('.'));
            prefix.empty() && other != name && find_algorithm(other) != nullptr)
            throw UsageError("--set " + setting + ": that is an option of " + other +
                             ", but the algorithm is " + algorithm.id);
        try {
            if (name == "preset") {
                for (const auto& [option, value] :
                     find_preset(algorithm.presets, setting.substr(equals + 1)).values)
                    values[option] = value;
                continue;
            }
            values[name] = parse_option(algorithm.options[position(algorithm.options, name)],
                                        setting.substr(equals + 1));
        } catch (const OptionError& error) {
            throw UsageError("--set " + prefix + setting + ": " + error.what());
        }
    }
    return values;
}

const AlgorithmInfo& chosen_algorithm(std::string_view id, std::string_view option) {
    if (find_algorithm(id) != nullptr) return available_algorithm(id);
    std::vector<std::string> known;
    for (const AlgorithmInfo& info : algorithms()) known.push_back(info.id);
    throw UsageError(usage::unknown(std::string(id), "algorithm", known, std::string(option)));
}

void apply_settings(std::vector<Contestant>& contestants, const std::vector<std::string>& settings) {
    for (const Contestant& contestant : contestants) available_algorithm(contestant.algorithm->id);
    for (const std::string& setting : settings) {
        const auto dot = setting.find('.');
        const std::string id = setting.substr(0, dot);
        const auto contestant =
            std::ranges::find(contestants, id, [](const Contestant& item) { return item.algorithm->id; });
        if (dot == std::string::npos || contestant == contestants.end()) {
            std::vector<std::string> ids;
            for (const Contestant& item : contestants) ids.push_back(item.algorithm->id);
            throw UsageError("--set " + setting + ": expected algorithm.option=value with one of " +
                             usage::joined(ids, ", "));
        }
        for (auto& [name, value] :
             parse_settings(*contestant->algorithm, {setting.substr(dot + 1)}, id + "."))
            contestant->options[name] = std::move(value);
    }
}

void make_folder(const Path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw InputError(folder.string(), "", "cannot be created as a folder: " + error.message());
}

void expect_no_language_model(const Job& job, const std::string& network) {
    if (job.language) throw InputError(network, "", kLanguageModelsAreSimulated);
}

void expect_writable(const Path& file) {
    std::error_code error;
    const auto refuse = [&](const std::string& why) {
        throw InputError(file.string(), "", "cannot be written: " + why);
    };
    if (std::filesystem::is_directory(file, error)) refuse("it is a folder");
    if (file.has_parent_path() && !std::filesystem::is_directory(file.parent_path(), error))
        refuse("there is no such folder");
    // A device or pipe is written directly; other files are written to a temporary file and renamed.
    if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error)) return;
    std::string beside = (file.parent_path() / ".placewright-XXXXXX").string();
    const int descriptor = ::mkstemp(beside.data());
    if (descriptor < 0) refuse(std::strerror(errno));
    ::close(descriptor);
    ::unlink(beside.c_str());
}

void keep_apart(std::span<const OutputFile> outputs, std::span<const std::string> inputs) {
    for (const OutputFile& output : outputs) {
        if (output.file.empty()) continue;
        const auto refuse = [&](const std::string& reason) {
            throw UsageError(output.option + ' ' + output.file + ": " + reason + "; give another name");
        };
        for (const std::string& input : inputs) {
            if (!input.empty() && is_same_file(input, output.file))
                refuse("is an input too and would be overwritten");
        }
        for (const OutputFile& other : outputs) {
            if (&other == &output) break;
            if (!other.file.empty() && is_same_file(other.file, output.file))
                refuse("is also written by " + other.option);
        }
    }
}

}  // namespace placewright
