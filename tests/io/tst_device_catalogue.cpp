// SPDX-License-Identifier: MIT
// The catalogue of devices and links, and machine files that leave figures to it.
#include <fstream>
#include <set>

#include <QTemporaryDir>
#include <QTest>

#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/shipped.hpp"
#include "core/machine/device_model.hpp"
#include "tests/support/input_files.hpp"

namespace placewright {
namespace {

using test::refusal;

class TestDeviceCatalogue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void names();
    void shipped();
    void shipped_links();
    void machine_by_model();
    void file_wins();
    void complete_file_stands_alone();
    void complete_file_may_keep_the_catalogue();
    void unknown_models();
    void round_trip();
    void broken_catalogues_data();
    void broken_catalogues();
    void efficiencies_inherit();

private:
    Path write(const std::string& name, const std::string& text) const {
        const Path file = Path(folder_.path().toStdString()) / name;
        std::ofstream(file) << text;
        return file;
    }
    /// A machine of one device.
    Machine machine_of(const std::string& device) const {
        return read_machine(
            write("machine.json", R"({"format": "placewright.machine", "version": 1, "name": "m",
            "devices": [)" + device + R"(], "channels": [], "routes": []})"));
    }

    QTemporaryDir folder_;
};

void TestDeviceCatalogue::names() {
    QCOMPARE(plain_name("NVIDIA GeForce RTX-3090 (24 GB)"), std::string("nvidiageforcertx309024gb"));
    const DeviceCatalogue& catalogue = shipped_devices();
    const auto found = catalogue.find_device("nvidia geforce rtx3090");
    QVERIFY(found);
    QCOMPARE(found, catalogue.find_device("RTX 3090"));
    QCOMPARE(found->architecture, std::string("ampere"));
    QVERIFY(!catalogue.find_device("RTX 1234"));
    QVERIFY(!catalogue.find_device(""));
    QVERIFY(::placewright::names(*found, "GeForce RTX 3090"));
    QVERIFY(!::placewright::names(*found, "RTX 3080"));
    // Frameworks see a die of boards with two.
    QCOMPARE(catalogue.find_device("Tesla K80")->peak_flops(), 4.37e12);
    QCOMPARE(catalogue.find_device("AMD Instinct MI250")->model, std::string("AMD Instinct MI250 (one die)"));
}

void TestDeviceCatalogue::shipped() {
    const DeviceCatalogue& catalogue = shipped_devices();
    QVERIFY(catalogue.devices().size() >= 40);
    std::set<std::string> kinds;
    for (const auto& device : catalogue.devices()) {
        const QByteArray name = QByteArray::fromStdString(device->model);
        kinds.insert(device->vendor + ' ' + std::string(to_string(device->kind)));
        QVERIFY2(!device->source.empty(), name);
        QVERIFY2(device->year >= 2010 && device->year <= 2030, name);
        QVERIFY2(device->memory_bytes >= 4e9 && device->memory_bytes <= 2e12, name);
        QVERIFY2(device->memory_bandwidth >= 20e9 && device->memory_bandwidth <= 10e12, name);
        QVERIFY2((device->cores > 0) == (device->kind == DeviceKind::cpu) && device->cores <= 512, name);
        QVERIFY2(device->cache_bytes >= 1e6 && device->power_w >= 10, name);
        // A FLOP for each byte at least, and float64 never faster than float32.
        QVERIFY2(device->peak_flops() > device->memory_bandwidth, name);
        QVERIFY2(device->peak_flops(NumberType::fp64) <= device->peak_flops(), name);
        // Fewer bits are never slower.
        if (device->kind == DeviceKind::gpu)
            QVERIFY2(device->peak_flops(NumberType::fp16) >= device->peak_flops(), name);
        for (const std::string& link : device->links) QVERIFY2(catalogue.find_link(link) != nullptr, name);
        QVERIFY2(device->efficiencies, name);
    }
    for (const char* kind : {"NVIDIA gpu", "AMD gpu", "Apple gpu", "Intel gpu", "Intel cpu", "AMD cpu"})
        QVERIFY2(kinds.contains(kind), kind);
}

void TestDeviceCatalogue::shipped_links() {
    const DeviceCatalogue& catalogue = shipped_devices();
    const auto bandwidth = [&](const char* model) {
        const LinkModel* link = catalogue.find_link(model);
        return link == nullptr ? 0.0 : link->bandwidth;
    };
    QVERIFY(std::abs(bandwidth("PCIe 3.0 x16") - 15.75e9) < 0.01e9);
    QCOMPARE(bandwidth("pcie 4.0 x8"), bandwidth("PCIe 3.0 x16"));
    QCOMPARE(bandwidth("NVLink 3 x12"), 300e9);
    QCOMPARE(bandwidth("InfiniBand HDR"), 25e9);
    QCOMPARE(bandwidth("100 GbE"), 12.5e9);
    for (const LinkModel& link : catalogue.links()) {
        const Channel channel = channel_of(link);
        double share = 0;
        for (const auto& [bytes, efficiency] : channel.efficiency_by_bytes) {
            QVERIFY2(efficiency > share && efficiency <= 1, link.model.c_str());
            share = efficiency;
        }
    }
}

void TestDeviceCatalogue::machine_by_model() {
    const Machine machine =
        machine_of(R"({"name": "gpu:0", "kind": "gpu", "model": "tesla v100-sxm2-32gb"})");
    const Device& device = machine.device(0);
    QVERIFY(device.known);
    QCOMPARE(device.known->model, std::string("NVIDIA V100 SXM2 32GB"));
    QCOMPARE(device.model, std::string("tesla v100-sxm2-32gb"));
    QCOMPARE(device.peak_flops, 15.7e12);
    QCOMPARE(device.memory_bandwidth, 900e9);
    QCOMPARE(device.memory_bytes, device.known->memory_bytes);
    QVERIFY(!device.uniform_efficiency);
}

void TestDeviceCatalogue::file_wins() {
    const Machine machine = machine_of(
        R"({"name": "gpu:0", "kind": "gpu", "model": "NVIDIA T4", "memory_bytes": 8e9, "launch_overhead_s": 1e-3})");
    const Device& device = machine.device(0);
    QVERIFY(device.known);
    QCOMPARE(device.memory_bytes, 8e9);
    QCOMPARE(device.launch_overhead_s, 1e-3);
    QCOMPARE(device.peak_flops, 8.1e12);
    // One efficiency holds for all ops.
    const Machine flat =
        machine_of(R"({"name": "gpu:0", "kind": "gpu", "model": "NVIDIA T4", "efficiency": 0.5})");
    QVERIFY(flat.device(0).uniform_efficiency);
    QCOMPARE(flat.device(0).efficiency, 0.5);
}

void TestDeviceCatalogue::complete_file_stands_alone() {
    const Machine machine = machine_of(
        R"({"name": "gpu:0", "kind": "gpu", "model": "NVIDIA V100", "peak_flops": 1e12, "memory_bandwidth": 1e11,
            "memory_bytes": 1e9})");
    QVERIFY(!machine.device(0).known);
    QCOMPARE(machine.device(0).efficiency, 1.0);
}

