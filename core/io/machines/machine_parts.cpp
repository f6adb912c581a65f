// SPDX-License-Identifier: MIT
#include "core/io/machines/machine_parts.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"

namespace placewright {
namespace {

constexpr std::size_t kMostGpus = 64;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

/// "2 × RTX 4090" as "2 x RTX 4090".
std::string with_letter_x(std::string text) {
    constexpr std::string_view kTimes = "\u00d7";
    for (std::size_t at = text.find(kTimes); at != std::string::npos; at = text.find(kTimes))
        text.replace(at, kTimes.size(), "x");
    return text;
}

std::vector<std::string_view> split_at(char separator, std::string_view text) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t comma = text.find(separator);
        parts.push_back(trimmed(text.substr(0, comma)));
        if (comma == std::string_view::npos) return parts;
        text.remove_prefix(comma + 1);
    }
}

/// Splits "2x RTX 4090", "2 x RTX 4090" or "2x-rtx-4090"; the count is 1 if there is none, 0 if it is too
/// large.
std::pair<std::size_t, std::string_view> counted(std::string_view part) {
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
    if (end == part.data()) return {1, part};
    std::string_view rest = trimmed(part.substr(static_cast<std::size_t>(end - part.data())));
    if (rest.size() < 2 || (rest.front() != 'x' && rest.front() != 'X')) return {1, part};
    const bool fits = error == std::errc() && count <= kMostGpus;
    rest = trimmed(rest.substr(1));
    if (rest.starts_with('-')) rest.remove_prefix(1);
    return {fits ? count : 0, rest};
}

const LinkModel* find_link(std::string_view name, const DeviceCatalogue& catalogue) {
    if (const LinkModel* link = catalogue.find_link(name)) return link;
    return catalogue.find_link(std::string(name) + " x16");
}

bool is_pcie(const LinkModel& link) {
    return plain_name(link.model).starts_with("pcie");
}

/// The first link of PCIe, or any first one, of a GPU.
const LinkModel* usual_link(const DeviceModel& gpu, const DeviceCatalogue& catalogue) {
    const LinkModel* first = nullptr;
    for (const std::string& name : gpu.links) {
        const LinkModel* link = catalogue.find_link(name);
        if (link != nullptr && (first == nullptr || (is_pcie(*link) && !is_pcie(*first)))) first = link;
    }
    return first;
}

struct Parts {
    std::string name;  ///< "2x RTX 4090, PCIe 4.0 x8"
    std::vector<std::shared_ptr<const DeviceModel>> gpus;
    std::shared_ptr<const DeviceModel> cpu;
    const LinkModel* link = nullptr;
};

/// Two channels for each GPU, to and from.
void add_channels(std::vector<Channel>& channels, const std::string& name, const LinkModel& link) {
    for (const char* way : {"/up", "/down"}) {
        Channel channel = channel_of(link);
        channel.name = name + way;
        channels.push_back(std::move(channel));
    }
}

Machine machine_of(const Parts& parts, const DeviceCatalogue& catalogue) {
    std::vector<Device> devices{device_of(parts.cpu)};
    devices.front().name = "cpu:0";
    std::vector<Channel> channels;
    const bool direct = parts.link != nullptr && !is_pcie(*parts.link);
    for (std::size_t i = 0; i < parts.gpus.size(); ++i) {
        Device device = device_of(parts.gpus[i]);
        device.name = "gpu:" + std::to_string(i);
        devices.push_back(std::move(device));
        const LinkModel* own = usual_link(*parts.gpus[i], catalogue);
        const LinkModel* to_cpu = parts.link != nullptr && !direct ? parts.link : own;
        add_channels(channels, "link" + std::to_string(i),
                     to_cpu != nullptr ? *to_cpu : *catalogue.find_link("PCIe 3.0 x16"));
    }
    const std::size_t first_direct = channels.size();
    for (std::size_t i = 0; direct && i < parts.gpus.size(); ++i)
        add_channels(channels, "direct" + std::to_string(i), *parts.link);
    std::vector<Route> routes;
    const auto channel = [](std::size_t index) { return static_cast<ChannelId>(index); };
    for (std::size_t i = 0; i < parts.gpus.size(); ++i) {
        const auto gpu = static_cast<DeviceId>(i + 1);
        routes.push_back({gpu, 0, {channel(2 * i)}});
        routes.push_back({0, gpu, {channel(2 * i + 1)}});
        const std::size_t first = direct ? first_direct : 0;
        for (std::size_t j = 0; j < parts.gpus.size(); ++j) {
            if (i != j)
                routes.push_back({gpu,
                                  static_cast<DeviceId>(j + 1),
                                  {channel(first + 2 * i), channel(first + 2 * j + 1)}});
        }
    }
    return Machine(parts.name, std::move(devices), std::move(channels), std::move(routes),
                   Crossing::cut_through);
}

