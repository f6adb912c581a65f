// SPDX-License-Identifier: MIT
#include "core/measure/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <sched.h>
#include <utility>

#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/measure/host_files.hpp"

namespace placewright {
namespace {

constexpr double kNoisySpread = 0.05, kNoisyShare = 0.05;
constexpr std::size_t kMostReasons = 5;

std::vector<int> usable_cores() {
    std::vector<int> cores;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) cores.push_back(core);
        }
    }
    if (cores.empty()) cores.push_back(0);
    return by_physical_core(cores, "/");
}

/// The step as spans of the simulator's kind.
Trace trace_of(const Problem& problem, const ExecutionPlan& plan, const StepRecord& record) {
    Trace trace;
    for (DeviceId device = 0; device < plan.ops.size(); ++device) {
        for (const OpId op : plan.ops[device]) {
            Span span;
            span.resource = device;
            span.op = op;
            span.start_s = record.ops[op].start_s;
            span.end_s = record.ops[op].end_s;
            // It was ready when the last of what it reads was there.
            for (std::uint32_t k = problem.input_begin[op]; k < problem.input_begin[op + 1]; ++k) {
                const OpId producer = problem.producer[problem.input[k]];
                if (plan.device_of[producer] == device)
                    span.queued_s = std::max(span.queued_s, record.ops[producer].end_s);
            }
            span.queued_s = std::min(span.queued_s, span.start_s);
            trace.spans.push_back(span);
        }
    }
    for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
        const PlannedTransfer& transfer = plan.transfers[index];
        Span span;
        span.kind = Span::Kind::transfer;
        span.resource = transfer.channel;
        span.from = transfer.from;
        span.to = transfer.to;
        span.op = transfer.producer;
        span.tensor = transfer.tensors.front();
        span.bytes = transfer.bytes;
        span.queued_s = record.ops[transfer.producer].end_s;
        span.start_s = record.transfers[index].start_s;
        span.end_s = record.transfers[index].end_s;
        trace.spans.push_back(span);
    }
    std::ranges::stable_sort(trace.spans, {}, &Span::end_s);
    return trace;
}

/// Gaps between ops that followed each other on a device and had nothing to wait for in between.
void add_gaps(const Problem& problem, const ExecutionPlan& plan, const StepRecord& record,
              std::vector<double>& gaps) {
    for (DeviceId device = 0; device < plan.ops.size(); ++device) {
        for (std::size_t k = 1; k < plan.ops[device].size(); ++k) {
            const OpId op = plan.ops[device][k], before = plan.ops[device][k - 1];
            bool local = true;
            for (std::uint32_t at = problem.input_begin[op]; at < problem.input_begin[op + 1]; ++at)
                local = local && plan.device_of[problem.producer[problem.input[at]]] == device;
            if (local) gaps.push_back(record.ops[op].start_s - record.ops[before].end_s);
        }
    }
}

}  // namespace

void check_runnable(const Problem& problem) {
    const std::vector<std::string> reasons = measure_module().unsupported(problem);
    if (reasons.empty()) return;
    std::string text = std::to_string(reasons.size()) + (reasons.size() == 1 ? " op" : " ops") +
                       " of network " + in_quotes(problem.graph->name()) + " cannot be run:";
    for (std::size_t k = 0; k < std::min(reasons.size(), kMostReasons); ++k)
        text += (k == 0 ? " " : "; ") + reasons[k];
    if (reasons.size() > kMostReasons)
        text += "; and " + std::to_string(reasons.size() - kMostReasons) + " more";
    throw MeasureError(text);
}

std::vector<PhysicalDevice> physical_devices(const Machine& machine) {
    const int cuda = measure_module().cuda_devices();
    const std::vector<int> cores = usable_cores();
    std::vector<PhysicalDevice> devices;
    int gpus = 0;
    std::size_t next_core = 0;
    for (const Device& device : machine.devices()) {
        if (device.kind == DeviceKind::gpu && gpus < cuda) {
            devices.push_back({PhysicalDevice::Kind::cuda, gpus++});
        } else {
            devices.push_back({PhysicalDevice::Kind::logical_cpu, cores[next_core++ % cores.size()]});
        }
    }
    return devices;
}

std::vector<std::string> device_notes(const Machine& machine, std::span<const PhysicalDevice> devices,
                                      const Path& root) {
    std::vector<std::string> notes;
    std::map<int, int> on_core;
    for (DeviceId device = 0; device < devices.size(); ++device) {
        notes.push_back(machine.device(device).name + " is " + to_string(devices[device]));
        if (devices[device].kind == PhysicalDevice::Kind::logical_cpu) ++on_core[devices[device].index];
    }
    for (const auto& [core, count] : on_core) {
        if (count > 1) {
            notes.push_back("core " + std::to_string(core) + " is shared by " + std::to_string(count) +
                            " devices: ops that run at the same time take longer than alone");
        }
    }
    std::map<std::string, std::vector<std::string>> on_physical_core;
    for (const auto& [core, count] : on_core) {
        const std::string siblings = thread_siblings(core, root);
        if (!siblings.empty()) on_physical_core[siblings].push_back(std::to_string(core));
    }
    for (const auto& [siblings, threads] : on_physical_core) {
        if (threads.size() < 2) continue;
        std::string list = threads.front();
        for (std::size_t k = 1; k < threads.size(); ++k)
            list += (k + 1 < threads.size() ? ", " : " and ") + threads[k];
        notes.push_back("cores " + list +
                        " are hardware threads of one physical core: ops that run on them at the same time "
                        "take longer than alone");
    }
    return notes;
}

