// SPDX-License-Identifier: MIT
// TorchScript files written by make_torchscript_models.py.
#include <fstream>
#include <set>
#include <zip.h>

#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include "core/base/path.hpp"
#include "core/graph/kinds.hpp"
#include "core/io/networks/network_file.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/torchscript.hpp"
#include "core/io/text/input_error.hpp"

using namespace placewright;

namespace {

Path model(const char* name) {
    return Path(PLACEWRIGHT_TORCHSCRIPT_MODELS) / (std::string(name) + ".pt");
}

ReadOptions example(std::vector<std::string> inputs, std::optional<std::int64_t> batch = {},
                    bool run = false) {
    ReadOptions options(batch);
    for (const std::string& text : inputs) options.inputs.push_back(example_input_from(text));
    options.run = run;
    return options;
}

std::string error_of(const Path& file, const ReadOptions& options = {}) {
    try {
        read_network(file, options);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

/// FLOPs of convolutions and products only, as in published figures.
double product_flops(const Graph& graph) {
    double sum = 0;
    for (const Op& op : graph.ops()) {
        if (kind_info(op.kind).product) sum += op.flops;
    }
    return sum;
}

}  // namespace

class TestTorchScript : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    /// A copy of a model with one member replaced.
    Path changed(const char* name, const std::string& end, const std::function<void(std::string&)>& change) {
        return changed(name, end, "changed", change);
    }
    Path changed(const char* name, const std::string& end, const char* copy,
                 const std::function<void(std::string&)>& change) {
        const Path file = folder_.filePath(copy + QStringLiteral(".pt")).toStdString();
        std::filesystem::copy_file(model(name), file, std::filesystem::copy_options::overwrite_existing);
        const Archive archive(file);
        const Archive::Member* const member = archive.find(end);
        std::string text = archive.text(*member, 1 << 20);
        change(text);
        int code = 0;
        zip_t* const zip = zip_open(file.c_str(), 0, &code);
        zip_file_add(zip, member->name.c_str(), zip_source_buffer(zip, text.data(), text.size(), 0),
                     ZIP_FL_OVERWRITE);
        zip_set_file_compression(zip, static_cast<zip_uint64_t>(member - archive.members().data()),
                                 ZIP_CM_STORE, 0);
        zip_close(zip);
        return file;
    }

    /// A copy of a model with one member renamed.
    Path renamed(const char* name, const std::string& end, const std::string& other) {
        const Path file = folder_.filePath(QStringLiteral("renamed_%1.pt").arg(other.size())).toStdString();
        std::filesystem::copy_file(model(name), file, std::filesystem::copy_options::overwrite_existing);
        const Archive archive(file);
        const Archive::Member* const member = archive.find(end);
        const std::string renamed = member->name.substr(0, member->name.size() - end.size()) + other;
        int code = 0;
        zip_t* const zip = zip_open(file.c_str(), 0, &code);
        zip_file_rename(zip, static_cast<zip_uint64_t>(member - archive.members().data()), renamed.c_str(),
                        0);
        zip_close(zip);
        return file;
    }

private Q_SLOTS:
    void initTestCase() {
        if (!std::filesystem::exists(model("alexnet")))
            QSKIP("there are no models: make_torchscript_models.py needs PyTorch and torchvision");
    }

    // Parameters and billions of multiply-adds from https://pytorch.org/vision/0.14/models.html (there
    // "GFLOPS"); inception_v3 and googlenet without parameters of their auxiliary heads, which are not run.
    // BERT-base with its pooler for 128 tokens and GPT-2 small with its logits for 1024: matrices times
    // tokens, and twice tokens squared times width in each layer.
    void totals_data() {
        QTest::addColumn<QStringList>("inputs");
        QTest::addColumn<qint64>("parameters");
        QTest::addColumn<double>("giga_multiply_adds");
        const QStringList image{"1x3x224x224"};
        QTest::newRow("alexnet") << image << qint64{61'100'840} << 0.7142;
        QTest::newRow("resnet18") << image << qint64{11'689'512} << 1.814;
        QTest::newRow("resnet50") << image << qint64{25'557'032} << 4.0892;
        QTest::newRow("resnet101") << image << qint64{44'549'160} << 7.8014;
        QTest::newRow("resnet152") << image << qint64{60'192'808} << 11.5136;
        QTest::newRow("vgg16") << image << qint64{138'357'544} << 15.470;
        QTest::newRow("inception_v3") << QStringList{"1x3x299x299"} << qint64{23'834'568} << 5.7132;
        QTest::newRow("googlenet") << image << qint64{6'624'904} << 1.498;
        QTest::newRow("densenet121") << image << qint64{7'978'856} << 2.834;
        QTest::newRow("scripted_densenet121") << image << qint64{7'978'856} << 2.834;
        QTest::newRow("scripted_vit") << image << qint64{86'567'656} << 17.56;
        QTest::newRow("swin_t") << image << qint64{28'288'354} << 4.491;
        QTest::newRow("mobilenet_v2") << image << qint64{3'504'872} << 0.301;
        QTest::newRow("bert") << QStringList{"1x128:int64", "1x128:int64"} << qint64{109'482'240} << 11.17;
        QTest::newRow("gpt2") << QStringList{"1x1024:int64"} << qint64{124'439'808} << 145.8;
    }
    void totals() {
        QFETCH(QStringList, inputs);
        QFETCH(qint64, parameters);
        QFETCH(double, giga_multiply_adds);
        std::vector<std::string> texts;
        for (const QString& text : inputs) texts.push_back(text.toStdString());
        const NetworkFile file = read_network(model(QTest::currentDataTag()), example(texts));
        QCOMPARE(placewright::totals(file.graph).parameter_bytes, 4 * parameters);
        const double counted = product_flops(file.graph) / 2e9;
        QVERIFY2(std::abs(counted / giga_multiply_adds - 1) < 0.01, qPrintable(QString::number(counted)));
        QString estimated;
        for (const auto& [op, kind] : file.estimated)
            estimated += QString::fromStdString(op + " (" + kind + ") ");
        QCOMPARE(estimated, QString());
    }

    void opsAreNamedAfterTheirModules() {
        const Graph graph = read_network(model("resnet18"), example({"1x3x64x64"})).graph;
        const Op& conv = graph.op(graph.find("layer1/0/conv1/_convolution").value());
        QCOMPARE(conv.kind, std::string("conv2d"));
        QCOMPARE(conv.scope, std::string("layer1/0/conv1"));
        QCOMPARE(conv.attributes.at("parameters"), std::string(R"(["layer1.0.conv1.weight"])"));
        QCOMPARE(conv.attributes.at("kernel"), std::string("[3,3]"));
        const Op& norm = graph.op(graph.find("layer1/0/bn1/batch_norm").value());
        QCOMPARE(
            norm.attributes.at("parameters"),
            std::string(
                R"(["layer1.0.bn1.weight","layer1.0.bn1.bias","layer1.0.bn1.running_mean","layer1.0.bn1.running_var","layer1.0.bn1.num_batches_tracked"])"));
        QCOMPARE(norm.parameter_bytes, 4 * 128);
        QCOMPARE(norm.resident_bytes, 4 * 128 + 8);
        const Op& relu = graph.op(graph.find("layer1/0/relu/relu").value());
        QVERIFY(relu.in_place);
        QCOMPARE(graph.op(graph.find("maxpool/max_pool2d").value()).flops, 9.0 * 64 * 16 * 16);
        // The block's input joins its convolutions.
        const Op& add = graph.op(graph.find("layer1/0/add").value());
        QCOMPARE(graph.op(add.inputs[1].op).name, std::string("maxpool/max_pool2d"));
    }

    void tiedWeightsAreOneParameter() {
        const Graph graph = read_network(model("gpt2"), example({"1x16:int64"})).graph;
        const OpId table = graph.find("wte/weight").value();
        QCOMPARE(graph.op(table).kind, std::string("parameter"));
        QCOMPARE(graph.consumers(table).size(), 2u);
        QCOMPARE(graph.op(table).attributes.at("parameters"),
                 std::string(R"(["wte.weight","lm_head.weight"])"));
        QCOMPARE(graph.op(table).parameter_bytes, graph.op(table).outputs[0].bytes);
    }

    void scriptedAndTracedModelsAreEqual() {
        const Graph traced = read_network(model("resnet18"), example({"1x3x64x64"})).graph;
        const Graph scripted = read_network(model("scripted_resnet18"), example({"1x3x64x64"})).graph;
        QCOMPARE(product_flops(scripted), product_flops(traced));
        QCOMPARE(placewright::totals(scripted).parameter_bytes, placewright::totals(traced).parameter_bytes);
        std::multiset<std::string> kinds[2];
        for (const Op& op : traced.ops()) kinds[0].insert(op.kind);
        for (const Op& op : scripted.ops()) kinds[1].insert(op.kind);
        QVERIFY(kinds[0] == kinds[1]);
    }

    void sizesNeedNoNumbers() {
        const Graph graph = read_network(model("without_numbers"), example({"4x3x8x8"})).graph;
        QVERIFY(graph.op(graph.find("steps/5/pad").value()).outputs[0].shape ==
                (std::vector<std::int64_t>{4, 3, 10, 10}));
        QVERIFY(graph.op(static_cast<OpId>(graph.size() - 1)).outputs[0].shape ==
                (std::vector<std::int64_t>{4, 3}));
    }

    void distancesWindowsAndBagsNeedNoNumbers() {
        const Graph graph = read_network(model("distances"), example({"2x3x8x8", "4x5:int64"})).graph;
        const auto check = [&](std::string_view kind, const std::vector<std::int64_t>& shape, double flops) {
            const auto op =
                std::ranges::find_if(graph.ops(), [&](const Op& each) { return each.kind == kind; });
            QVERIFY2(op != graph.ops().end(), std::string(kind).c_str());
            QCOMPARE(op->outputs[0].shape.value(), shape);
            QCOMPARE(op->flops, flops);
        };
        check("conv2d", {2, 3, 8, 8}, 2.0 * 2 * 3 * 64 * 27);
        check("im2col", {2, 27, 16}, 0);
        check("col2im", {2, 3, 8, 8}, 2 * 27 * 16);
        check("cdist", {2, 3, 3}, 3 * 18 * 64);
        check("matmul", {}, 2 * 3);
        check("bucketize", {2, 3, 3}, 0);
        check("one_hot", {2, 3, 3, 6}, 0);
        check("isnan", {2, 3, 8, 8}, 0);
        check("logical_not", {2, 3, 8, 8}, 0);
        check("bitwise_or", {2, 3, 8, 8}, 0);
        check("index_select", {2, 3}, 0);        // below the diagonal
        check("embedding_bag", {4, 6}, 20 * 6);  // a sum of five rows of six, four times
    }

    void convolutionsOfConstantsCount() {
        const Graph graph = read_network(model("started"), example({"1x4x8x8"})).graph;
        const auto op = std::ranges::find(graph.ops(), "conv2d", &Op::kind);
        QVERIFY(op != graph.ops().end());
        QCOMPARE(op->flops, 2.0 * 4 * 64 * 2 * 9);
    }

    void numbersOfPythonStayNumbers() {
        for (const bool run : {false, true}) {
            const Graph graph = read_network(model("frequencies"), example({"2x8"}, {}, run)).graph;
            const auto product = std::ranges::find(graph.ops(), "linear", &Op::kind);
            QVERIFY(product != graph.ops().end());
            QCOMPARE(product->outputs[0].bytes, 4 * 2 * 4);
        }
    }

    void allViewsSeeWhatIsWrittenThroughOne() {
        for (const char* name : {"written_through_views", "traced_through_views"}) {
            const Graph graph = read_network(model(name), example({"2x8"})).graph;
            QCOMPARE(placewright::totals(graph).parameter_bytes, 4 * (8 * 8 + 8 + 8 * 4 + 4));
            // The result, created earlier as a view, is that of the last in-place change, after both maps.
            QStringList kinds;
            for (const Op& op : graph.ops()) kinds << QString::fromStdString(op.kind);
            QCOMPARE(kinds.join(' '), QStringLiteral("input linear linear clone mul"));
            for (OpId id = 1; id < graph.size(); ++id) QCOMPARE(graph.op(id).inputs[0].op, id - 1);
        }
    }

    void branchesAndLoopsAreThoseTaken() {
        // Five rows are cut to three, over which a loop runs.
        const Graph graph = read_network(model("by_sizes"), example({"5x2x4"})).graph;
        int products = 0, slices = 0;
        for (const Op& op : graph.ops()) {
            products += op.kind == "linear" ? 1 : 0;
            slices += op.kind == "slice" ? 1 : 0;
            if (op.kind == "linear")
                QCOMPARE(op.outputs[0].shape.value(), (std::vector<std::int64_t>{3, 2, 4}));
            if (op.kind == "lstm")
                QCOMPARE(op.outputs[0].shape.value(), (std::vector<std::int64_t>{3, 2, 12}));
        }
        QCOMPARE(products, 3);
        QCOMPARE(slices, 1);
    }

    void numbersAreNotComputedUnlessAllowed() {
        const std::string error = error_of(model("by_numbers"), example({"3x2x4"}));
        QVERIFY2(
            error.find("which are known only if the model runs; if you trust the file, allow that (--run)") !=
                std::string::npos,
            error.c_str());
        try {
            read_network(model("by_numbers"), example({"3x2x4"}));
        } catch (const ScriptInputError& refused) {
            QVERIFY(refused.remedy() == ScriptError::Remedy::run);
        }
        const Graph run = read_network(model("by_numbers"), example({"3x2x4"}, {}, true)).graph;
        QVERIFY(std::ranges::none_of(
            run.ops(), [](const Op& op) { return op.kind == "relu"; }));  // a sum of zeros is not above zero
    }

    void nothingButTensorsIsTouched() {
        const QTemporaryDir folder;
        const QString before = QDir::currentPath();
        QDir::setCurrent(folder.path());
        for (const bool run : {false, true}) {
            const std::string error = error_of(model("writes"), example({"2x3"}, {}, run));
            QVERIFY2(error.find("aten::save") != std::string::npos &&
                         error.find("which is not allowed while a model is read") != std::string::npos,
                     error.c_str());
        }
        QDir::setCurrent(before);
        QVERIFY(QDir(folder.path()).isEmpty());
    }

    void operatorsOfOtherLibrariesAreNamed() {
        const auto error = error_of(model("boxes"), example({"5x4", "5"}));
        QVERIFY2(
            error.find(
                "Unknown builtin op: torchvision::nms. It belongs to another library; export the model") !=
                std::string::npos,
            error.c_str());
    }

    void loadingWritesNothing_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("refusal");
        const auto path = [](const Path& file) { return QString::fromStdString(file.string()); };
        const auto with_default = [&](const char* name, const std::string& argument) {
            return path(changed("by_sizes", "code/__torch__.py", name, [&](std::string& code) {
                const std::string last = "weight: float=2.)";
                code.replace(code.find(last), last.size(),
                             last.substr(0, last.size() - 1) + ", " + argument + ')');
            }));
        };
        const QString own_code = QStringLiteral("runs code of its own when it is loaded (__setstate__)");
        QTest::newRow("__setstate__") << path(model("writes_when_loaded")) << own_code;
        QTest::newRow("in the second of two archives") << path(model("two_in_one")) << own_code;
        QTest::newRow("in a member in capitals")
            << path(renamed("writes_when_loaded", "code/__torch__.py", "code/__TORCH__.PY")) << own_code;
        QTest::newRow("in a member of a long name") << path(renamed("writes_when_loaded", "code/__torch__.py",
                                                                    "code/" + std::string(600, 'a') + ".py"))
                                                    << QStringLiteral("has too long a name");
        const QString failed = QStringLiteral("LibTorch cannot read it");
        QTest::newRow("default into a file")
            << with_default("mapped",
                            R"(y: Tensor=torch.fill_(torch.from_file("victim", True, 8, dtype=0), 88))")
            << failed;
        QTest::newRow("default instead of a file")
            << with_default("saved", R"(y: NoneType=torch.save("not asked for", "victim"))") << failed;
    }
    void loadingWritesNothing() {
        QFETCH(QString, file);
        QFETCH(QString, refusal);
        const QTemporaryDir folder;
        QFile victim(folder.filePath(QStringLiteral("victim")));
        QVERIFY(victim.open(QIODevice::WriteOnly) && victim.write("important") == 9);
        victim.close();
        const QString before = QDir::currentPath();
        QDir::setCurrent(folder.path());
        const auto refused = error_of(file.toStdString(), example({"3x2x4"}));
        const auto run = error_of(file.toStdString(), example({"3x2x4"}, {}, true));
        QDir::setCurrent(before);
        QVERIFY2(refused.find(refusal.toStdString()) != std::string::npos, refused.c_str());
        QVERIFY2(!run.empty(), run.c_str());
        QVERIFY(victim.open(QIODevice::ReadOnly));
        QCOMPARE(victim.readAll(), QByteArray("important"));
        QCOMPARE(QDir(folder.path()).count(), 3u);  // with . and ..
    }

