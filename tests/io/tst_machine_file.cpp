// SPDX-License-Identifier: MIT
// Machine files of our own format, good and bad, and the networks and machines that ship.
#include <algorithm>
#include <cmath>
#include <map>

#include <QScopeGuard>
#include <QTest>

#include "core/base/path.hpp"
#include "core/cost/cost_model.hpp"
#include "core/cost/device_time.hpp"
#include "core/cost/framework_memory.hpp"
#include "core/cost/problem.hpp"
#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/io/shipped.hpp"
#include "core/machine/device_model.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/input_files.hpp"

using namespace placewright;
using test::changed, test::check_refusal, test::content_of, test::kMachine, test::kNetwork, test::refusal;

class TestMachineFile : public test::FileFixture {
    Q_OBJECT

private Q_SLOTS:
    void machineIsRead();
    void machineRoundTrip();
    void realMachineIsRead();
    void efficienciesOfADevice();
    void badMachines_data();
    void badMachines();

    void shippedMachines();
    void transfersBySize();
    void findingModels();
    void modelsFolderFromTheEnvironment();
};

// ---- Machines ----

void TestMachineFile::machineIsRead() {
    const Machine machine = read_machine(fileWith("m.json", kMachine));
    QCOMPARE(machine.name(), std::string("pair"));
    QCOMPARE(machine.devices().size(), std::size_t{2});
    const Device gpu{"gpu:0", DeviceKind::gpu, "G", 1e13, 9e11, 32e9, 1.0, 5e-6};
    QVERIFY(machine.device(1) == gpu);
    QCOMPARE(machine.device(0).efficiency, 0.9);
    const Channel bus{"bus", 16e9, 1e-5, 0.25, {{1e3, 0.01}, {1e7, 0.28}}};
    QVERIFY(machine.channels()[0] == bus);
    QCOMPARE(machine.route(1, 0).size(), std::size_t{1});
}

void TestMachineFile::machineRoundTrip() {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        const Machine machine = test::random_machine(seed);
        write_machine(machine, file("m.json"));
        QVERIFY(read_machine(file("m.json")) == machine);
        QCOMPARE(content_of(file("m.json")), machine_json(machine));
    }
    const Machine machine = read_machine(fileWith("m.json", kMachine));
    write_machine(machine, file("m2.json"));
    QVERIFY(read_machine(file("m2.json")) == machine);
}

void TestMachineFile::realMachineIsRead() {
    const std::string ceilings =
        R"("efficiency": 0.9, "efficiency_by_kind": {"conv2d": 0.6, "linear": 0.8}, "memory_efficiency": 0.75,)"
        R"( "half_efficiency_flops": 2e6, "streams": 4, "copy_engines": 2)";
    const Machine plain = read_machine(fileWith("m.json", kMachine));
    QVERIFY(plain.crossing() == Crossing::store_and_forward);
    const Machine machine = read_machine(
        fileWith("m.json", changed(changed(kMachine, "\"efficiency\": 0.9", ceilings), "\"devices\"",
                                   "\"crossing\": \"cut-through\", \"devices\"")));
    const Device& device = machine.device(0);
    QVERIFY(device.efficiency_by_kind == (std::map<std::string, double>{{"conv2d", 0.6}, {"linear", 0.8}}));
    QCOMPARE(device.memory_efficiency.value_or(0), 0.75);
    QCOMPARE(device.half_efficiency_flops, 2e6);
    QCOMPARE(device.streams, 4U);
    QCOMPARE(device.copy_engines, 2U);
    QVERIFY(machine.device(1) == plain.device(1));
    QVERIFY(machine.crossing() == Crossing::cut_through);
    write_machine(machine, file("m2.json"));
    QVERIFY(read_machine(file("m2.json")) == machine);
    // Defaults are not written.
    for (const char* key : {"crossing", "efficiency_by_kind", "memory_efficiency", "half_efficiency_flops",
                            "streams", "copy_engines"})
        QVERIFY(machine_json(plain).find(key) == std::string::npos);
}

