// SPDX-License-Identifier: MIT
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <QtTest>

#include "core/base/infinity.hpp"
#include "core/machine/machine.hpp"

using namespace placewright;

namespace {

struct Parts {
    std::vector<Device> devices;
    std::vector<Channel> channels;
    std::vector<Route> routes;
    Crossing crossing = Crossing::store_and_forward;

    Machine machine() const { return Machine("test", devices, channels, routes, crossing); }
};

Device device(const std::string& name, DeviceKind kind) {
    return {.name = name,
            .kind = kind,
            .model = "model",
            .peak_flops = 1e12,
            .memory_bandwidth = 1e11,
            .memory_bytes = 1e10};
}

/// A CPU and a GPU, a shared bus downwards of two hops, one hop back.
Parts two_devices() {
    return {.devices = {device("cpu:0", DeviceKind::cpu), device("gpu:0", DeviceKind::gpu)},
            .channels = {{.name = "bus", .bandwidth = 1e9, .efficiency_by_bytes = {}},
                         {.name = "link", .bandwidth = 2e9, .efficiency_by_bytes = {{1e3, 0.1}, {1e6, 1}}}},
            .routes = {{.from = 0, .to = 1, .channels = {0, 1}}, {.from = 1, .to = 0, .channels = {1}}}};
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Fault {
    const char* label;
    std::function<void(Parts&)> spoil;
    const char* where;
    const char* problem;
};

const std::vector<Fault>& faults() {
    static const std::vector<Fault> list{
        {"no devices", [](Parts& p) { p = {}; }, "", "has 0 devices, expected 1 to 1024"},
        {"too many devices", [](Parts& p) { p.devices.resize(1025); }, "",
         "has 1025 devices, expected 1 to 1024"},
        {"too many channels", [](Parts& p) { p.channels.resize(65537); }, "",
         "has 65537 channels, expected up to 65536"},
        {"device without name", [](Parts& p) { p.devices[1].name.clear(); }, "device 1", "has no name"},
        {"device name twice", [](Parts& p) { p.devices[1].name = "cpu:0"; }, "device \"cpu:0\"",
         "the name is taken"},
        {"channel without name", [](Parts& p) { p.channels[0].name.clear(); }, "channel 0", "has no name"},
        {"channel name twice", [](Parts& p) { p.channels[1].name = "bus"; }, "channel \"bus\"",
         "the name is taken"},
        {"no speed", [](Parts& p) { p.devices[1].peak_flops = 0; }, "device \"gpu:0\"",
         "peak_flops is 0, expected a positive finite number"},
        {"infinite speed", [](Parts& p) { p.devices[1].peak_flops = kInfinity; }, "device \"gpu:0\"",
         "peak_flops is inf"},
        {"no memory bandwidth", [](Parts& p) { p.devices[0].memory_bandwidth = -1; }, "device \"cpu:0\"",
         "memory_bandwidth is -1"},
        {"memory unknown", [](Parts& p) { p.devices[0].memory_bytes = kNan; }, "device \"cpu:0\"",
         "memory_bytes is nan"},
        {"no efficiency", [](Parts& p) { p.devices[0].efficiency = 0; }, "device \"cpu:0\"",
         "efficiency is 0, expected a number above 0 and up to 1"},
        {"efficiency above 1", [](Parts& p) { p.devices[0].efficiency = 1.01; }, "device \"cpu:0\"",
         "efficiency is 1.01"},
        {"efficiency not a number", [](Parts& p) { p.devices[0].efficiency = kNan; }, "device \"cpu:0\"",
         "efficiency is nan"},
        {"negative overhead", [](Parts& p) { p.devices[0].launch_overhead_s = -1e-6; }, "device \"cpu:0\"",
         "launch_overhead_s is -1e-06, expected a finite number of at least 0"},
        {"infinite overhead", [](Parts& p) { p.devices[0].launch_overhead_s = kInfinity; },
         "device \"cpu:0\"", "launch_overhead_s is inf"},
        {"no efficiency of a kind", [](Parts& p) { p.devices[1].efficiency_by_kind["conv2d"] = 0; },
         "device \"gpu:0\"", "efficiency_by_kind: \"conv2d\" is 0, expected a number above 0 and up to 1"},
        {"efficiency of a kind above 1",
         [](Parts& p) {
             p.devices[1].efficiency_by_kind = {{"add", 1}, {"relu", 1.5}};
         },
         "device \"gpu:0\"", "efficiency_by_kind: \"relu\" is 1.5"},
        {"efficiency of a kind not a number", [](Parts& p) { p.devices[1].efficiency_by_kind["add"] = kNan; },
         "device \"gpu:0\"", "efficiency_by_kind: \"add\" is nan"},
        {"no memory efficiency", [](Parts& p) { p.devices[0].memory_efficiency = 0; }, "device \"cpu:0\"",
         "memory_efficiency is 0, expected a number above 0 and up to 1"},
        {"memory efficiency above 1", [](Parts& p) { p.devices[0].memory_efficiency = 2; },
         "device \"cpu:0\"", "memory_efficiency is 2"},
        {"negative size", [](Parts& p) { p.devices[0].half_efficiency_flops = -1; }, "device \"cpu:0\"",
         "half_efficiency_flops is -1, expected a finite number of at least 0"},
        {"infinite size", [](Parts& p) { p.devices[0].half_efficiency_flops = kInfinity; },
         "device \"cpu:0\"", "half_efficiency_flops is inf"},
        {"no streams", [](Parts& p) { p.devices[1].streams = 0; }, "device \"gpu:0\"",
         "streams is 0, expected 1 to 64"},
        {"too many streams", [](Parts& p) { p.devices[1].streams = 65; }, "device \"gpu:0\"",
         "streams is 65, expected 1 to 64"},
        {"too many copy engines", [](Parts& p) { p.devices[1].copy_engines = 65; }, "device \"gpu:0\"",
         "copy_engines is 65, expected 0 to 64"},
        {"cut-through twice",
         [](Parts& p) {
             p.crossing = Crossing::cut_through;
             p.routes[0].channels = {1, 0, 1};
         },
         "route from \"cpu:0\" to \"gpu:0\"", "crosses channel \"link\" twice, expected it once"},
        {"no bandwidth", [](Parts& p) { p.channels[1].bandwidth = 0; }, "channel \"link\"", "bandwidth is 0"},
        {"negative latency", [](Parts& p) { p.channels[0].latency_s = -1; }, "channel \"bus\"",
         "latency_s is -1"},
        {"channel efficiency", [](Parts& p) { p.channels[0].efficiency = 2; }, "channel \"bus\"",
         "efficiency is 2"},
        {"table from nothing", [](Parts& p) { p.channels[1].efficiency_by_bytes[0].first = 0; },
         "channel \"link\"", "efficiency_by_bytes: size is 0"},
        {"table efficiency", [](Parts& p) { p.channels[1].efficiency_by_bytes[0].second = 0; },
         "channel \"link\"", "efficiency_by_bytes: efficiency is 0"},
        {"table descends", [](Parts& p) { p.channels[1].efficiency_by_bytes[1].first = 10; },
         "channel \"link\"", "expected ascending sizes"},
        {"table size twice", [](Parts& p) { p.channels[1].efficiency_by_bytes[1].first = 1e3; },
         "channel \"link\"", "expected ascending sizes"},
        {"route from unknown", [](Parts& p) { p.routes[0].from = 2; }, "route 0",
         "joins devices 2 and 1, expected devices below 2"},
        {"route to unknown", [](Parts& p) { p.routes[1].to = kInvalidDevice; }, "route 1",
         "joins devices 1 and 65535"},
        {"route to itself", [](Parts& p) { p.routes[1].to = 1; }, "route from \"gpu:0\" to \"gpu:0\"",
         "leads back"},
        {"route without channels", [](Parts& p) { p.routes[0].channels.clear(); },
         "route from \"cpu:0\" to \"gpu:0\"", "has no channels"},
        {"route over unknown channel", [](Parts& p) { p.routes[0].channels[1] = 2; },
         "route from \"cpu:0\" to \"gpu:0\"", "channel 2 is unknown, the machine has 2 channels"},
        {"route twice", [](Parts& p) { p.routes.push_back(p.routes[0]); },
         "route from \"cpu:0\" to \"gpu:0\"", "is given twice"},
        {"route missing", [](Parts& p) { p.routes.pop_back(); }, "route from \"gpu:0\" to \"cpu:0\"",
         "is missing"},
    };
    return list;
}

}  // namespace

class TestMachine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void kinds();
    void crossings();
    void holdsWhatItWasGiven();
    void oneDeviceNeedsNoRoute();
    void limitsAreAllowed();
    void findsByName();
    void routes();
    void matchesNameOrKind();
    void equality();
    void refuses_data();
    void refuses();
    void countsModels();
};

