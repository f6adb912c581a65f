// SPDX-License-Identifier: MIT
// Scenarios on machines that were edited in the window. Free functions without state, for any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <QString>

#include "app/window/scenario.hpp"
#include "app/window/simulated.hpp"

namespace placewright {

/// A scenario on another machine, and the placement that was carried to it.
struct EditedScenario {
    std::shared_ptr<const Scenario> scenario;
    Placement before;  ///< on the machine before
    Placement placement;
    std::shared_ptr<const Simulated> simulated;  ///< of `placement`
    std::vector<std::string> moves;              ///< "12 ops of gpu:3 to gpu:2"
};

/// A scenario without factors on an edited machine, with `factors`; `from` as in MachineEdit. A group whose
/// device is gone, or may no longer hold it, goes to the device of the same kind with the least work, else to
/// the best single device. Throws MachineError and PlacementError if the options do not suit the machine.
EditedScenario editedScenario(const Scenario& open, const std::shared_ptr<const Machine>& machine,
                              const std::vector<DeviceId>& from, const WhatIf& factors,
                              const Placement& placement);
/// `base` with these factors on its machine; `base` itself if there are none.
EditedScenario withFactors(const std::shared_ptr<const Scenario>& base, const WhatIf& factors,
                           const Placement& placement);

/// Writes an edited machine beside the settings, unless it is there; returns the file. Keeps the latest such
/// files only. Throws InputError.
QString storeEdited(const Machine& machine);
/// Whether the text names a machine by its file, not as one that ships or by its parts.
bool isMachinePath(const QString& machine);
/// Title of a machine that did not ship: the name in a file that storeEdited() wrote, the name of another
/// file without its folder and extension, or the parts that the text lists.
QString titleOfMachine(const QString& machine);
/// Writes the machine of an edited scenario to its machineFile, where other windows and the next network read
/// it; does nothing if it is there, or for another scenario. Keeps the latest such files only. Throws
/// InputError.
void storeEdited(const Scenario& scenario);

}  // namespace placewright