    void listsAndDictsMayBeChanged() {
        for (const bool run : {false, true}) {
            const Graph graph = read_network(model("collected"), example({"2x4"}, {}, run)).graph;
            std::multiset<std::string> kinds;
            for (const Op& op : graph.ops()) kinds.insert(op.kind);
            QCOMPARE(kinds.count("linear"), std::size_t{3});
            const auto first = std::ranges::find(graph.ops(), "cat", &Op::kind);
            QVERIFY(first != graph.ops().end());
            QCOMPARE(first->inputs.size(), std::size_t{4});
            QCOMPARE(graph.op(static_cast<OpId>(graph.size() - 1)).outputs[0].shape.value(),
                     (std::vector<std::int64_t>{2, 16}));
        }
        const std::string error = error_of(model("collected"), example({"2x5"}));
        QVERIFY2(error.find("expected 4 columns, got 5") != std::string::npos, error.c_str());
    }

    void scriptedEncodersAreRead() {
        const Graph graph = read_network(model("scripted_encoder"), example({"5x2x16"})).graph;
        QCOMPARE(graph.op(static_cast<OpId>(graph.size() - 1)).outputs[0].shape.value(),
                 (std::vector<std::int64_t>{5, 2, 16}));
        QCOMPARE(placewright::totals(graph).parameter_bytes,
                 2 * 4 * (3 * 16 * 16 + 3 * 16 + 16 * 16 + 16 + 2 * 16 * 32 + 32 + 16 + 4 * 16));
    }