void TestMachineFile::efficienciesOfADevice() {
    // The CPU is described by the file alone, the GPU by the catalogue.
    const std::string cpu =
        changed(kMachine, R"("efficiency": 0.9)",
                R"("efficiency": 0.8, "efficiencies": {"norm": 0.125, "launch_s": 3e-6})");
    const std::string content =
        changed(cpu, R"("model": "G", "peak_flops": 1e13, "memory_bandwidth": 9e11, "memory_bytes": 32e9)",
                R"("model": "V100", "efficiencies": {"softmax": 0.5})");
    const Machine machine = read_machine(fileWith("m.json", content));
    const Device &own = machine.device(0), &listed = machine.device(1);
    QVERIFY(own.known != nullptr && !own.known->in_catalogue);
    QCOMPARE(own.known->efficiencies->norm, 0.125);
    QCOMPARE(own.known->efficiencies->copy, Efficiencies().copy);
    QCOMPARE(own.known->peak_flops(), 1e12);
    QCOMPARE(own.launch_overhead_s, 3e-6);
    QCOMPARE(own.efficiency, 0.8);
    QVERIFY(!own.uniform_efficiency && !listed.uniform_efficiency);
    const auto entry = shipped_devices().find_device("V100");
    QVERIFY(listed.known->in_catalogue && listed.known != entry);
    QCOMPARE(listed.known->efficiencies->softmax, 0.5);
    QCOMPARE(listed.known->efficiencies->copy, entry->efficiencies->copy);
    QCOMPARE(listed.peak_flops, entry->peak_flops());
    QCOMPARE(listed.launch_overhead_s, 5e-6);
    // Times are those by class of op.
    OpWork norm;
    norm.work_class = WorkClass::norm;
    norm.bytes = 1e6;
    QCOMPARE(device_time_s(norm, own), 1e6 / (0.125 * 1e11));

    write_machine(machine, file("m2.json"));
    const Machine again = read_machine(file("m2.json"));
    QVERIFY(again == machine);
    QCOMPARE(content_of(file("m2.json")), machine_json(again));
    QVERIFY(read_machine(fileWith("m3.json", changed(content, "0.125", "0.25"))) != machine);
    // All members are written, so that another catalogue changes nothing.
    for (const EfficiencyField& field : efficiency_fields())
        QVERIFY(machine_json(machine).find('"' + std::string(field.name) + '"') != std::string::npos);
    QVERIFY(machine_json(read_machine(fileWith("m4.json", kMachine))).find("efficiencies") ==
            std::string::npos);
    // A model of the catalogue says what kind of device it is.
    const Machine named = read_machine(
        fileWith("m5.json", R"({"format": "placewright.machine", "version": 1, "name": "n", "devices": [
            {"name": "gpu:0", "model": "RTX 3060"}], "channels": [], "routes": []})"));
    QCOMPARE(named.device(0).kind, DeviceKind::gpu);
    // It says nothing of a framework's memory on a GPU.
    Device gpu = own;
    gpu.kind = DeviceKind::gpu;
    QVERIFY(!counts_framework(ProblemOptions(), gpu));
    QVERIFY(counts_framework(ProblemOptions(), listed));
}

