// SPDX-License-Identifier: MIT
// What a policy is trained on and tested with, from the command line and from the window.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/job.hpp"
#include "core/io/policy_file.hpp"

namespace placewright {

/// A network on a machine.
struct Lesson {
    Job job;
    std::shared_ptr<const PolicyGraph> graph;
};

/// What all that a training has begun with stays.
struct Curriculum {
    std::vector<Lesson> training, test;
    TrainingRecord record;
    PolicyDesign design;

    std::vector<TrainingGraph> graphs() const;
};

/// The network files (.json) of a folder, in the order of their names. Throws InputError if there are none.
std::vector<Path> network_files(const Path& folder);

/// Makes the job's one device the best that the choices leave: what a policy is compared with is something that it can choose.
void restrict_single_device(Job& job, const DeviceChoices& choices);

/// Makes record and design from the lessons, which stay but for their one devices (restrict_single_device). Throws OptionError for values
/// that the policy does not take, and std::invalid_argument for a lesson that the policy cannot be used for.
void complete(Curriculum& curriculum, const PolicyInfo& info, const OptionValues& values, std::uint64_t seed);

/// The value of a condition of a record; empty if it has none.
std::string condition(const TrainingRecord& record, const std::string& name);

}  // namespace placewright