Spread spread_of(const std::vector<double>& times_s) {
    if (times_s.empty()) return {};
    return {quantile(times_s, 0.25), quantile(times_s, 0.5), quantile(times_s, 0.75)};
}

std::string Measurement::noise_warning() const {
    if (disturbed > kNoisyShare)
        return "the cores were not free for " + decimals("%.0f", 100 * disturbed) +
               " % of the time of ops; close other programs, and measure again";
    if (step.relative() > kNoisySpread)
        return "the middle half of the steps spans " + decimals("%.0f", 100 * step.relative()) +
               " % of the median; close other programs, or measure more steps";
    return {};
}

std::optional<Measurement> measure(const std::shared_ptr<const Problem>& problem,
                                   std::span<const DeviceId> placement,
                                   std::span<const PhysicalDevice> devices, const MeasureOptions& options,
                                   std::stop_token stop, const MeasureProgress& progress) {
    if (options.steps == 0) throw std::invalid_argument("0 steps are to be measured, expected at least 1");
    if (!options.make_runner) check_runnable(*problem);
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);

    NetworkRunnerOptions runner_options;
    runner_options.seed = options.seed;
    Executor executor(problem, make_execution_plan(problem, placement), devices,
                      options.make_runner
                          ? options.make_runner(problem, placement, devices, runner_options)
                          : measure_module().make_runner(problem, placement, devices, runner_options),
                      {.throttles = options.throttles});
    const ExecutionPlan& plan = executor.plan();

    std::vector<StepRecord> records;
    std::vector<double> times, gaps;
    double busy = 0, processor = 0;
    const std::uint32_t all = options.warm_up + options.steps;
    for (std::uint32_t step = 0; step < all; ++step) {
        StepRecord record;
        if (!executor.run_step(record, stop)) {
            if (options.keeps_steps && !records.empty()) break;
            return std::nullopt;
        }
        if (step >= options.warm_up) {
            times.push_back(record.time_s);
            add_gaps(*problem, plan, record, gaps);
            busy += record.busy_s;
            processor += record.processor_s;
            records.push_back(std::move(record));
            if (options.step_told) options.step_told(times.back());
        }
        if (progress) progress(step + 1, all);
    }

    Measurement result;
    result.step = spread_of(times);
    result.op_time_s.resize(problem->ops);
    std::vector<double> values(records.size());
    const auto spread = [&](auto&& length) {
        for (std::size_t k = 0; k < records.size(); ++k) values[k] = length(records[k]);
        return spread_of(values);
    };
    for (OpId op = 0; op < problem->ops; ++op)
        result.op_time_s[op] =
            spread([&](const StepRecord& record) { return record.ops[op].length_s(); }).median_s;
    for (std::size_t index = 0; index < plan.transfers.size(); ++index) {
        result.transfers.push_back(
            {plan.transfers[index].channel, plan.transfers[index].bytes,
             spread([&](const StepRecord& record) { return record.transfers[index].length_s(); })});
    }
    if (!gaps.empty()) result.overhead_s = spread_of(gaps).median_s;
    if (busy > 0) result.disturbed = std::max(0.0, 1 - processor / busy);

    const auto middle = std::ranges::min_element(records, {}, [&](const StepRecord& record) {
        return std::abs(record.time_s - result.step.median_s);
    });
    result.run.name =
        "benchmark of " + std::to_string(times.size()) + (times.size() == 1 ? " step" : " steps");
    result.run.placement.assign(placement.begin(), placement.end());
    result.run.trace = trace_of(*problem, plan, *middle);
    result.run.step_times_s = std::move(times);
    result.run.peak_bytes.resize(problem->devices);
    for (const StepRecord& record : records) {
        for (DeviceId device = 0; device < problem->devices; ++device)
            result.run.peak_bytes[device] =
                std::max(result.run.peak_bytes[device], record.peak_bytes[device]);
    }
    for (DeviceId device = 0; device < problem->devices; ++device)
        result.fits = result.fits && result.run.peak_bytes[device] <= problem->memory_limit_bytes[device];
    result.cores_for_accelerators = std::ranges::any_of(placement, [&](DeviceId device) {
        return problem->machine->device(device).kind != DeviceKind::cpu &&
               devices[device].kind == PhysicalDevice::Kind::logical_cpu;
    });
    return result;
}

}  // namespace placewright
