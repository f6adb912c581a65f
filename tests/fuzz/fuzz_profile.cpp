// SPDX-License-Identifier: MIT
// Archives of measured times: read, merged, and used by a network on a machine.
#include <map>

#include "core/cost/problem.hpp"
#include "core/cost/profile_archive.hpp"
#include "core/graph/networks.hpp"
#include "core/io/state/profile_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

const Graph& small_network() {
    static const Graph network = find_network("alexnet")->build(1);
    return network;
}

}  // namespace

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    static const Machine machine = test::uniform_machine(2);
    try {
        ProfileArchive archive = read_profile(file.path());
        archive.merge(ProfileArchive(archive));
        ProblemOptions options;
        options.cost.profile = std::make_shared<const ProfileArchive>(std::move(archive));
        test::problem(small_network(), machine, options);
    } catch (const InputError&) {
        // Invalid input may only be refused with this exception.
    } catch (const GraphError&) {
        // Finite times may have an infinite sum, which load_job() refuses, too.
    } catch (const PlacementError&) {
    }
    return 0;
}

std::vector<std::string> seeds() {
    const auto members = [](const std::map<std::string, std::string>& values) {
        std::string text;
        for (const auto& [name, value] : values) text += (text.empty() ? "\"" : ",\"") + name + "\":" + value;
        return text;
    };
    const Graph& network = small_network();
    std::map<std::string, std::string> ops, updates;  // by signature, which ops may share
    for (OpId op = 0; op < 8; ++op) {
        ops[op_signature(network, op)] = R"({"forward":1e-3,"backward":2e-3,"weight_gradient":5e-4})";
        if (network.op(op).parameter_bytes > 0) updates[update_signature(network.op(op), 1)] = "1e-4";
    }
    const std::string device = R"("test":{"source":"six ops","overhead_s":1e-6,"ops":{)";
    const std::string transfers =
        R"("transfers":[{"from":"test","to":"test","time_s":[[1024,1e-6],[1048576,1e-4]]}])";
    const std::string head = R"({"format":"placewright.profile","version":1,"devices":{)" + device;
    return {head + members(ops) + R"(},"updates":{)" + members(updates) + "}}}," + transfers + '}',
            head + R"(},"updates":{}}},"transfers":[]})"};
}