    void whatACallChangesStaysWithItsModule() {
        const Graph graph = read_network(model("in_training"), example({"2x3x4x4"})).graph;
        for (const Op& op : graph.ops()) {
            const auto held = op.attributes.find("parameters");
            if (held != op.attributes.end())
                QCOMPARE(held->second.find("num_batches_tracked") != std::string::npos,
                         op.kind == "batch_norm");
        }
        QCOMPARE(graph.ops().back().attributes.at("parameters"), std::string(R"(["3.weight","3.bias"])"));
    }

    void recurrentLayersHaveTheirWeights() {
        const Graph scripted = read_network(model("scripted_lstm"), example({"5x2x4"})).graph;
        const Graph traced = read_network(model("traced_lstm"), example({"5x2x4"})).graph;
        QCOMPARE(placewright::totals(scripted).parameter_bytes, 4 * (2 * 24 * 6 + 24 * (4 + 6) + 4 * 24));
        QCOMPARE(placewright::totals(scripted).parameter_bytes, placewright::totals(traced).parameter_bytes);
        const auto lstm = std::ranges::find(scripted.ops(), "lstm", &Op::kind);
        QVERIFY(lstm != scripted.ops().end() && lstm->flops > 0);
        const QString names = QString::fromStdString(lstm->attributes.at("parameters"));
        QVERIFY2(names.contains("lstm.weight_ih_l0") && names.contains("lstm.bias_hh_l1") &&
                     !names.contains("_flat"),
                 qPrintable(names));
    }

