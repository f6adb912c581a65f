// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include <QTest>

#include "core/base/quantile_sketch.hpp"

using namespace placewright;

class TestQuantileSketch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void valuesAreKnownToATwentiethOfAPercent() {
        QuantileSketch sketch;
        std::vector<double> values;
        for (int i = 0; i < 20'000; ++i) values.push_back(0.07 + 1e-6 * ((i * 7919) % 20'000));
        for (const double value : values) sketch.add(value);
        std::ranges::sort(values);
        QCOMPARE(sketch.count(), std::uint64_t{20'000});
        std::uint64_t sum = 0;
        for (const QuantileSketch::Bin& bin : sketch.bins()) {
            QVERIFY(std::abs(bin.value / values[sum + (bin.count - 1) / 2] - 1) < 6e-4);
            sum += bin.count;
        }
        QCOMPARE(sum, std::uint64_t{20'000});
        QVERIFY(sketch.bins().size() < 300);
    }

    void theOrderDoesNotMatter() {
        std::vector<double> values(5'000);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e-4 * static_cast<double>(i + 1);
        QuantileSketch up, down, mixed;
        for (const double value : values) up.add(value);
        std::ranges::reverse(values);
        for (const double value : values) down.add(value);
        for (std::size_t i = 0; i < values.size(); ++i) mixed.add(values[i * 1'237 % values.size()]);
        // The values span a factor of 5000, far more than is kept apart.
        QVERIFY(up.bins() == down.bins());
        QVERIFY(up.bins() == mixed.bins());
    }

    void memoryIsBounded() {
        QuantileSketch sketch;
        for (int i = -3'000; i < 3'000; ++i) sketch.add(std::pow(10, i / 20.0));
        sketch.add(1e-200);
        QVERIFY(sketch.bins().size() <= 4'096);
        QVERIFY(std::abs(sketch.bins().front().value / 1e-200 - 1) < 6e-4);
        const auto bins = sketch.bins();
        QCOMPARE(std::accumulate(bins.begin(), bins.end(), std::uint64_t{0},
                                 [](std::uint64_t sum, const auto& bin) { return sum + bin.count; }),
                 std::uint64_t{6'001});
    }

    void whatHasNoValueIsUnknown() {
        QuantileSketch sketch;
        for (const double value : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN(), 2.0})
            sketch.add(value);
        sketch.add_unknown();
        QCOMPARE(sketch.unknown(), std::uint64_t{5});
        QCOMPARE(sketch.count(), std::uint64_t{6});
        QCOMPARE(sketch.bins().size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TestQuantileSketch)
#include "tst_quantile_sketch.moc"