/// The parts that the text names, without those that it leaves out. Nothing if it is no list of parts. Throws
/// InputError.
std::optional<Parts> parts_in(const std::string& text, const DeviceCatalogue& catalogue) {
    Parts parts;
    std::string& name = parts.name;
    std::vector<std::string_view> unknown;
    bool has_count = false;
    const std::string ascii = with_letter_x(text);
    for (const std::string_view part : split_at(',', ascii)) {
        const auto [count, model] = counted(part);
        has_count = has_count || part.find("x ") < part.find(model);
        if (const auto device = catalogue.find_device(model)) {
            const std::string counted_name =
                (count == 1 ? "" : std::to_string(count) + "x ") + std::string(model);
            if (count == 0)
                throw InputError(printable(text, 200), "",
                                 in_quotes(printable(std::string(part), 80)) + " needs a count from 1 to " +
                                     std::to_string(kMostGpus));
            if (device->kind == DeviceKind::cpu) {
                if (parts.cpu || count > 1)
                    throw InputError(printable(text, 200), "", "has several CPUs, expected one");
                parts.cpu = device;
            } else {
                parts.gpus.insert(parts.gpus.end(), count, device);
            }
            name += (name.empty() ? "" : ", ") + counted_name;
        } else if (const LinkModel* link = find_link(part, catalogue)) {
            if (parts.link != nullptr)
                throw InputError(printable(text, 200), "", "has several links, expected one");
            parts.link = link;
            name += (name.empty() ? "" : ", ") + link->model;
        } else {
            unknown.push_back(model);
        }
    }
    const bool has_parts = !parts.gpus.empty() || parts.cpu || parts.link != nullptr || has_count;
    if (has_parts && !unknown.empty()) {
        std::vector<std::string> similar = catalogue.similar_devices(unknown.front());
        if (similar.empty()) similar = catalogue.similar_links(unknown.front());
        throw InputError(printable(text, 200), "",
                         in_quotes(printable(std::string(unknown.front()), 80)) +
                             " is no device and no link that is known by name" + similar_text(similar) +
                             "; placewright-cli machines --devices lists them");
    }
    if (parts.gpus.empty() && parts.cpu && parts.link != nullptr)
        throw InputError(printable(text, 200), "", "has a link but no GPU that it leads to");
    if (parts.gpus.empty() && !parts.cpu) return {};
    if (parts.gpus.size() > kMostGpus)
        throw InputError(printable(text, 200), "",
                         "has " + std::to_string(parts.gpus.size()) + " GPUs, expected up to " +
                             std::to_string(kMostGpus));
    return parts;
}

}  // namespace

std::optional<Machine> machine_of_parts(const std::string& text, const DeviceCatalogue& catalogue) {
    std::optional<Parts> parts = parts_in(text, catalogue);
    if (!parts) return {};
    if (!parts->cpu) parts->cpu = catalogue.find_device(kUsualCpu);
    return machine_of(*parts, catalogue);
}

namespace {

std::vector<std::string> similar_machines(const std::string& text) {
    std::vector<std::string> names;
    for (ShippedFile& file : shipped_machines()) names.push_back(std::move(file.name));
    return similar_names(text, names);
}

bool is_machine_file(const std::string& text) {
    try {
        find_machine_file(text);
        return true;
    } catch (const InputError&) {
        return false;
    }
}

}  // namespace

Machine find_machine(const std::string& text) {
    try {
        return read_machine(find_machine_file(text));
    } catch (const InputError&) {
        std::error_code ignored;
        if (std::filesystem::exists(text, ignored)) throw;
        // Parts are words between spaces and commas; a text of one word is meant as a name.
        const std::string machines =
            text.find_first_of(", ") == std::string::npos ? similar_text(similar_machines(text)) : "";
        try {
            if (auto machine = machine_of_parts(text, shipped_devices())) return *std::move(machine);
        } catch (const InputError& error) {
            if (machines.empty()) throw;
            const std::string name = printable(text, 200);
            throw InputError(name, "",
                             without_prefix(error.what(), name + ": ") +
                                 "; no shipped machine has the name " + in_quotes(name) + machines);
        }
        const std::string similar = similar_text(shipped_devices().similar_devices(text));
        if (similar.empty() && machines.empty()) throw;
        throw InputError(printable(text, 200), "",
                         "is no file, no shipped machine" + machines +
                             " and no device that is known by name" + similar +
                             "; placewright-cli machines lists the machines, machines --devices the devices");
    }
}

std::string direct_link_text(const std::string& text) {
    if (is_machine_file(text)) return {};
    const DeviceCatalogue& catalogue = shipped_devices();
    const std::optional<Parts> parts = parts_in(text, catalogue);
    if (!parts || parts->link != nullptr || parts->gpus.size() < 2) return {};
    const DeviceModel& gpu = *parts->gpus.front();
    const LinkModel* const usual = usual_link(gpu, catalogue);
    for (const std::string& name : gpu.links) {
        const LinkModel* const link = catalogue.find_link(name);
        const bool of_all = std::ranges::all_of(parts->gpus, [&](const auto& other) {
            return std::ranges::find(other->links, name) != other->links.end();
        });
        if (link == nullptr || is_pcie(*link) || link == usual || !of_all) continue;
        return "the GPUs reach each other over " + usual->model +
               "; if they are joined directly, name that link, too: \"" + parts->name + ", " + link->model +
               '"';
    }
    return {};
}

std::vector<std::string> machines_in(const std::string& text) {
    std::error_code ignored;
    if (std::filesystem::exists(text, ignored)) return {text};
    const auto list = [&](char separator) {
        const std::vector<std::string_view> parts = split_at(separator, text);
        return std::vector<std::string>(parts.begin(), parts.end());
    };
    if (text.find(';') != std::string::npos) return list(';');
    std::vector<std::string> names = list(',');
    if (names.size() == 1 || std::ranges::all_of(names, is_machine_file)) return names;
    try {
        if (machine_of_parts(text, shipped_devices())) return {text};
    } catch (const InputError&) {
        // One of the names is no part: then they are machines, and finding them says what is wrong.
    }
    return names;
}

}  // namespace placewright