    void whatMovesNumbersTellsItsSizes() {
        const NetworkFile file = read_network(model("moved"), example({"2x3x8x8", "2x5x7x2"}));
        const Graph& graph = file.graph;
        QVERIFY(file.estimated.empty());
        std::vector<std::vector<std::int64_t>> shapes;
        for (const Op& op : graph.ops()) {
            if (op.kind != "input") shapes.push_back(op.outputs[0].shape.value());
        }
        QCOMPARE(shapes, (std::vector<std::vector<std::int64_t>>{
                             {2, 3, 8, 8}, {2, 3, 5, 7}, {2, 3, 5, 21}, {4, 3, 5, 21}, {4, 3, 3, 6}}));
        const std::string error = error_of(model("moved"), example({"2x3x8x8", "2x5x7"}));
        QVERIFY2(error.find("aten::grid_sampler") != std::string::npos, error.c_str());
    }

    void repeatsOfTracesAreSizes() {
        std::set<std::vector<std::int64_t>> shapes;
        const Graph graph = read_network(model("repeated"), example({"4x5"})).graph;
        for (const Op& op : graph.ops()) {
            if (op.kind == "repeat") shapes.insert(op.outputs[0].shape.value());
        }
        QCOMPARE(shapes, (std::set<std::vector<std::int64_t>>{{20, 5}, {80}}));
    }

