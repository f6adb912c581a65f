// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cmath>

#include <coin/CbcEventHandler.hpp>
#include <coin/CbcHeuristic.hpp>
#include <coin/CbcHeuristicDiveCoefficient.hpp>
#include <coin/CbcHeuristicFPump.hpp>
#include <coin/CbcHeuristicRINS.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglClique.hpp>
#include <coin/CglFlowCover.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CglProbing.hpp>
#include <coin/CglTwomir.hpp>
#include <coin/CglZeroHalf.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/ClpSolve.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include "core/base/silent_stdout.hpp"
#include "core/bounds/integer_program.hpp"
#include "core/bounds/simplex_events.hpp"

namespace placewright {

struct ProgrammeAccess {
    static void load_into(ClpSimplex& lp, const IntegerProgram& p) {
        std::vector<CoinBigIndex> begin(p.row_begin_.begin(), p.row_begin_.end());
        begin.push_back(static_cast<CoinBigIndex>(p.entry_.size()));
        const CoinPackedMatrix matrix(false, static_cast<int>(p.columns()), static_cast<int>(p.rows()),
                                      begin.back(), p.entry_.data(), p.entry_column_.data(), begin.data(),
                                      nullptr);
        const auto finite = [](std::vector<double> values) {
            for (double& value : values) value = std::clamp(value, -COIN_DBL_MAX, COIN_DBL_MAX);
            return values;
        };
        lp.loadProblem(matrix, finite(p.lower_).data(), finite(p.upper_).data(), p.cost_.data(),
                       finite(p.row_lower_).data(), finite(p.row_upper_).data());
    }

    /// The lower bound on the cost that the dual values `y` [row] prove, whatever they are (Neumaier and
    /// Shcherbina, Safe bounds in linear and mixed-integer linear programming, 2004). The cost that the
    /// solver reports, `value`, may be above the optimum: its tolerances hold for each row and column, after
    /// scaling.
    static double safe_bound(const IntegerProgram& p, const double* y, double value) {
        // A column without a limit is below this, or the cost is above.
        const double most = 2 * std::max(value, 0.0);
        bool is_limited = true;
        std::vector<double> reduced = p.cost_;
        double bound = 0;
        for (std::size_t row = 0; row < p.rows(); ++row) {
            const double limit = y[row] > 0 ? p.row_lower_[row] : p.row_upper_[row];
            if (y[row] == 0 || !std::isfinite(limit)) continue;
            bound += y[row] * limit;
            const auto end =
                row + 1 < p.rows() ? static_cast<std::size_t>(p.row_begin_[row + 1]) : p.entry_.size();
            for (auto i = static_cast<std::size_t>(p.row_begin_[row]); i < end; ++i)
                reduced[static_cast<std::size_t>(p.entry_column_[i])] -= y[row] * p.entry_[i];
        }
        for (std::size_t column = 0; column < p.columns(); ++column) {
            double limit = reduced[column] > 0 ? p.lower_[column] : p.upper_[column];
            if (!std::isfinite(limit)) {
                limit = most;
                is_limited = false;
            }
            bound += reduced[column] * limit;
        }
        return is_limited ? bound : std::min(bound, most);
    }

    static const std::vector<IntegerProgram::Column>& whole(const IntegerProgram& p) { return p.whole_; }
};

namespace {

/// State shared by the event handlers and their copies, which Clp and CBC also make for the smaller programs
/// of heuristics.
struct Watch {
    const IntegerLimits& limits;
    const CbcModel* model = nullptr;  ///< the program itself
    int events = 0, steps = 0;
    double bound = -kNoLimit;
    double reported = kNoLimit;  ///< value of the last solution that was reported
    bool first = true;  ///< the first relaxation is being solved, during which CBC ignores the time limit
    bool ended = false;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

    bool has_ended() {
        const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin;
        ended = ended || limits.stop.stop_requested() || (first && gone.count() > limits.seconds);
        return ended;
    }

