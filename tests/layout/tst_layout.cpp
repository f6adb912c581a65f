// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <functional>
#include <stop_token>
#include <thread>

#include <QRectF>
#include <QTest>

#include "core/base/random.hpp"
#include "core/layout/grid.hpp"
#include "core/layout/layout.hpp"
#include "tests/support/cpu_time.hpp"

using namespace placewright;

namespace {

using Layout = std::function<LayoutResult(const LayoutInput&)>;

LayoutInput nodes(std::size_t count) {
    LayoutInput input;
    Random random(count);
    for (std::size_t i = 0; i < count; ++i) input.nodes.push_back({random.uniform(60, 220), 26});
    return input;
}

LayoutInput chain(std::uint32_t count) {
    LayoutInput input = nodes(count);
    for (std::uint32_t i = 1; i < count; ++i) input.edges.emplace_back(i - 1, i);
    return input;
}

LayoutInput fork_join(std::uint32_t width) {
    LayoutInput input = nodes(width + 2);
    for (std::uint32_t i = 1; i <= width; ++i) {
        input.edges.emplace_back(0, i);
        input.edges.emplace_back(i, width + 1);
    }
    return input;
}

/// Every node reads one to three of the twelve before it.
LayoutInput random_dag(std::uint32_t count, std::uint64_t seed) {
    LayoutInput input = nodes(count);
    Random random(seed);
    for (std::uint32_t i = 1; i < count; ++i) {
        const std::size_t inputs = 1 + random.index(3);
        for (std::size_t k = 0; k < inputs; ++k) {
            input.edges.emplace_back(
                i - 1 - static_cast<std::uint32_t>(random.index(std::min<std::size_t>(i, 12))), i);
        }
    }
    return input;
}

/// A chain forward, a chain back, and each node of the first feeding its mirror image.
LayoutInput training_step(std::uint32_t depth) {
    LayoutInput input = chain(2 * depth);
    for (std::uint32_t i = 0; i + 1 < depth; ++i) input.edges.emplace_back(i, 2 * depth - 1 - i);
    return input;
}

LayoutInput disconnected() {
    LayoutInput input = nodes(40);
    for (std::uint32_t part = 0; part < 3; ++part) {
        for (std::uint32_t i = 1; i < 8; ++i) input.edges.emplace_back(part * 8 + i - 1, part * 8 + i);
    }
    return input;
}

/// Empty if the drawing is in order, else what is wrong with it.
QString fault(const LayoutInput& input, const LayoutResult& result) {
    if (result.centre.size() != input.nodes.size()) return "not every node has a place";
    if (result.bends.size() != input.edges.size()) return "not every edge has a route";
    constexpr double kRounding = 0.51;  // Graphviz rounds sizes to whole points
    const auto inside = [&](double x, double y, double half_width, double half_height) {
        return x - half_width > -kRounding && y - half_height > -kRounding &&
               x + half_width < result.width + kRounding && y + half_height < result.height + kRounding;
    };
    for (std::size_t v = 0; v < input.nodes.size(); ++v) {
        const auto& [x, y] = result.centre[v];
        if (!inside(x, y, input.nodes[v].width / 2, input.nodes[v].height / 2))
            return QString("node %1 leaves the box").arg(v);
    }
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
        const auto [from, to] = input.edges[e];
        const double lower = result.centre[from].y + input.nodes[from].height / 2,
                     upper = result.centre[to].y - input.nodes[to].height / 2;
        if (lower >= upper) return QString("edge %1 -> %2 does not go down").arg(from).arg(to);
        for (const auto& bend : result.bends[e]) {
            if (!inside(bend.x, bend.y, 0, 0))
                return QString("edge %1 -> %2 leaves the box").arg(from).arg(to);
            if (bend.y < lower - kRounding || bend.y > upper + kRounding)
                return QString("edge %1 -> %2 turns back").arg(from).arg(to);
        }
    }
    std::vector<std::size_t> by_place(input.nodes.size());
    for (std::size_t v = 0; v < by_place.size(); ++v) by_place[v] = v;
    std::sort(by_place.begin(), by_place.end(), [&](auto a, auto b) {
        return std::pair(result.centre[a].y, result.centre[a].x) <
               std::pair(result.centre[b].y, result.centre[b].x);
    });
    for (std::size_t i = 1; i < by_place.size(); ++i) {
        const std::size_t a = by_place[i - 1], b = by_place[i];
        const bool one_row = std::abs(result.centre[a].y - result.centre[b].y) <
                             (input.nodes[a].height + input.nodes[b].height) / 2 - kRounding;
        const double distance = result.centre[b].x - result.centre[a].x;
        if (one_row && distance < (input.nodes[a].width + input.nodes[b].width) / 2 - 2 * kRounding) {
            return QString("nodes %1 and %2 overlap").arg(a).arg(b);
        }
    }
    return {};
}

