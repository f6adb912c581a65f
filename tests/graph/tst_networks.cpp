// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <QtTest>

#include "core/graph/graph.hpp"
#include "core/graph/kinds.hpp"
#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"
#include "core/graph/training.hpp"

using namespace placewright;

namespace {

const NetworkInfo& network(const QString& name) {
    const NetworkInfo* info = find_network(name.toStdString());
    if (!info) qFatal("there is no network %s", qPrintable(name));
    return *info;
}

bool multiplies(const Op& op) {
    return op.kind == "conv2d" || op.kind == "linear";
}

bool reads_parameters(const Graph& graph, OpId id) {
    return std::ranges::any_of(graph.producers(id),
                               [&](OpId producer) { return graph.op(producer).kind == "parameter"; });
}

double multiply_adds(const Graph& graph) {
    double sum = 0;
    for (const Op& op : graph.ops()) {
        if (multiplies(op)) sum += op.flops / 2;
    }
    return sum;
}

void add_networks() {
    QTest::addColumn<QString>("name");
    for (const NetworkInfo& info : known_networks())
        QTest::newRow(info.name.data()) << QString::fromUtf8(info.name);
}

}  // namespace

class TestNetworks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void known();

    void totalsArePublished_data();
    void totalsArePublished();
    void shapes_data();
    void shapes();
    void batchScales_data() { add_networks(); }
    void batchScales();
    void everyOpIsSound_data() { add_networks(); }
    void everyOpIsSound();
    void blocksStayTogether_data() { add_networks(); }
    void blocksStayTogether();
    void trainingGraph_data();
    void trainingGraph();
    void noBatch_data() { add_networks(); }
    void noBatch();

    void sequenceTotals_data();
    void sequenceTotals();
    void sharedParametersAreTrainedOnce_data();
    void sharedParametersAreTrainedOnce();
    void stepsOfAnLstm();
    void attentionOfATranslator();
    void inceptionHasAnAuxiliaryHead();
    void convolution();
    void groupedConvolution();
    void misfits();
};

void TestNetworks::known() {
    std::set<std::string_view> names;
    for (const NetworkInfo& info : known_networks()) {
        QVERIFY(names.insert(info.name).second);
        QVERIFY(!info.title.empty() && !info.source.empty());
        QCOMPARE(find_network(info.name), &info);
        const Graph graph = info.build(2);
        QVERIFY(graph.name() == info.name);
        QCOMPARE(graph.batch(), 2);
        QVERIFY(graph.training() == Training::implicit);
    }
    QCOMPARE(names, (std::set<std::string_view>{"alexnet", "vgg16", "resnet50", "resnet101", "resnet152",
                                                "resnet200", "inception_v3", "nasnet", "nasnet_mobile",
                                                "rnnlm", "rnnlm4", "nmt2", "nmt4", "nmt8", "transformer",
                                                "bert_base", "gpt2"}));
    QVERIFY(!find_network("vgg"));
}

// Parameters and multiply-adds from torchvision's lists; numbers of convolutions from the papers.
void TestNetworks::totalsArePublished_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<qint64>("parameters");
    QTest::addColumn<double>("multiplyAdds");
    QTest::addColumn<int>("convolutions");
    QTest::newRow("alexnet") << "alexnet" << qint64{61'100'840} << 0.7142e9 << 5;
    QTest::newRow("vgg16") << "vgg16" << qint64{138'357'544} << 15.470e9 << 13;
    QTest::newRow("resnet50") << "resnet50" << qint64{25'557'032} << 4.0892e9 << 53;
    QTest::newRow("resnet101") << "resnet101" << qint64{44'549'160} << 7.8014e9 << 104;
    QTest::newRow("resnet152") << "resnet152" << qint64{60'192'808} << 11.5136e9 << 155;
    QTest::newRow("resnet200") << "resnet200" << qint64{64'673'832} << 15.0075e9 << 203;
    QTest::newRow("inception_v3") << "inception_v3" << qint64{27'161'264} << 5.7189e9 << 96;
    // Keras also counts the moving statistics of the norms. 22 cells, each with 5 x 4 convolutions and one
    // for its input; for the input from the cell before that: none in the first, two in the four cells where
    // sizes differ, one in the 17 others; and the stem.
    QTest::newRow("nasnet") << "nasnet" << qint64{88'753'150} << 23.783e9 << 22 * 21 + 4 * 2 + 17 + 1;
    QTest::newRow("nasnet_mobile") << "nasnet_mobile" << qint64{5'289'978} << 0.5637e9
                                   << 16 * 21 + 4 * 2 + 11 + 1;
}

