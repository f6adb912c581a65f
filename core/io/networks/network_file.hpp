// SPDX-License-Identifier: MIT
// Readers and writers of networks. They throw InputError with the file, the place and the remedy, never
// return a partial network, and replace a file only by a complete one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/path.hpp"
#include "core/graph/graph.hpp"
#include "core/io/language/language_options.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Content of a network file. Exprimo's networks also contain a placement (op name -> device index), and
/// workloads the machine that their times were measured on.
struct NetworkFile {
    Graph graph;
    std::map<std::string, std::int64_t> device_index;
    std::optional<Machine> machine;
    bool batch_is_open = false;  ///< the file can be read with any batch size
    std::string fixed_batch{};   ///< why not, as far as that is known
    /// An op of a kind whose FLOPs are unknown: its time is estimated from its bytes alone.
    struct Estimated {
        std::string op, kind;
    };
    std::vector<Estimated> estimated{};
    std::vector<std::string> notes{};  ///< what the reader left out or assumed, one sentence each
    /// Phase, sequence and number formats with which the file was read, if it is a language model.
    std::optional<LanguageOptions> language{};
    std::int64_t longest_sequence = 0;  ///< tokens, of a language model with a limit; 0: none is known
};

/// Values that a network file leaves open.
struct ReadOptions {
    ReadOptions() = default;
    // NOLINTBEGIN(google-explicit-constructor): most files leave only the batch size open
    ReadOptions(std::optional<std::int64_t> batch_size) : batch(batch_size) {}
    ReadOptions(std::int64_t batch_size) : batch(batch_size) {}
    // NOLINTEND(google-explicit-constructor)

    std::optional<std::int64_t> batch;
    std::map<std::string, std::int64_t>
        dims{};                          ///< other open extents of an ONNX model or .pt2 file, by name
    std::vector<ExampleInput> inputs{};  ///< tensors that a TorchScript model is called with
    bool run = false;                    ///< whether code in the file may run to find sizes
    LanguageOptions language{};          ///< of a language model

    bool operator==(const ReadOptions&) const = default;
};

/// Reads placewright.graph, ONNX, Exprimo's network, a workload of dnn-partitioning (workload.hpp), an
/// archive of torch.export (exported_program.hpp), TorchScript (torchscript.hpp), or a language model: the
/// folder of a model of Hugging Face, its config.json, or a GGUF file (language_file.hpp). They are told
/// apart by content. options.batch sets a batch size that the file leaves open, and scales a
/// placewright.graph (batch.hpp); for any other file a different batch size is an error. Throws InputError,
/// and BatchNeeded for an ONNX model that needs a batch size.
NetworkFile read_network(const Path& file, const ReadOptions& options = {});
void write_network(const Graph& graph, const Path& file);

}  // namespace placewright
