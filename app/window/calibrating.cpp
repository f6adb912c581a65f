// SPDX-License-Identifier: MIT
#include "app/window/calibrating.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include <QCoreApplication>
#include <QStringList>

#include "app/window/document.hpp"
#include "core/io/shipped.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/traces/trace_file.hpp"
#include "core/job/side_files.hpp"
#include "widgets/text.hpp"

namespace placewright {
namespace {

struct CalibratingText {
    Q_DECLARE_TR_FUNCTIONS(Calibrating)
};

/// Where the measured times of ops come from.
struct Times {
    Path file;
    std::shared_ptr<const ProfileArchive> profile;  ///< null: the file is a trace
};

/// The network as it is simulated, with its times.
std::shared_ptr<const Problem> problemOf(const CalibrationRequest& request,
                                         const CalibrationRequest::Network& network, const Times& times,
                                         const std::stop_token& stop) {
    const Path path = find_network_file(network.file.toStdString());
    NetworkFile read;
    try {
        read = read_network(path, network.reading);
    } catch (const BatchNeeded&) {
        throw InputError(path.string(), "",
                         "leaves its batch size open: enter it under Batch in the list of networks");
    }
    if (read.machine) throw InputError(path.string(), "", kNoCalibrationOfWorkloads);
    if (!network.parameters.isEmpty()) read.graph = sized(read.graph, network.parameters.toStdString()).graph;
    if (!times.profile) {
        Supplements::Times trace{times.file, request.model.toStdString()};
        try {
            read.graph = timed(read.graph, trace, request.machine.get(), stop).graph;
        } catch (const ModelNeeded& error) {
            throw std::runtime_error(
                std::string(error.what()) +
                ": choose under Devices the model that it was measured on, then fit again");
        }
    }
    ProblemOptions options = request.problem;
    options.cost = {};
    options.cost.model = find_cost_model("measured");
    options.cost.profile = times.profile;
    try {
        return make_problem(std::make_shared<const Graph>(std::move(read.graph)), request.machine, options);
    } catch (const GraphError& error) {
        throw InputError(path.string(), "", error.what());
    } catch (const PlacementError& error) {
        throw InputError(path.string(), "", error.what());
    }
}

/// Why no device could be fitted, and what to do.
std::string noTimesText(const CalibrationRequest& request, const Times& times) {
    QStringList names;
    for (const CalibrationRequest::Network& network : request.networks) names << network.name;
    const QString networks = names.join(QStringLiteral(", "));
    QStringList models;
    if (times.profile) {
        for (const auto& [model, profile] : times.profile->devices) models << toQString(model);
    }
    const QString of = request.model.isEmpty()
                           ? CalibratingText::tr("any device of %1").arg(toQString(request.machine->name()))
                           : request.model;
    QString text = CalibratingText::tr("has too few times of the ops of %1 on %2").arg(networks, of);
    if (times.profile && !models.isEmpty())
        text += CalibratingText::tr("; its devices are %1").arg(models.join(QStringLiteral(", ")));
    text += CalibratingText::tr(
        ". Profile this network on this machine, add the networks that were profiled, with the batch size of "
        "the profile, or hold out less");
    return text.toStdString();
}

}  // namespace

CalibrationRequest calibrationOf(const Document& document) {
    CalibrationRequest request;
    request.machine = document.job().machine;
    request.problem = document.options().problem;
    request.problem.grouping = {};
    request.problem.constraints = {};
    // Ops are measured as they are run: without recomputation, one batch a step.
    request.problem.recomputation = Recomputation::none;
    request.problem.accumulate_gradients = false;
    request.networks.push_back({toQString(document.problem()->network->name()),
                                toQString(document.networkPath().string()), document.options().reading,
                                toQString(document.options().supplements.parameters.string())});
    return request;
}

CalibrationReport calibrateDevices(const CalibrationRequest& request, const std::stop_token& stop,
                                   const CalibrationStage& stage) {
    Times times{request.times.toStdString(), nullptr};
    stage(CalibratingText::tr("Reading the measured times…"));
    if (!is_trace(times.file)) {
        times.profile = std::make_shared<const ProfileArchive>(read_profile(times.file));
    } else if (request.networks.size() > 1) {
        throw InputError(times.file.string(), "",
                         "is a trace of one network: remove the other networks, or choose a profile");
    }
    CalibrationReport report;
    report.times = request.times;
    for (const CalibrationRequest::Network& network : request.networks) {
        stage(CalibratingText::tr("Reading %1…").arg(network.name));
        report.measured.add(network.name.toStdString(), problemOf(request, network, times, stop),
                            request.machine, times.profile.get());
        if (stop.stop_requested()) return {};
    }
    std::vector<DeviceId> devices = first_of_each_model(*report.measured.machine);
    if (!request.model.isEmpty()) {
        std::erase_if(devices, [&](DeviceId id) {
            return report.measured.machine->device(id).model != request.model.toStdString();
        });
    }
    auto found = calibrate_each(
        report.measured, devices, request.heldOut, stop, [&](const Device& device, std::size_t round) {
            stage(CalibratingText::tr("Fitting %1, round %2…").arg(toQString(device.model)).arg(round));
        });
    if (!found) return {};
    if (found->devices.empty()) throw InputError(times.file.string(), "", noTimesText(request, times));
    report.found = *std::move(found);
    report.machine =
        std::make_shared<const Machine>(calibrated_machine(*report.measured.machine, report.found.devices));
    return report;
}

}  // namespace placewright
