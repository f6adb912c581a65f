// SPDX-License-Identifier: MIT
#include "core/io/shipped.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/base/text.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

std::vector<ShippedFile> shipped(const char* folder) {
    std::vector<ShippedFile> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(models_folder() / folder, error)) {
        if (entry.path().extension() == ".json")
            files.push_back({entry.path().stem().string(), entry.path()});
    }
    std::ranges::sort(files, {}, &ShippedFile::name);
    return files;
}

/// Language models are folders with a config.json, as the model hubs have them.
void add_language_models(std::vector<ShippedFile>& files) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(models_folder() / "language", error)) {
        if (std::filesystem::is_regular_file(entry.path() / "config.json", error))
            files.push_back({entry.path().filename().string(), entry.path()});
    }
    std::ranges::sort(files, {}, &ShippedFile::name);
}

/// `what` is "machine", "network" or "catalogue".
Path find_file(const std::string& text, const std::vector<ShippedFile>& files, const std::string& what) {
    if (text.empty())
        throw InputError("\"\"", "",
                         "expected a file or the name of a shipped " + what + ", not an empty text");
    std::error_code error;
    if (std::filesystem::exists(text, error)) return text;
    for (const ShippedFile& file : files) {
        if (file.name == text) return file.file;
    }
    std::string names;
    std::vector<std::string> all;
    for (const ShippedFile& file : files) {
        all.push_back(file.name);
        names += (names.empty() ? "" : ", ") + file.name;
        if (std::filesystem::is_directory(file.file, error))
            continue;  // a language model: its name is that of the folder
        try {
            if (JsonFile(file.file).outline().name == text) return file.file;
        } catch (const InputError&) {
            // A broken shipped file has no name; it is reported when it is opened.
        }
    }
    throw InputError(
        printable(text, 4096), "",
        "there is no such file, and no shipped " + what + " has this name" +
            similar_text(similar_names(text, all)) + "; " +
            (names.empty() ? "none was found in " + printable(models_folder().string(), 400)
                           : "there are " + names) +
            (what == "machine" ? "; parts by name make one, too: \"2x RTX 4090, PCIe 4.0 x8\"" : ""));
}

}  // namespace

Path models_folder() {
    if (const char* const given = std::getenv("PLACEWRIGHT_MODELS"); given != nullptr && *given != '\0')
        return given;
    std::error_code error;
    const Path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
        const Path installed = program.parent_path().parent_path() / "share" / "placewright" / "models";
        if (std::filesystem::is_directory(installed, error)) return installed;
    }
    return PLACEWRIGHT_MODELS_FOLDER;
}

std::vector<ShippedFile> shipped_networks() {
    std::vector<ShippedFile> files = shipped("networks");
    add_language_models(files);
    return files;
}
std::vector<ShippedFile> shipped_machines() {
    return shipped("machines");
}
std::vector<ShippedFile> shipped_catalogues() {
    return shipped("catalogues");
}

Path find_machine_file(const std::string& text) {
    return find_file(text, shipped_machines(), "machine");
}
Path find_catalogue_file(const std::string& text) {
    return find_file(text, shipped_catalogues(), "catalogue");
}
Path find_network_file(const std::string& text) {
    return find_file(text, shipped_networks(), "network");
}

}  // namespace placewright