void TestMachine::kinds() {
    for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::gpu, DeviceKind::accelerator})
        QVERIFY(device_kind_from(to_string(kind)) == kind);
    QVERIFY(to_string(DeviceKind::accelerator) == "accelerator");
    QVERIFY(!device_kind_from("GPU"));
    QVERIFY(!device_kind_from(""));
}

void TestMachine::crossings() {
    for (const Crossing crossing : {Crossing::store_and_forward, Crossing::cut_through})
        QVERIFY(crossing_from(to_string(crossing)) == crossing);
    QVERIFY(to_string(Crossing::cut_through) == "cut-through");
    QVERIFY(!crossing_from("cut_through"));
    QVERIFY(two_devices().machine().crossing() == Crossing::store_and_forward);
}

void TestMachine::holdsWhatItWasGiven() {
    const Parts parts = two_devices();
    const Machine machine = parts.machine();
    QVERIFY(machine.name() == "test");
    QVERIFY(std::vector(machine.devices().begin(), machine.devices().end()) == parts.devices);
    QVERIFY(std::vector(machine.channels().begin(), machine.channels().end()) == parts.channels);
    QVERIFY(std::vector(machine.routes().begin(), machine.routes().end()) == parts.routes);
    QVERIFY(machine.device(1) == parts.devices[1]);
}

