// SPDX-License-Identifier: MIT
#include "core/machine/device_model.hpp"

#include <algorithm>
#include <functional>
#include <mutex>

#include "core/base/text.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, kNumberTypes> kNumberTypeNames{"fp64", "fp32", "tf32", "fp16",
                                                                      "bf16", "fp8",  "int8"};

/// Share of both peaks, as in Lagostra's thesis on Exprimo (2020).
constexpr double kFlatEfficiency = 0.9;

/// Enters an item under its model and its aliases.
void enter(std::map<std::string, std::size_t, std::less<>>& by_name, const std::string& model,
           const std::vector<std::string>& aliases, std::size_t index) {
    const auto add = [&](const std::string& name) {
        const auto [entry, is_new] = by_name.emplace(plain_name(name), index);
        if (!is_new && entry->second != index) {
            throw MachineError(in_quotes(model), in_quotes(model) + ": the name " + in_quotes(name) +
                                                     " belongs to another entry, expected a name of its own");
        }
    };
    add(model);
    for (const std::string& alias : aliases) add(alias);
}

/// Words of letters and digits, in lower case: "rtx", "3090".
std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words(1);
    for (const char c : name) {
        const std::string letter = plain_name(std::string_view(&c, 1));
        if (!letter.empty()) {
            words.back() += letter;
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    if (words.back().empty()) words.pop_back();
    return words;
}

/// Returns an object that equals `value`, the same one as long as one is in use.
template <class Value>
std::shared_ptr<const Value> shared(Value value) {
    static std::mutex mutex;
    static std::vector<std::weak_ptr<const Value>> used;
    const std::scoped_lock lock(mutex);
    std::erase_if(used, [](const auto& each) { return each.expired(); });
    for (const auto& each : used) {
        if (auto found = each.lock(); found && *found == value) return found;
    }
    auto made = std::make_shared<const Value>(std::move(value));
    used.push_back(made);
    return made;
}

}  // namespace

std::string_view to_string(NumberType type) {
    return kNumberTypeNames[static_cast<std::size_t>(type)];
}

std::optional<NumberType> number_type_from(std::string_view text) {
    const auto* const found = std::ranges::find(kNumberTypeNames, text);
    if (found == kNumberTypeNames.end()) return {};
    return static_cast<NumberType>(found - kNumberTypeNames.begin());
}

double DeviceModel::peak_flops(NumberType type) const {
    return std::max(vector_flops[type], matrix_flops[type]);
}

Device device_of(const std::shared_ptr<const DeviceModel>& model) {
    Device device;
    device.kind = model->kind;
    device.model = model->model;
    device.peak_flops = model->peak_flops();
    device.memory_bandwidth = model->memory_bandwidth;
    device.memory_bytes = model->memory_bytes;
    device.efficiency = kFlatEfficiency;
    device.launch_overhead_s = model->efficiencies->launch_s;
    device.known = model;
    return device;
}

Device calibrated(Device device, const Efficiencies& efficiencies) {
    DeviceModel model;
    if (device.known && device.known->in_catalogue) {
        model = *device.known;
    } else {
        if (device.known) model = *device.known;
        model.model = device.model;
        model.kind = device.kind;
        model.memory_bytes = device.memory_bytes;
        model.memory_bandwidth = device.memory_bandwidth;
        model.vector_flops[NumberType::fp32] = device.peak_flops;
        model.in_catalogue = false;
    }
    model.efficiencies = shared(efficiencies);
    model.own_efficiencies = true;
    device.known = shared(std::move(model));
    device.uniform_efficiency = false;
    device.efficiency_by_kind.clear();
    device.memory_efficiency.reset();
    device.half_efficiency_flops = 0;
    device.launch_overhead_s = efficiencies.launch_s;
    return device;
}

Channel channel_of(const LinkModel& model) {
    Channel channel;
    channel.model = model.model;
    channel.bandwidth = model.bandwidth;
    channel.latency_s = model.latency_s;
    channel.efficiency_by_bytes = model.efficiency_by_bytes;
    return channel;
}

