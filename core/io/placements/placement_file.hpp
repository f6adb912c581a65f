// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/path.hpp"
#include "core/cost/problem.hpp"
#include "core/graph/sharding.hpp"
#include "core/search/options.hpp"
#include "core/sim/step_error.hpp"

namespace placewright {

/// Content of a placement file in addition to the placement.
struct PlacementFile {
    struct Prediction {
        double step_time_s = 0;
        std::optional<double> lower_bound_s;
        std::map<std::string, double> peak_bytes;
        bool fits = true;
        std::optional<StepInterval> interval = {};  ///< of the step time
    };
    struct Producer {
        std::string algorithm;
        std::uint64_t seed = 0;
        std::uint64_t evaluations = 0;
        OptionValues options;
    };
    std::optional<Prediction> predicted;
    std::optional<Producer> produced_by;
};

/// Reads a placement for this problem from one of these formats:
/// - placewright.placement, also in the metadata of an ONNX model;
/// - a flat object {"op": device index}, where a list of devices is for the parts of an op that is split;
/// - the devices in an Exprimo network;
/// - {"op": "/device:GPU:0"} of TensorFlow;
/// - a device map of Accelerate (see device_map.hpp).
///
/// `notes` get a line about how a file of the last two was read. Throws InputError with the list of names for
/// a group without a device, ops of one group on different devices (such as single ops in a problem that
/// groups them), names that are not in the graph, devices that are not in the machine, and devices that an op
/// does not allow. Only ops and devices have to match; names of graph and machine that differ from the
/// problem's are just mentioned in that error.
Placement read_placement(const Path& file, const Problem& problem, std::vector<std::string>* notes = nullptr);
/// Returns the number of parts that Exprimo splits each op into for a flat placement: it splits convolutions
/// that are placed on a list of devices. Any other op with a list is on its first device. Empty for other
/// formats, which name the parts themselves.
std::vector<ShardRequest> placed_in_parts(const Path& file, const Graph& graph);
void write_placement(const Placement& placement, const Problem& problem, const PlacementFile& about,
                     const Path& file);
/// Returns the JSON text that write_placement writes.
std::string placement_json(const Placement& placement, const Problem& problem, const PlacementFile& about);

/// Returns op name -> device name in graph order, for every forward op and every op that is bound to no
/// forward op, except casts of autocast. The list can be read under any grouping and in any precision.
std::vector<std::pair<std::string, std::string>> placement_by_name(const Placement& placement,
                                                                   const Problem& problem);

}  // namespace placewright