    /// Whether to continue. `at_node`: the program itself is between two nodes, otherwise within one.
    bool goes_on(bool at_node) {
        if (has_ended()) return false;
        if (at_node) bound = std::max(bound, std::min(model->getBestPossibleObjValue(), limits.cutoff));
        if (!limits.progress) return true;
        if (++events % limits.events_a_call != 0) return true;
        std::optional<std::span<const double>> found;
        if (at_node && model->bestSolution() != nullptr && model->getObjValue() < reported) {
            reported = model->getObjValue();
            found = std::span(model->bestSolution(), static_cast<std::size_t>(model->getNumCols()));
        }
        ended = !limits.progress(bound, found);
        return !ended;
    }
};

class SimplexWatcher : public SimplexEvents {
public:
    explicit SimplexWatcher(Watch& watch) : watch_(watch) {}

    int event(Event event) override {
        constexpr int kStepsAnEvent = 1000, kGoOn = -1, kStop = 1;
        if (event != endOfIteration) return SimplexEvents::event(event);
        // A thousand steps of a large program take seconds.
        if (watch_.has_ended()) return kStop;
        return ++watch_.steps % kStepsAnEvent != 0 || watch_.goes_on(false) ? kGoOn : kStop;
    }
    ClpEventHandler* clone() const override { return new SimplexWatcher(*this); }

private:
    Watch& watch_;
};

class Watcher : public CbcEventHandler {
public:
    explicit Watcher(Watch& watch) : watch_(watch) {}

    CbcAction event(CbcEvent event) override {
        return watch_.goes_on(event == node && getModel() == watch_.model) ? noAction : stop;
    }

