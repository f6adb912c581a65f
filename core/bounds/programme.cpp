// SPDX-License-Identifier: MIT
#include "core/bounds/programme.hpp"

#include <algorithm>
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
#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

namespace placewright {

struct ProgrammeAccess {
    static void load_into(ClpSimplex& lp, const Programme& p) {
        std::vector<CoinBigIndex> begin(p.row_begin_.begin(), p.row_begin_.end());
        begin.push_back(static_cast<CoinBigIndex>(p.entry_.size()));
        const CoinPackedMatrix matrix(false, static_cast<int>(p.columns()), static_cast<int>(p.rows()), begin.back(), p.entry_.data(),
                                      p.entry_column_.data(), begin.data(), nullptr);
        const auto finite = [](std::vector<double> values) {
            for (double& value : values) value = std::clamp(value, -COIN_DBL_MAX, COIN_DBL_MAX);
            return values;
        };
        lp.loadProblem(matrix, finite(p.lower_).data(), finite(p.upper_).data(), p.cost_.data(), finite(p.row_lower_).data(),
                       finite(p.row_upper_).data());
    }

    static const std::vector<Programme::Column>& whole(const Programme& p) { return p.whole_; }
};

namespace {

class StopsLp : public ClpEventHandler {
public:
    explicit StopsLp(std::stop_token stop) : stop_(std::move(stop)) {}
    int event(Event event) override { return event == endOfIteration && stop_.stop_requested() ? 1 : -1; }
    ClpEventHandler* clone() const override { return new StopsLp(*this); }

private:
    std::stop_token stop_;
};

/// Shared by the handler that CBC is given and the copies that it makes for the smaller programmes within its heuristics.
struct Watch {
    const IntegerLimits& limits;
    const CbcModel* model = nullptr;  ///< the programme itself
    int next_call = 0;
    double reported = kNoLimit;  ///< value of the last solution that was handed on
};

class Watcher : public CbcEventHandler {
public:
    explicit Watcher(Watch& watch) : watch_(watch) {}

    CbcAction event(CbcEvent event) override {
        const IntegerLimits& limits = watch_.limits;
        if (limits.stop.stop_requested()) return stop;
        if (event != node || getModel() != watch_.model || !limits.progress) return noAction;
        const CbcModel& model = *watch_.model;
        if (model.getNodeCount() < watch_.next_call) return noAction;
        watch_.next_call = model.getNodeCount() + limits.nodes_a_call;
        std::optional<std::span<const double>> found;
        if (model.bestSolution() != nullptr && model.getObjValue() < watch_.reported) {
            watch_.reported = model.getObjValue();
            found = std::span(model.bestSolution(), static_cast<std::size_t>(model.getNumCols()));
        }
        return limits.progress(std::min(model.getBestPossibleObjValue(), limits.cutoff), found) ? noAction : stop;
    }

    CbcEventHandler* clone() const override { return new Watcher(*this); }

private:
    Watch& watch_;
};

/// As the stand-alone program sets them up: each tried at the root, kept below only where it helps.
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

Programme::Column Programme::add_column(double lower, double upper, double cost) {
    lower_.push_back(lower);
    upper_.push_back(upper);
    cost_.push_back(cost);
    return static_cast<Column>(cost_.size() - 1);
}

Programme::Column Programme::add_binary(double cost) {
    whole_.push_back(static_cast<Column>(cost_.size()));
    return add_column(0, 1, cost);
}

void Programme::begin_row(double lower, double upper) {
    row_begin_.push_back(static_cast<int>(entry_.size()));
    row_lower_.push_back(lower);
    row_upper_.push_back(upper);
}

void Programme::add(Column column, double factor) {
    entry_column_.push_back(column);
    entry_.push_back(factor);
}

std::optional<Relaxation> solve_relaxation(const Programme& programme, std::stop_token stop, int max_iterations) {
    ClpSimplex lp;
    lp.setLogLevel(0);
    ProgrammeAccess::load_into(lp, programme);
    const StopsLp handler(stop);
    lp.passInEventHandler(&handler);
    lp.setMaximumIterations(max_iterations);
    lp.dual();
    if (stop.stop_requested()) return {};
    if (lp.isProvenPrimalInfeasible()) return Relaxation{kNoLimit, {}};
    if (!lp.isProvenOptimal()) return {};
    return Relaxation{lp.objectiveValue(), {lp.primalColumnSolution(), lp.primalColumnSolution() + programme.columns()}};
}

IntegerResult solve_integer(const Programme& programme, const IntegerLimits& limits) {
    OsiClpSolverInterface solver;
    solver.setLogLevel(0);
    solver.messageHandler()->setLogLevel(0);
    ProgrammeAccess::load_into(*solver.getModelPtr(), programme);
    for (const Programme::Column column : ProgrammeAccess::whole(programme)) solver.setInteger(column);
    solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);

    CbcModel model(solver);
    model.setLogLevel(0);
    model.solver()->setHintParam(OsiDoReducePrint, true, OsiHintTry);
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
    Watch watch{limits, &model};
    const Watcher watcher(watch);
    model.passInEventHandler(&watcher);

    IntegerResult result;
    model.initialSolve();
    if (limits.stop.stop_requested()) return result;
    if (model.isProvenOptimal()) result.bound = model.getObjValue();
    if (std::isfinite(limits.cutoff)) model.setCutoff(limits.cutoff);
    model.branchAndBound();
    result.finished = model.status() == 0;
    if (model.bestSolution() != nullptr) {
        result.value = model.getObjValue();
        result.x.assign(model.bestSolution(), model.bestSolution() + programme.columns());
    }
    result.bound = result.finished ? result.value : std::max(result.bound, model.getBestPossibleObjValue());
    result.bound = std::min(result.bound, limits.cutoff);
    return result;
}

}  // namespace placewright
