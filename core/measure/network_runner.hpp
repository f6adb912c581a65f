// SPDX-License-Identifier: MIT
// Runs the ops of a training step on real devices, one call an op. The library that implements it with
// LibTorch, placewright_measure, is loaded when it is first requested; only sources in torch/ include
// LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/cost/problem.hpp"

namespace placewright {

/// Where the ops of a device of the machine run.
struct PhysicalDevice {
    enum class Kind : std::uint8_t {
        logical_cpu,  ///< one thread on one core of this computer
        cuda,
    };
    Kind kind = Kind::logical_cpu;
    int index = 0;  ///< core, as the operating system counts them, or CUDA device

    bool operator==(const PhysicalDevice&) const = default;
};
/// "core 1 of this computer's CPU", "CUDA device 0".
std::string to_string(const PhysicalDevice& device);

/// Thrown where ops cannot be run: no kernel, wrong attributes, an error of LibTorch. what() names the op.
class MeasureError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown where a device has not enough memory.
class OutOfMemory : public std::runtime_error {
public:
    OutOfMemory(DeviceId device, const std::string& what) : std::runtime_error(what), device_(device) {}
    DeviceId device() const { return device_; }

private:
    DeviceId device_;
};

struct NetworkRunnerOptions {
    std::uint64_t seed = 1;  ///< of parameters, inputs and dropout
    /// Keeps all tensors and gradients of a step until the next, for read_tensor() and read_gradient().
    bool keeps_values = false;
};

/// The tensors of one placed network. Thread safety: ops and copies may run at the same time on different
/// threads, as long as each runs after those that it reads from; everything else is called by one thread
/// between steps.
///
/// An op and its derived ops run on the device of the op's group. The forward op records its autograd graph
/// and the derived ops differentiate this graph: "f/backward" for the inputs of f, "f/weight_gradient" for
/// its parameters; "f/update" changes the parameters by the rules of torch.optim (Problem::optimizer_states
/// 0: SGD, 1: SGD with momentum, 2: Adam, without the correction of its bias in the first steps, which takes
/// no time that counts). Numbers do not depend on the placement, but for rounding: a copy of a slice has no
/// gaps, so that sums over it may be taken in another order. CUDA devices draw other masks of dropout than
/// CPUs; on each they are the same for a seed and a step, also where they are recomputed.
class NetworkRunner {
public:
    /// What a thread needs to run ops; destroyed on the same thread.
    class Thread {
    public:
        virtual ~Thread() = default;
    };

    virtual ~NetworkRunner() = default;

    /// Called by a thread before it runs ops of `device` or makes copies there.
    virtual std::unique_ptr<Thread> attach(DeviceId device) = 0;
    /// Begins step `step`; drops what the last one kept.
    virtual void start_step(std::uint32_t step) = 0;
    /// Runs an op on its device and waits for its end. Throws MeasureError and OutOfMemory, which name the
    /// op.
    virtual void run(OpId op) = 0;
    /// Copies a tensor to another device and waits for the end of the copy. Throws MeasureError and
    /// OutOfMemory, which name the op that made it.
    virtual void copy(TensorId tensor, DeviceId to) = 0;
    /// Forgets a tensor on a device: nothing will read it there until the end of the step.
    virtual void release(TensorId tensor, DeviceId device) = 0;

    /// [device]: the largest number of bytes in use since the beginning of the last step.
    virtual std::vector<double> peak_bytes() const = 0;

    /// The numbers of a tensor on a device after a step; empty if it is not kept there or autograd alone has
    /// it.
    virtual std::vector<double> read_tensor(TensorId tensor, DeviceId device) const = 0;
    /// The gradients of all parameters of a forward op after a step, one after the other.
    virtual std::vector<double> read_gradient(OpId op) const = 0;
    /// The same gradients by autograd of the whole network in one piece on the first device, with the
    /// parameters as they are now and the random numbers of step `step`; [forward op]. For tests.
    virtual std::vector<std::vector<double>> whole_gradients(std::uint32_t step) = 0;
};

/// Functions of the library. They throw std::invalid_argument with one line an op that cannot be run.
struct MeasureModule {
    /// Number of CUDA devices that LibTorch can use.
    int (*cuda_devices)();
    /// "LibTorch 1.13.1".
    std::string (*version)();
    /// Reasons for which ops cannot be run, one line for each op; empty if all can.
    std::vector<std::string> (*unsupported)(const Problem& problem);
    /// `devices`: [device].
    std::unique_ptr<NetworkRunner> (*make_runner)(std::shared_ptr<const Problem> problem,
                                                  std::span<const DeviceId> placement,
                                                  std::span<const PhysicalDevice> devices,
                                                  const NetworkRunnerOptions& options);
};

/// Throws MissingPart if the library cannot be loaded.
const MeasureModule& measure_module();

/// Symbol under which placewright_measure exports its functions.
inline constexpr const char* kMeasureModuleSymbol = "placewright_measure_module";
using MeasureModuleFunction = const MeasureModule* (*)();

}  // namespace placewright
