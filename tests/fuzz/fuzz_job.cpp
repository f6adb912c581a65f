// SPDX-License-Identifier: MIT
// A network or a machine of a stranger, and all that is shown and written of it.
#include <random>

#include "core/base/random.hpp"
#include "core/io/file_content.hpp"
#include "core/io/placements/placement_formats.hpp"
#include "core/io/text/input_error.hpp"
#include "core/io/traces/chrome_trace.hpp"
#include "core/job/job.hpp"
#include "core/job/report.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;

namespace {

constexpr std::uint32_t kMostOps = 3'000;  // of a step; more take too long

Job load(const Path& file) {
    return file_content(file) == FileContent::machine ? load_job("alexnet", file.string(), {})
                                                      : load_job(file.string(), "2x-v100-pcie", {});
}

/// What the window shows of a placement, and what it exports.
void show(const Job& job, const Placement& placement, const Path& network_file) {
    ReportContext context;
    html_report(job, placement, context);
    Simulator simulator(job.problem, job.simulation);
    Trace trace;
    simulator.run(placement, trace);
    chrome_trace(trace, *job.problem);
    const PlacedNetwork placed{job.problem, placement, job.simulation, {}, network_file};
    for (const PlacementFormat& format : placement_formats()) {
        try {
            format.write(placed);
        } catch (const PlacementError&) {
            // Not every format can express every placement.
        } catch (const InputError&) {
            // Some formats are written into the network's file, which must be of the same.
        }
    }
}

}  // namespace

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    try {
        const Job job = load(file.path());
        if (job.problem->ops > kMostOps) return 0;
        tightest_bound(job);
        Random random(1);
        show(job, job.single_device, file.path());
        show(job, test::random_placement(*job.problem, random), file.path());
    } catch (const InputError&) {
        // Invalid input may only be refused with this exception.
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {
        R"({"format":"placewright.graph","version":1,"name":"g","batch":2,"training":"implicit","ops":[)"
        R"({"name":"m/a","kind":"conv2d","inputs":[],"outputs":[{"shape":[2,3,4,4],"dtype":"float32"}],"parameter_bytes":64,"flops":800,"attributes":{"kernel":[3,3],"parameters":["m.a.weight"],"parameter_bytes":[64]}},)"
        R"({"name":"m/b","kind":"relu","inputs":["m/a:0"],"outputs":[{"shape":[2,3,4,4],"dtype":"float32"}],"parameter_bytes":0,"flops":96},)"
        R"({"name":"n/c","kind":"linear","inputs":["m/b:0"],"outputs":[{"shape":[2,10],"dtype":"float32"}],"parameter_bytes":1920,"flops":1920},)"
        R"({"name":"n/d","kind":"add","inputs":["n/c:0","n/c:0"],"outputs":[{"bytes":80}],"parameter_bytes":0,"flops":20}]})",
        R"({"format":"placewright.machine","version":1,"name":"m","devices":[)"
        R"({"name":"cpu:0","kind":"cpu","model":"c","peak_flops":1e12,"memory_bandwidth":1e10,"memory_bytes":1e11,"efficiency":1},)"
        R"({"name":"gpu:0","kind":"gpu","model":"g","peak_flops":1e13,"memory_bandwidth":1e12,"memory_bytes":1e10,"efficiency":0.5},)"
        R"({"name":"gpu:1","kind":"gpu","model":"g","peak_flops":1e13,"memory_bandwidth":1e12,"memory_bytes":1e10,"efficiency":0.5}],)"
        R"("channels":[{"name":"p","bandwidth":1e10,"latency_s":1e-5,"efficiency":1,"efficiency_by_bytes":[[1,0.5],[10,1]]}],)"
        R"("routes":[{"from":"cpu:0","to":"gpu:0","channels":["p"]},{"from":"gpu:0","to":"cpu:0","channels":["p"]},{"from":"cpu:0","to":"gpu:1","channels":["p"]},)"
        R"({"from":"gpu:1","to":"cpu:0","channels":["p"]},{"from":"gpu:0","to":"gpu:1","channels":["p"]},{"from":"gpu:1","to":"gpu:0","channels":["p"]}]})",
        R"({"layers":{"a":{"parents":[],"type":"Input","tensor":[1,2,2,3]},"b":{"parents":["a"],"type":"Convolution","filter":[3,3,3,4],"strides":[1,1,1,1],"padding":"SAME","device":0}}})",
        R"({"maxFPGAs":2,"maxCPUs":1,"maxSizePerFPGA":100,"nodes":[{"id":1,"cpuLatency":1,"fpgaLatency":0.5,"size":4,"supportedOnFpga":1,"isBackwardNode":0,"colorClass":1},)"
        R"({"id":2,"cpuLatency":1,"fpgaLatency":0.5,"size":4,"supportedOnFpga":1,"isBackwardNode":0}],"edges":[{"sourceId":1,"destId":2,"cost":0.25}]})"};
}
