// SPDX-License-Identifier: MIT
// Workspaces: what can be read can be written and read again.
#include "core/io/state/workspace_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    is_workspace(file.path());
    workspace_head(file.path());
    Workspace workspace;
    try {
        workspace = read_workspace(file.path());
    } catch (const InputError&) {
        return 0;
    }
    const std::string text = workspace_text(workspace, file.path());
    const MemoryFile again(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    read_workspace(again.path());
    return 0;
}

std::vector<std::string> seeds() {
    const std::string head =
        R"({"format":"placewright.workspace","version":2,"title":"net, 1 ms","closed_by_system":false,)"
        R"("network":{"file":"net.json"},"scenarios":[{"machine":{"name":"2x-v100-pcie"},"options":{"batches":3,"file.profile":"p.json"},"fingerprint":"f",)"
        R"("what_if":{"bandwidth":"0.5 1","memory":"","speed":"2 2"}}],"placement":{"a":"gpu:0"},"shown_run":1,"followed_run":0,)"
        R"("kept":[{"scenario":0,"placement":"0 1","score_s":0.5}],"selection":["a"],"view":{"seed":1,"x":0.5,"t":"b","f":true})";
    const std::string run =
        R"({"id":1,"scenario":0,"algorithm":"post","options":{"n":8},"seed":"18446744073709551615","limit_evaluations":null,"limit_s":null,)"
        R"("starts":["0 0"],"state":"running","failure":"","predicted":false,"start_s":0.5,"evaluations":4,"simulations":3,"elapsed_s":1.5,"lower_bound_s":0)";
    const std::string more =
        R"(,"name":"n","hidden":true,"exhausted":true,"best":[0.25,null,true],"best_placement":"0 1","curve":[[1,0.5,0.25,null,true]],"means":[[1,0.5]],)"
        R"("samples":[[1,0.5,0.25,false]],"sketch":{"first":-3,"counts":"1 0 2","unknown":1},"archive":{"dimensions":[{"title":"d","size":2,"labels":["x","y"]}],"elites":[{"cell":1,"score":[1,1,true],"placement":"1 1"}]},)"
        R"("distribution":{"devices":"0 1","probability":"0.5 0.5 1 0","entropy":0.5,"largest_entropy":0.7,"entropies":[[1,0.5]]},"training":[[1,8,0.9,0.1,0.8,0.6,0,0.001,0.01]])";
    const std::string scores = R"(,"scores":["1 18446744073709551615 0.3 1e9 0"]})";
    const std::string rest =
        R"(,"closed_modules":["m/n"],"pinned":{"scenario":0,"placement":"1 1","name":"A"},"measured":[{"name":"rank0","saved":true,"scenario":0,"trace":"r.json","placement":"0 1","steps_s":"0.1 0.2","peak_bytes":"1 2",)"
        R"("spans":["op 1 3 0 0.1 0.2 0.3 1","transfer 1 3 0 0.1 0.2 0.3 0 1 4 4096"],"memory":["1 0.5 4096"]}],"benchmarks":1,"learned":{"policy":"placeto","planned_updates":9,"file":"p.safetensors","training":[[1,8,0.9,0.1,0.8,0.6,0,0.001,0.01]]}})";
    return {head + R"(,"runs":[]})", head + ",\"runs\":[" + run + scores + "]}",
            head + ",\"runs\":[" + run + more + scores + ']' + rest};
}
