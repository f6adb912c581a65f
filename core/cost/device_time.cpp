// SPDX-License-Identifier: MIT
#include "core/cost/device_time.hpp"

#include <algorithm>

namespace placewright {
namespace {

/// Power of a board that goes elsewhere than into arithmetic: memory, fans, regulators.
constexpr double kOtherPowerW = 20;
/// Beyond this inner extent libraries split a product, so that more units share it; earlier where one side is
/// short, as in the products of a few rows with a large matrix.
constexpr double kSplitDepth = 2048, kShortSide = 64, kSplitDepthOfShort = 128;

struct Speed {
    double flops_per_s = 0;  ///< of large products
    double peak = 0;         ///< of the unit, by its data sheet
    bool matrix = false;
};

/// The efficiencies of a device; all alike if the machine or the user gives one.
Efficiencies efficiencies_of(const Device& device) {
    if (!device.uniform_efficiency) return *device.known->efficiencies;
    Efficiencies same;
    for (const EfficiencyField& field : efficiency_fields())
        same.*(field.value) = field.least == 0 ? 0 : std::min(device.efficiency, field.most);
    same.batched_product = same.convolution_vector = same.convolution_matrix = same.winograd = 1;
    same.grouped_convolution = same.convolution_gradient = same.cache_speed = 1;
    same.launch_s = device.launch_overhead_s;
    return same;
}

/// The speed of large products of a type: that of the unit's share of its peak, or what the power allows.
Speed product_speed(NumberType type, const Device& device, const Efficiencies& shares) {
    const DeviceModel& model = *device.known;
    Speed speed;
    speed.matrix = model.matrix_flops[type] > 0;
    speed.peak = speed.matrix ? model.matrix_flops[type] : model.vector_flops[type];
    // A type that the device does not have is computed as float32.
    if (speed.peak == 0) {
        speed.matrix = model.matrix_flops[NumberType::fp32] > 0;
        speed.peak = model.peak_flops();
    }
    // A machine file may give another speed of float32, such as that of another clock; the number of units
    // that small products leave idle stays.
    const double peak = speed.peak * device.peak_flops / model.peak_flops();
    // The matrix units of float32 (AMD) take as much energy as the ordinary ones.
    const bool narrow = speed.matrix && type != NumberType::fp32 && type != NumberType::fp64;
    speed.flops_per_s = peak * (narrow ? shares.product_matrix : shares.product_vector);
    const double joules = narrow ? shares.matrix_j_per_flop : shares.vector_j_per_flop;
    if (joules > 0 && model.power_w > 0)
        speed.flops_per_s =
            std::min(speed.flops_per_s, std::max(model.power_w - kOtherPowerW, model.power_w / 2) / joules);
    speed.matrix = narrow;
    return speed;
}

double saturation(double extent, double half) {
    return extent / (extent + half);
}

/// Seconds of the product itself in a type. `full`: as if small extents left nothing idle.
double product_in_type_s(const ProductShape& shape, const OpWork& work, NumberType type, const Device& device,
                         const Efficiencies& shares, bool full) {
    const Speed speed = product_speed(type, device, shares);
    double factor = 1;
    if (work.work_class == WorkClass::batched) factor = shares.batched_product;
    if (work.work_class == WorkClass::convolution || work.work_class == WorkClass::depthwise) {
        factor = speed.matrix ? shares.convolution_matrix : shares.convolution_vector;
        if (shape.batch > 1) factor *= shares.grouped_convolution;
        if (work.gradient) factor *= shares.convolution_gradient;
        if (shape.winograd && work.type == NumberType::fp32 && !speed.matrix) factor *= shares.winograd;
    }
    if (!full) {
        const bool is_short = std::min(shape.rows, shape.columns) <= kShortSide;
        const double parts = std::max(1.0, shape.depth / (is_short ? kSplitDepthOfShort : kSplitDepth));
        const double outputs = shape.batch * shape.rows * shape.columns * parts;
        factor *= saturation(shape.depth, shares.half_depth) * saturation(shape.columns, shares.half_width) *
                  saturation(outputs, shares.half_outputs_per_tflops * speed.peak * 1e-12);
    }
    return shape.flops / (speed.flops_per_s * factor);
}

/// The same in the type of the work; where TF32 is allowed, libraries take it if it is faster.
double product_s(const ProductShape& shape, const OpWork& work, const Device& device,
                 const Efficiencies& shares, bool full) {
    const double given_s = product_in_type_s(shape, work, work.type, device, shares, full);
    const bool has_tf32 =
        device.tf32 && work.type == NumberType::fp32 && device.known->matrix_flops[NumberType::tf32] > 0;
    return has_tf32
               ? std::min(given_s, product_in_type_s(shape, work, NumberType::tf32, device, shares, full))
               : given_s;
}

double share_of(WorkClass work_class, const Efficiencies& shares) {
    switch (work_class) {
        case WorkClass::none:
        case WorkClass::elementwise:
            return shares.elementwise;
        case WorkClass::product:
        case WorkClass::batched:
        case WorkClass::convolution:
            return shares.product_memory;
        case WorkClass::depthwise:
            return shares.depthwise;
        case WorkClass::softmax:
            return shares.softmax;
        case WorkClass::norm:
            return shares.norm;
        case WorkClass::reduction:
            return shares.reduction;
        case WorkClass::copy:
            return shares.copy;
        case WorkClass::gather:
            return shares.gather;
        case WorkClass::scatter:
            return shares.scatter;
        case WorkClass::update:
            return shares.update;
    }
    return shares.elementwise;
}

/// Seconds to move bytes: at the speed of the last cache as far as they fit it.
double moving_s(double bytes, double share, double faster, const Device& device) {
    const double speed = share * device.memory_bandwidth;
    if (faster <= 1 || bytes <= 0) return bytes / speed;
    const double cached = std::min(1.0, device.known->cache_bytes / bytes);
    return bytes / speed * (1 - cached + cached / faster);
}

double work_s(const OpWork& work, const Device& device, const Efficiencies& shares, bool full) {
    double compute_s = 0, steps_s = 0;
    for (std::size_t i = 0; i < work.product_count; ++i) {
        const ProductShape& shape = work.products[i];
        const double once_s = product_s(shape, work, device, shares, full);
        if (shape.steps > 1) {
            const double read_s =
                moving_s(shape.step_bytes, shares.product_memory, shares.cache_speed, device);
            steps_s += shape.steps * std::max(once_s, read_s);
        } else {
            compute_s += once_s;
        }
    }
    if (work.product_count == 0 && work.flops > 0) {
        // Functions of elements run on the ordinary units.
        const double peak = std::max(device.known->vector_flops[NumberType::fp32], 1.0) * device.peak_flops /
                            device.known->peak_flops();
        compute_s = work.flops / (peak * shares.product_vector);
    }
    return std::max(compute_s,
                    moving_s(work.bytes, share_of(work.work_class, shares), shares.cache_speed, device)) +
           steps_s + moving_s(work.stream_bytes, shares.elementwise, shares.cache_speed, device);
}

}  // namespace

double device_time_s(const OpWork& work, const Device& device) {
    if (work.work_class == WorkClass::none) return 0;
    const Efficiencies shares = efficiencies_of(device);
    double products = 0;
    for (std::size_t i = 0; i < work.product_count; ++i) products += work.products[i].steps;
    return work.kernels * device.launch_overhead_s + products * shares.product_launch_s +
           work_s(work, device, shares, false);
}

double Efficiencies::*error_of(WorkClass work_class) {
    switch (work_class) {
        case WorkClass::none:
        case WorkClass::elementwise:
            return &Efficiencies::error_elementwise;
        case WorkClass::product:
            return &Efficiencies::error_product;
        case WorkClass::batched:
            return &Efficiencies::error_batched;
        case WorkClass::convolution:
            return &Efficiencies::error_convolution;
        case WorkClass::depthwise:
            return &Efficiencies::error_depthwise;
        case WorkClass::softmax:
            return &Efficiencies::error_softmax;
        case WorkClass::norm:
            return &Efficiencies::error_norm;
        case WorkClass::reduction:
        case WorkClass::copy:
        case WorkClass::update:
            return &Efficiencies::error_copy;
        case WorkClass::gather:
        case WorkClass::scatter:
            return &Efficiencies::error_gather;
    }
    return &Efficiencies::error_elementwise;
}

double device_busy_share(const OpWork& work, const Device& device) {
    if (work.work_class == WorkClass::none) return 0;
    const double busy_s = work_s(work, device, efficiencies_of(device), true);
    return busy_s > 0 ? std::min(1.0, busy_s / device_time_s(work, device)) : 1;
}

}  // namespace placewright
