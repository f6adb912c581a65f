// SPDX-License-Identifier: MIT
#include "core/measure/executor.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <ctime>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/prctl.h>

namespace placewright {
namespace {

using Clock = std::chrono::steady_clock;

double thread_processor_s() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Keeps the thread on a core, if the process may use it.
void pin_to_core(int core) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        !CPU_ISSET(static_cast<std::size_t>(core), &allowed))
        return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(core), &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

void name_thread(const std::string& name) {
    // At most 15 characters.
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace

struct Executor::State {
    State(std::shared_ptr<const Problem> the_problem, ExecutionPlan the_plan,
          std::span<const PhysicalDevice> the_devices, std::unique_ptr<NetworkRunner> the_runner,
          const ExecutorOptions& the_options)
        : problem(std::move(the_problem)),
          plan(std::move(the_plan)),
          devices(the_devices.begin(), the_devices.end()),
          runner(std::move(the_runner)),
          options(the_options),
          op_waits(problem->ops),
          transfer_waits(plan.transfers.size()),
          readers_left(plan.held.size()),
          in_use(plan.channel_transfers.size()),
          processor_s(problem->devices),
          busy_s(problem->devices),
          channel_processor_s(plan.channel_transfers.size()),
          shares_core(cores_shared()) {}

    /// [device]: whether another device with ops is on the same core.
    std::vector<bool> cores_shared() const {
        std::map<int, int> on_core;
        const auto counts = [&](DeviceId device) {
            return devices[device].kind == PhysicalDevice::Kind::logical_cpu && !plan.ops[device].empty();
        };
        for (DeviceId device = 0; device < devices.size(); ++device) {
            if (counts(device)) ++on_core[devices[device].index];
        }
        std::vector<bool> shared(devices.size());
        for (DeviceId device = 0; device < devices.size(); ++device)
            shared[device] = counts(device) && on_core[devices[device].index] > 1;
        return shared;
    }

    // --- threads ---

    void start_threads() {
        std::size_t count = problem->devices;
        for (const auto& transfers : plan.channel_transfers) count += transfers.empty() ? 0 : 1;
        phase.emplace(static_cast<std::ptrdiff_t>(count) + 1);
        threads.reserve(count);
        try {
            for (DeviceId device = 0; device < problem->devices; ++device)
                threads.emplace_back([this, device] { work(device); });
            for (ChannelId channel = 0; channel < plan.channel_transfers.size(); ++channel) {
                if (!plan.channel_transfers[channel].empty())
                    threads.emplace_back([this, channel] { carry(channel); });
            }
        } catch (const std::system_error& error) {
            const std::scoped_lock lock(failure_mutex);
            failure = std::make_exception_ptr(
                MeasureError("only " + std::to_string(threads.size()) + " of " + std::to_string(count) +
                             " threads, one a device and one a channel, can be started (" + error.what() +
                             "); close other programs, or raise the limits of threads and memory (ulimit -u, "
                             "ulimit -v)"));
        }
        // Those that were not started pass no barrier.
        for (std::size_t missing = threads.size(); missing < count; ++missing) phase->arrive_and_drop();
        phase->arrive_and_wait();
        if (!failure) return;
        end_threads();
        std::rethrow_exception(failure);
    }

    void end_threads() {
        ends = true;
        phase->arrive_and_wait();
    }

    std::unique_ptr<NetworkRunner::Thread> attached_to(DeviceId device) {
        std::unique_ptr<NetworkRunner::Thread> attached;
        guarded([&] { attached = runner->attach(device); });
        phase->arrive_and_wait();
        return attached;
    }

    void work(DeviceId device) {
        name_thread(problem->machine->device(device).name);
        if (devices[device].kind == PhysicalDevice::Kind::logical_cpu) pin_to_core(devices[device].index);
        const auto attached = attached_to(device);
        while (next_step()) {
            const double processor_before = thread_processor_s();
            double busy = 0;
            guarded([&] {
                for (const OpId op : plan.ops[device]) {
                    if (!wait(op_waits[op])) return;
                    Interval& interval = record->ops[op];
                    interval.start_s = now_s();
                    runner->run(op);
                    interval.end_s = now_s();
                    busy += interval.length_s();
                    for (const std::uint32_t transfer : plan.sends[op]) count_down(transfer_waits[transfer]);
                    for (const OpId reader : plan.local_readers[op]) count_down(op_waits[reader]);
                    release(plan.op_reads[op]);
                }
            });
            busy_s[device] = busy;
            processor_s[device] = thread_processor_s() - processor_before;
            phase->arrive_and_wait();
        }
    }

    void carry(ChannelId channel) {
        name_thread(problem->machine->channels()[channel].name);
        prctl(PR_SET_TIMERSLACK, 1UL);  // sleeps end on time
        const auto attached = attached_to(0);
        while (next_step()) {
            const double processor_before = thread_processor_s();
            guarded([&] {
                for (const std::uint32_t index : plan.channel_transfers[channel]) {
                    if (!wait(transfer_waits[index])) return;
                    if (!(options.throttles ? cross_slowly(index) : cross(index))) return;
                    for (const OpId reader : plan.arrivals[index]) count_down(op_waits[reader]);
                    release(plan.transfer_reads[index]);
                }
            });
            channel_processor_s[channel] = thread_processor_s() - processor_before;
            phase->arrive_and_wait();
        }
    }

    bool cross(std::uint32_t index) {
        const PlannedTransfer& transfer = plan.transfers[index];
        Interval& interval = record->transfers[index];
        interval.start_s = now_s();
        for (const TensorId tensor : transfer.tensors) runner->copy(tensor, transfer.to);
        interval.end_s = now_s();
        return true;
    }

    /// Holds the channels of each leg for the time of the leg; the copy is a part of the first. False if the
    /// step is abandoned.
    bool cross_slowly(std::uint32_t index) {
        const PlannedTransfer& transfer = plan.transfers[index];
        Interval& interval = record->transfers[index];
        bool first = true;
        for (const PlannedTransfer::Leg& leg : transfer.legs) {
            // In ascending order, and whoever holds them waits for time alone: no circle.
            std::vector<std::unique_lock<std::mutex>> held;
            held.reserve(leg.channels.size());
            for (const ChannelId channel : leg.channels) held.emplace_back(in_use[channel]);
            const double start_s = now_s();
            if (first) {
                interval.start_s = start_s;
                for (const TensorId tensor : transfer.tensors) runner->copy(tensor, transfer.to);
            }
            first = false;
            if (!sleep_until(start_s + leg.simulated_s)) return false;
            interval.end_s = now_s();  // before the channels are given up
        }
        return true;
    }

    /// Waits for the next step; false at the end.
    bool next_step() {
        phase->arrive_and_wait();
        return !ends;
    }

    /// Runs a thread's part of a step; after an exception all threads end the step.
    template <class Part>
    void guarded(Part&& part) {
        try {
            part();
        } catch (...) {
            {
                const std::scoped_lock lock(failure_mutex);
                if (!failure) failure = std::current_exception();
            }
            abandon();
        }
    }

    // --- waiting ---

    static void count_down(std::atomic<std::int32_t>& waits) {
        if (waits.fetch_sub(1, std::memory_order_acq_rel) == 1) waits.notify_one();
    }

    /// False if the step is abandoned.
    bool wait(std::atomic<std::int32_t>& waits) const {
        for (;;) {
            const std::int32_t left = waits.load(std::memory_order_acquire);
            if (abandoned.load(std::memory_order_acquire)) return false;
            if (left <= 0) return true;
            waits.wait(left, std::memory_order_acquire);
        }
    }

    bool sleep_until(double time_s) const {
        constexpr double kSliceS = 0.05;
        for (;;) {
            const double left = time_s - now_s();
            if (abandoned.load(std::memory_order_acquire)) return false;
            if (left <= 0) return true;
            std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, kSliceS)));
        }
    }

    /// Wakes every thread that waits; the step ends without the rest.
    void abandon() {
        abandoned.store(true, std::memory_order_release);
        for (auto* const list : {&op_waits, &transfer_waits}) {
            for (auto& waits : *list) {
                waits.store(0, std::memory_order_release);
                waits.notify_all();
            }
        }
    }

    void release(const std::vector<std::uint32_t>& reads) {
        for (const std::uint32_t index : reads) {
            if (readers_left[index].fetch_sub(1, std::memory_order_acq_rel) == 1)
                runner->release(plan.held[index].tensor, plan.held[index].device);
        }
    }

    double now_s() const { return std::chrono::duration<double>(Clock::now() - begin).count(); }

    std::shared_ptr<const Problem> problem;
    ExecutionPlan plan;
    std::vector<PhysicalDevice> devices;
    std::unique_ptr<NetworkRunner> runner;
    ExecutorOptions options;

    // Of the step that runs:
    StepRecord* record = nullptr;
    Clock::time_point begin;
    std::vector<std::atomic<std::int32_t>> op_waits, transfer_waits;  ///< what has to happen before
    std::vector<std::atomic<std::int32_t>> readers_left;              ///< [held]
    std::vector<std::mutex> in_use;           ///< [channel]: held by throttled transfers
    std::vector<double> processor_s, busy_s;  ///< [device]
    std::vector<double> channel_processor_s;  ///< [channel]
    std::vector<bool> shares_core;            ///< [device]
    std::atomic<bool> abandoned{false};
    std::mutex failure_mutex;
    std::exception_ptr failure;

    std::uint32_t step = 0;
    bool ends = false;  ///< written before the threads pass the barrier
    /// Passed by all threads and the caller at the start and at the end of a step.
    std::optional<std::barrier<>> phase;
    std::vector<std::jthread> threads;
};