void TestNetworks::totalsArePublished() {
    QFETCH(QString, name);
    QFETCH(qint64, parameters);
    QFETCH(double, multiplyAdds);
    QFETCH(int, convolutions);
    const Graph graph = network(name).build(1);
    QCOMPARE(totals(graph).parameter_bytes, 4 * parameters);
    QVERIFY2(std::abs(multiply_adds(graph) / multiplyAdds - 1) < 5e-4,
             qPrintable(QString::number(multiply_adds(graph))));
    QCOMPARE(std::count_if(graph.ops().begin(), graph.ops().end(),
                           [](const Op& op) { return op.kind == "conv2d"; }),
             convolutions);
}

void TestNetworks::shapes_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("op");
    QTest::addColumn<QList<qint64>>("shape");
    const auto row = [](const char* name, const char* op, QList<qint64> shape) {
        QTest::addRow("%s %s", name, op) << name << op << shape;
    };
    row("alexnet", "input", {7, 3, 224, 224});
    row("alexnet", "features/conv1", {7, 64, 55, 55});
    row("alexnet", "features/pool1", {7, 64, 27, 27});
    row("alexnet", "features/pool2", {7, 192, 13, 13});
    row("alexnet", "features/pool5", {7, 256, 6, 6});
    row("alexnet", "flatten", {7, 9216});
    row("alexnet", "classifier/fc3", {7, 1000});
    row("alexnet", "loss", {});
    row("resnet50", "conv1", {7, 64, 112, 112});
    row("resnet50", "maxpool", {7, 64, 56, 56});
    row("resnet50", "layer1/0/downsample/conv", {7, 256, 56, 56});
    row("resnet50", "layer1/2/relu3", {7, 256, 56, 56});
    row("resnet50", "layer2/0/conv1", {7, 128, 56, 56});
    row("resnet50", "layer2/0/conv2", {7, 128, 28, 28});
    row("resnet50", "layer2/3/relu3", {7, 512, 28, 28});
    row("resnet50", "layer3/5/relu3", {7, 1024, 14, 14});
    row("resnet50", "layer4/2/relu3", {7, 2048, 7, 7});
    row("resnet50", "avgpool", {7, 2048, 1, 1});
    row("resnet50", "fc", {7, 1000});
    row("inception_v3", "Conv2d_1a_3x3/conv", {7, 32, 149, 149});
    row("inception_v3", "maxpool1", {7, 64, 73, 73});
    row("inception_v3", "maxpool2", {7, 192, 35, 35});
    row("inception_v3", "Mixed_5b/cat", {7, 256, 35, 35});
    row("inception_v3", "Mixed_5c/cat", {7, 288, 35, 35});
    row("inception_v3", "Mixed_5d/cat", {7, 288, 35, 35});
    row("inception_v3", "Mixed_6a/cat", {7, 768, 17, 17});
    row("inception_v3", "Mixed_6e/cat", {7, 768, 17, 17});
    row("inception_v3", "AuxLogits/conv1/conv", {7, 768, 1, 1});
    row("inception_v3", "Mixed_7a/cat", {7, 1280, 8, 8});
    row("inception_v3", "Mixed_7b/branch3x3_cat", {7, 768, 8, 8});
    row("inception_v3", "Mixed_7c/cat", {7, 2048, 8, 8});
    row("inception_v3", "fc", {7, 1000});
}

void TestNetworks::shapes() {
    QFETCH(QString, name);
    QFETCH(QString, op);
    QFETCH(QList<qint64>, shape);
    const Graph graph = network(name).build(7);
    const auto id = graph.find(op.toStdString());
    QVERIFY(id);
    const Tensor& output = graph.op(*id).outputs.at(0);
    QCOMPARE(QList<qint64>(output.shape->begin(), output.shape->end()), shape);
    QCOMPARE(output.bytes, 4 * element_count(output));
}

