// SPDX-License-Identifier: MIT
// Lessons on which a policy is trained and tested, shared by the command line and the window.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/io/state/policy_file.hpp"
#include "core/job/job.hpp"

namespace placewright {

/// A network on a machine.
struct Lesson {
    Job job;
    std::shared_ptr<const PolicyGraph> graph;
};

/// Everything that stays fixed during a training.
struct Curriculum {
    std::vector<Lesson> training, test;
    TrainingRecord record;
    PolicyDesign design;

    std::vector<TrainingGraph> graphs() const;
};

/// Returns the network files (.json) of a folder, ordered by name. Throws InputError if there are none.
std::vector<Path> network_files(const Path& folder);

/// Makes the job's reference device the best one that the choices allow, so that a policy is compared with a
/// placement that it can choose.
void restrict_single_device(Job& job, const DeviceChoices& choices);

/// Fills in record and design from the lessons, which change only in their reference devices
/// (restrict_single_device). Throws OptionError for invalid option values of the policy, and
/// std::invalid_argument for a lesson that the policy cannot be used for.
void complete(Curriculum& curriculum, const PolicyInfo& info, const OptionValues& values, std::uint64_t seed);

/// Returns the value of a condition of a record; empty if it has none.
std::string condition(const TrainingRecord& record, const std::string& name);

}  // namespace placewright