Executor::Executor(std::shared_ptr<const Problem> problem, ExecutionPlan plan,
                   std::span<const PhysicalDevice> devices, std::unique_ptr<NetworkRunner> runner,
                   const ExecutorOptions& options) {
    if (devices.size() != problem->devices)
        throw std::invalid_argument("the machine has " + std::to_string(problem->devices) + " devices, but " +
                                    std::to_string(devices.size()) + " real ones are given");
    state_ =
        std::make_unique<State>(std::move(problem), std::move(plan), devices, std::move(runner), options);
    state_->start_threads();
}

Executor::~Executor() {
    state_->end_threads();
}

bool Executor::run_step(StepRecord& record, std::stop_token stop) {
    State& state = *state_;
    if (state.failure) std::rethrow_exception(state.failure);
    if (stop.stop_requested()) return false;
    record = {};
    record.ops.resize(state.problem->ops);
    record.transfers.resize(state.plan.transfers.size());
    state.record = &record;
    state.runner->start_step(state.step++);
    for (OpId op = 0; op < state.problem->ops; ++op)
        state.op_waits[op] = static_cast<std::int32_t>(state.plan.inputs_awaited[op]);
    for (auto& waits : state.transfer_waits) waits = 1;
    for (std::size_t k = 0; k < state.readers_left.size(); ++k)
        state.readers_left[k] = static_cast<std::int32_t>(state.plan.readers[k]);
    state.abandoned = false;
    {
        const std::stop_callback cancel(stop, [&] { state.abandon(); });
        state.begin = Clock::now();
        state.phase->arrive_and_wait();
        state.phase->arrive_and_wait();
    }
    if (state.failure) std::rethrow_exception(state.failure);
    if (state.abandoned) return false;
    for (const Interval& interval : record.ops) record.time_s = std::max(record.time_s, interval.end_s);
    record.peak_bytes = state.runner->peak_bytes();
    for (DeviceId device = 0; device < state.problem->devices; ++device) {
        if (state.devices[device].kind != PhysicalDevice::Kind::logical_cpu || state.shares_core[device])
            continue;
        record.processor_s += state.processor_s[device];
        record.busy_s += state.busy_s[device];
    }
    // Their threads have no core of their own, so that they take it from those of devices.
    for (const double processor_s : state.channel_processor_s) record.processor_s += processor_s;
    return true;
}

const ExecutionPlan& Executor::plan() const {
    return state_->plan;
}

NetworkRunner& Executor::runner() {
    return *state_->runner;
}

}  // namespace placewright