    CbcEventHandler* clone() const override { return new Watcher(*this); }

private:
    Watch& watch_;
};

/// Adds the cuts of the stand-alone CBC: each is tried at the root and kept below only if it helps.
void add_cuts(CbcModel& model) {
    CglProbing probing;
    probing.setUsingObjective(1);
    probing.setMaxPass(1);
    probing.setMaxPassRoot(1);
    probing.setMaxProbe(10);
    probing.setMaxProbeRoot(50);
    probing.setMaxLook(50);
    probing.setMaxLookRoot(200);
    probing.setMaxElements(300);
    probing.setRowCuts(3);
    CglGomory gomory;
    gomory.setLimitAtRoot(1000);
    gomory.setLimit(50);
    CglKnapsackCover knapsack;
    CglClique clique;
    clique.setStarCliqueReport(false);
    clique.setRowCliqueReport(false);
    CglMixedIntegerRounding2 rounding(1, true, 1);
    CglFlowCover flow;
    CglTwomir twomir;
    twomir.setMaxElements(250);
    CglZeroHalf zero_half;
    constexpr int kWhereItHelps = -98;
    model.addCutGenerator(&probing, kWhereItHelps, "Probing");
    model.addCutGenerator(&gomory, kWhereItHelps, "Gomory");
    model.addCutGenerator(&knapsack, kWhereItHelps, "Knapsack");
    model.addCutGenerator(&clique, kWhereItHelps, "Clique");
    model.addCutGenerator(&rounding, kWhereItHelps, "MixedIntegerRounding2");
    model.addCutGenerator(&flow, kWhereItHelps, "FlowCover");
    model.addCutGenerator(&twomir, kWhereItHelps, "TwoMir");
    model.addCutGenerator(&zero_half, kWhereItHelps, "ZeroHalf");
}

void add_heuristics(CbcModel& model) {
    CbcRounding rounding(model);
    CbcHeuristicFPump pump(model);
    pump.setMaximumPasses(20);
    CbcHeuristicDiveCoefficient dive(model);
    CbcHeuristicRINS neighbourhood(model);
    model.addHeuristic(&rounding, "rounding");
    model.addHeuristic(&pump, "feasibility pump");
    model.addHeuristic(&dive, "dive");
    model.addHeuristic(&neighbourhood, "RINS");
}

}  // namespace

std::optional<Relaxation> solve_relaxation(const IntegerProgram& program, double seconds,
                                           std::stop_token stop) {
    // Whatever the level of their logs, the libraries print complaints.
    const SilentStdout silent;
    ClpSimplex lp;
    lp.setLogLevel(0);
    ProgrammeAccess::load_into(lp, program);
    IntegerLimits limits;
    limits.seconds = seconds;
    limits.stop = std::move(stop);
    Watch watch{limits};
    const SimplexWatcher watcher(watch);
    lp.passInEventHandler(&watcher);
    lp.dual();
    if (watch.ended) return {};
    const auto solve_unscaled = [&] {
        lp.scaling(0);
        lp.allSlackBasis();
        lp.dual();
    };
    if (lp.isProvenPrimalInfeasible()) {
        solve_unscaled();
        if (watch.ended) return {};
        if (lp.isProvenPrimalInfeasible()) return Relaxation{kNoLimit, {}};
    }
    if (!lp.isProvenOptimal()) return {};
    const auto bound = [&] {
        return std::min(ProgrammeAccess::safe_bound(program, lp.dualRowSolution(), lp.objectiveValue()),
                        lp.objectiveValue());
    };
    Relaxation relaxation{bound(),
                          {lp.primalColumnSolution(), lp.primalColumnSolution() + program.columns()}};
    constexpr double kTolerance = 1e-7;
    if (lp.objectiveValue() - relaxation.value <= kTolerance * std::abs(lp.objectiveValue()))
        return relaxation;
    // Scaling has stretched the tolerances.
    solve_unscaled();
    if (!watch.ended && lp.isProvenOptimal() && bound() > relaxation.value)
        relaxation = {bound(), {lp.primalColumnSolution(), lp.primalColumnSolution() + program.columns()}};
    return relaxation;
}

IntegerResult solve_integer(const IntegerProgram& program, const IntegerLimits& limits) {
    const SilentStdout silent;
    Watch watch{limits};
    const SimplexWatcher simplex_watcher(watch);
    const Watcher watcher(watch);

    OsiClpSolverInterface solver;
    solver.setLogLevel(0);
    solver.messageHandler()->setLogLevel(0);
    ProgrammeAccess::load_into(*solver.getModelPtr(), program);
    for (const IntegerProgram::Column column : ProgrammeAccess::whole(program)) solver.setInteger(column);
    solver.getModelPtr()->passInEventHandler(&simplex_watcher);
    solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
    // With scaling, values were "proven" that are a thousandth above the optimum, where factors are about
    // 1e-6.
    solver.setHintParam(OsiDoScale, false, OsiHintDo);
    solver.getModelPtr()->scaling(0);
    // Else Clp puts its own handler of SIGINT in place of the program's while it solves; of two solvers at a
    // time, the one that ends last would put back that of the other.
    constexpr int kInterruptHandling = 2, kOff = 1;
    ClpSolve options;
    options.setSpecialOption(kInterruptHandling, kOff);
    solver.setSolveOptions(options);

    CbcModel model(solver);
    watch.model = &model;
    model.setLogLevel(0);
    model.solver()->messageHandler()->setLogLevel(0);
    add_cuts(model);
    add_heuristics(model);
    model.setRandomSeed(1);
    model.setUseElapsedTime(true);
    if (std::isfinite(limits.seconds)) model.setMaximumSeconds(limits.seconds);
    model.setMaximumNodes(limits.nodes);
    model.setMaximumCutPassesAtRoot(100);
    model.setNumberStrong(20);
    model.setNumberBeforeTrust(10);
    model.setCutoffIncrement(1e-9);
    model.passInEventHandler(&watcher);

    IntegerResult result;
    model.initialSolve();
    watch.first = false;
    if (!watch.ended) {
        if (model.isProvenOptimal()) watch.bound = model.getObjValue();
        if (std::isfinite(limits.cutoff)) model.setCutoff(limits.cutoff);
        model.branchAndBound();
        result.finished = !watch.ended && model.status() == 0;
    }
    if (model.bestSolution() != nullptr) {
        result.value = model.getObjValue();
        result.x.assign(model.bestSolution(), model.bestSolution() + program.columns());
    }
    // An interrupted solver may leave invalid values: only bounds that were reported before are valid.
    result.bound = watch.bound;
    if (result.finished) {
        result.bound = result.value;
    } else if (!watch.ended) {
        result.bound = std::max(result.bound, model.getBestPossibleObjValue());
    }
    result.bound = std::min(result.bound, limits.cutoff);
    return result;
}

}  // namespace placewright
