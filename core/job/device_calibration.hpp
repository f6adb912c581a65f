// SPDX-License-Identifier: MIT
// The devices of a machine fitted to the measured times of networks' ops: what placewright-cli calibrate and
// the panel of the window share. core/measure/calibration.hpp has the fit of one device.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/cost/profile_archive.hpp"
#include "core/machine/machine.hpp"
#include "core/measure/calibration.hpp"

namespace placewright {

/// The largest share of the ops that may be held out: the rest is what the fit sees.
inline constexpr double kMostHeldOut = 0.9;

/// Why a workload cannot be one of the networks, to stand behind its name.
inline constexpr const char* kNoCalibrationOfWorkloads =
    "is a workload, which says how long its ops take but not what they do";

/// Networks on one machine, with measured times of their ops (Op::time_s).
struct MeasuredNetworks {
    std::vector<std::string> names;  ///< [network]: for the user
    std::vector<std::shared_ptr<const Problem>> problems;
    /// As given, but with latencies and bandwidths of channels where transfers were measured.
    std::shared_ptr<const Machine> machine;

    /// Adds a network whose problem is on `given`; `profile`: where its times are from, null if not from an
    /// archive. The first network sets the machine.
    void add(std::string name, std::shared_ptr<const Problem> problem,
             const std::shared_ptr<const Machine>& given, const ProfileArchive* profile);
};

/// The first device of each model of the machine.
std::vector<DeviceId> first_of_each_model(const Machine& machine);

/// What the fit of a device's model found.
struct CalibratedDevice {
    DeviceId id = 0;
    std::vector<CalibrationSample> samples;
    std::vector<std::size_t> network;  ///< [sample]: index in MeasuredNetworks
    Calibration found;
};

struct CalibratedDevices {
    std::vector<CalibratedDevice> devices;
    /// "MODEL: no measured op is left to fit to" for each model that could not be fitted; may be empty.
    std::vector<std::string> missing;
};

/// Called after each round of a device's fit.
using DeviceCalibrationProgress = std::function<void(const Device& device, std::size_t round)>;

/// Fits each of these devices to the times that the networks' ops have for it, as calibrate() does. A device
/// that has no efficiencies starts from those of the catalogue's usual device of its kind. `held_out`: share
/// of the signatures that the fit does not see, in [0, kMostHeldOut]. Nothing if `stop` was requested.
std::optional<CalibratedDevices> calibrate_each(const MeasuredNetworks& measured,
                                                std::span<const DeviceId> devices, double held_out,
                                                const std::stop_token& stop = {},
                                                const DeviceCalibrationProgress& progress = {});

/// The machine whose devices of the calibrated models have the efficiencies that were found; it is called
/// "NAME, calibrated".
Machine calibrated_machine(const Machine& machine, std::span<const CalibratedDevice> calibrated);

}  // namespace placewright
