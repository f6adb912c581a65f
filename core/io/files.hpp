// SPDX-License-Identifier: MIT
// Readers and writers of networks, machines and placements. Every function throws InputError with the file, the place and the
// remedy; nothing is returned half-read, and a file is only replaced by a complete one (temporary file, then rename).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/problem.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/sharding.hpp"
#include "core/learn/torch_script.hpp"
#include "core/machine/machine.hpp"
#include "core/search/codesign.hpp"
#include "core/search/optimizer.hpp"

namespace placewright {

using Path = std::filesystem::path;

/// What a JSON file seems to hold, by its format or, for files of Exprimo and dnn-partitioning, by their keys. A workload is a network
/// together with its machine. An object of nothing but devices (integers, "cpu", "cuda:1", "/device:GPU:1")
/// is a placement of Exprimo or TensorFlow, or a device map.
enum class FileContent : std::uint8_t { network, machine, placement, workload, trace, unknown };
FileContent file_content(const Path& file);

/// What a network file holds. Exprimo's networks carry a placement: op name -> device index; workloads the machine that their times
/// were measured on.
struct NetworkFile {
    Graph graph;
    std::map<std::string, std::int64_t> device_index;
    std::optional<Machine> machine;
    bool batch_is_open = false;  ///< the file can be read with any batch size
    /// An op of a kind whose FLOPs are not known: its time is what its bytes take.
    struct Estimated {
        std::string op, kind;
    };
    std::vector<Estimated> estimated{};
};

/// What a file leaves open.
struct ReadOptions {
    ReadOptions() = default;
    // NOLINTBEGIN(google-explicit-constructor): most files leave nothing else open
    ReadOptions(std::optional<std::int64_t> batch_size) : batch(batch_size) {}
    ReadOptions(std::int64_t batch_size) : batch(batch_size) {}
    // NOLINTEND(google-explicit-constructor)

    std::optional<std::int64_t> batch;
    std::map<std::string, std::int64_t> dims{};  ///< of an ONNX model: other extents, by name
    std::vector<ExampleInput> inputs{};          ///< of a TorchScript model: the tensors that it is called with
    bool run = false;                            ///< whether code in the file may be run to find sizes

    bool operator==(const ReadOptions&) const = default;
};

/// Reads placewright.graph, ONNX, Exprimo's network, a workload of dnn-partitioning (see readers.hpp), an archive of torch.export
/// (exported_program.hpp) or TorchScript (torchscript.hpp), told apart by content. The batch size is for a file that leaves it open; for
/// another file one that differs is an error. Throws BatchNeeded for an ONNX model without the batch size that it needs.
NetworkFile read_network(const Path& file, const ReadOptions& options = {});
void write_network(const Graph& graph, const Path& file);

/// Reads placewright.machine or Exprimo's device graph.
Machine read_machine(const Path& file);
void write_machine(const Machine& machine, const Path& file);
/// The machine as the JSON text that write_machine writes.
std::string machine_json(const Machine& machine);

/// Reads placewright.catalogue: "name", "currency" and the lists "hosts" (a device with "slots"), "accelerators" (devices), "host_links"
/// (channels) and "fabrics" ("topology": "none", or "pairs" or "switch" with the rest of a channel); every item has a "price".
Catalogue read_catalogue(const Path& file);

/// What a placement file says beside the placement.
struct PlacementFile {
    struct Prediction {
        double step_time_s = 0;
        std::optional<double> lower_bound_s;
        std::map<std::string, double> peak_bytes;
        bool fits = true;
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

/// Reads placewright.placement, also in the metadata of an ONNX model, a flat object {"op": device index}, the devices in an Exprimo
/// network, {"op": "/device:GPU:0"} of TensorFlow, or a device map of Accelerate (see device_map.hpp), for this problem; `notes` are told
/// what the last two were read as. In a flat object a
/// list of devices is for the parts of an op that is split. Every group must be placed; ops of one group on different devices (such as
/// single ops in a problem that groups them), names that are not in the graph, devices that are not in the machine, or devices that an op
/// does not allow are refused with the list of names. Graph and machine names are compared with the problem's; the ops decide.
Placement read_placement(const Path& file, const Problem& problem, std::vector<std::string>* notes = nullptr);
/// Into how many parts Exprimo would split ops of `graph` for a flat placement: its convolutions that are placed on a list of devices.
/// Other ops count for the first device, and other placements name the parts.
std::vector<ShardRequest> placed_in_parts(const Path& file, const Graph& graph);
void write_placement(const Placement& placement, const Problem& problem, const PlacementFile& about, const Path& file);
/// The JSON text that write_placement writes.
std::string placement_json(const Placement& placement, const Problem& problem, const PlacementFile& about);

/// The ONNX model that the problem's network was read from with the placement in it: as placewright.placement in the metadata of the
/// model, and the name of its device in the metadata of each node ("placewright.device"). `multi_device` adds the hints for several devices
/// of IR version 11: the devices as a configuration, and for each node where its outputs are whole and, if the placement is a chain of
/// stages, which one it is in. That raises the IR version, which older programs refuse. Weights in external files stay there.
struct OnnxPlacement {
    std::string content;
    std::string
        external_tensor;  ///< one whose numbers are in a file beside the model, where the content has to go then; empty: there is none
};
OnnxPlacement onnx_placement(const Path& model, const Placement& placement, const Problem& problem, bool multi_device = false);

/// Op name -> device name for every forward op and every op that is bound to none, in graph order: it can be read whatever the grouping.
std::vector<std::pair<std::string, std::string>> placement_by_name(const Placement& placement, const Problem& problem);

/// The folder with the networks and machines that ship: $PLACEWRIGHT_MODELS, else beside the program or the source tree.
Path models_folder();

struct ShippedFile {
    std::string name;  ///< file name without extension
    Path file;
};
std::vector<ShippedFile> shipped_networks();
std::vector<ShippedFile> shipped_machines();
std::vector<ShippedFile> shipped_catalogues();

/// `text` is a file, or the name of a machine (network, catalogue) that ships: the file's stem or the name inside it.
Path find_machine_file(const std::string& text);
Path find_network_file(const std::string& text);
Path find_catalogue_file(const std::string& text);

/// Writes `content` to a temporary file in the same folder and renames it. Throws InputError.
void write_file(const Path& file, const std::string& content);

}  // namespace placewright