void TestMachine::oneDeviceNeedsNoRoute() {
    const Machine machine("one", {device("gpu:0", DeviceKind::gpu)}, {}, {});
    QVERIFY(machine.route(0, 0).empty());
}

void TestMachine::limitsAreAllowed() {
    Parts parts = two_devices();
    parts.devices[0].efficiency = 1;
    parts.devices[0].launch_overhead_s = 0;
    parts.channels[0].latency_s = 0;
    parts.channels[0].efficiency = 1e-9;
    parts.channels[1].efficiency_by_bytes = {{1, 1}};
    parts.devices[0].efficiency_by_kind = {{"conv2d", 1}, {"add", 1e-9}};
    parts.devices[0].memory_efficiency = 1;
    parts.devices[0].half_efficiency_flops = 0;
    parts.devices[0].streams = parts.devices[0].copy_engines = 64;
    parts.devices[1].streams = 1;
    parts.devices[1].copy_engines = 0;
    parts.routes[0].channels = {1, 0, 1};  // one after the other: as often as it likes
    QCOMPARE(parts.machine().devices().size(), std::size_t{2});
}

void TestMachine::findsByName() {
    const Machine machine = two_devices().machine();
    QVERIFY(machine.find("cpu:0") == DeviceId{0});
    QVERIFY(machine.find("gpu:0") == DeviceId{1});
    QVERIFY(!machine.find("gpu"));
    QVERIFY(!machine.find(""));
}

void TestMachine::routes() {
    const Machine machine = two_devices().machine();
    const auto channels = [&](DeviceId from, DeviceId to) {
        const auto route = machine.route(from, to);
        return std::vector(route.begin(), route.end());
    };
    QVERIFY(channels(0, 1) == (std::vector<ChannelId>{0, 1}));
    QVERIFY(channels(1, 0) == (std::vector<ChannelId>{1}));
    QVERIFY(channels(0, 0).empty());
    QVERIFY(channels(1, 1).empty());
}

void TestMachine::matchesNameOrKind() {
    const Machine machine = two_devices().machine();
    QVERIFY(machine.matches(0, "cpu:0"));
    QVERIFY(machine.matches(0, "cpu"));
    QVERIFY(!machine.matches(0, "gpu"));
    QVERIFY(!machine.matches(0, "gpu:0"));
    QVERIFY(machine.matches(1, "gpu"));
    QVERIFY(!machine.matches(1, "gpu:00"));
    QVERIFY(!machine.matches(1, "model"));
    QVERIFY(!machine.matches(1, ""));
}

void TestMachine::equality() {
    const Machine machine = two_devices().machine();
    QVERIFY(machine == two_devices().machine());

    const std::vector<std::function<void(Parts&)>> changes{
        [](Parts& p) { p.devices[1].memory_bytes = 2e10; },
        [](Parts& p) { p.channels[0].latency_s = 1e-6; },
        [](Parts& p) { p.routes[1].channels = {0}; },
        [](Parts& p) { p.devices[0].efficiency_by_kind["add"] = 0.5; },
        [](Parts& p) { p.devices[0].memory_efficiency = 1; },
        [](Parts& p) { p.devices[0].half_efficiency_flops = 1e6; },
        [](Parts& p) { p.devices[0].streams = 2; },
        [](Parts& p) { p.devices[0].copy_engines = 2; },
        [](Parts& p) { p.crossing = Crossing::cut_through; }};
    for (const auto& change : changes) {
        Parts parts = two_devices();
        change(parts);
        QVERIFY(!(machine == parts.machine()));
    }
    const Parts parts = two_devices();
    QVERIFY(!(machine == Machine("other", parts.devices, parts.channels, parts.routes)));
}

void TestMachine::refuses_data() {
    QTest::addColumn<std::size_t>("fault");
    for (std::size_t i = 0; i < faults().size(); ++i) QTest::newRow(faults()[i].label) << i;
}

void TestMachine::refuses() {
    QFETCH(std::size_t, fault);
    const Fault& expected = faults()[fault];
    Parts parts = two_devices();
    expected.spoil(parts);
    try {
        parts.machine();
    } catch (const MachineError& error) {
        QCOMPARE(QString::fromStdString(error.where()), QString::fromUtf8(expected.where));
        const QString what = QString::fromUtf8(error.what());
        QVERIFY2(what.contains(QString::fromUtf8(expected.problem)), qPrintable(what));
        QVERIFY2(what.startsWith(QString::fromUtf8(expected.where)), qPrintable(what));
        return;
    }
    QFAIL("accepted");
}

void TestMachine::countsModels() {
    std::vector<Device> devices(4);
    for (Device& each : devices) each.model = "V100";
    devices[0].model = "CPU";
    QCOMPARE(models_of(devices), std::string("CPU, 3x V100"));
    devices[2].model = "T4";
    QCOMPARE(models_of(devices), std::string("CPU, V100, T4, V100"));
    QCOMPARE(models_of({}), std::string());
}

QTEST_GUILESS_MAIN(TestMachine)

#include "tst_machine.moc"
