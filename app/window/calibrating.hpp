// SPDX-License-Identifier: MIT
// The devices of a machine fitted to measured times. Free functions without state, for any thread.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include <QString>

#include "core/io/networks/network_file.hpp"
#include "core/job/device_calibration.hpp"

namespace placewright {

class Document;

/// What to fit to what.
struct CalibrationRequest {
    struct Network {
        QString name;           ///< for the user
        QString file;           ///< a path, or the name of a bundled network
        ReadOptions reading{};  ///< a batch size that the file does not leave open is an error
        QString parameters{};   ///< file with the sizes of its parameters; empty: those in `file`
    };
    std::vector<Network> networks;
    std::shared_ptr<const Machine> machine;
    ProblemOptions problem;  ///< its cost model and profile do not count
    QString times;           ///< a profile, or a trace of the one network
    QString model;           ///< device model to fit; empty: all that have times
    double heldOut = 0.2;    ///< as for calibrate_each()
};

/// What was found.
struct CalibrationReport {
    MeasuredNetworks measured;
    CalibratedDevices found;
    std::shared_ptr<const Machine> machine;  ///< calibrated_machine()
    QString times;                           ///< the file of the request
};

/// Called with what is done at the moment, as a short sentence.
using CalibrationStage = std::function<void(const QString& stage)>;

/// The open network and machine of the document, with its options as far as they matter for times of ops.
CalibrationRequest calibrationOf(const Document& document);

/// Reads the networks and the times, and fits the devices. The report is empty if `stop` was requested.
/// Throws InputError and other std::exception with a message for the user, also if no device has times of
/// these networks.
CalibrationReport calibrateDevices(const CalibrationRequest& request, const std::stop_token& stop,
                                   const CalibrationStage& stage);

}  // namespace placewright
