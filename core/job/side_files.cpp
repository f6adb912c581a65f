// SPDX-License-Identifier: MIT
#include "core/job/side_files.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "core/base/path.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/state/safetensors.hpp"
#include "core/io/traces/op_times.hpp"
#include "core/machine/device_model.hpp"

namespace placewright {
namespace {

/// Returns the model of the machine's GPUs (with `of_cpu`: of its CPUs), or of its other devices if it has
/// none of these; empty if the models differ.
std::string only_model(const Machine& machine, bool of_cpu) {
    const auto is_wanted = [&](const Device& device) { return (device.kind == DeviceKind::cpu) == of_cpu; };
    const bool has_some = std::ranges::any_of(machine.devices(), is_wanted);
    std::string model;
    for (const Device& device : machine.devices()) {
        if (has_some && !is_wanted(device)) continue;
        if (!model.empty() && device.model != model) return {};
        model = device.model;
    }
    return model;
}

/// Returns a warning if times were measured on a CPU but are used for devices of another kind; otherwise
/// empty.
std::string cpu_times_text(const OpTimes& times, const Machine& machine, const std::string& model) {
    if (!times.only_cpu || model.empty()) return {};
    const auto device = std::ranges::find_if(
        machine.devices(), [&](const Device& candidate) { return is_called(candidate, model); });
    if (device == machine.devices().end() || device->kind == DeviceKind::cpu) return {};
    return "the trace has no GPU kernels: its times were measured on a CPU, but are used for " +
           printable(model, 80) + "; record on the GPU (ProfilerActivity.CUDA)";
}

/// Returns "3 parameters have another size in the file than in the network, ...": they belong to other
/// weights or have another number type.
std::string resized_text(const std::vector<SizedGraph::Resized>& resized) {
    const SizedGraph::Resized& first = resized.front();
    // Number types have one to eight bytes; a file may contain several types.
    const bool of_a_type = std::ranges::all_of(resized, [](const SizedGraph::Resized& each) {
        return std::ranges::any_of(std::array{2, 4, 8}, [&](std::int64_t ratio) {
            return each.to == ratio * each.from || ratio * each.to == each.from;
        });
    });
    const auto bytes = [](std::int64_t count) { return format_bytes(static_cast<double>(count)); };
    return std::to_string(resized.size()) + (resized.size() == 1 ? " parameter has" : " parameters have") +
           " another size in the file than in the network, such as " + printable(first.name, 200) + " (" +
           bytes(first.to) + ", not " + bytes(first.from) + "): " +
           (of_a_type ? "its numbers have another type" : "these may be the weights of another network") +
           "; the sizes in the file are used";
}

}  // namespace

Supplied sized(const Graph& graph, const Path& file) {
    constexpr std::size_t kNamed = 5;
    SizedGraph sized = with_parameter_sizes(graph, read_parameter_sizes(file));
    if (sized.matched == 0)
        throw InputError(
            file.string(), "",
            sized.missing.empty()
                ? "the network " + graph.name() + " has no parameters that its tensors could belong to"
                : "none of its tensors has the name of a parameter of the network " + graph.name() +
                      ", such as " + in_quotes(sized.missing.front()) +
                      (sized.unmatched.empty()
                           ? ""
                           : "; it has " + in_quotes(sized.unmatched.front()) + ", for example"));
    Supplied supplied{std::move(sized.graph), {}};
    const auto report = [&](const std::vector<std::string>& names, const std::string& what) {
        if (names.empty()) return;
        std::string text = std::to_string(names.size()) + ' ' + what + ": ";
        for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
            text += (i > 0 ? ", " : "") + printable(names[i], 200);
        supplied.report.push_back(text + (names.size() > kNamed ? ", ..." : ""));
    };
    report(sized.unmatched, "tensors belong to no op");
    report(sized.missing, "parameters of the network are not in the file");
    if (!sized.resized.empty()) supplied.report.push_back(resized_text(sized.resized));
    return supplied;
}

Supplied timed(const Graph& graph, Supplements::Times& times, const Machine* machine, std::stop_token stop) {
    const TraceFile trace = read_trace(times.trace, std::move(stop));
    OpTimes found = op_times(trace, graph, times.model);
    if (found.by_op.empty() && found.without_model > 0) {
        std::string model = machine != nullptr ? only_model(*machine, found.only_cpu) : std::string();
        if (model.empty()) throw ModelNeeded(times.trace);
        found = op_times(trace, graph, model);
        times.model = std::move(model);
    }
    if (found.by_op.empty())
        throw InputError(times.trace.string(), "",
                         "no event has the name of an op of " + graph.name() + ", such as " +
                             in_quotes(graph.op(static_cast<OpId>(graph.size() - 1)).name) +
                             ", or of a module: record modules by name (torch.profiler.record_function), as "
                             "placewright.benchmark does");
    Supplied supplied{with_times(graph, found), trace.report()};
    supplied.report.push_back(found.report(graph));
    if (machine == nullptr) return supplied;
    supplied.warning = cpu_times_text(found, *machine, times.model);
    const auto cpu = std::ranges::find(machine->devices(), DeviceKind::cpu, &Device::kind);
    if (!supplied.warning.empty() && cpu != machine->devices().end())
        supplied.cpu_model = printable(cpu->model, 80);
    return supplied;
}

std::string unknown_model_text(const Machine& machine, const std::string& name, const std::string& model) {
    std::string models;
    std::set<std::string> seen;
    for (const Device& device : machine.devices()) {
        if (is_called(device, model)) return {};
        if (seen.insert(device.model).second) models += (models.empty() ? "" : ", ") + device.model;
    }
    return "no device of " + name + " has the model \"" + model + "\"; its models are " + models;
}

std::vector<std::string> supplement(NetworkFile& network, Supplements& supplements, const Machine& machine,
                                    std::stop_token stop) {
    std::vector<std::string> notes;
    const auto take = [&](const Path& file, Supplied supplied) {
        network.graph = std::move(supplied.graph);
        std::string note;
        for (const std::string& line : supplied.report) note += (note.empty() ? "" : "; ") + line;
        if (!note.empty()) notes.push_back(file.filename().string() + ": " + note);
    };
    if (!supplements.parameters.empty())
        take(supplements.parameters, sized(network.graph, supplements.parameters));
    for (Supplements::Times& times : supplements.times) {
        Supplied supplied = timed(network.graph, times, &machine, stop);
        if (!supplied.warning.empty()) {
            if (!supplied.cpu_model.empty())
                supplied.warning += ", or give the times to a CPU (" + supplied.cpu_model + ')';
            supplied.report.push_back("warning: " + supplied.warning);
        }
        if (const std::string unknown =
                times.model.empty() ? "" : unknown_model_text(machine, machine.name(), times.model);
            !unknown.empty())
            supplied.report.push_back("warning: the times have no effect: " + unknown);
        take(times.trace, std::move(supplied));
    }
    return notes;
}

}  // namespace placewright