void TestDeviceCatalogue::complete_file_may_keep_the_catalogue() {
    const std::string sheet =
        R"("peak_flops": 1e12, "memory_bandwidth": 1e11, "memory_bytes": 1e9, "from_catalogue": )";
    const std::string gpu = R"({"name": "gpu:0", "kind": "gpu", "model": ")";
    const Machine machine = machine_of(gpu + "NVIDIA V100\", " + sheet + "true}");
    const Device& device = machine.device(0);
    QVERIFY(device.known);
    QCOMPARE(device.peak_flops, 1e12);
    QCOMPARE(device.memory_bandwidth, 1e11);
    QCOMPARE(device.efficiency, 0.9);
    QVERIFY(!device.uniform_efficiency);
    QVERIFY(read_machine(write("again.json", machine_json(machine))) == machine);
    QVERIFY(!machine_of(gpu + "NVIDIA V100\", " + sheet + "false}").device(0).known);
    const QString refused = refusal([&] { machine_of(gpu + "Abacus\", " + sheet + "true}"); });
    QVERIFY2(refused.contains("is to be \"from_catalogue\", and the model \"Abacus\""), qPrintable(refused));
}

void TestDeviceCatalogue::unknown_models() {
    const QString device = refusal([&] {
        machine_of(
            R"({"name": "gpu:0", "kind": "gpu", "model": "GeForce RTX 3090 XL", "memory_bytes": 1e9})");
    });
    QVERIFY2(device.contains("devices[0] \"gpu:0\": has no \"peak_flops\""), qPrintable(device));
    QVERIFY2(device.contains("similar: \"NVIDIA GeForce RTX 3090\""), qPrintable(device));
    QVERIFY2(device.contains("machines --devices"), qPrintable(device));
    const QString ceiling = refusal([&] {
        machine_of(R"({"name": "gpu:0", "kind": "gpu", "model": "RTX 3090", "memory_efficiency": 0.5})");
    });
    QVERIFY2(ceiling.contains("memory_efficiency is only for a device that gives \"peak_flops\""),
             qPrintable(ceiling));
    const QString link = refusal([&] {
        read_machine(write("links.json", R"({"format": "placewright.machine", "version": 1, "name": "m",
            "devices": [{"name": "a", "kind": "gpu", "model": "T4"}, {"name": "b", "kind": "gpu", "model": "T4"}],
            "channels": [{"name": "ab", "model": "NVLink 9 x2"}], "routes": []})"));
    });
    QVERIFY2(link.contains("channels[0] \"ab\": has no \"bandwidth\""), qPrintable(link));
}