void TestMachineFile::badMachines_data() {
    QTest::addColumn<std::string>("content");
    QTest::addColumn<QString>("fragment");
    const auto add = [](const char* name, const std::string& content, const char* fragment) {
        QTest::newRow(name) << content << QString::fromUtf8(fragment);
    };
    const auto with = [](const std::string& before, const std::string& after) {
        return changed(kMachine, before, after);
    };

    add("empty", "", "the file is empty");
    add("truncated", kMachine.substr(0, 300), "line 5, column ");
    add("list", "[1]", "it begins with \"[\"");
    add("network", kNetwork, "the format is \"placewright.graph\", expected \"placewright.machine\"");
    add("no format", "{\"devices\": []}", "has no \"format\", expected \"placewright.machine\"");
    add("future version", with("\"version\": 1", "\"version\": 2"),
        "version 2 is newer than this program reads (1)");
    add("no name", with(R"("name": "pair", )", ""), "\"name\" is missing");
    add("no devices key", with("\"devices\"", "\"machines\""), "\"devices\" is missing");
    add("no devices",
        R"({"format": "placewright.machine", "version": 1, "name": "x", "devices": [], "channels": [], "routes": []})",
        "has 0 devices");
    add("devices not a list",
        R"({"format": "placewright.machine", "version": 1, "name": "x", "devices": 3, "channels": [], "routes": []})",
        "devices is 3, expected a list");
    add("device not an object", with(R"({"name": "cpu:0", "kind")", R"("cpu", {"name": "cpu:0", "kind")"),
        "devices[0]: is the string \"cpu\"");
    add("device without a name", with(R"("name": "gpu:0", )", ""), "devices[1]: \"name\" is missing");
    add("duplicate device", with(R"("name": "gpu:0")", R"("name": "cpu:0")"),
        "devices[1] \"cpu:0\": the name is taken");
    add("kind", with("\"kind\": \"gpu\"", "\"kind\": \"tpu\""),
        "devices[1] \"gpu:0\": kind is \"tpu\", expected \"cpu\"");
    add("speed as text", with("\"peak_flops\": 1e13", "\"peak_flops\": \"fast\""),
        "devices[1] \"gpu:0\": peak_flops is the string \"fast\"");
    add("no speed", with("\"peak_flops\": 1e13, ", ""),
        "devices[1] \"gpu:0\": has no \"peak_flops\", and the model \"G\" is not in the catalogue of "
        "devices");
    add("zero speed", with("\"peak_flops\": 1e13", "\"peak_flops\": 0"),
        "device \"gpu:0\": peak_flops is 0, expected a positive");
    add("infinite memory", with("32e9", "1e999"), "line 5, column ");
    add("negative memory", with("32e9", "-32e9"), "device \"gpu:0\": memory_bytes is -3.2e+10");
    add("efficiency above 1", with("\"efficiency\": 0.9", "\"efficiency\": 1.1"),
        "device \"cpu:0\": efficiency is 1.1");
    add("efficiency 0", with("\"efficiency\": 0.25", "\"efficiency\": 0"),
        "channel \"bus\": efficiency is 0");
    add("negative overhead", with("5e-6", "-1"), "device \"gpu:0\": launch_overhead_s is -1");
    add("no bandwidth", with("\"bandwidth\": 16e9, ", ""), "channels[0] \"bus\": \"bandwidth\" is missing");
    add("negative latency", with("1e-5", "-1e-5"), "channel \"bus\": latency_s is -1e-05");
    add("efficiencies in a list", with("\"efficiency\": 0.9", "\"efficiency_by_kind\": [0.9]"),
        "devices[0] \"cpu:0\": efficiency_by_kind is a list, expected an object");
    add("efficiency of a kind as text",
        with("\"efficiency\": 0.9", R"("efficiency_by_kind": {"conv2d": "high"})"),
        "devices[0] \"cpu:0\": efficiency_by_kind.conv2d is the string \"high\", expected a number");
    add("efficiency of a kind", with("\"efficiency\": 0.9", R"("efficiency_by_kind": {"conv2d": 60})"),
        "device \"cpu:0\": efficiency_by_kind: \"conv2d\" is 60, expected a number above 0 and up to 1");
    add("memory efficiency", with("\"efficiency\": 0.9", "\"memory_efficiency\": 0"),
        "device \"cpu:0\": memory_efficiency is 0");
    add("half efficiency", with("\"efficiency\": 0.9", "\"half_efficiency_flops\": -1"),
        "device \"cpu:0\": half_efficiency_flops is -1");
    const auto shares = [&](const std::string& members) {
        return with("\"efficiency\": 0.9", "\"efficiencies\": " + members);
    };
    add("efficiencies as a number", shares("0.9"),
        "devices[0] \"cpu:0\": efficiencies is 0.9, expected an object");
    add("unknown efficiency", shares(R"({"magic": 0.5})"),
        "devices[0] \"cpu:0\": efficiencies.magic is not known");
    add("efficiency out of range", shares(R"({"norm": 1.5})"),
        "devices[0] \"cpu:0\": efficiencies.norm is 1.5, expected 0.001 to 1");
    add("efficiency as text", shares(R"({"norm": "high"})"),
        "devices[0] \"cpu:0\": efficiencies.norm is the string \"high\", expected a number");
    add("efficiencies beside other shares", shares(R"({"norm": 0.5}, "memory_efficiency": 0.5)"),
        "memory_efficiency is given beside \"efficiencies\"");
    add("efficiencies beside one share of a known device",
        changed(kMachine,
                R"("model": "G", "peak_flops": 1e13, "memory_bandwidth": 9e11, "memory_bytes": 32e9)",
                R"("model": "V100", "efficiency": 0.5, "efficiencies": {})"),
        "devices[1] \"gpu:0\": efficiency is given beside \"efficiencies\"");
    add("half a stream", with("\"efficiency\": 0.9", "\"streams\": 1.5"),
        "devices[0] \"cpu:0\": streams is 1.5, expected a whole number");
    add("no streams", with("\"efficiency\": 0.9", "\"streams\": 0"),
        "device \"cpu:0\": streams is 0, expected 1 to 64");
    add("negative copy engines", with("\"efficiency\": 0.9", "\"copy_engines\": -1"),
        "devices[0] \"cpu:0\": copy_engines is -1, expected at least 0");
    add("many copy engines", with("\"efficiency\": 0.9", "\"copy_engines\": 4294967296"),
        "devices[0] \"cpu:0\": copy_engines is 4294967296, expected at most 4294967295");
    add("crossing", with("\"devices\"", "\"crossing\": \"wormhole\", \"devices\""),
        "crossing is \"wormhole\", expected \"store-and-forward\" or \"cut-through\"");
    add("crossing as a truth", with("\"devices\"", "\"crossing\": true, \"devices\""),
        "crossing is true, expected a string");
    add("cut-through twice over a channel",
        changed(with("\"devices\"", "\"crossing\": \"cut-through\", \"devices\""), "[\"bus\"]",
                "[\"bus\", \"bus\"]"),
        "route from \"cpu:0\" to \"gpu:0\": crosses channel \"bus\" twice, expected it once");
    add("table of triples", with("[1e3, 0.01]", "[1e3, 0.01, 5]"),
        "efficiency_by_bytes[0] has 3 items, expected [bytes, efficiency]");
    add("table of text", with("[1e3, 0.01]", "[\"1e3\", 0.01]"),
        "efficiency_by_bytes[0][0] is the string \"1e3\", expected a number");
    add("table that falls", with("1e3", "1e8"), "channel \"bus\": efficiency_by_bytes is out of order");
    add("unknown device in a route", with("\"from\": \"gpu:0\"", "\"from\": \"gpu:9\""),
        "routes[1]: from is \"gpu:9\", expected the name of a device");
    add("unknown channel in a route", with("[\"bus\"]", "[\"bahn\"]"),
        "routes[0]: channels[0] is \"bahn\", expected the name of a channel");
    add("empty route", with("[\"bus\"]", "[]"), "has no channels");
    add("route twice",
        with("\"from\": \"gpu:0\", \"to\": \"cpu:0\"", "\"from\": \"cpu:0\", \"to\": \"gpu:0\""),
        "is given twice");
    add("route missing", with(R"(, {"from": "gpu:0", "to": "cpu:0", "channels": ["bus"]})", ""),
        "route from \"gpu:0\" to \"cpu:0\": is missing");
    add("route to itself", with("\"to\": \"gpu:0\"", "\"to\": \"cpu:0\""), "leads back to its device");
}

