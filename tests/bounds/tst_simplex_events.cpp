// SPDX-License-Identifier: MIT
#include <QtTest>
#include <coin/CoinPackedMatrix.hpp>

#include "core/bounds/simplex_events.hpp"

namespace placewright {

class TestSimplexEvents : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void superbasicVariableAtABoundIsNoted();
};

/// Minimise x + 2 y with x + y >= 1 and both in [0, 2]; then x may only be 0. Clp alone calls that infeasible
/// where nonbasic variables are marked as superbasic, as after an interrupted primal simplex method.
void TestSimplexEvents::superbasicVariableAtABoundIsNoted() {
    const int rows[] = {0, 0}, columns[] = {0, 1};
    const double entries[] = {1, 1}, lower[] = {0, 0}, upper[] = {2, 2}, cost[] = {1, 2};
    const double row_lower[] = {1}, row_upper[] = {COIN_DBL_MAX};
    ClpSimplex lp;
    lp.setLogLevel(0);
    lp.loadProblem(CoinPackedMatrix(false, rows, columns, entries, 2), lower, upper, cost, row_lower,
                   row_upper);
    const SimplexEvents events;
    lp.passInEventHandler(&events);
    constexpr int kKeepForNext = 7;  // as CBC does
    lp.dual(0, kKeepForNext);
    QVERIFY(lp.isProvenOptimal());
    QCOMPARE(lp.objectiveValue(), 1.0);

    for (int variable = 0; variable < lp.numberRows() + lp.numberColumns(); ++variable) {
        if (lp.getStatus(variable) != ClpSimplex::basic) lp.setStatus(variable, ClpSimplex::superBasic);
    }
    lp.setColumnUpper(0, 0);
    lp.dual(0, kKeepForNext);
    QVERIFY(lp.isProvenOptimal());
    QCOMPARE(lp.objectiveValue(), 2.0);
}

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestSimplexEvents)
#include "tst_simplex_events.moc"