void TestDeviceCatalogue::round_trip() {
    const std::string text = R"({"format": "placewright.machine", "version": 1, "name": "m",
        "devices": [{"name": "a", "kind": "gpu", "model": "RTX 4090"},
                    {"name": "b", "kind": "gpu", "model": "RTX 3090", "memory_bytes": 2e10, "efficiency": 0.8,
                     "tf32": true}],
        "channels": [{"name": "ab", "model": "PCIe 4.0 x16"}, {"name": "ba", "model": "PCIe 4.0 x16", "efficiency": 0.4}],
        "routes": [{"from": "a", "to": "b", "channels": ["ab"]}, {"from": "b", "to": "a", "channels": ["ba"]}]})";
    const Machine machine = read_machine(write("first.json", text));
    QCOMPARE(machine.channels()[0].bandwidth, shipped_devices().find_link("PCIe 4.0 x16")->bandwidth);
    QVERIFY(!machine.channels()[0].efficiency_by_bytes.empty());
    QVERIFY(machine.channels()[1].efficiency_by_bytes.empty());
    const std::string written = machine_json(machine);
    QVERIFY(written.find("memory_bandwidth") == std::string::npos);
    QVERIFY(read_machine(write("second.json", written)) == machine);
}

void TestDeviceCatalogue::broken_catalogues_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("complaint");
    const QString device =
        R"({"model": "A", "kind": "gpu", "vendor": "V", "architecture": "a", "year": 2020, "memory_bytes": 1,
            "memory_bandwidth": 1, "vector_flops": {"fp32": 1}, "source": "s"%1})";
    const QString devices = R"({"format": "placewright.devices", "version": 1, "devices": [%1]})";
    const QString efficiencies =
        R"({"format": "placewright.efficiencies", "version": 1, "architectures": {"gpu": {%1}}})";
    QTest::newRow("two of a name") << devices.arg(device.arg("") + ',' + device.arg(R"(, "aliases": ["B"])"))
                                   << "the name \"A\" belongs to another entry";
    QTest::newRow("type") << devices.arg(device.arg(R"(, "matrix_flops": {"fp31": 1})"))
                          << "matrix_flops has the type \"fp31\"";
    QTest::newRow("speed") << devices.arg(device.arg(R"(, "matrix_flops": {"fp16": 0})"))
                           << "matrix_flops.fp16 is 0, expected a number above 0";
    QTest::newRow("parameter") << efficiencies.arg(R"("softmaxx": 0.5)") << "softmaxx is not known";
    QTest::newRow("share") << efficiencies.arg(R"("softmax": 1.5)") << "softmax is 1.5, expected 0.001 to 1";
    QTest::newRow("like") << efficiencies.arg(R"("like": "nothing")")
                          << "is \"nothing\", expected the name of an entry above";
    QTest::newRow("format") << R"({"format": "placewright.graph", "version": 1})"
                            << "format: is \"placewright.graph\", expected \"placewright.devices\"";
}

void TestDeviceCatalogue::broken_catalogues() {
    QFETCH(QString, text);
    QFETCH(QString, complaint);
    QTemporaryDir folder;
    const Path file = Path(folder.path().toStdString()) / "file.json";
    std::ofstream(file) << text.toStdString();
    const QString message = refusal([&] { read_device_catalogue(folder.path().toStdString()); });
    QVERIFY2(message.contains(complaint), qPrintable(message));
}

void TestDeviceCatalogue::efficiencies_inherit() {
    QTemporaryDir folder;
    const Path path = folder.path().toStdString();
    const auto device = [](const char* model, const char* kind, const char* architecture) {
        return QString(
                   R"({"model": "%1", "kind": "%2", "vendor": "NVIDIA", "architecture": "%3", "year": 2020,
            "memory_bytes": 1, "memory_bandwidth": 1, "vector_flops": {"fp32": 1}, "source": "s"})")
            .arg(model, kind, architecture)
            .toStdString();
    };
    std::ofstream(path / "a.json") << R"({"format": "placewright.devices", "version": 1, "devices": [)" +
                                          device("A", "gpu", "young") + ',' + device("B", "gpu", "odd") +
                                          ',' + device("C", "cpu", "odd") + "]}";
    std::ofstream(path / "b.json")
        << R"({"format": "placewright.efficiencies", "version": 1, "architectures": {
            "cpu": {"norm": 0.1}, "nvidia-gpu": {"norm": 0.2, "softmax": 0.3}, "young": {"like": "nvidia-gpu", "norm": 0.4}}})";
    const DeviceCatalogue catalogue = read_device_catalogue(path);
    QCOMPARE(catalogue.find_device("A")->efficiencies->norm, 0.4);
    QCOMPARE(catalogue.find_device("A")->efficiencies->softmax, 0.3);
    QCOMPARE(catalogue.find_device("B")->efficiencies->norm, 0.2);
    QCOMPARE(catalogue.find_device("C")->efficiencies->norm, 0.1);
}

}  // namespace
}  // namespace placewright

QTEST_APPLESS_MAIN(placewright::TestDeviceCatalogue)
#include "tst_device_catalogue.moc"