void TestMachineFile::badMachines() {
    QFETCH(const std::string, content);
    QFETCH(const QString, fragment);
    const Path path = fileWith("bad.json", content);
    check_refusal(refusal([&] { read_machine(path); }), path, fragment);
}

// ---- Shipped models ----

void TestMachineFile::shippedMachines() {
    std::vector<std::string> names;
    for (const ShippedFile& shipped : shipped_machines()) {
        names.push_back(shipped.name);
        const Machine machine = read_machine(shipped.file);
        QCOMPARE(machine.device(0).name, std::string("cpu:0"));
        QVERIFY(machine.devices().size() >= 2);
        for (const Device& device : machine.devices())
            QVERIFY(device.launch_overhead_s > 0 || device.kind == DeviceKind::cpu);
        QVERIFY(find_machine_file(machine.name()) == shipped.file);
        QVERIFY(find_machine_file(shipped.name) == shipped.file);
    }
    const std::vector<std::string> expected{"1x-v100",          "2x-rtx-3090",         "2x-rtx-4090",
                                            "2x-v100-malvik",   "2x-v100-pcie",        "4x-l4",
                                            "4x-rtx-3090",      "4x-rtx-4090",         "4x-v100-nvlink",
                                            "4x-v100-pcie",     "8x-a100-nvlink",      "8x-h100-nvlink",
                                            "laptop-rtx-4060",  "mac-studio-m2-ultra", "mixed-v100-p100-k80",
                                            "rtx-4090-rtx-3060"};
    QVERIFY(names == expected);
    // Full duplex: the sends of a GPU do not wait for its receives.
    const Machine pcie = read_machine(find_machine_file("4x V100, PCIe 3"));
    QCOMPARE(pcie.devices().size(), std::size_t{5});
    const auto there = pcie.route(1, 2), back = pcie.route(2, 1);
    QCOMPARE(there.size(), std::size_t{2});
    for (const ChannelId channel : there) QVERIFY(std::ranges::find(back, channel) == back.end());
    QVERIFY(pcie.crossing() == Crossing::cut_through);
    // GPUs of different generations have no peer access.
    QVERIFY(read_machine(find_machine_file("mixed-v100-p100-k80")).crossing() == Crossing::store_and_forward);
}