std::string plain_name(std::string_view name) {
    std::string plain;
    for (const char c : name) {
        if (c >= 'A' && c <= 'Z') {
            plain += static_cast<char>(c - 'A' + 'a');
        } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            plain += c;
        }
    }
    return plain;
}

bool names(const DeviceModel& model, std::string_view name) {
    const std::string plain = plain_name(name);
    return plain == plain_name(model.model) ||
           std::ranges::any_of(model.aliases,
                               [&](const std::string& alias) { return plain == plain_name(alias); });
}

bool is_called(const Device& device, std::string_view name) {
    return device.model == name || (device.known && names(*device.known, name));
}

std::vector<std::string> similar_names(std::string_view name, const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 4;
    const std::vector<std::string> words = words_of(name);
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const std::string& candidate : names) {
        const std::string plain = plain_name(candidate);
        std::size_t letters = 0;
        bool has_number = false;
        for (const std::string& word : words) {
            const std::size_t at = plain.find(word);
            if (word.size() < 2 || at == std::string::npos) continue;
            // "3900" is no part of "13900".
            const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
            if (at > 0 && is_digit(word.front()) && is_digit(plain[at - 1])) continue;
            letters += word.size();
            has_number = has_number || word.find_first_of("0123456789") != std::string::npos;
        }
        // The vendor alone says nothing.
        if (has_number) found.emplace_back(letters, candidate);
    }
    std::ranges::stable_sort(found, std::greater<>(), &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> result;
    for (const auto& [letters, model] : found) {
        if (result.size() == kMost || letters < found.front().first) break;
        result.push_back(model);
    }
    return result;
}

std::string similar_text(const std::vector<std::string>& models) {
    std::string text;
    for (const std::string& model : models) text += (text.empty() ? " (similar: " : ", ") + in_quotes(model);
    return text.empty() ? text : text + ")";
}

DeviceCatalogue::DeviceCatalogue(std::vector<DeviceModel> devices, std::vector<LinkModel> links)
    : links_(std::move(links)) {
    for (DeviceModel& device : devices) {
        if (!device.efficiencies) device.efficiencies = std::make_shared<const Efficiencies>();
        enter(device_by_name_, device.model, device.aliases, devices_.size());
        devices_.push_back(std::make_shared<const DeviceModel>(std::move(device)));
    }
    for (std::size_t i = 0; i < links_.size(); ++i)
        enter(link_by_name_, links_[i].model, links_[i].aliases, i);
}

std::shared_ptr<const DeviceModel> DeviceCatalogue::find_device(std::string_view name) const {
    const std::string plain = plain_name(name);
    if (const auto found = device_by_name_.find(plain); found != device_by_name_.end())
        return devices_[found->second];
    for (const auto& device : devices_) {
        const auto found = device_by_name_.find(plain_name(device->vendor) + plain);
        if (!plain.empty() && found != device_by_name_.end()) return devices_[found->second];
    }
    return nullptr;
}

const LinkModel* DeviceCatalogue::find_link(std::string_view name) const {
    const auto found = link_by_name_.find(plain_name(name));
    return found == link_by_name_.end() ? nullptr : &links_[found->second];
}

const DeviceModel* DeviceCatalogue::find_like(DeviceKind kind, std::string_view vendor) const {
    const DeviceModel* like = nullptr;
    for (const auto& device : devices_) {
        if (device->kind != kind) continue;
        if (like == nullptr || (device->vendor == vendor && like->vendor != vendor)) like = device.get();
    }
    return like;
}

std::vector<std::string> DeviceCatalogue::similar_devices(std::string_view name) const {
    std::vector<std::string> models;
    for (const auto& device : devices_) models.push_back(device->model);
    return similar_names(name, models);
}

std::vector<std::string> DeviceCatalogue::similar_links(std::string_view name) const {
    std::vector<std::string> models;
    for (const LinkModel& link : links_) models.push_back(link.model);
    return similar_names(name, models);
}

}  // namespace placewright