    void transposedTensorsAreMadeContiguous() {
        const Graph graph = read_network(model("encoder_layer"), example({"5x2x16"})).graph;
        QCOMPARE(graph.op(static_cast<OpId>(graph.size() - 1)).outputs[0].shape.value(),
                 (std::vector<std::int64_t>{5, 2, 16}));
        QCOMPARE(placewright::totals(graph).parameter_bytes,
                 4 * (3 * 16 * 16 + 3 * 16 + 16 * 16 + 16 + 2 * 16 * 32 + 32 + 16 + 4 * 16));
    }

    void runningGivesTheSameNetwork() {
        for (const char* name : {"resnet18", "by_sizes"}) {
            const std::vector<std::string> input{name == std::string("resnet18") ? "2x3x64x64" : "5x2x4"};
            const Graph followed = read_network(model(name), example(input)).graph;
            const Graph run = read_network(model(name), example(input, {}, true)).graph;
            QCOMPARE(run.size(), followed.size());
            for (OpId id = 0; id < run.size(); ++id) {
                QCOMPARE(run.op(id).name, followed.op(id).name);
                QCOMPARE(run.op(id).outputs, followed.op(id).outputs);
                QCOMPARE(run.op(id).inputs, followed.op(id).inputs);
            }
        }
    }