void TestMachineFile::transfersBySize() {
    const Machine machine = read_machine(find_machine_file("2x-v100-malvik"));
    QCOMPARE(machine.device(1).streams, 8U);
    QCOMPARE(machine.device(1).copy_engines, 7U);
    for (const Channel& channel : machine.channels()) {
        // The thesis: 17 % of the bandwidth, including latency, on average over 10^3 .. 10^9 bytes; 25 us
        // for the smallest message.
        QCOMPARE(channel.efficiency_by_bytes.size(), std::size_t{7});
        double sum = 0;
        for (const auto& [bytes, efficiency] : channel.efficiency_by_bytes)
            sum += bytes / transfer_time_s(channel, bytes) / channel.bandwidth;
        QVERIFY(std::abs(sum / 7 - 0.17) < 0.0005);
        QVERIFY(std::abs(transfer_time_s(channel, 1000) - 25e-6) < 0.5e-6);
    }
}

void TestMachineFile::findingModels() {
    const Path path = fileWith("m.json", kMachine);
    QVERIFY(find_machine_file(path.string()) == path);
    check_refusal(refusal([] { find_machine_file("9x-h100"); }), "9x-h100",
                  "no shipped machine has this name (similar: \"8x-h100-nvlink\"); there are 1x-v100, "
                  "2x-rtx-3090, 2x-rtx-4090, 2x-v100-malvik");
    check_refusal(refusal([] { find_machine_file(""); }), "\"\"", "not an empty text");
    check_refusal(refusal([] { find_network_file("gpt-9"); }), "gpt-9", "no shipped network has this name");
    check_refusal(refusal([] { find_network_file("inceptionv3"); }), "inceptionv3",
                  "no shipped network has this name (similar: \"inception_v3\"); there are ");
    for (const ShippedFile& shipped : shipped_networks())
        QVERIFY(find_network_file(shipped.name) == shipped.file);
}

void TestMachineFile::modelsFolderFromTheEnvironment() {
    const QByteArray before = qgetenv("PLACEWRIGHT_MODELS");
    const auto restore = qScopeGuard([&] { qputenv("PLACEWRIGHT_MODELS", before); });
    qputenv("PLACEWRIGHT_MODELS", m_folder->path().toLocal8Bit());
    QVERIFY(models_folder() == file("").parent_path());
    QVERIFY(shipped_machines().empty());
    check_refusal(refusal([] { find_machine_file("pair"); }), "pair", "none was found in ");
    std::filesystem::create_directory(file("machines"));
    const Path path = fileWith("machines/b.json", kMachine);
    fileWith("machines/a.json", "broken");
    fileWith("machines/readme.txt", "no machine");
    QCOMPARE(shipped_machines().size(), std::size_t{2});
    QCOMPARE(shipped_machines()[0].name, std::string("a"));
    QVERIFY(find_machine_file("pair") == path);

    qunsetenv("PLACEWRIGHT_MODELS");
    QVERIFY(std::filesystem::is_directory(models_folder() / "machines"));
}

QTEST_GUILESS_MAIN(TestMachineFile)
#include "tst_machine_file.moc"
