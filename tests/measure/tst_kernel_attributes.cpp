// SPDX-License-Identifier: MIT
// Attributes of ops decide what is run; where a file leaves them out, its sizes do.
#include <cmath>
#include <map>

#include <QtTest>

#include "core/measure/measurement.hpp"
#include "tests/support/graphs.hpp"

namespace placewright {
namespace {

using Shape = std::vector<std::int64_t>;
using Attributes = std::map<std::string, std::string>;

struct Line {
    std::string name, kind;
    std::vector<Shape> shapes;  ///< of the outputs
    std::vector<std::string> inputs{};
    std::int64_t parameters = 0;
    double flops = 0;
    Attributes attributes{};
    bool in_place = false;
    DType type = DType::float32;  ///< of the outputs
};

Graph network(const std::vector<Line>& lines, Training training = Training::implicit) {
    GraphBuilder net("lines", 1, training);
    for (const Line& line : lines) {
        Op op;
        op.name = line.name;
        op.kind = line.kind;
        for (const Shape& shape : line.shapes) op.outputs.push_back(make_tensor(shape, line.type));
        op.parameter_bytes = 4 * line.parameters;
        op.flops = line.flops;
        op.attributes = line.attributes;
        op.in_place = line.in_place;
        net.add(std::move(op), line.inputs);
    }
    return net.build();
}

/// One step of a network on one device, or op by op on two devices in turn.
class Step {
public:
    explicit Step(const std::vector<Line>& lines, bool splits = false)
        : problem_(test::problem(network(lines), test::uniform_machine(2))),
          placement_(problem_->groups, 0),
          executor_(make(splits)) {
        StepRecord record;
        if (!executor_.run_step(record)) qFatal("cancelled");
    }

    std::vector<double> output(const std::string& op, std::uint32_t number = 0) {
        const OpId id = *problem_->graph->find(op);
        return executor_.runner().read_tensor(problem_->output_begin[id] + number,
                                              placement_[problem_->grouping.group_of[id]]);
    }
    std::vector<double> gradient(const std::string& op) {
        return executor_.runner().read_gradient(*problem_->forward->find(op));
    }

private:
    Executor make(bool splits) {
        for (std::size_t group = 0; splits && group < placement_.size(); ++group)
            placement_[group] = static_cast<DeviceId>(group % 2);
        const std::vector<PhysicalDevice> devices(problem_->devices);
        NetworkRunnerOptions options;
        options.keeps_values = true;
        return {problem_, make_execution_plan(problem_, placement_), devices,
                measure_module().make_runner(problem_, placement_, devices, options)};
    }

