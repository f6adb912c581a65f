// SPDX-License-Identifier: MIT
#include "core/search/algorithms/incremental_objective.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/bounds/load_model.hpp"
#include "core/search/parts/schedule.hpp"
#include "core/sim/block_latency.hpp"

namespace placewright {

IncrementalObjective::IncrementalObjective(std::shared_ptr<const Problem> problem)
    : problem_(std::move(problem)), group_bytes_(problem_->groups, 0) {
    for (OpId op = 0; op < problem_->ops; ++op) {
        double& bytes = group_bytes_[problem_->grouping.group_of[op]];
        bytes += problem_->resident_bytes[op];
        for (TensorId tensor = problem_->output_begin[op]; tensor < problem_->output_begin[op + 1]; ++tensor)
            bytes += problem_->output_bytes[tensor];
    }
}

double IncrementalObjective::excess_bytes() const {
    double sum = 0;
    for (std::size_t device = 0; device < device_bytes_.size(); ++device)
        sum += std::max(0.0, device_bytes_[device] - problem_->memory_limit_bytes[device]);
    return sum;
}

void IncrementalObjective::start_bytes(std::span<const DeviceId> placement) {
    placement_.assign(placement.begin(), placement.end());
    device_bytes_.assign(problem_->devices, 0);
    for (GroupId group = 0; group < problem_->groups; ++group)
        device_bytes_[placement_[group]] += group_bytes_[group];
}

void IncrementalObjective::move_bytes(GroupId group, DeviceId device) {
    device_bytes_[placement_[group]] -= group_bytes_[group];
    device_bytes_[device] += group_bytes_[group];
    placement_[group] = device;
}

namespace {

/// Transfer times for machines without a host.
std::vector<double> transfers_s(const Problem& problem) {
    const auto devices = problem.machine->devices();
    if (std::ranges::find(devices, DeviceKind::cpu, &Device::kind) != devices.end()) return {};
    std::vector<DeviceId> all(problem.devices);
    std::iota(all.begin(), all.end(), DeviceId{0});
    return mean_transfers_s(problem, all);
}

class MovingMaxLoad final : public IncrementalObjective {
public:
    explicit MovingMaxLoad(std::shared_ptr<const Problem> problem)
        : IncrementalObjective(std::move(problem)),
          model_(load_model(*problem_, transfers_s(*problem_))),
          class_of_(problem_->devices),
          produced_(problem_->groups),
          read_(problem_->groups) {
        for (std::size_t c = 0; c < model_.classes.size(); ++c) {
            for (const DeviceId device : model_.classes[c].devices) class_of_[device] = c;
        }
        for (std::uint32_t b = 0; b < model_.bundles.size(); ++b) {
            produced_[model_.bundles[b].producer].push_back(b);
            for (const GroupId reader : model_.bundles[b].readers) read_[reader].push_back(b);
        }
    }

    void start_at(std::span<const DeviceId> placement) override {
        start_bytes(placement);
        load_s_.assign(problem_->devices, 0);
        readers_on_.assign(model_.bundles.size() * problem_->devices, 0);
        for (GroupId group = 0; group < problem_->groups; ++group)
            load_s_[placement_[group]] += of(placement_[group]).group_s[group];
        for (std::size_t b = 0; b < model_.bundles.size(); ++b) {
            const TensorBundle& bundle = model_.bundles[b];
            const DeviceId producer = placement_[bundle.producer];
            for (const GroupId reader : bundle.readers) {
                const DeviceId device = placement_[reader];
                if (readers_on(b, device)++ == 0 && device != producer)
                    load_s_[device] += of(device).read_s[b];
            }
            if (readers_on(b, producer) < bundle.readers.size()) load_s_[producer] += of(producer).write_s[b];
        }
    }

    void move(GroupId group, DeviceId to) override {
        const DeviceId from = placement_[group];
        if (from == to) return;
        move_bytes(group, to);
        const LoadClass &before = of(from), &after = of(to);
        load_s_[from] -= before.group_s[group];
        load_s_[to] += after.group_s[group];
        for (const std::uint32_t b : produced_[group]) {
            const std::size_t readers = model_.bundles[b].readers.size();
            const std::uint32_t on_from = readers_on(b, from), on_to = readers_on(b, to);
            if (on_from < readers) load_s_[from] -= before.write_s[b];
            if (on_to < readers) load_s_[to] += after.write_s[b];
            if (on_from > 0) load_s_[from] += before.read_s[b];
            if (on_to > 0) load_s_[to] -= after.read_s[b];
        }
        for (const std::uint32_t b : read_[group]) {
            const std::size_t readers = model_.bundles[b].readers.size();
            const DeviceId producer = placement_[model_.bundles[b].producer];
            const bool written = readers_on(b, producer) < readers;
            if (--readers_on(b, from) == 0 && from != producer) load_s_[from] -= before.read_s[b];
            if (readers_on(b, to)++ == 0 && to != producer) load_s_[to] += after.read_s[b];
            const bool writes = readers_on(b, producer) < readers;
            if (written != writes)
                load_s_[producer] += writes ? of(producer).write_s[b] : -of(producer).write_s[b];
        }
    }

    double value_s() override { return std::ranges::max(load_s_); }

    double energy_s(double) override {
        const double most_s = value_s();
        if (most_s == 0) return 0;
        double sum = 0;
        for (const double load_s : load_s_) {
            double x = load_s / most_s;
            for (int i = 0; i < kDoublings; ++i) x *= x;
            sum += x;
        }
        return most_s * std::pow(sum, std::ldexp(1, -kDoublings));
    }

private:
    const LoadClass& of(DeviceId device) const { return model_.classes[class_of_[device]]; }
    std::uint32_t& readers_on(std::size_t bundle, DeviceId device) {
        return readers_on_[bundle * problem_->devices + device];
    }

    /// The energy is the p-norm of the loads with p = 2^5: nearly the largest load, but smaller if the others
    /// are.
    static constexpr int kDoublings = 5;

    LoadModel model_;
    std::vector<std::size_t> class_of_;                        ///< [device]
    std::vector<std::vector<std::uint32_t>> produced_, read_;  ///< [group]: bundles
    std::vector<double> load_s_;                               ///< [device]
    std::vector<std::uint32_t> readers_on_;                    ///< [bundle * devices + device]
};

class MovingBlockLatency final : public IncrementalObjective {
public:
    explicit MovingBlockLatency(std::shared_ptr<const Problem> problem)
        : IncrementalObjective(std::move(problem)), latency_(*problem_) {}

    void start_at(std::span<const DeviceId> placement) override {
        start_bytes(placement);
        value_s_ = -1;
    }

    void move(GroupId group, DeviceId device) override {
        move_bytes(group, device);
        value_s_ = -1;
    }

    double value_s() override {
        if (value_s_ < 0) value_s_ = latency_.seconds(placement_);
        return value_s_;
    }

    double energy_s(double limit_s) override {
        if (value_s_ < 0) {
            const double energy_s = latency_.seconds(placement_, limit_s);
            if (!std::isfinite(energy_s)) return energy_s;
            value_s_ = energy_s;
        }
        return value_s_;
    }

private:
    BlockLatency latency_;
    double value_s_ = -1;  ///< negative: unknown
};

}  // namespace

std::unique_ptr<IncrementalObjective> incremental_max_load(std::shared_ptr<const Problem> problem) {
    return std::make_unique<MovingMaxLoad>(std::move(problem));
}

std::unique_ptr<IncrementalObjective> incremental_block_latency(std::shared_ptr<const Problem> problem) {
    return std::make_unique<MovingBlockLatency>(std::move(problem));
}

}  // namespace placewright