/// Whether the straight pieces of the edge's route cross a node that is not at its ends.
bool runs_through_a_node(const LayoutInput& input, const LayoutResult& result, std::size_t edge) {
    const auto [from, to] = input.edges[edge];
    std::vector<LayoutPoint> line{
        {result.centre[from].x, result.centre[from].y + input.nodes[from].height / 2}};
    line.insert(line.end(), result.bends[edge].begin(), result.bends[edge].end());
    line.push_back({result.centre[to].x, result.centre[to].y - input.nodes[to].height / 2});
    for (std::size_t i = 1; i < line.size(); ++i) {
        for (int step = 0; step <= 20; ++step) {
            const double x = line[i - 1].x + (line[i].x - line[i - 1].x) * step / 20,
                         y = line[i - 1].y + (line[i].y - line[i - 1].y) * step / 20;
            for (std::size_t v = 0; v < input.nodes.size(); ++v) {
                if (v == from || v == to) continue;
                const bool hit = std::abs(x - result.centre[v].x) < input.nodes[v].width / 2 - 1 &&
                                 std::abs(y - result.centre[v].y) < input.nodes[v].height / 2 - 1;
                if (hit) return true;
            }
        }
    }
    return false;
}

}  // namespace

class TestLayout : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void drawsInOrder_data() {
        QTest::addColumn<LayoutInput>("input");
        QTest::newRow("empty") << LayoutInput{};
        QTest::newRow("one node") << nodes(1);
        QTest::newRow("two nodes, no edge") << nodes(2);
        QTest::newRow("chain") << chain(50);
        QTest::newRow("fork and join") << fork_join(12);
        QTest::newRow("disconnected") << disconnected();
        QTest::newRow("one edge twice") << LayoutInput{{{60, 26}, {60, 26}}, {{0, 1}, {0, 1}}};
        QTest::newRow("nodes against the order of the edges")
            << LayoutInput{{{60, 26}, {80, 26}, {70, 26}}, {{2, 1}, {1, 0}, {2, 0}}};
        QTest::newRow("training step") << training_step(25);
        for (std::uint64_t seed = 0; seed < 5; ++seed)
            QTest::addRow("random %d", int(seed)) << random_dag(60, seed);
    }
    void drawsInOrder() {
        QFETCH(LayoutInput, input);
        QCOMPARE(fault(input, dot_layout(input)), QString());
        QCOMPARE(fault(input, layered_layout(input)), QString());
        QCOMPARE(fault(input, layout(input)), QString());
    }

    void picturesFillTheirRoom_data() {
        QTest::addColumn<LayoutInput>("input");
        QTest::addColumn<double>("aspect");
        QTest::addColumn<bool>("right");
        LayoutInput residual = chain(121);
        for (std::uint32_t i = 0; i + 3 < 121; i += 3) residual.edges.emplace_back(i, i + 3);
        for (const bool right : {false, true}) {
            for (const double aspect : {0.4, 1.0, 2.5}) {
                const auto add = [&](const char* name, const LayoutInput& input) {
                    QTest::addRow("%s, %g, %s", name, aspect, right ? "right" : "down")
                        << input << aspect << right;
                };
                add("chain", chain(150));
                add("residual blocks", residual);
                add("deep", chain(3000));
            }
        }
    }
    void picturesFillTheirRoom() {
        QFETCH(LayoutInput, input);
        QFETCH(double, aspect);
        QFETCH(bool, right);
        LayoutRoom room;
        room.direction = right ? LayoutRoom::Direction::right : LayoutRoom::Direction::down;
        const LayoutPicture flat = picture_for(input, room);
        QCOMPARE(flat.strips, std::size_t{1});
        room.aspect = aspect;
        const LayoutPicture picture = picture_for(input, room);
        QVERIFY(picture.strips > 1);
        const auto scale = [&](const LayoutPicture& drawn) {
            return std::min(aspect / drawn.width, 1 / drawn.height);
        };
        QVERIFY2(scale(picture) > 2 * scale(flat), qPrintable(QString::number(scale(picture) / scale(flat))));
        // Half of the room or more is used in each direction.
        const double shape = picture.width / picture.height;
        QVERIFY2(shape > aspect / 2 && shape < aspect * 2, qPrintable(QString::number(shape)));

        const auto half = [&](std::size_t v) {
            return std::pair(input.nodes[v].width / 2, input.nodes[v].height / 2);
        };
        for (std::size_t a = 0; a < input.nodes.size(); ++a) {
            const auto [wide, high] = half(a);
            const LayoutPoint& at = picture.centre[a];
            QVERIFY(at.x - wide > -1e-6 && at.x + wide < picture.width + 1e-6);
            QVERIFY(at.y - high > -1e-6 && at.y + high < picture.height + 1e-6);
            for (std::size_t b = a + 1; b < std::min(input.nodes.size(), a + 400); ++b) {
                const auto [other_wide, other_high] = half(b);
                QVERIFY(std::abs(at.x - picture.centre[b].x) > wide + other_wide - 1e-6 ||
                        std::abs(at.y - picture.centre[b].y) > high + other_high - 1e-6);
            }
        }
        for (std::size_t edge = 0; edge < input.edges.size(); ++edge) {
            const auto [from, to] = input.edges[edge];
            const auto& line = picture.lines[edge];
            // From the side of the source that its strip runs to, to the opposite side of the target.
            const auto port = [&](std::size_t v, bool leaves) {
                const double side = leaves != picture.backwards[v] ? 1 : -1;
                const auto [wide, high] = half(v);
                return right ? LayoutPoint{picture.centre[v].x + side * wide, picture.centre[v].y}
                             : LayoutPoint{picture.centre[v].x, picture.centre[v].y + side * high};
            };
            const auto apart = [](LayoutPoint a, LayoutPoint b) { return std::hypot(a.x - b.x, a.y - b.y); };
            QVERIFY(apart(line.front(), port(from, true)) < 1e-6);
            QVERIFY(apart(line.back(), port(to, false)) < 1e-6);
            for (const LayoutPoint& point : line) {
                QVERIFY(point.x > -1e-6 && point.x < picture.width + 1e-6);
                QVERIFY(point.y > -1e-6 && point.y < picture.height + 1e-6);
            }
        }
        // The same again.
        const LayoutPicture again = picture_for(input, room);
        QCOMPARE(again.centre, picture.centre);
        QCOMPARE(again.lines, picture.lines);
    }

    void oneEdgeThatTurnsTakesLittleRoom() {
        // A chain turns with one edge: nothing is kept free for more of them.
        LayoutRoom room;
        room.aspect = 1;
        const LayoutPicture picture = picture_for(chain(120), room);
        QVERIFY(picture.strips > 3);
        double lowest = picture.height, highest = 0;
        for (const auto& line : picture.lines) {
            for (const LayoutPoint& point : line) {
                lowest = std::min(lowest, point.y);
                highest = std::max(highest, point.y);
            }
        }
        constexpr double kFree = 10;  // less than half of a node
        QVERIFY2(lowest < kFree, qPrintable(QString::number(lowest)));
        QVERIFY2(picture.height - highest < kFree, qPrintable(QString::number(picture.height - highest)));
    }

    void tangledGraphsAreNotFolded() {
        // Each of 30 nodes of the first half feeds its mirror image: every cut would pass many edges.
        LayoutRoom room;
        room.aspect = 8;
        QCOMPARE(picture_for(training_step(60), room).strips, std::size_t{1});
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(picture_for(chain(100), room, stop.get_token()).centre.empty());
        QVERIFY(picture_for({}, room).centre.empty());
    }

    void sameAnswerAgain() {
        const LayoutInput input = random_dag(300, 7);
        for (const Layout& place :
             {Layout(dot_layout), Layout([](const LayoutInput& in) { return layered_layout(in); })}) {
            const LayoutResult a = place(input), b = place(input);
            QCOMPARE(a.centre, b.centre);
            QCOMPARE(a.bends, b.bends);
        }
    }

    void chainsAreStraight() {
        const LayoutInput input = chain(100);
        const auto result = layered_layout(input);
        for (const auto& centre : result.centre) QVERIFY(std::abs(centre.x - result.centre[0].x) < 1e-6);
        QVERIFY(result.width < 221);
    }

    void branchesLieSideBySide() {
        // Four branches of different length between a fork and a join, as in an Inception block.
        LayoutInput input = nodes(12);
        input.edges = {{0, 1}, {0, 2}, {0, 4}, {0, 7}, {2, 3}, {4, 5},  {5, 6},
                       {7, 8}, {1, 9}, {3, 9}, {6, 9}, {8, 9}, {9, 10}, {10, 11}};
        for (const auto& result : {dot_layout(input), layered_layout(input)}) {
            QCOMPARE(fault(input, result), QString());
            for (std::size_t edge = 0; edge < input.edges.size(); ++edge)
                QVERIFY(!runs_through_a_node(input, result, edge));
            for (const std::size_t branch : {2, 4, 7}) QCOMPARE(result.centre[branch].y, result.centre[1].y);
            QCOMPARE(result.centre[3].y, result.centre[8].y);
        }
    }

    void skipEdgesGoRoundNodes() {
        // Residual blocks: the input of every three ops also feeds their sum.
        LayoutInput input = chain(31);
        for (std::uint32_t i = 0; i + 3 < 31; i += 3) input.edges.emplace_back(i, i + 3);
        for (const auto& result : {dot_layout(input), layered_layout(input)}) {
            for (std::size_t edge = 0; edge < input.edges.size(); ++edge) {
                QVERIFY2(!runs_through_a_node(input, result, edge), qPrintable(QString("edge %1").arg(edge)));
            }
        }
    }

    void mainLineIsStraight_data() {
        QTest::addColumn<int>("branches");
        QTest::addColumn<int>("blocks");
        QTest::addColumn<Layout>("place");
        for (const int branches : {2, 3, 4, 5}) {
            QTest::addRow("dot, %d branches", branches) << branches << 12 << Layout(dot_layout);
            QTest::addRow("layered, %d branches", branches)
                << branches << 400 << Layout([](const LayoutInput& input) { return layered_layout(input); });
        }
    }
    /// Blocks of branches of different lengths between joins.
    void mainLineIsStraight() {
        QFETCH(int, branches);
        QFETCH(int, blocks);
        QFETCH(Layout, place);
        LayoutInput input;
        Random random(static_cast<std::uint64_t>(branches));
        const auto add = [&](std::uint32_t after) {
            input.nodes.push_back({random.uniform(60, 220), 26});
            const auto added = static_cast<std::uint32_t>(input.nodes.size() - 1);
            input.edges.emplace_back(after, added);
            return added;
        };
        input.nodes.push_back({100, 26});
        std::vector<std::uint32_t> spine{0};
        for (int i = 0; i < 3; ++i) spine.push_back(add(spine.back()));
        for (int block = 0; block < blocks; ++block) {
            std::vector<std::uint32_t> ends;
            for (int branch = 0; branch < branches; ++branch) {
                std::uint32_t end = spine.back();
                for (std::size_t i = 0, length = 1 + random.index(5); i < length; ++i) end = add(end);
                ends.push_back(end);
            }
            spine.push_back(add(ends.front()));
            for (std::size_t branch = 1; branch < ends.size(); ++branch)
                input.edges.emplace_back(ends[branch], spine.back());
        }
        const auto result = place(input);
        QCOMPARE(fault(input, result), QString());
        for (const auto node : spine) QVERIFY(std::abs(result.centre[node].x - result.centre[0].x) < 1);
        QVERIFY2(result.width < 2 * 260 * branches, qPrintable(QString::number(result.width)));
        if (branches < 3) return;
        // The first block lies about the stem.
        double left = result.width, right = 0;
        for (auto node = spine[3] + 1; node < spine[4]; ++node) {
            left = std::min(left, result.centre[node].x - input.nodes[node].width / 2);
            right = std::max(right, result.centre[node].x + input.nodes[node].width / 2);
        }
        QVERIFY2(std::abs((left + right) / 2 - result.centre[0].x) < 60,
                 qPrintable(QString("%1 to %2 about %3").arg(left).arg(right).arg(result.centre[0].x)));
    }

    void residualBlocksLeaveTheMainLineStraight() {
        // Blocks of three ops; every fourth one has an op in its skip edge.
        LayoutInput input = chain(49);
        std::uint32_t aside = 0;
        for (std::uint32_t i = 0; i + 3 < 49; i += 3) {
            if (i % 12 != 0) {
                input.edges.emplace_back(i, i + 3);
                continue;
            }
            aside = static_cast<std::uint32_t>(input.nodes.size());
            input.nodes.push_back({120, 26});
            input.edges.emplace_back(i, aside);
            input.edges.emplace_back(aside, i + 3);
        }
        for (const auto& result : {dot_layout(input), layered_layout(input)}) {
            QCOMPARE(fault(input, result), QString());
            for (std::size_t v = 0; v < 49; ++v) {
                const double away = std::abs(result.centre[v].x - result.centre[0].x);
                QVERIFY2(away < 10, qPrintable(QString("node %1: %2").arg(v).arg(away)));
            }
        }
    }

    void sourcesStandAboveTheirConsumers() {
        // A constant (20) with its conversion (21) that the last op of a chain reads.
        LayoutInput input = chain(20);
        input.nodes.resize(22, {60, 26});
        input.edges.emplace_back(20, 21);
        input.edges.emplace_back(21, 19);
        const auto result = layered_layout(input);
        QCOMPARE(result.centre[21].y, result.centre[18].y);
        QCOMPARE(result.centre[20].y, result.centre[17].y);
    }

    void partsArePacked() {
        const auto result = layered_layout(nodes(400));
        QVERIFY2(result.width < 20 * 240, qPrintable(QString::number(result.width)));
        QVERIFY2(result.height < 20 * 240, qPrintable(QString::number(result.height)));
        QCOMPARE(fault(nodes(400), result), QString());
    }

    void veryLongEdgesRunBesideTheGraph() {
        LayoutInput input = chain(400);
        input.edges.emplace_back(5, 300);
        const auto result = layered_layout(input);
        QCOMPARE(fault(input, result), QString());
        QCOMPARE(result.bends.back().size(), std::size_t{4});
        QVERIFY(!runs_through_a_node(input, result, input.edges.size() - 1));
    }

    void largeGraphs_data() {
        QTest::addColumn<LayoutInput>("input");
        QTest::addColumn<double>("limit_s");  // far above what it takes, so that a slow machine passes and a
                                              // quadratic step does not
        QTest::newRow("random, 1 000") << random_dag(1000, 1) << 5.0;
        QTest::newRow("random, 20 000") << random_dag(20'000, 2) << 10.0;
        QTest::newRow("training step, 2 000") << training_step(1000) << 5.0;
        QTest::newRow("chain, 20 000") << chain(20'000) << 10.0;
        QTest::newRow("fork and join, 10 000") << fork_join(10'000) << 10.0;
    }
    void largeGraphs() {
        QFETCH(LayoutInput, input);
        QFETCH(double, limit_s);
        const test::CpuTimer timer;
        const auto result = layout(input);
        QVERIFY2(timer.elapsed_s() < limit_s, qPrintable(QString("%1 s").arg(timer.elapsed_s())));
        QCOMPARE(fault(input, result), QString());
    }

    // Three layers of five steps; each cell reads the step before and the layer above; the second layer runs
    // backwards. A chain of two nodes feeds the first layer, and one node reads the end of the last one.
    void recurrentLayersAreATable_data() {
        QTest::addColumn<bool>("right");
        QTest::newRow("time to the right") << true;
        QTest::newRow("time downwards") << false;
    }
    void recurrentLayersAreATable() {
        QFETCH(bool, right);
        constexpr std::uint32_t kLayers = 3, kSteps = 5;
        LayoutInput input;
        std::vector<std::optional<GridCell>> cells;
        const auto add = [&](std::optional<GridCell> cell) {
            input.nodes.push_back({cell ? 30.0 + cell->column : 90.0, 44});
            cells.push_back(cell);
            return static_cast<std::uint32_t>(cells.size() - 1);
        };
        const std::uint32_t words = add({}), table = add({});
        input.edges.emplace_back(words, table);
        std::uint32_t at[kLayers][kSteps];
        for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
            for (std::uint32_t i = 0; i < kSteps; ++i) {
                const std::uint32_t step = layer == 1 ? kSteps - 1 - i : i;
                const std::uint32_t node = at[layer][step] = add(GridCell{layer, step});
                if (i > 0) input.edges.emplace_back(at[layer][layer == 1 ? step + 1 : step - 1], node);
                input.edges.emplace_back(layer > 0 ? at[layer - 1][step] : table, node);
            }
        }
        const std::uint32_t loss = add({});
        input.edges.emplace_back(at[2][kSteps - 1], loss);
        input.edges.emplace_back(at[0][0], at[2][3]);  // past the layer between

        using Direction = LayoutRoom::Direction;
        const GridPicture picture =
            grid_picture(input, cells, {right ? Direction::right : Direction::down, right ? 1.5 : 0.7});
        // In the terms of time to the right.
        const auto along = [&](std::uint32_t node) {
            return right ? picture.centre[node].x : picture.centre[node].y;
        };
        const auto across = [&](std::uint32_t node) {
            return right ? picture.centre[node].y : picture.centre[node].x;
        };
        for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
            for (std::uint32_t step = 0; step < kSteps; ++step) {
                QCOMPARE(along(at[layer][step]), along(at[0][step]));
                QCOMPARE(across(at[layer][step]), across(at[layer][0]));
                if (step > 0) QVERIFY(along(at[layer][step]) > along(at[layer][step - 1]));
                if (layer > 0) QVERIFY(across(at[layer][step]) > across(at[layer - 1][step]));
            }
        }
        QVERIFY(along(words) < along(at[0][0]) && along(table) == along(words));
        QVERIFY(along(loss) > along(at[2][kSteps - 1]) && across(loss) == across(at[2][0]));
        QCOMPARE(picture.rows.size(), std::size_t{kLayers});

        // Nothing overlaps or leaves the picture, and edges begin and end at their nodes, passing no other.
        const auto rect = [&](std::uint32_t node, double margin) {
            const auto& [x, y] = picture.centre[node];
            const double w = input.nodes[node].width / 2 + margin, h = input.nodes[node].height / 2 + margin;
            return QRectF(x - w, y - h, 2 * w, 2 * h);
        };
        for (std::uint32_t a = 0; a < cells.size(); ++a) {
            QVERIFY(QRectF(0, 0, picture.width, picture.height)
                        .adjusted(-1e-6, -1e-6, 1e-6, 1e-6)
                        .contains(rect(a, 0)));
            for (std::uint32_t b = 0; b < a; ++b) QVERIFY(!rect(a, -1e-6).intersects(rect(b, -1e-6)));
        }
        for (std::size_t e = 0; e < input.edges.size(); ++e) {
            const auto& line = picture.lines[e];
            QVERIFY(line.size() >= 2);
            QVERIFY(rect(input.edges[e].first, 1e-6).contains(line.front().x, line.front().y));
            QVERIFY(rect(input.edges[e].second, 1e-6).contains(line.back().x, line.back().y));
            for (std::uint32_t node = 0; node < cells.size(); ++node) {
                if (node == input.edges[e].first || node == input.edges[e].second) continue;
                // What stands beside the table may be crossed by an edge that comes from there.
                if (!cells[node]) continue;
                for (std::size_t k = 0; k + 1 < line.size(); ++k) {
                    for (int part = 0; part <= 20; ++part) {
                        const double share = part / 20.0;
                        QVERIFY(!rect(node, -1).contains(std::lerp(line[k].x, line[k + 1].x, share),
                                                         std::lerp(line[k].y, line[k + 1].y, share)));
                    }
                }
            }
        }
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument,
                                 grid_picture({{{60, 26}}, {{0, 0}}}, {GridCell{}}, {}));
        QCOMPARE(grid_picture({}, {}, {}).width, 0.0);
    }

    void stops() {
        std::stop_source stop;
        stop.request_stop();
        const LayoutInput input = random_dag(200, 3);
        QVERIFY(layered_layout(input, stop.get_token()).centre.empty());
        QVERIFY(layout(input, stop.get_token()).centre.empty());
    }

    void stopsWhileRunning() {
        const LayoutInput input = random_dag(200'000, 4);
        std::stop_source stop;
        LayoutResult result;
        result.width = 1;
        std::thread worker([&] { result = layered_layout(input, stop.get_token()); });
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        stop.request_stop();
        worker.join();
        QCOMPARE(result.width, 0.0);
        QVERIFY(result.centre.empty());
    }

    void threadsMayCallDotAtOnce() {
        const LayoutInput input = random_dag(150, 5);
        const auto expected = dot_layout(input);
        std::vector<LayoutResult> results(4);
        std::vector<std::thread> threads;
        for (auto& result : results) {
            threads.emplace_back([&] {
                for (int i = 0; i < 3; ++i) result = dot_layout(input);
            });
        }
        for (auto& thread : threads) thread.join();
        for (const auto& result : results) QCOMPARE(result.centre, expected.centre);
    }

    void refusesWhatIsNoGraph_data() {
        QTest::addColumn<LayoutInput>("input");
        QTest::newRow("cycle") << LayoutInput{{{60, 26}, {60, 26}, {60, 26}}, {{0, 1}, {1, 2}, {2, 1}}};
        QTest::newRow("loop") << LayoutInput{{{60, 26}}, {{0, 0}}};
        QTest::newRow("unknown node") << LayoutInput{{{60, 26}}, {{0, 1}}};
        QTest::newRow("negative size") << LayoutInput{{{-1, 26}}, {}};
        QTest::newRow("no number") << LayoutInput{{{60, std::numeric_limits<double>::quiet_NaN()}}, {}};
    }
    void refusesWhatIsNoGraph() {
        QFETCH(LayoutInput, input);
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument, layout(input));
        QVERIFY_THROWS_EXCEPTION(std::invalid_argument, layered_layout(input));
    }
};

QTEST_GUILESS_MAIN(TestLayout)

#include "tst_layout.moc"
