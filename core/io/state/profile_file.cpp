// SPDX-License-Identifier: MIT
#include "core/io/state/profile_file.hpp"

#include <filesystem>

#include "core/base/text.hpp"
#include "core/io/text/folder_lock.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/text/json.hpp"
#include "core/io/text/whole_file.hpp"

namespace placewright {
namespace {

constexpr const char* kFormat = "placewright.profile";
constexpr double kMostBytes = 1e18, kMostSeconds = 1e12;  ///< of a message

double seconds(const JsonValue& value) {
    const double time_s = value.number();
    if (time_s < 0) value.fail("is negative, expected seconds");
    return time_s;
}

DeviceProfile read_device(const JsonValue& value) {
    DeviceProfile profile;
    profile.source = value.text_or("source", "");
    if (const auto overhead = value.find("overhead_s")) profile.overhead_s = seconds(*overhead);
    value.at("ops").for_each_member([&](const std::string& signature, const JsonValue& item) {
        MeasuredTime& time = profile.ops[signature];
        if (const auto forward = item.find("forward")) time.forward_s = seconds(*forward);
        if (const auto backward = item.find("backward")) time.backward_s = seconds(*backward);
        if (const auto weights = item.find("weight_gradient")) time.weight_gradient_s = seconds(*weights);
    });
    if (const auto updates = value.find("updates")) {
        updates->for_each_member([&](const std::string& signature, const JsonValue& item) {
            profile.updates_s[signature] = seconds(item);
        });
    }
    return profile;
}

TransferProfile read_transfers(const JsonValue& value) {
    TransferProfile times;
    value.for_each_item([&](const JsonValue& item) {
        if (item.size() != 2)
            item.fail("has " + std::to_string(item.size()) + " items, expected [bytes, seconds]");
        const double bytes = item.at(std::size_t{0}).number();
        if (bytes <= (times.empty() ? 0 : times.back().first))
            item.fail("has no more bytes than the one before");
        const double time_s = seconds(item.at(std::size_t{1}));
        if (bytes < 1 || bytes > kMostBytes || time_s > kMostSeconds)
            item.fail("is no message: expected 1 to " + short_number(kMostBytes) + " bytes in at most " +
                      short_number(kMostSeconds) + " s");
        times.emplace_back(bytes, time_s);
    });
    if (times.empty()) value.fail("is empty");
    return times;
}

}  // namespace

ProfileArchive read_profile(const Path& path) {
    const JsonFile file(path);
    file.require_format(kFormat);
    const Json json = file.parse();
    const JsonValue root(file, json);
    JsonFile::require_version(root, 1);
    ProfileArchive archive;
    root.at("devices").for_each_member([&](const std::string& model, const JsonValue& value) {
        archive.devices[model] = read_device(value);
    });
    if (const auto transfers = root.find("transfers")) {
        transfers->for_each_item([&](const JsonValue& item) {
            archive.transfers[{item.at("from").text(), item.at("to").text()}] =
                read_transfers(item.at("time_s"));
        });
    }
    return archive;
}

void write_profile(const ProfileArchive& archive, const Path& file) {
    Json json{{"format", kFormat}, {"version", 1}};
    Json& devices = json["devices"] = Json::object();
    for (const auto& [model, profile] : archive.devices) {
        Json& device = devices[model] =
            Json{{"source", profile.source}, {"overhead_s", json_number(profile.overhead_s)}};
        Json& ops = device["ops"] = Json::object();
        for (const auto& [signature, time] : profile.ops) {
            Json& item = ops[signature] = Json::object();
            if (time.forward_s) item["forward"] = json_number(*time.forward_s);
            if (time.backward_s) item["backward"] = json_number(*time.backward_s);
            if (time.weight_gradient_s) item["weight_gradient"] = json_number(*time.weight_gradient_s);
        }
        Json& updates = device["updates"] = Json::object();
        for (const auto& [signature, time_s] : profile.updates_s) updates[signature] = json_number(time_s);
    }
    Json& transfers = json["transfers"] = Json::array();
    for (const auto& [models, times] : archive.transfers) {
        Json list = Json::array();
        for (const auto& [bytes, time_s] : times) list.push_back({json_number(bytes), json_number(time_s)});
        transfers.push_back({{"from", models.first}, {"to", models.second}, {"time_s", std::move(list)}});
    }
    write_file(file, json.dump(1) + '\n');
}

ProfileArchive add_to_profile(const ProfileArchive& archive, const Path& file) {
    const FolderLock lock(file);
    ProfileArchive all;
    if (std::filesystem::exists(file)) all = read_profile(file);
    all.merge(archive);
    write_profile(all, file);
    return all;
}

}  // namespace placewright