    void batchIsTheFirstSize() {
        const NetworkFile file = read_network(model("resnet18"), example({"1x3x64x64"}, 32));
        QVERIFY(file.batch_is_open);
        QCOMPARE(file.graph.batch(), 32);
        QCOMPARE(file.graph.op(0).outputs[0].shape.value(), (std::vector<std::int64_t>{32, 3, 64, 64}));
    }

    void usualInputsAreProposed_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QStringList>("inputs");
        QTest::newRow("convolution") << "resnet18" << QStringList{"1x3x224x224"};
        QTest::newRow("scripted") << "scripted_resnet18" << QStringList{"1x3x224x224"};
        QTest::newRow("embeddings") << "bert" << QStringList{"1x128:int64", "1x128:int64"};
        QTest::newRow("half precision") << "half" << QStringList{"1x3x224x224:float16"};
        QTest::newRow("neither") << "by_numbers" << QStringList{};
        // A chain of 2^40 calls is not expanded.
        QTest::newRow("calls without end") << "doubling" << QStringList{};
    }
    void usualInputsAreProposed() {
        QFETCH(QString, name);
        QFETCH(QStringList, inputs);
        try {
            read_network(model(qPrintable(name)));
            QFAIL("no inputs were asked for");
        } catch (const ScriptInputError& refused) {
            QStringList proposed;
            for (const ExampleInput& input : refused.proposal())
                proposed << QString::fromStdString(to_text(input));
            QCOMPARE(proposed, inputs);
            // The proposed inputs can be read.
            if (!inputs.isEmpty()) {
                ReadOptions options;
                options.inputs = refused.proposal();
                QVERIFY(read_network(model(qPrintable(name)), options).graph.size() > 1);
            }
        }
    }

    void soManyInputsAreNoProposal() {
        for (const std::size_t count : {8, 9}) {
            const ScriptError error(ScriptError::Remedy::inputs, "", "is called with many",
                                    std::vector<ExampleInput>(count));
            QCOMPARE(ScriptInputError(error, "file", "").proposal().size(), count == 8 ? count : 0);
        }
    }

    void inputsMustBeGiven() {
        const std::string none = error_of(model("bert"));
        QVERIFY2(none.find("is called with tokens, types") != std::string::npos &&
                     none.find("--input") != std::string::npos,
                 none.c_str());
        QVERIFY2(none.ends_with("as in --input 1x128:int64 --input 1x128:int64"), none.c_str());
        try {
            read_network(model("bert"));
            QFAIL("no inputs were asked for");
        } catch (const ScriptInputError& refused) {
            QVERIFY(refused.remedy() == ScriptError::Remedy::inputs);
            QVERIFY2(refused.reason().find("--") == std::string::npos &&
                         refused.reason().starts_with("is called with"),
                     refused.reason().c_str());
        }
        QVERIFY(error_of(model("bert"), example({"1x8:int64"})).find("is called with tokens, types") !=
                std::string::npos);
        const std::string many = error_of(model("resnet18"), example({"1x3x64x64", "1"}));
        QVERIFY2(many.find("2 tensors were given, expected 1") != std::string::npos, many.c_str());
        const std::string wrong = error_of(model("resnet18"), example({"1x4x64x64"}));
        QVERIFY2(
            wrong.find("aten::_convolution") != std::string::npos && wrong.find("4") != std::string::npos,
            wrong.c_str());
    }

    void shapesOfInputs() {
        QCOMPARE(example_input_from("1x3x224x224"), (ExampleInput{{1, 3, 224, 224}, DType::float32}));
        QCOMPARE(example_input_from("7:int64"), (ExampleInput{{7}, DType::int64}));
        QCOMPARE(example_input_from(":float16"), (ExampleInput{{}, DType::float16}));
        for (const char* text : {"1x3x224x224", "7:int64", ":float32", "0x2"})
            QCOMPARE(to_text(example_input_from(text)), std::string(text));
        for (const char* text : {"", "x", "1x", "1xx2", "-1", "1x2:int", "1,2", "99999999999999999999",
                                 "4000000000x4000000000x4000000000"})
            QVERIFY_THROWS_EXCEPTION(std::invalid_argument, example_input_from(text));
    }

    void pickledModulesSayHowToExport() {
        for (const char* name : {"pickled", "legacy"}) {
            const std::string error = error_of(model(name));
            QVERIFY2(error.find("torch.jit.trace(model, example).save(\"model.pt\")") != std::string::npos,
                     error.c_str());
        }
    }

    /// LibTorch 1.13 pops from the empty stack for such pickles; later versions find some of them.
    void whatLibTorchCrashesOnIsRefused() {
        for (const std::string& pickle :
             {std::string("\x80\x02\x87."), std::string("\x80\x02Nb."), std::string("\x80\x02)R.")}) {
            const Path file = changed("writes", "data.pkl", [&](std::string& whole) { whole = pickle; });
            const std::string error = error_of(file, example({"2"}));
            const auto says = [&](const char* part) { return error.find(part) != std::string::npos; };
            // AddressSanitizer reports a crash and ends the process, without a signal.
            const bool crashed =
                (says("LibTorch crashed on this file") || says("LibTorch ended without an answer")) &&
                says("torch.jit.save");
            QVERIFY2(crashed || says("LibTorch cannot read it: Parsing error"), error.c_str());
        }
    }

    void codeThatLoadingRunsIsRefused() {
        const Path file = changed("resnet18", "torchvision/models/resnet.py",
                                  [](std::string& code) { code += "\n# def __setstate__\n"; });
        const std::string error = error_of(file, example({"1x3x64x64"}));
        QVERIFY2(error.find("__setstate__") != std::string::npos && error.find("--run") != std::string::npos,
                 error.c_str());
        QCOMPARE(error_of(file, example({"1x3x64x64"}, {}, true)), std::string());
    }

    void deepCodeIsNotParsed() {
        const Path file = changed("by_sizes", "code/__torch__.py", [](std::string& code) {
            const std::string zeros = "torch.zeros_like(x0)";
            code.replace(code.find(zeros), zeros.size(),
                         std::string(100'000, '(') + zeros + std::string(100'000, ')'));
        });
        const std::string error = error_of(file, example({"3x2x4"}));
        QVERIFY2(error.find("nests brackets more than 500 deep") != std::string::npos, error.c_str());
    }

    void endlessLoopsEnd() {
        const Path file = changed("by_sizes", "code/__torch__.py", [](std::string& code) {
            const std::string count = "range(torch.size(x0, 0))";
            code.replace(code.find(count), count.size(), "range(100000000000)");
        });
        const std::string error = error_of(file, example({"3x2x4"}));
        QVERIFY2(error.find("takes more than") != std::string::npos ||
                     error.find("exceeds the maximum of") != std::string::npos,
                 error.c_str());
    }

    void listsThatGrowTakeNoMemory() {
        const Path file = changed("writes", "code/__torch__.py", [](std::string& code) {
            const std::string save = "    torch.save(\"not asked for\", \"written_by_a_model.txt\")\n";
            code.replace(code.find(save), save.size(),
                         "    grown = annotate(List[List[int]], [])\n"
                         "    for i in range(1000000):\n"
                         "      _0 = torch.append(grown, torch.mul([0], 900000))\n");
            const std::string result = "torch.add(x, 1)";
            code.replace(code.find(result), result.size(), "torch.add(x, torch.len(grown))");
        });
        const std::string error = error_of(file, example({"2"}));
        QVERIFY2(error.find("aten::mul") != std::string::npos &&
                     error.find("a hundred million elements in all") != std::string::npos,
                 error.c_str());
    }

    void hugeTensorsTakeNoMemory() {
        const Path file = changed("by_sizes", "code/__torch__.py", [](std::string& code) {
            const std::string zeros = "torch.zeros_like(x0)";
            code.replace(code.find(zeros), zeros.size(), "torch.repeat(x0, [1000000000, 1000000, 1])");
        });
        const std::string error = error_of(file, example({"3x2x4"}));
        QVERIFY2(error.find("aten::add") != std::string::npos, error.c_str());
    }

    void brokenFiles() {
        const Path file = folder_.filePath(QStringLiteral("broken.pt")).toStdString();
        std::ifstream stream(model("resnet18"), std::ios::binary);
        const std::string whole((std::istreambuf_iterator<char>(stream)), {});
        for (const std::size_t bytes : {whole.size() / 2, whole.size() - 30, std::size_t{5}}) {
            std::ofstream(file, std::ios::binary) << whole.substr(0, bytes);
            QVERIFY2(error_of(file, example({"1x3x64x64"})).find("broken.pt") != std::string::npos,
                     qPrintable(QString::number(bytes)));
        }
        // A flipped byte anywhere gives an error or a network.
        for (std::size_t at = 40; at < whole.size(); at += whole.size() / 12) {
            std::string text = whole;
            text[at] = static_cast<char>(text[at] ^ 0x10);
            std::ofstream(file, std::ios::binary) << text;
            error_of(file, example({"1x3x64x64"}));
        }
    }
};

QTEST_GUILESS_MAIN(TestTorchScript)
#include "tst_torchscript.moc"