void TestNetworks::batchScales() {
    QFETCH(QString, name);
    const Graph one = network(name).build(1), many = network(name).build(32);
    QCOMPARE(many.size(), one.size());
    for (OpId id = 0; id < one.size(); ++id) {
        const Op &a = one.op(id), &b = many.op(id);
        QCOMPARE(b.name, a.name);
        QCOMPARE(b.flops, 32 * a.flops);
        QCOMPARE(b.parameter_bytes, a.parameter_bytes);
        QVERIFY(b.inputs == a.inputs);
        QCOMPARE(b.outputs.size(), a.outputs.size());
        const bool scales = a.kind != "cross_entropy" && a.kind != "parameter";
        for (std::size_t k = 0; k < a.outputs.size(); ++k)
            QCOMPARE(b.outputs[k].bytes, (scales ? 32 : 1) * a.outputs[k].bytes);
    }
}

void TestNetworks::everyOpIsSound() {
    QFETCH(QString, name);
    const Graph graph = network(name).build(1);
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        const char* label = op.name.c_str();
        const std::size_t slash = op.name.rfind('/');
        QVERIFY2(op.scope == (slash == std::string::npos ? "" : op.name.substr(0, slash)), label);
        const auto is_any = [&](const std::set<std::string>& kinds) { return kinds.contains(op.kind); };
        QVERIFY2(op.inputs.empty() == is_any({"input", "parameter"}), label);
        QVERIFY2(graph.consumers(id).empty() == (op.kind == "cross_entropy"), label);
        if (reads_parameters(graph, id)) {
            QVERIFY2(op.parameter_bytes == 0 && is_any({"linear", "embedding", "lstm_cell", "add"}), label);
        } else {
            QVERIFY2((op.parameter_bytes > 0) ==
                         (multiplies(op) || is_any({"batch_norm", "layer_norm", "embedding", "parameter"})),
                     label);
        }
        if (op.kind == "parameter") QCOMPARE(op.outputs[0].bytes, op.parameter_bytes);
        const bool moves = is_any({"input", "parameter", "cat", "flatten", "pad", "embedding", "unbind",
                                   "stack", "select", "reshape"});
        QVERIFY2((op.flops > 0) != moves, label);
        if (op.kind == "conv2d" || op.kind == "max_pool2d" || op.kind == "avg_pool2d") {
            for (const char* key : {"kernel", "stride", "padding"}) {
                const auto values = integer_attribute(op, key);
                QVERIFY2(values && values->size() == 2, label);
            }
        }
    }
}

// The ops of a block and of a branch are consecutive, so that cutting the list into runs cuts few edges.
void TestNetworks::blocksStayTogether() {
    QFETCH(QString, name);
    const Graph graph = network(name).build(1);
    std::set<std::string> closed;
    std::string open;
    for (const Op& op : graph.ops()) {
        const std::string block = op.name.substr(0, op.name.find('/'));
        if (block == open) continue;
        QVERIFY2(closed.insert(block).second, op.name.c_str());
        open = block;
    }
    for (OpId id = 0; id < graph.size(); ++id) {
        if (graph.op(id).kind == "batch_norm") QCOMPARE(graph.op(id).inputs.at(0).op, id - 1);
        // It follows its input directly, or a separable convolution follows it.
        if (graph.op(id).kind == "relu" && graph.op(id).inputs.at(0).op != id - 1)
            QVERIFY(graph.op(id + 1).inputs.at(0).op == id);
    }
}

// Of n forward ops, all but the input and the first convolution have a data gradient; each op with
// parameters has a weight gradient and an update.
void TestNetworks::trainingGraph_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("forward");
    QTest::addColumn<int>("withParameters");
    QTest::newRow("alexnet") << "alexnet" << 24 << 5 + 3;
    QTest::newRow("vgg16") << "vgg16" << 41 << 13 + 3;
    QTest::newRow("resnet50") << "resnet50" << 177 << 53 + 53 + 1;
    QTest::newRow("resnet200") << "resnet200" << 677 << 203 + 203 + 1;
    QTest::newRow("inception_v3") << "inception_v3" << 327 << 96 + 96 + 2;
}

