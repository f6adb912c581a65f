// SPDX-License-Identifier: MIT
#pragma once

#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>

namespace placewright {

/// The base of handlers of Clp's events. It mends a defect of the dual simplex method of Clp 1.17: Clp notes
/// that no variable is free or superbasic (nonbasic between its bounds) by their values alone
/// (ClpSimplex::checkBothSolutions), so that it misses a superbasic variable whose value has come to a bound.
/// Without it, the search for a pivot calls feasible programs infeasible, or a failed assertion ends the
/// process (ClpSimplexDual::dualColumn0). This happens where Clp starts from an earlier basis, as CBC does at
/// each node.
class SimplexEvents : public ClpEventHandler {
public:
    int event(Event event) override {
        if (event == endOfFactorization && has_free_variable()) {
            constexpr int kNoneIsFree = 8;
            model_->setMoreSpecialOptions(model_->moreSpecialOptions() & ~kNoneIsFree);
        }
        constexpr int kGoOn = -1;
        return kGoOn;
    }

    ClpEventHandler* clone() const override { return new SimplexEvents(*this); }

private:
    bool has_free_variable() const {
        const int variables = model_->numberRows() + model_->numberColumns();
        for (int variable = 0; variable < variables; ++variable) {
            const ClpSimplex::Status status = model_->getStatus(variable);
            if (status == ClpSimplex::isFree || status == ClpSimplex::superBasic) return true;
        }
        return false;
    }
};

}  // namespace placewright