    std::shared_ptr<const Problem> problem_;
    Placement placement_;
    Executor executor_;
};

std::vector<std::string> reasons(const std::vector<Line>& lines) {
    return measure_module().unsupported(*test::problem(network(lines), test::uniform_machine(1)));
}

std::int64_t count(const Shape& shape) {
    std::int64_t result = 1;
    for (const std::int64_t extent : shape) result *= extent;
    return result;
}

/// Place of an element in a tensor of this shape.
std::int64_t place(const Shape& shape, const Shape& at) {
    std::int64_t result = 0;
    for (std::size_t k = 0; k < shape.size(); ++k) {
        if (at[k] < 0 || at[k] >= shape[k]) return -1;
        result = result * shape[k] + at[k];
    }
    return result;
}

/// Where an element of the output comes from in x [4, 6, 6]; a place outside of x: 0.
using Origin = Shape (*)(const Shape& at);

struct Rearrangement {
    const char* name;
    const char* kind;
    Attributes attributes;
    Shape to;
    Origin origin;
};

const Shape kFrom{4, 6, 6};

const std::vector<Rearrangement>& rearrangements() {
    static const std::vector<Rearrangement> all{
        {"x[2]",
         "select",
         {{"dim", "0"}, {"index", "2"}},
         {6, 6},
         [](const Shape& at) {
             return Shape{2, at[0], at[1]};
         }},
        {"x[..., -1], counted from the end",
         "select",
         {{"dim", "-1"}, {"index", "-1"}},
         {4, 6},
         [](const Shape& at) {
             return Shape{at[0], at[1], 5};
         }},
        {"x[:, 3]",
         "select",
         {{"dim", "1"}, {"index", "3"}},
         {4, 6},
         [](const Shape& at) {
             return Shape{at[0], 3, at[1]};
         }},
        {"x[1, :, 4]",
         "select",
         {{"dim", "[0,2]"}, {"index", "[1,4]"}},
         {6},
         [](const Shape& at) {
             return Shape{1, at[0], 4};
         }},
        {"x[:, :, 2:5]",
         "slice",
         {{"dim", "2"}, {"start", "2"}},
         {4, 6, 3},
         [](const Shape& at) {
             return Shape{at[0], at[1], at[2] + 2};
         }},
        {"x[:, 1::2]",
         "slice",
         {{"dim", "1"}, {"start", "1"}, {"step", "2"}},
         {4, 3, 6},
         [](const Shape& at) {
             return Shape{at[0], 1 + 2 * at[1], at[2]};
         }},
        {"x[-2:, :, 3:]",
         "slice",
         {{"dim", "[0,2]"}, {"start", "[-2,3]"}},
         {2, 6, 3},
         [](const Shape& at) {
             return Shape{at[0] + 2, at[1], at[2] + 3};
         }},
        {"x[3, :, 1::2]",
         "select",
         {{"dim", "[0,2]"}, {"start", "[3,1]"}, {"step", "[1,2]"}, {"drops", "[0]"}},
         {6, 3},
         [](const Shape& at) {
             return Shape{3, at[0], 1 + 2 * at[1]};
         }},
        {"narrow",
         "narrow",
         {{"dim", "2"}, {"start", "4"}},
         {4, 6, 2},
         [](const Shape& at) {
             return Shape{at[0], at[1], at[2] + 4};
         }},
        {"permute of equal extents",
         "permute",
         {{"dims", "[2,0,1]"}},
         {6, 4, 6},
         [](const Shape& at) {
             return Shape{at[1], at[2], at[0]};
         }},
        {"transpose of equal extents",
         "transpose",
         {{"dims", "[-1,1]"}},
         {4, 6, 6},
         [](const Shape& at) {
             return Shape{at[0], at[2], at[1]};
         }},
        {"flip",
         "flip",
         {{"dim", "[0,2]"}},
         {4, 6, 6},
         [](const Shape& at) {
             return Shape{3 - at[0], at[1], 5 - at[2]};
         }},
        {"roll",
         "roll",
         {{"dim", "[1,2]"}, {"shifts", "[1,-2]"}},
         {4, 6, 6},
         [](const Shape& at) {
             return Shape{at[0], (at[1] + 5) % 6, (at[2] + 2) % 6};
         }},
        {"roll in a row",
         "roll",
         {{"shifts", "[1]"}},
         {4, 6, 6},
         [](const Shape& at) {
             const std::int64_t from = (place(kFrom, at) + 143) % 144;
             return Shape{from / 36, from / 6 % 6, from % 6};
         }},
        {"pad",
         "pad",
         {{"pad", "[1,2,0,1]"}},
         {4, 7, 9},
         [](const Shape& at) {
             return Shape{at[0], at[1], at[2] - 1};
         }},
        {"reflected",
         "pad",
         {{"pad", "[2,0]"}, {"mode", "\"reflect\""}},
         {4, 6, 8},
         [](const Shape& at) {
             return Shape{at[0], at[1], std::abs(at[2] - 2)};
         }},
    };
    return all;
}

/// An op that is described by its attributes, and by its sizes alone.
struct Known {
    const char* name;
    Shape from;
    Line line;
};

const std::vector<Known>& known_ops() {
    const auto conv = [](const char* kind, Shape to, std::int64_t weights, bool bias, Attributes attributes) {
        const std::int64_t per_output = weights / to[1];
        return Line{"op",
                    kind,
                    {to},
                    {"x"},
                    weights + (bias ? to[1] : 0),
                    2.0 * static_cast<double>(count(to) * per_output),
                    std::move(attributes)};
    };
    const auto pool = [](const char* kind, Shape to, int window, Attributes attributes) {
        return Line{
            "op", kind, {to}, {"x"}, 0, static_cast<double>(count(to) * window), std::move(attributes)};
    };
    static const std::vector<Known> all{
        {"3 x 3",
         {2, 4, 9, 9},
         conv("conv2d", {2, 8, 9, 9}, 8 * 4 * 9, true, {{"kernel", "[3,3]"}, {"padding", "[1,1]"}})},
        {"7 x 7, stride 2",
         {2, 3, 32, 32},
         conv("conv2d", {2, 8, 16, 16}, 8 * 3 * 49, false,
              {{"kernel", "[7,7]"}, {"stride", "[2,2]"}, {"padding", "[3,3]"}})},
        {"11 x 11, stride 4",
         {1, 3, 224, 224},
         conv("conv2d", {1, 4, 55, 55}, 4 * 3 * 121, true,
              {{"kernel", "11"}, {"stride", "4"}, {"padding", "2"}})},
        {"1 x 1, stride 2",
         {2, 4, 8, 8},
         conv("conv2d", {2, 8, 4, 4}, 8 * 4, false, {{"kernel", "[1,1]"}, {"stride", "[2,2]"}})},
        {"stride 2 to one place",
         {2, 4, 2, 2},
         conv("conv2d", {2, 4, 1, 1}, 4 * 4 * 9, false,
              {{"kernel", "[3,3]"}, {"stride", "[2,2]"}, {"padding", "[1,1]"}})},
        {"by channel",
         {2, 16, 8, 8},
         conv("conv2d", {2, 16, 8, 8}, 16 * 9, false,
              {{"kernel", "[3,3]"}, {"padding", "[1,1]"}, {"groups", "16"}})},
        {"by groups",
         {2, 32, 8, 8},
         conv("conv2d", {2, 64, 8, 8}, 64 * 4 * 9, true,
              {{"kernel", "[3,3]"}, {"padding", "[1,1]"}, {"groups", "8"}})},
        {"1 x 7",
         {2, 8, 9, 9},
         conv("conv2d", {2, 8, 9, 9}, 8 * 8 * 7, false, {{"kernel", "[1,7]"}, {"padding", "[0,3]"}})},
        {"cube",
         {1, 4, 4, 6, 6},
         conv("conv3d", {1, 8, 4, 6, 6}, 8 * 4 * 27, false, {{"kernel", "[3,3,3]"}, {"padding", "[1,1,1]"}})},
        {"video",
         {1, 3, 8, 16, 16},
         conv("conv3d", {1, 8, 4, 4, 4}, 8 * 3 * 147, true,
              {{"kernel", "[3,7,7]"}, {"stride", "[2,4,4]"}, {"padding", "[1,3,3]"}})},
        {"one picture",
         {1, 4, 4, 6, 6},
         conv("conv3d", {1, 8, 4, 6, 6}, 8 * 4 * 9, false, {{"kernel", "[1,3,3]"}, {"padding", "[0,1,1]"}})},
        {"several pictures",
         {1, 4, 4, 6, 6},
         conv("conv3d", {1, 8, 4, 6, 6}, 8 * 4 * 3, false, {{"kernel", "[3,1,1]"}, {"padding", "[1,0,0]"}})},
        {"transposed",
         {2, 4, 5, 5},
         Line{"op",
              "conv_transpose2d",
              {{2, 3, 10, 10}},
              {"x"},
              4 * 3 * 4 + 3,
              2.0 * 200 * 12,
              {{"kernel", "[2,2]"}, {"stride", "[2,2]"}, {"padding", "[0,0]"}}}},
        {"transposed, 3 x 3",
         {2, 4, 5, 5},
         Line{"op",
              "conv_transpose2d",
              {{2, 3, 10, 10}},
              {"x"},
              4 * 3 * 9,
              2.0 * 200 * 27,
              {{"kernel", "[3,3]"}, {"stride", "[2,2]"}, {"padding", "[1,1]"}}}},
        {"max pool",
         {2, 4, 9, 9},
         pool("max_pool2d", {2, 4, 5, 5}, 9, {{"kernel", "3"}, {"stride", "2"}, {"padding", "1"}})},
        {"max pool, rounded up",
         {2, 4, 12, 12},
         pool("max_pool2d", {2, 4, 6, 6}, 9, {{"kernel", "3"}, {"stride", "2"}, {"padding", "1"}})},
        {"average pool",
         {2, 4, 6, 9},
         pool("avg_pool2d", {2, 4, 2, 3}, 9, {{"kernel", "3"}, {"stride", "3"}})},
        {"flat pool",
         {1, 2, 8, 6, 6},
         pool("max_pool3d", {1, 2, 8, 3, 3}, 4, {{"kernel", "[1,2,2]"}, {"stride", "[1,2,2]"}})},
        {"heads of 64 features",
         {5, 2, 128},
         Line{"op",
              "multi_head_attention_forward",
              {{5, 2, 128}},
              {"x"},
              4 * 128 * 128 + 4 * 128,
              0,
              {{"heads", "2"}}}},
        {"layer norm",
         {2, 3, 8},
         Line{"op", "layer_norm", {{2, 3, 8}}, {"x"}, 16, 0, {{"normalized_shape", "[8]"}}}},
    };
    return all;
}

}  // namespace

class TestKernelAttributes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void elementsComeFromWhereAttributesSay_data() {
        QTest::addColumn<int>("index");
        for (int k = 0; k < static_cast<int>(rearrangements().size()); ++k)
            QTest::addRow("%s", rearrangements()[static_cast<std::size_t>(k)].name) << k;
    }
    void elementsComeFromWhereAttributesSay() {
        QFETCH(int, index);
        const Rearrangement& each = rearrangements()[static_cast<std::size_t>(index)];
        const std::vector<Line> lines{{"x", "input", {kFrom}},
                                      {"y", each.kind, {each.to}, {"x"}, 0, 0, each.attributes},
                                      {"loss", "mean", {{}}, {"y"}}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step step(lines);
        const std::vector<double> x = step.output("x"), y = step.output("y");
        QCOMPARE(static_cast<std::int64_t>(y.size()), count(each.to));
        for (std::int64_t k = 0; k < count(each.to); ++k) {
            Shape at(each.to.size());
            std::int64_t rest = k;
            for (std::size_t dim = at.size(); dim-- > 0; rest /= each.to[dim]) at[dim] = rest % each.to[dim];
            const std::int64_t from = place(kFrom, each.origin(at));
            QCOMPARE(y[static_cast<std::size_t>(k)], from < 0 ? 0 : x[static_cast<std::size_t>(from)]);
        }
    }

    /// The same numbers as with attributes: the parameters have the same shapes, and therefore the same
    /// random numbers.
    void sizesTellWhatAttributesSay_data() {
        QTest::addColumn<int>("index");
        for (int k = 0; k < static_cast<int>(known_ops().size()); ++k)
            QTest::addRow("%s", known_ops()[static_cast<std::size_t>(k)].name) << k;
    }
    void sizesTellWhatAttributesSay() {
        QFETCH(int, index);
        const Known& each = known_ops()[static_cast<std::size_t>(index)];
        std::vector<Line> lines{{"x", "input", {each.from}}, each.line, {"loss", "mean", {{}}, {"op"}}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step told(lines), split(lines, true);
        lines[1].attributes.clear();
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step found(lines);
        const std::vector<double> expected = told.output("op");
        QCOMPARE(static_cast<std::int64_t>(expected.size()), count(each.line.shapes[0]));
        QCOMPARE(found.output("op"), expected);
        QCOMPARE(split.output("op"), expected);
        QCOMPARE(static_cast<std::int64_t>(told.gradient("op").size()), each.line.parameters);
        QCOMPARE(found.gradient("op"), told.gradient("op"));
        QCOMPARE(split.gradient("op"), told.gradient("op"));
    }

    /// More padding behind the image than before it is that of an op "pad" before a convolution without.
    void paddingMayDifferAtBothEnds() {
        const Attributes window{{"kernel", "[4,3]"}, {"stride", "[2,1]"}};
        const auto lines = [&](const char* pad, const Shape& padded, const char* padding) {
            Attributes attributes = window;
            attributes["padding"] = padding;
            return std::vector<Line>{{"x", "input", {{2, 3, 8, 8}}},
                                     {"pad", "pad", {padded}, {"x"}, 0, 0, {{"pad", pad}}},
                                     {"y", "conv2d", {{2, 4, 4, 8}}, {"pad"}, 4 * 3 * 12, 0, attributes}};
        };
        Step own(lines("[0,0,0,0]", {2, 3, 8, 8}, "[0,0,2,2]")),
            apart(lines("[0,2,0,2]", {2, 3, 10, 10}, "[0,0]"));
        const std::vector<double> y = own.output("y");
        QCOMPARE(y, apart.output("y"));
        QVERIFY(std::ranges::any_of(y, [](double value) { return value != 0; }));
    }

    /// What a transposed convolution pads is cut from its output; output padding is added behind it.
    void transposedPaddingIsCut() {
        const auto lines = [](const Shape& to, const char* padding) {
            return std::vector<Line>{{"x", "input", {{2, 4, 5, 5}}},
                                     {"y",
                                      "conv_transpose2d",
                                      {to},
                                      {"x"},
                                      4 * 3 * 12,
                                      0,
                                      {{"kernel", "[3,4]"}, {"stride", "[2,2]"}, {"padding", padding}}}};
        };
        const Shape whole{2, 3, 11, 12}, part{2, 3, 11, 10};
        Step uncut(lines(whole, "[0,0]")), cut(lines(part, "[1,0,0,2]"));
        const std::vector<double> all = uncut.output("y"), some = cut.output("y");
        QCOMPARE(static_cast<std::int64_t>(some.size()), count(part));
        std::size_t k = 0;
        for (std::int64_t image = 0; image < part[0]; ++image) {
            for (std::int64_t channel = 0; channel < part[1]; ++channel) {
                for (std::int64_t row = 0; row < part[2]; ++row) {
                    for (std::int64_t column = 0; column < part[3]; ++column) {
                        const std::int64_t from = place(whole, {image, channel, row + 1, column});
                        QCOMPARE(some[k++], from < 0 ? 0 : all[static_cast<std::size_t>(from)]);
                    }
                }
            }
        }
        QVERIFY(std::ranges::any_of(some, [](double value) { return value != 0; }));
    }

    /// Equal keys have equal shares, so that what comes out is what one of them would give.
    void attentionMixesValues() {
        constexpr std::int64_t width = 8, packed = 4 * (width * width + width);
        const auto lines = [&](const char* view, const Shape& keys) {
            return std::vector<Line>{{"x", "input", {{1, 2, width}}},
                                     {"keys", view, {keys}, {"x"}},
                                     {"y",
                                      "multi_head_attention_forward",
                                      {{1, 2, width}},
                                      {"x", "keys", "keys"},
                                      packed,
                                      0,
                                      {{"heads", "2"}}}};
        };
        Step one(lines("identity", {1, 2, width})), many(lines("expand", {5, 2, width}));
        const std::vector<double> expected = one.output("y"), found = many.output("y");
        QCOMPARE(found.size(), expected.size());
        for (std::size_t k = 0; k < found.size(); ++k) QVERIFY(std::abs(found[k] - expected[k]) < 1e-5);
    }

    void attentionReadsMasks_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("differs");
        QTest::newRow("of scores") << "scores" << true;
        QTest::newRow("of scores of heads") << "heads" << true;
        QTest::newRow("of keys") << "keys" << true;
        QTest::newRow("of another shape") << "other" << false;
    }
    void attentionReadsMasks() {
        QFETCH(QString, name);
        QFETCH(bool, differs);
        constexpr std::int64_t width = 8, packed = 4 * (width * width + width);
        const std::map<QString, Shape> masks{
            {"scores", {6, 6}}, {"heads", {4, 6, 6}}, {"keys", {2, 6}}, {"other", {3, 3}}};
        std::vector<Line> lines{{"x", "input", {{6, 2, width}}},
                                {"mask", "input", {masks.at(name)}},
                                {"y",
                                 "multi_head_attention_forward",
                                 {{6, 2, width}},
                                 {"x", "x", "x"},
                                 packed,
                                 0,
                                 {{"heads", "2"}}}};
        const std::vector<double> open = Step(lines).output("y");
        lines[2].inputs.push_back("mask");
        const std::vector<double> masked = Step(lines).output("y");
        QCOMPARE(masked.size(), open.size());
        QCOMPARE(masked != open, differs);
        lines[1].type = DType::boolean;  // keys that are taken out
        QCOMPARE(Step(lines).output("y") != open, differs);
        lines[1].type = DType::int64;
        QCOMPARE(Step(lines).output("y"), open);
    }

    /// The projections of a decoder that reads an encoder are parts of one parameter in TorchScript.
    void attentionReadsPartsOfWeights() {
        constexpr std::int64_t width = 8;
        const std::vector<Line> lines{
            {"x", "input", {{6, 2, width}}},
            {"memory", "input", {{4, 2, width}}},
            {"weights",
             "split",
             {{width, width}, {2 * width, width}},
             {},
             3 * width * width,
             0,
             {{"parameters", R"(["w"])"}, {"parameter_bytes", "[768]"}, {"parameter_shapes", "[[24,8]]"}}},
            {"biases",
             "split",
             {{width}, {2 * width}},
             {},
             3 * width,
             0,
             {{"parameters", R"(["b"])"}, {"parameter_bytes", "[96]"}, {"parameter_shapes", "[[24]]"}}},
            {"y",
             "multi_head_attention_forward",
             {{6, 2, width}},
             {"x", "memory", "memory", "weights", "biases", "weights:1", "biases:1"},
             width * width + width,
             0,
             {{"heads", "2"}, {"dropout", "1"}}},
            {"loss", "mean", {{}}, {"y"}}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step whole(lines), split(lines, true);
        QCOMPARE(split.output("y"), whole.output("y"));
        const std::vector<double> gradient = whole.gradient("weights");
        QCOMPARE(gradient.size(), static_cast<std::size_t>(3 * width * width));
        QVERIFY(std::ranges::any_of(gradient, [](double value) { return value != 0; }));
        QCOMPARE(split.gradient("weights"), gradient);
    }

    void weightsMayBeStoredAsColumns() {
        std::vector<Line> lines{{"x", "input", {{2, 3, 4}}},
                                {"w", "parameter", {{4, 5}}, {}, 20},
                                {"y", "linear", {{2, 3, 5}}, {"x", "w"}}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step columns(lines);
        lines[2].kind = "matmul";
        Step product(lines);
        QCOMPARE(columns.output("y"), product.output("y"));
    }

    void equationFollowsFromShapes() {
        const auto lines = [](const char* equation, const Shape& first, const Shape& second, const Shape& to,
                              double flops) {
            Line product{"y", "einsum", {to}, {"a", "b"}, 0, flops};
            if (*equation != '\0') product.attributes = {{"equation", equation}};
            return std::vector<Line>{
                {"a", "input", {first}}, {"b", "input", {second}}, product, {"loss", "mean", {{}}, {"y"}}};
        };
        const Shape q{2, 3, 5, 4}, scores{2, 3, 5, 5};
        Step turned(lines("\"bhik,bhjk->bhij\"", q, q, scores, 0)),
            found_turned(lines("", q, q, scores, 2.0 * 150 * 4));
        QCOMPARE(found_turned.output("y"), turned.output("y"));
        Step plain(lines("\"bhij,bhjk->bhik\"", scores, q, q, 0)), found(lines("", scores, q, q, 0));
        QCOMPARE(found.output("y"), plain.output("y"));
        QVERIFY(turned.output("y") != plain.output("y"));
        const auto refused = reasons(lines("", {2, 7}, {2, 3, 4}, {2, 9}, 0));
        QCOMPARE(refused.size(), std::size_t{1});
        QVERIFY2(refused[0].find("does not give its equation") != std::string::npos, refused[0].c_str());
    }

    /// As in the second version of Swin Transformer: a part of a copied bias is set to zero, and the whole is
    /// read.
    void aChangedPartIsReadAsAWhole() {
        const std::vector<Line> lines{
            {"x", "input", {{2, 4}}},
            {"copy", "clone", {{6}}, {}, 6},
            {"part", "slice", {{2}}, {"copy"}, 0, 0, {{"dim", "0"}, {"start", "2"}}},
            {"zero", "zero", {{2}, {6}}, {"part"}, 0, 0, {}, true},
            {"y", "linear", {{2, 6}}, {"x", "zero:1"}, 24}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step step(lines), split(lines, true);
        QCOMPARE(step.output("zero", 1), std::vector<double>(6));
        QCOMPARE(static_cast<int>(step.output("y").size()), 12);
        QCOMPARE(split.output("y"), step.output("y"));
    }

    /// x[:, 1:, 2] = y.
    void anIndexIsWritten() {
        const std::vector<Line> lines{{"x", "input", {{2, 3, 4}}},
                                      {"y", "input", {{2, 2}}},
                                      {"put",
                                       "index_put",
                                       {{2, 3, 4}},
                                       {"x", "y"},
                                       0,
                                       0,
                                       {{"dim", "[1,2]"}, {"start", "[1,2]"}, {"drops", "[2]"}}}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step step(lines);
        std::vector<double> expected = step.output("x");
        const std::vector<double> y = step.output("y");
        for (std::size_t sample = 0; sample < 2; ++sample) {
            for (std::size_t row = 0; row < 2; ++row)
                expected[sample * 12 + (row + 1) * 4 + 2] = y[sample * 2 + row];
        }
        QCOMPARE(step.output("put"), expected);
    }

    /// A parameter that is repeated along the positions of all pictures, and one that is repeated as a whole.
    void parametersAreRepeated() {
        const std::vector<Line> lines{{"r", "repeat", {{12, 4}}, {}, 3 * 4},
                                      {"y", "add", {{12, 4}}, {"r"}, 4 * 4},
                                      {"c", "cat", {{13, 4}}, {"y"}, 4},
                                      {"loss", "mean", {{}}, {"c"}}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step step(lines);
        const std::vector<double> r = step.output("r"), y = step.output("y");
        for (std::size_t k = 0; k < 12; ++k) QCOMPARE(r[k], r[k + 12]);
        for (std::size_t k = 0; k < 16; ++k)
            QVERIFY(std::abs((y[k] - r[k]) - (y[k + 16] - r[k + 16])) < 1e-6);
        // The mean of 52 numbers, of which each of 16 and of 12 parameters has a share.
        for (const double gradient : step.gradient("y")) QVERIFY(std::abs(gradient - 3.0 / 52) < 1e-6);
        for (const double gradient : step.gradient("r")) QVERIFY(std::abs(gradient - 4.0 / 52) < 1e-6);
    }

    /// "y[:2] = x" is a copy that changes the whole of which its output is a part.
    void aCopyIntoAPartChangesTheWhole() {
        const std::vector<Line> lines{{"x", "input", {{2, 3}}},
                                      {"y", "clone", {{2, 3}, {4, 3}}, {"x"}, 0, 0, {}, true},
                                      {"z", "relu", {{4, 3}}, {"y:1"}}};
        QCOMPARE(reasons(lines), std::vector<std::string>{});
        Step step(lines);
        std::vector<double> expected = step.output("x");
        expected.resize(12);
        QCOMPARE(step.output("y", 1), expected);
    }

    void whatDoesNotFitIsRefused() {
        const auto refusal = [](Line line) {
            line.name = "op";
            line.inputs = {"x"};
            const auto found = reasons({{"x", "input", {{2, 96, 8}}}, line});
            return found.empty() ? std::string() : found[0];
        };
        const auto says = [](const std::string& text, const char* words) {
            if (text.find(words) == std::string::npos) qWarning("%s", text.c_str());
            return text.find(words) != std::string::npos;
        };
        QVERIFY(says(refusal({"", "conv1d", {{2, 4, 8}}, {}, 5}), "does not give its window"));
        QVERIFY(says(refusal({"",
                              "conv1d",
                              {{2, 4, 6}},
                              {},
                              4 * 96 * 5,
                              0,
                              {{"kernel", "5"}, {"stride", "2"}, {"padding", "0"}}}),
                     "a window of [5] with stride [2]"));
        for (const Shape& empty : {Shape{4, 2, 0}, Shape{1, 1, std::int64_t{1} << 40}}) {
            const auto found =
                reasons({{"x", "input", {empty}},
                         {"y", "multi_head_attention_forward", {empty}, {"x"}, 0, 0, {{"heads", "4"}}}});
            QVERIFY(!found.empty());
        }
        QVERIFY(
            !reasons({{"x", "input", {{1, 4, 0, 5}}},
                      {"y", "conv_transpose2d", {{1, 3, 0, 5}}, {"x"}, 4 * 3 * 9, 0, {{"kernel", "[3,3]"}}}})
                 .empty());
        QVERIFY(says(refusal({"", "max_pool1d", {{2, 96, 4}}, {}, 0, 7}), "does not give its window"));
        QVERIFY(says(refusal({"", "multi_head_attention_forward", {{2, 96, 8}}, {}, 4 * 64 + 32}),
                     "does not give its number of heads"));
    }

    /// One line, with at most five ops.
    void manyRefusalsAreOneLine() {
        std::vector<Line> lines;
        for (int k = 0; k < 8; ++k) lines.push_back({"op" + std::to_string(k), "my_secret_op", {{1, 2}}});
        const auto problem = test::problem(network(lines, Training::none), test::uniform_machine(1));
        try {
            measure(problem, Placement(problem->groups, 0), std::vector<PhysicalDevice>(1), {});
            QFAIL("it was run");
        } catch (const MeasureError& error) {
            const std::string text = error.what();
            QCOMPARE(text.find('\n'), std::string::npos);
            QVERIFY2(
                text.starts_with("8 ops of network \"lines\" cannot be run: op \"op0\" (my_secret_op): "),
                text.c_str());
            QVERIFY2(text.find("op4") != std::string::npos && text.find("op5") == std::string::npos,
                     text.c_str());
            QVERIFY2(text.ends_with("; and 3 more"), text.c_str());
        }
    }
};

}  // namespace placewright

QTEST_GUILESS_MAIN(placewright::TestKernelAttributes)
#include "tst_kernel_attributes.moc"
