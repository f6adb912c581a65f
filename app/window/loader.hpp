// SPDX-License-Identifier: MIT
// Reads what the window is asked to open: networks, machines, placements and changes of options. Free
// functions without state, for any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <QString>

#include "app/window/scenario.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/pytorch/example_input.hpp"

namespace placewright {

/// A file to read, or a change of the open scenario.
struct LoadRequest {
    QString file;                       ///< empty: the network that is open
    QString machine;                    ///< empty: the machine in use
    std::optional<JobOptions> options;  ///< nothing: the options in use
    bool isNetwork = false;             ///< read `file` as a network, whatever its content looks like
    ReadOptions reading{};              ///< options for reading `file`
    bool reload = false;                ///< read the files of the open network and machine anew
    std::optional<DeviceId> whole{};    ///< of the open network: device to put all ops on then
};

/// A question that must be answered before a model can be opened.
struct OpenQuestion {
    enum class Kind {
        mayRun,  ///< may the code of a TorchScript model run?
        inputs,  ///< which input tensors does a TorchScript model take?
        extent   ///< what is the size of an extent that an ONNX model leaves open?
    };
    QString file;
    Kind kind = Kind::inputs;
    QString reason;                        ///< why the question is asked, as a sentence
    QString extent{};                      ///< name of the extent
    std::vector<ExampleInput> proposal{};  ///< inputs of usual sizes, if the model implies them
};

/// Result of a request: a scenario (without a problem if no network is open), a placement for the scenario in
/// use, or a question that the file leaves open.
struct Reading {
    std::shared_ptr<const Scenario> scenario;
    bool sameNetwork = false;  ///< the open network on another machine or with other options
    std::optional<Placement> placement;
    std::vector<std::string> notes{};  ///< how the placement was read
    std::optional<OpenQuestion> question{};
    /// Why the open network's rules do not allow the request, and the rules without those that must go.
    struct BrokenRules {
        QString reason;
        std::size_t count = 0;  ///< of rules that must go
        Constraints others;
    };
    std::optional<BrokenRules> brokenRules{};
    double score_s = 0;  ///< penalised objective value of the placement
};

/// Carries out a request; `open` is the open scenario, without a problem before a network is open. Throws
/// InputError and other std::exception with a message for the user.
Reading read(const LoadRequest& request, const Scenario& open, const std::stop_token& stop);

/// The effect that other options would have on the current placement, or the reason why they cannot be used.
struct OptionsPreview {
    QString error;
    std::vector<std::string> notes{};  ///< what the supplements contributed
    std::optional<Outcome> outcome;
    double samples_per_s = 0;  ///< with a full pipeline, where that has a step time; 0: unknown
    double tokens_per_s = 0;   ///< of a language model, in place of samples
    std::size_t moved = 0;     ///< number of ops that would move to the device of most of their group
    const Objective* objective = nullptr;
    Assessment assessment;        ///< with these options
    std::optional<double> now_s;  ///< value with the options in use, if the objective is the same and defined
    QString fullestDevice;
    double fullest_bytes = 0, fullest_limit_bytes = 0;
};

/// Returns the effect of the options on the placement `now` of the open scenario. Throws like read().
OptionsPreview previewOf(const JobOptions& options, const Scenario& open, const Placement& now,
                         const std::stop_token& stop);

}  // namespace placewright