void TestNetworks::trainingGraph() {
    QFETCH(QString, name);
    QFETCH(int, forward);
    QFETCH(int, withParameters);
    for (const std::int64_t batch : {1, 32}) {
        const Graph graph = network(name).build(batch);
        const Graph training = training_graph(graph);
        QCOMPARE(graph.size(), static_cast<std::size_t>(forward));
        QCOMPARE(training.size(), static_cast<std::size_t>(forward + (forward - 2) + 2 * withParameters));

        // Three times the forward work, except that the first convolution has no data gradient.
        double flops = 0;
        std::int64_t gradient_bytes = 0;
        for (const Op& op : training.ops()) {
            if (multiplies(op) && op.phase != Phase::update) flops += op.flops;
            if (op.name.ends_with("/weight_gradient")) gradient_bytes += op.outputs[0].bytes;
        }
        QCOMPARE(flops, 6 * multiply_adds(graph) - graph.op(1).flops);
        QVERIFY(graph.op(1).kind == "conv2d");
        QCOMPARE(gradient_bytes, totals(graph).parameter_bytes);
    }
}

void TestNetworks::noBatch() {
    QFETCH(QString, name);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, network(name).build(0));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, network(name).build(-1));
}

// Parameters as published (BERT with a classifier of two classes); the multiply-adds of all products follow
// from the sizes.
void TestNetworks::sequenceTotals_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<qint64>("parameters");
    QTest::addColumn<double>("multiplyAdds");
    // LSTM cells of 4 h (i + h); the words.
    QTest::newRow("rnnlm") << "rnnlm" << qint64{66'022'000} << 35.0 * (2 * 4 * 1500 * 3000 + 1500 * 10'000);
    QTest::newRow("rnnlm4") << "rnnlm4" << qint64{102'034'000}
                            << 35.0 * (4 * 4 * 1500 * 3000 + 1500 * 10'000);
    // In units of h^2: the first two layers of the encoder 8 + 8 and 12, others 8; decoder layers 12; keys
    // and query. In h: scores and context of 32 steps, the words.
    const auto nmt = [](int layers, qint64 parameters) {
        const double h = 1024, cells = 28 + 8.0 * (layers - 2) + 12.0 * layers;
        QTest::addRow("nmt%d", layers) << QString("nmt%1").arg(layers) << parameters
                                       << 32 * ((cells + 2) * h * h + 2 * 32 * h + 32'000 * h);
    };
    nmt(2, 154'980'608);
    nmt(4, 196'940'032);
    nmt(8, 280'858'880);
    // For each layer of d features and each position: 4 d^2 for an attention, 2 d f for the feed-forward
    // part, 2 s d for scores and context.
    const auto layer = [](double d, double inner, double positions, int attentions) {
        return positions * (attentions * (4 * d * d + 2 * positions * d) + 2 * d * inner);
    };
    QTest::newRow("transformer") << "transformer" << qint64{63'082'496}
                                 << 6 * (layer(512, 2048, 128, 1) + layer(512, 2048, 128, 2)) +
                                        128.0 * 512 * 37'000;
    QTest::newRow("bert_base") << "bert_base" << qint64{109'482'240 + 1'538}
                               << 12 * layer(768, 3072, 128, 1) + 768.0 * 768 + 768 * 2;
    QTest::newRow("gpt2") << "gpt2" << qint64{124'439'808}
                          << 12 * layer(768, 3072, 1024, 1) + 1024.0 * 768 * 50'257;
}

void TestNetworks::sequenceTotals() {
    QFETCH(QString, name);
    QFETCH(qint64, parameters);
    QFETCH(double, multiplyAdds);
    const Graph graph = network(name).build(1);
    QCOMPARE(totals(graph).parameter_bytes, 4 * parameters);
    double flops = 0;
    for (const Op& op : graph.ops()) {
        if (kind_info(op.kind).product) flops += op.flops;
        // Softmax over the scores, and elementwise work of the cell.
        const Tensor& output = op.outputs[0];
        if (op.kind == "scaled_dot_product_attention") {
            const std::int64_t keys = graph.op(op.inputs[1].op).outputs[0].shape->at(1);
            flops -= 5.0 * static_cast<double>(integer_attribute(op, "heads")->front() * output.shape->at(1) *
                                               keys);
        }
        if (op.kind == "lstm_cell") flops += op.flops - 13.0 * static_cast<double>(element_count(output));
    }
    QCOMPARE(flops / 2, multiplyAdds);
}

void TestNetworks::sharedParametersAreTrainedOnce_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("parameter");
    QTest::addColumn<int>("readers");
    QTest::newRow("rnnlm") << "rnnlm"
                           << "layer2/weights" << 35;
    QTest::newRow("nmt4") << "nmt4"
                          << "encoder1/backwards/weights" << 32;
    QTest::newRow("nmt4 attention") << "nmt4"
                                    << "attention/query_weights" << 32;
    QTest::newRow("transformer") << "transformer"
                                 << "table" << 3;
    QTest::newRow("gpt2") << "gpt2"
                          << "table" << 2;
}

void TestNetworks::sharedParametersAreTrainedOnce() {
    QFETCH(QString, name);
    QFETCH(QString, parameter);
    QFETCH(int, readers);
    const Graph graph = training_graph(network(name).build(2));
    const std::string weights = parameter.toStdString();
    const OpId shared = graph.find(weights).value();
    int additions = 0;
    for (const Op& op : graph.ops()) {
        if (op.forward_op != shared || op.phase != Phase::backward) continue;
        ++additions;
        QCOMPARE(op.inputs.size(), 2u);
        for (const TensorRef& input : op.inputs)
            QCOMPARE(graph.op(input.op).outputs[input.output].bytes, graph.op(shared).parameter_bytes);
    }
    QCOMPARE(additions, readers - 1);
    QVERIFY(graph.find(weights + "/weight_gradient"));
    QVERIFY(graph.find(weights + "/update"));
    // Every parameter is updated, whichever op reads it.
    std::int64_t trained = 0;
    for (const Op& op : graph.ops()) {
        if (op.phase == Phase::update) trained += graph.op(op.forward_op).parameter_bytes;
    }
    QCOMPARE(trained, totals(graph).parameter_bytes);
}

// Batch 2, 3 + 4 features in two tensors, state of 5: weights of 20 x (7 + 5 + 1).
void TestNetworks::stepsOfAnLstm() {
    NetworkBuilder net("net", 2);
    const Value a = net.input("a", std::array<std::int64_t, 1>{3}),
                b = net.input("b", std::array<std::int64_t, 1>{4});
    const Value weights = net.lstm_weights("weights", 7, 5);
    const LstmState first = net.lstm_cell("first", std::array{a}, nullptr, weights);
    const LstmState second = net.lstm_cell("second", std::array{a, b}, &first, weights);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument,
                             net.lstm_cell("third", std::array{a, a}, &second, weights));
    const Value steps = net.stack("steps", std::array{first.hidden, second.hidden});
    const std::vector<Value> parts = net.unbind("parts", steps);
    QCOMPARE(parts.size(), std::size_t{2});
    net.add("sum", parts[1], parts[0]);
    const Graph graph = net.build();
    QCOMPARE(graph.op(2).parameter_bytes, 4 * 20 * 13);
    const Op& cell = graph.op(4);
    QVERIFY(cell.inputs == (std::vector<TensorRef>{{0, 0}, {1, 0}, {3, 0}, {3, 1}, {2, 0}}));
    QVERIFY(cell.outputs ==
            (std::vector<Tensor>{make_tensor({2, 5}), make_tensor({2, 5}), make_tensor({2, 20})}));
    QCOMPARE(cell.flops, 2.0 * (2 * 12 * 20 + 13 * 5));
    QCOMPARE(graph.op(3).flops, cell.flops);
    QVERIFY(graph.op(5).outputs[0] == make_tensor({2, 2, 5}));
    QVERIFY(graph.op(7).inputs == (std::vector<TensorRef>{{6, 1}, {6, 0}}));
}

// The step's ops share a device; the context is read by the next step of the lower layer and by this step of
// the upper layers.
void TestNetworks::attentionOfATranslator() {
    const Graph graph = nmt2(1);
    const OpId context = graph.find("decoder1/step3/attention/context_row").value();
    QVERIFY(graph.op(context).colocate == "decoder1/step3/attention/");
    std::set<std::string> readers;
    for (const OpId reader : graph.consumers(context)) readers.insert(graph.op(reader).name);
    QCOMPARE(readers, (std::set<std::string>{"decoder1/step4/cell", "decoder2/step3/cell"}));
    QVERIFY(graph.op(graph.find("decoder1/step3/cell").value()).colocate.empty());
}

void TestNetworks::inceptionHasAnAuxiliaryHead() {
    const Graph graph = inception_v3(1);
    const OpId branch = graph.find("Mixed_6e/cat").value();
    const auto readers = graph.consumers(branch);
    const OpId head = graph.find("AuxLogits/avg_pool").value();
    QVERIFY(std::find(readers.begin(), readers.end(), head) != readers.end());
    QCOMPARE(head, branch + 1);
    std::vector<std::string> losses;
    for (const Op& op : graph.ops()) {
        if (op.kind == "cross_entropy") losses.push_back(op.name);
    }
    QCOMPARE(losses, (std::vector<std::string>{"AuxLogits/loss", "loss"}));
}

// 5x6 image, 3x1 kernel, stride 2x1, padding 1x0: (5 + 2 - 3) / 2 + 1 = 3 rows, 6 columns. 4 channels from 2:
// 2 * 3 weights and a bias each; 3 * 6 * 4 outputs of 6 multiply-adds.
void TestNetworks::convolution() {
    NetworkBuilder net("net", 1);
    const Value image = net.input("input", std::array<std::int64_t, 3>{2, 5, 6});
    net.conv2d("block/conv", image,
               {.channels = 4,
                .window = {.kernel = {3, 1}, .stride = {2, 1}, .padding = {1, 0}},
                .bias = true,
                .groups = 1});
    const Graph graph = net.build();
    const Op& conv = graph.op(1);
    QVERIFY(conv.outputs[0] == make_tensor({1, 4, 3, 6}));
    QCOMPARE(conv.parameter_bytes, 4 * (4 * 6 + 4));
    QCOMPARE(conv.flops, 2.0 * 3 * 6 * 4 * 6);
    QVERIFY(conv.scope == "block");
    QVERIFY(conv.attributes == (std::map<std::string, std::string>{
                                   {"kernel", "[3,1]"}, {"stride", "[2,1]"}, {"padding", "[1,0]"}}));
}

void TestNetworks::groupedConvolution() {
    NetworkBuilder net("net", 1);
    const Value image = net.input("input", std::array<std::int64_t, 3>{6, 4, 4});
    net.conv2d("depthwise", image, {.channels = 6, .window = {.kernel = 3, .padding = 1}, .groups = 6});
    const Graph graph = net.build();
    QCOMPARE(graph.op(1).parameter_bytes, 4 * 6 * 9);
    QCOMPARE(graph.op(1).flops, 2.0 * 6 * 16 * 9);
    QVERIFY(graph.op(1).attributes.at("groups") == "6");
}

void TestNetworks::misfits() {
    NetworkBuilder net("net", 1);
    const Value image = net.input("image", std::array<std::int64_t, 3>{6, 4, 4});
    const Value larger = net.input("larger", std::array<std::int64_t, 3>{6, 8, 8});
    const Value row = net.flatten("row", image);
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, net.max_pool2d("p", image, {.kernel = 5}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, net.max_pool2d("p", row, {.kernel = 1}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, net.adaptive_avg_pool2d("p", row, 1));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument,
                             net.conv2d("c", image, {.channels = 8, .window = {.kernel = 1}, .groups = 4}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument,
                             net.conv2d("c", image, {.channels = 8, .window = {.kernel = 1}, .groups = 3}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, net.add("a", image, larger));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, net.cat("a", std::array{image, larger}));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, net.cat("a", std::span<const Value>()));
    QVERIFY_THROWS_EXCEPTION(std::invalid_argument, net.linear("l", image, 10));
    QVERIFY_THROWS_EXCEPTION(GraphError, net.relu("row", image));
}

QTEST_GUILESS_MAIN(TestNetworks)
#include "tst_networks.moc"
