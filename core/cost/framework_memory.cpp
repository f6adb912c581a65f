// SPDX-License-Identifier: MIT
#include "core/cost/framework_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/cost/problem.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

constexpr std::array<std::string_view, 2> kFrameworks{"none", "pytorch"};
constexpr std::array<std::string_view, 3> kAllocators{"none", "pytorch", "pytorch-segments"};

constexpr double kMebibyte = 1 << 20;
constexpr double kBlock = 512, kLargeBlock = 2 * kMebibyte;
constexpr double kLeastLarge = 10 * kMebibyte;  ///< requests of a segment of their own
constexpr double kLargestRest = 1 * kMebibyte;  ///< of a segment that is not split

double multiple(double bytes, double of) {
    return std::ceil(bytes / of) * of;
}

}  // namespace

std::string_view to_string(Framework framework) {
    return kFrameworks[static_cast<std::size_t>(framework)];
}

std::optional<Framework> framework_from(std::string_view text) {
    const auto* const found = std::ranges::find(kFrameworks, text);
    if (found == kFrameworks.end()) return {};
    return static_cast<Framework>(found - kFrameworks.begin());
}

std::string_view to_string(Allocator allocator) {
    return kAllocators[static_cast<std::size_t>(allocator)];
}

std::optional<Allocator> allocator_from(std::string_view text) {
    const auto* const found = std::ranges::find(kAllocators, text);
    if (found == kAllocators.end()) return {};
    return static_cast<Allocator>(found - kAllocators.begin());
}

double allocated_bytes(Allocator allocator, double bytes) {
    if (allocator == Allocator::none) return bytes;
    const double rounded = multiple(bytes, kBlock);
    if (allocator == Allocator::pytorch || rounded < kLeastLarge) return rounded;
    const double segment = multiple(rounded, kLargeBlock);
    return segment - rounded <= kLargestRest ? segment : rounded;
}

bool counts_framework(const ProblemOptions& options, const Device& device) {
    const std::string_view model = options.cost.model->id;
    return options.framework != Framework::none && options.memory == MemoryModel::training &&
           (model == "roofline" || model == "measured") && device.kind != DeviceKind::cpu && device.known &&
           device.known->in_catalogue && !device.known->unified_memory;
}

double context_bytes(const ProblemOptions& options, const Device& device) {
    if (options.context_bytes) return device.kind == DeviceKind::cpu ? 0 : *options.context_bytes;
    return counts_framework(options, device) ? kPytorchContextBytes : 0;
}

Allocator used_allocator(const ProblemOptions& options, const Machine& machine) {
    if (options.memory != MemoryModel::training) return Allocator::none;
    if (options.allocator) return *options.allocator;
    return std::ranges::any_of(machine.devices(),
                               [&](const Device& device) { return counts_framework(options, device); })
               ? Allocator::pytorch
               : Allocator::none;
}

}  // namespace placewright
