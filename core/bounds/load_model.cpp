// SPDX-License-Identifier: MIT
#include "core/bounds/load_model.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/infinity.hpp"
#include "core/sim/host_memory.hpp"

namespace placewright {
namespace {

std::vector<TensorBundle> bundles_of(const Problem& problem) {
    std::vector<TensorBundle> bundles;
    std::map<std::pair<GroupId, std::vector<GroupId>>, std::size_t> index;
    for (TensorId tensor = 0; tensor < problem.tensors; ++tensor) {
        const GroupId producer = problem.grouping.group_of[problem.producer[tensor]];
        std::set<GroupId> readers;
        for (auto i = problem.consumer_begin[tensor]; i < problem.consumer_begin[tensor + 1]; ++i)
            readers.insert(problem.grouping.group_of[problem.consumer[i]]);
        readers.erase(producer);
        if (readers.empty()) continue;
        std::vector<GroupId> list(readers.begin(), readers.end());
        const auto [found, is_new] = index.try_emplace({producer, list}, bundles.size());
        if (is_new) bundles.push_back({producer, std::move(list), {}});
        bundles[found->second].tensors.push_back(tensor);
    }
    return bundles;
}

}  // namespace

LoadModel load_model(const Problem& problem, std::span<const double> transfer_s) {
    std::optional<HostMemory> host;
    if (transfer_s.empty()) host.emplace(problem);
    LoadModel model;
    model.bundles = bundles_of(problem);
    model.tick_s = problem.tick_s;
    model.group_bytes.assign(problem.groups, 0);
    for (OpId op = 0; op < problem.ops; ++op) {
        double& bytes = model.group_bytes[problem.grouping.group_of[op]];
        bytes += problem.resident_bytes[op];
        for (TensorId tensor = problem.output_begin[op]; tensor < problem.output_begin[op + 1]; ++tensor)
            bytes += problem.output_bytes[tensor];
    }
    for (DeviceId device = 0; device < problem.devices; ++device) {
        LoadClass one;
        one.devices = {device};
        one.is_cpu = host && host->is_cpu(device);
        one.limit_bytes = problem.memory_limit_bytes[device];
        one.group_s.assign(problem.groups, kInfinity);
        for (GroupId group = 0; group < problem.groups; ++group) {
            const auto allowed = problem.allowed_devices(group);
            if (std::ranges::binary_search(allowed, device))
                one.group_s[group] = problem.group_time_s(group, device);
        }
        for (const TensorBundle& bundle : model.bundles) {
            double read_s = 0;
            double write_s = 0;
            for (const TensorId tensor : bundle.tensors) {
                read_s += host ? host->read_s(tensor, device) : transfer_s[tensor];
                write_s += host ? host->write_s(tensor, device) : transfer_s[tensor];
            }
            one.read_s.push_back(read_s);
            one.write_s.push_back(write_s);
        }
        const auto alike = std::ranges::find_if(model.classes, [&](const LoadClass& other) {
            return other.is_cpu == one.is_cpu && other.group_s == one.group_s && other.read_s == one.read_s &&
                   other.write_s == one.write_s && other.limit_bytes == one.limit_bytes;
        });
        if (alike == model.classes.end()) {
            model.classes.push_back(std::move(one));
        } else {
            alike->devices.push_back(device);
        }
    }
    return model;
}

}  // namespace placewright
