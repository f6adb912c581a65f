// SPDX-License-Identifier: MIT
// The computer as a machine: hwloc's topologies, a library in place of NVIDIA's, and a made-up /sys.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_file.hpp"
#include "core/measure/amd_gpus.hpp"
#include "core/measure/host_files.hpp"
#include "core/measure/nvidia_gpus.hpp"
#include "core/measure/profiler.hpp"
#include "core/measure/this_computer.hpp"
#include "tests/measure/two_sockets.hpp"
#include "tests/support/graphs.hpp"

using namespace placewright;
using placewright::test::TwoSockets;

namespace {

constexpr auto kModel = "AMD EPYC 7742 64-Core Processor";
constexpr double kPcie4 = 31.5077e9;

/// What the library in place of NVIDIA's finds.
FoundGpus nvidia(const char* description) {
    qputenv("FAKE_NVML", description);
    const auto library = nvml::load(PLACEWRIGHT_FAKE_NVML);
    if (!library) qFatal("the library in place of NVIDIA's cannot be loaded");
    return nvidia_gpus(*library);
}

CpuFacts facts() {
    return {"", 2e9, "made up", 32, "made-up units"};
}

ThisComputer computer(HostTopology topology, FoundGpus gpus) {
    return computer_of({std::move(topology), facts(), 50e9, {}, std::move(gpus)}, shipped_devices());
}

HostTopology one_socket() {
    return host_topology_of_synthetic("pack:1 [numa(memory=64000000000)] l3:1(size=33554432) core:8 pu:2");
}

/// "pcie0/up switch0/up".
std::string route(const Machine& machine, const char* from, const char* to) {
    std::string names;
    for (const ChannelId channel : machine.route(*machine.find(from), *machine.find(to)))
        names += (names.empty() ? "" : " ") + machine.channels()[channel].name;
    return names;
}

const Channel& channel(const Machine& machine, std::string_view name) {
    const auto found = std::ranges::find(machine.channels(), name, &Channel::name);
    if (found == machine.channels().end()) qFatal("no channel %s", std::string(name).c_str());
    return *found;
}

bool says(const ThisComputer& found, std::string_view words) {
    return std::ranges::any_of(
        found.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

}  // namespace

class TestThisComputer : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() { m_root = std::make_unique<QTemporaryDir>(); }
    void cleanup() {
        qunsetenv("FAKE_NVML");
        m_root.reset();
    }

    void hereAndNow();
    void syntheticSockets();
    void badTopologiesAreRefused();
    void pciAddresses();
    void aKnownCpu();
    void aPartOfAKnownCpu();
    void anUnknownCpu();
    void gpusOnPcie_data();
    void gpusOnPcie();
    void twoSocketsAndASwitch();
    void nvlinkPairs();
    void nvlinkOfAnotherCount();
    void nvlinkSwitch();
    void anUnknownGpu();
    void aGpuWithoutFigures();
    void aDriverThatDoesNotAnswer();
    void noNvidiaLibrary();
    void amdGpus();
    void amdNames();
    void cpuFacts_data();
    void cpuFacts();
    void memoryLimit();
    void memoryWithoutSys();
    void messagesFitTheFreeMemory();
    void threadsOfAPhysicalCore();
    void bridgeLinksOfTheKernel();

private:
    void write(const std::string& file, const std::string& content) const {
        const Path path = root() / file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << content << '\n';
    }
    Path root() const { return m_root->path().toStdString(); }
    /// A device of PCI with these files, and its entry among the cards.
    void addCard(int number, const std::string& address,
                 const std::vector<std::pair<std::string, std::string>>& files) const {
        const std::string device = "sys/devices/pci0000:00/" + address;
        for (const auto& [name, content] : files) write(device + '/' + name, content);
        std::filesystem::create_directories(root() / "sys/bus/pci/devices");
        std::filesystem::create_directory_symlink(root() / device, root() / "sys/bus/pci/devices" / address);
        const Path card = root() / ("sys/class/drm/card" + std::to_string(number));
        std::filesystem::create_directories(card);
        std::filesystem::create_directory_symlink(root() / device, card / "device");
        std::filesystem::create_directories(root() /
                                            ("sys/class/drm/card" + std::to_string(number) + "-DP-1"));
    }
    /// The machine comes back from a file as it was.
    void comesBack(const Machine& machine) const {
        const Path file = root() / "machine.json";
        write_machine(machine, file);
        QVERIFY(read_machine(file) == machine);
    }

    std::unique_ptr<QTemporaryDir> m_root;
};

void TestThisComputer::hereAndNow() {
    const HostTopology topology = host_topology();
    QVERIFY(!topology.sockets.empty());
    for (const Socket& socket : topology.sockets) {
        QVERIFY(socket.cores >= 1 && socket.threads >= socket.cores);
        QVERIFY(socket.memory_bytes > 1e8);
    }
    const ThisComputer found = this_computer(shipped_devices());
    QCOMPARE(found.devices.size(), found.machine.devices().size());
    QCOMPARE(found.machine.device(0).name, std::string("cpu:0"));
    QVERIFY(found.machine.device(0).kind == DeviceKind::cpu);
    QVERIFY(found.machine.device(0).peak_flops > 1e9);
    QVERIFY(!found.notes.empty());
    comesBack(found.machine);
    // The same computer gives the same machine.
    QVERIFY(this_computer(shipped_devices()).machine == found.machine);
}

void TestThisComputer::syntheticSockets() {
    const HostTopology two =
        host_topology_of_synthetic("pack:2 [numa(memory=64000000000)] l3:1(size=33554432) core:8 pu:2");
    QCOMPARE(two.sockets.size(), std::size_t{2});
    QCOMPARE(two.sockets[1].cores, std::size_t{8});
    QCOMPARE(two.sockets[1].threads, std::size_t{16});
    QCOMPARE(two.sockets[1].cache_bytes, 33554432.0);
    QCOMPARE(two.sockets[1].memory_bytes, 64e9);
    QVERIFY(two.socket_of_node(1) == std::size_t{1});
    QVERIFY(!two.socket_of_node(7));
    // Two nodes of a socket, as with sub-NUMA clustering.
    const HostTopology clustered =
        host_topology_of_synthetic("pack:2 group:2 [numa(memory=32000000000)] core:4 pu:1");
    QCOMPARE(clustered.sockets.size(), std::size_t{2});
    QCOMPARE(clustered.sockets[0].memory_bytes, 64e9);
    QVERIFY(clustered.socket_of_node(3) == std::size_t{1});
    // A virtual machine whose every CPU is called a socket, with one memory.
    const HostTopology virtual_machine =
        host_topology_of_synthetic("[numa(memory=16000000000)] pack:4 core:1 pu:1");
    QCOMPARE(virtual_machine.sockets.size(), std::size_t{1});
    QCOMPARE(virtual_machine.sockets[0].cores, std::size_t{4});
    QCOMPARE(virtual_machine.sockets[0].memory_bytes, 16e9);

    const ThisComputer found = computer(two, {});
    QCOMPARE(found.machine.devices().size(), std::size_t{2});
    QCOMPARE(route(found.machine, "cpu:0", "cpu:1"), std::string("socket0-1"));
    QCOMPARE(route(found.machine, "cpu:1", "cpu:0"), std::string("socket1-0"));
    QVERIFY(says(found, "link between two sockets is taken as 40.0 GB/s"));
    QVERIFY(says(found, "No GPU was found"));
    comesBack(found.machine);
}

void TestThisComputer::badTopologiesAreRefused() {
    QVERIFY_THROWS_EXCEPTION(TopologyError, host_topology_of_xml("<topology>"));
    QVERIFY_THROWS_EXCEPTION(TopologyError, host_topology_of_synthetic("pack:two"));
}

void TestThisComputer::pciAddresses() {
    QVERIFY(pci_address_from("0000:65:00.1") == (PciAddress{0, 0x65, 0, 1}));
    QVERIFY(pci_address_from("00000001:0A:1F.0") == (PciAddress{1, 10, 31, 0}));
    QCOMPARE(to_string(PciAddress{1, 10, 31, 0}), std::string("0001:0a:1f.0"));
    for (const char* text : {"", "65:00.0", "0000:65:00", "0000:65:00.0x", "virtio0"})
        QVERIFY2(!pci_address_from(text), text);
}

void TestThisComputer::aKnownCpu() {
    HostTopology topology = one_socket();
    topology.sockets[0].model = kModel;
    topology.sockets[0].cores = 64;
    const ThisComputer found = computer(topology, {});
    const Device& cpu = found.machine.device(0);
    QCOMPARE(cpu.model, std::string("EPYC 7742"));
    QVERIFY(cpu.known && cpu.peak_flops == 4.6e12 && cpu.memory_bandwidth == 204.8e9);
    QCOMPARE(cpu.memory_bytes, 64e9);
    QVERIFY(found.devices[0].speeds == SpeedSource::data_sheet);
    QVERIFY(found.devices[0].free_bytes == 50e9);
    QCOMPARE(found.machine.name(), std::string("This computer: EPYC 7742"));
    comesBack(found.machine);
}

/// Eight cores of 64, as in a virtual machine.
void TestThisComputer::aPartOfAKnownCpu() {
    HostTopology topology = one_socket();
    topology.sockets[0].model = kModel;
    const ThisComputer found = computer(topology, {});
    const Device& cpu = found.machine.device(0);
    QVERIFY(cpu.known);
    QCOMPARE(cpu.peak_flops, 4.6e12 / 8);
    QCOMPARE(cpu.memory_bandwidth, 96e9);
    QVERIFY(found.devices[0].speeds == SpeedSource::share);
    QVERIFY(says(found, "8 cores of the 64 of EPYC 7742 may be used here"));
    // Peak, bandwidth and memory all differ from the catalogue's, which still is known to the file.
    comesBack(found.machine);
}

void TestThisComputer::anUnknownCpu() {
    HostTopology topology = one_socket();
    topology.sockets[0].model = "Abacus 9000";
    const ThisComputer found = computer(topology, {});
    const Device& cpu = found.machine.device(0);
    QVERIFY(!cpu.known);
    QCOMPARE(cpu.model, std::string("Abacus 9000"));
    QCOMPARE(cpu.peak_flops, 8 * 2e9 * 32);
    QCOMPARE(cpu.memory_bandwidth, 96e9);
    QCOMPARE(cpu.efficiency, 0.7);
    QVERIFY(found.devices[0].speeds == SpeedSource::estimate);
    for (const char* words : {"\"Abacus 9000\" is not in the catalogue of devices",
                              "8 cores with 33.6 MB of last cache: 8 x 2.00 GHz (made up) x 32 FLOPs",
                              "calibrate", "in the machine file"})
        QVERIFY2(says(found, words), words);
    comesBack(found.machine);
}

void TestThisComputer::gpusOnPcie_data() {
    QTest::addColumn<int>("gpus");
    for (const int gpus : {1, 2, 4}) QTest::addRow("%d", gpus) << gpus;
}

void TestThisComputer::gpusOnPcie() {
    QFETCH(int, gpus);
    const ThisComputer found = computer(one_socket(), nvidia(("gpus=" + std::to_string(gpus)).c_str()));
    const Machine& machine = found.machine;
    QCOMPARE(machine.devices().size(), static_cast<std::size_t>(gpus) + 1);
    QCOMPARE(machine.channels().size(), static_cast<std::size_t>(2 * gpus));
    for (DeviceId id = 1; id <= gpus; ++id) {
        const Device& gpu = machine.device(id);
        QCOMPARE(gpu.name, "gpu:" + std::to_string(id - 1));
        QCOMPARE(gpu.model, std::string("NVIDIA A100 SXM 80GB"));
        QVERIFY(gpu.known);
        QCOMPARE(gpu.memory_bytes, 85899345920.0);
        QVERIFY(found.devices[id].free_bytes == 80e9 - (id - 1));
        const std::string link = "pcie" + std::to_string(id - 1);
        QCOMPARE(route(machine, gpu.name.c_str(), "cpu:0"), link + "/up");
        QCOMPARE(route(machine, "cpu:0", gpu.name.c_str()), link + "/down");
        QCOMPARE(channel(machine, link + "/up").model, std::string("PCIe 4.0 x16"));
        QCOMPARE(channel(machine, link + "/up").bandwidth, kPcie4);
    }
    if (gpus > 1) QCOMPARE(route(machine, "gpu:0", "gpu:1"), std::string("pcie0/up pcie1/down"));
    QVERIFY(machine.crossing() == Crossing::cut_through);
    comesBack(machine);
}

void TestThisComputer::twoSocketsAndASwitch() {
    const HostTopology topology = host_topology_of_xml(TwoSockets().xml(kModel));
    QCOMPARE(topology.sockets.size(), std::size_t{2});
    QCOMPARE(topology.sockets[0].model, std::string(kModel));
    QCOMPARE(topology.devices.size(), std::size_t{4});
    QCOMPARE(topology.find({0, 1, 0, 0})->bridges.size(), std::size_t{3});
    QCOMPARE(topology.find({0, 4, 0, 0})->socket, std::size_t{1});

    const ThisComputer found = computer(topology, nvidia("gpus=4"));
    const Machine& machine = found.machine;
    QCOMPARE(machine.devices().size(), std::size_t{6});
    QCOMPARE(machine.name(), std::string("This computer: 4x NVIDIA A100 SXM 80GB, 2x EPYC 7742"));
    // Below the switch, the GPUs' own links are enough; to the host, the switch's is shared.
    QCOMPARE(route(machine, "gpu:0", "gpu:1"), std::string("pcie0/up pcie1/down"));
    QCOMPARE(route(machine, "gpu:0", "cpu:0"), std::string("pcie0/up switch0/up"));
    QCOMPARE(route(machine, "cpu:0", "gpu:1"), std::string("switch0/down pcie1/down"));
    QCOMPARE(channel(machine, "switch0/up").model, std::string("PCIe 3.0 x16"));
    QCOMPARE(channel(machine, "pcie0/up").model, std::string("PCIe 4.0 x16"));
    // Across the sockets.
    QCOMPARE(route(machine, "gpu:0", "cpu:1"), std::string("pcie0/up switch0/up socket0-1"));
    QCOMPARE(route(machine, "cpu:0", "gpu:2"), std::string("socket0-1 pcie2/down"));
    QCOMPARE(route(machine, "gpu:2", "gpu:0"), std::string("pcie2/up socket1-0 switch0/down pcie0/down"));
    // Ports with one GPU each are no switch.
    QCOMPARE(route(machine, "gpu:2", "gpu:3"), std::string("pcie2/up pcie3/down"));
    QVERIFY(says(found, "gpu:0, gpu:1 share the link to the host"));
    comesBack(machine);
}

void TestThisComputer::nvlinkPairs() {
    const ThisComputer found = computer(one_socket(), nvidia("gpus=4;nvlink=pairs;links=4"));
    const Machine& machine = found.machine;
    QCOMPARE(route(machine, "gpu:0", "gpu:1"), std::string("nvlink0-1"));
    QCOMPARE(route(machine, "gpu:3", "gpu:2"), std::string("nvlink3-2"));
    QCOMPARE(channel(machine, "nvlink0-1").model, std::string("NVLink 3 x4"));
    QCOMPARE(channel(machine, "nvlink0-1").bandwidth, 100e9);
    // Without a bridge between the pairs, transfers take PCIe.
    QCOMPARE(route(machine, "gpu:1", "gpu:2"), std::string("pcie1/up pcie2/down"));
    comesBack(machine);
}

void TestThisComputer::nvlinkOfAnotherCount() {
    // Every two of three GPUs, with a number of links that the catalogue has not.
    const ThisComputer found =
        computer(one_socket(), nvidia("gpus=3;nvlink=all;links=5;version=2;name=Tesla V100-SXM2-32GB"));
    const Channel& link = channel(found.machine, "nvlink2-0");
    QCOMPARE(link.model, std::string("NVLink 2 x5"));
    QCOMPARE(link.bandwidth, 125e9);
    QVERIFY(!link.efficiency_by_bytes.empty());
    comesBack(found.machine);
}

void TestThisComputer::nvlinkSwitch() {
    const ThisComputer found = computer(
        one_socket(), nvidia("gpus=4;nvlink=switch;links=18;version=6;name=NVIDIA H100 80GB HBM3;pcie=5"));
    const Machine& machine = found.machine;
    QCOMPARE(route(machine, "gpu:0", "gpu:3"), std::string("nvlink0/up nvlink3/down"));
    QCOMPARE(channel(machine, "nvlink3/down").model, std::string("NVLink 4 x18"));
    QCOMPARE(channel(machine, "pcie0/up").model, std::string("PCIe 5.0 x16"));
    QCOMPARE(machine.device(1).model, std::string("NVIDIA H100 SXM"));
    comesBack(machine);
}

void TestThisComputer::anUnknownGpu() {
    const ThisComputer found =
        computer(one_socket(), nvidia("gpus=2;name=NVIDIA Zorn 5000;nvlink=pairs;version=0;pcie=0"));
    const Device& gpu = found.machine.device(1);
    QVERIFY(!gpu.known);
    QCOMPARE(gpu.model, std::string("NVIDIA Zorn 5000"));
    // 6912 cores at 1410 MHz; 5120 bits at 1215 MHz, as of an A100.
    QCOMPARE(gpu.peak_flops, 2.0 * 6912 * 1410e6);
    QCOMPARE(gpu.memory_bandwidth, 2.0 * 1215e6 * 5120 / 8);
    QVERIFY(gpu.launch_overhead_s > 1e-6 && gpu.launch_overhead_s < 1e-4);
    QVERIFY(found.devices[1].speeds == SpeedSource::estimate);
    QVERIFY(says(found, "\"NVIDIA Zorn 5000\" is not in the catalogue"));
    QVERIFY(says(found, "6912 cores x 1.41 GHz"));
    QVERIFY(says(found, "calibrate"));
    // What holds for both is said once.
    QCOMPARE(std::ranges::count_if(found.notes,
                                   [](const std::string& note) {
                                       return note.starts_with("gpu:0") &&
                                              note.find("gpu:1") != std::string::npos;
                                   }),
             3);
    QCOMPARE(found.notes.size(), std::size_t{4});
    // Neither PCIe nor NVLink are told.
    QVERIFY(says(found, "how fast its PCIe link is; it is taken as PCIe 3.0 x16"));
    QVERIFY(says(found, "how fast its NVLink is"));
    QCOMPARE(channel(found.machine, "nvlink0-1").bandwidth, 100e9);
    comesBack(found.machine);
}

void TestThisComputer::aGpuWithoutFigures() {
    const ThisComputer found = computer(one_socket(), nvidia("gpus=1;name=NVIDIA Zorn 5000;figures=no"));
    QVERIFY(found.machine.device(1).peak_flops > 0);
    QVERIFY(says(found, "peak: a guess"));
    QVERIFY(says(found, "memory bandwidth: a guess"));
    // The catalogue needs none.
    QCOMPARE(computer(one_socket(), nvidia("gpus=1;figures=no")).machine.device(1).peak_flops, 19.5e12);
}

void TestThisComputer::aDriverThatDoesNotAnswer() {
    const ThisComputer found =
        computer(host_topology_of_xml(TwoSockets().xml(kModel)), nvidia("gpus=2;error=18"));
    QCOMPARE(found.machine.devices().size(), std::size_t{2});
    QVERIFY(says(found, "Driver/library version mismatch"));
    QVERIFY(says(found, "nvidia-smi"));
    // PCIe still knows that there are GPUs.
    QVERIFY(says(found, "A device of NVIDIA at 0000:03:00.0 is left out"));
    QVERIFY(says(found, "No GPU was found"));
}

void TestThisComputer::noNvidiaLibrary() {
    QVERIFY(!nvml::load("libnvidia-of-nobody.so.1"));
    QVERIFY(!nvml::load("libc.so.6"));  // has none of the functions
    const ThisComputer found = this_computer(shipped_devices(), {root(), "libnvidia-of-nobody.so.1"});
    QVERIFY(found.machine.device(0).kind == DeviceKind::cpu);
    QVERIFY(says(found, "No GPU was found"));
    // A made-up root without /proc: a usual clock.
    QVERIFY(!found.devices[0].free_bytes);
}

void TestThisComputer::amdGpus() {
    const auto files = [](const char* memory) {
        return std::vector<std::pair<std::string, std::string>>{{"vendor", "0x1002"},
                                                                {"device", "0x738c"},
                                                                {"revision", "0x01"},
                                                                {"product_name", "AMD Instinct MI100"},
                                                                {"mem_info_vram_total", memory},
                                                                {"mem_info_vram_used", "1000000000"},
                                                                {"max_link_speed", "16.0 GT/s PCIe"},
                                                                {"current_link_speed", "2.5 GT/s PCIe"},
                                                                {"current_link_width", "16"},
                                                                {"numa_node", "1"}};
    };
    addCard(1, "0000:04:00.0", files("34342961152"));
    addCard(0, "0000:03:00.0", files("34342961152"));
    addCard(2, "0000:05:00.0", files("536870912"));
    addCard(3, "0000:06:00.0", {{"vendor", "0x8086"}, {"device", "0x1234"}});
    addCard(4, "0000:07:00.0", {{"vendor", "0x1002"}, {"device", "0x1234"}, {"revision", "0x00"}});
    const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
    write(nodes + "0/properties", "cpu_cores_count 8\nsimd_count 0");
    for (const int node : {1, 2}) {
        const std::string folder = nodes + std::to_string(node);
        write(folder + "/properties",
              "simd_count 480\nsimd_per_cu 4\nmax_engine_clk_fcompute 1502\nlocation_id " +
                  std::to_string((node + 2) << 8) + "\ndomain 0");
        write(folder + "/mem_banks/0/properties", "heap_type 1\nwidth 4096\nmem_clk_max 1200");
        write(folder + "/io_links/0/properties", "type 2\nnode_to 0");
        write(folder + "/io_links/1/properties",
              "type 11\nnode_to " + std::to_string(3 - node) + "\nmax_bandwidth 46000");
    }

    FoundGpus gpus = amd_gpus(root());
    QCOMPARE(gpus.gpus.size(), std::size_t{2});
    QCOMPARE(to_string(gpus.gpus[0].address), std::string("0000:03:00.0"));
    QCOMPARE(gpus.gpus[0].memory_bytes, 34342961152.0);
    QVERIFY(gpus.gpus[0].free_bytes == 33342961152.0);
    QVERIFY(gpus.gpus[0].pcie == (PcieLink{4, 16}));
    QVERIFY(gpus.gpus[0].numa_node == 1U);
    QCOMPARE(gpus.gpus[0].peak_flops, 120 * 64 * 2 * 1502e6);
    QCOMPARE(gpus.gpus[0].memory_bandwidth, 1228.8e9);
    QCOMPARE(gpus.notes.size(), std::size_t{2});

    TwoSockets host;
    host.vendor = "1002";
    const ThisComputer found = computer(host_topology_of_xml(host.xml(kModel)), std::move(gpus));
    const Machine& machine = found.machine;
    QCOMPARE(machine.devices().size(), std::size_t{4});
    QVERIFY(machine.device(2).known);
    QCOMPARE(machine.device(2).model, std::string("AMD Instinct MI100"));
    QCOMPARE(route(machine, "gpu:0", "gpu:1"), std::string("xgmi0-1"));
    QCOMPARE(channel(machine, "xgmi1-0").bandwidth, 46e9);
    QCOMPARE(route(machine, "gpu:1", "cpu:1"), std::string("pcie1/up"));
    QCOMPARE(channel(machine, "pcie1/up").model, std::string("PCIe 4.0 x16"));
    QVERIFY(says(found, "is left out: it has only 537 MB"));
    QVERIFY(says(found, "\"AMD GPU 1002:1234\" at 0000:07:00.0 is left out"));
    comesBack(machine);
}

void TestThisComputer::amdNames() {
    const std::vector<std::pair<std::string, std::string>> files{{"vendor", "0x1002"},
                                                                 {"device", "0x73bf"},
                                                                 {"revision", "0xc0"},
                                                                 {"mem_info_vram_total", "17163091968"}};
    addCard(0, "0000:03:00.0", files);
    QCOMPARE(amd_gpus(root()).gpus.at(0).name, std::string("AMD GPU 1002:73bf"));
    write("usr/share/misc/pci.ids",
          "10de  NVIDIA Corporation\n\t73bf  Wrong\n1002  Advanced Micro Devices, Inc. [AMD/ATI]\n"
          "\t73be  Other\n\t73bf  Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]\n\t\t1002 0e3a  Board");
    QCOMPARE(amd_gpus(root()).gpus.at(0).name, std::string("AMD Radeon RX 6800/6800 XT / 6900 XT"));
    write("usr/share/libdrm/amdgpu.ids",
          "# List\n1.0.0\n73BF,\tC1,\tAMD Radeon RX 6800 XT\n73BF,\tC0,\tAMD Radeon RX 6900 XT");
    QCOMPARE(amd_gpus(root()).gpus.at(0).name, std::string("AMD Radeon RX 6900 XT"));
    QVERIFY(shipped_devices().find_device(amd_gpus(root()).gpus.at(0).name) != nullptr);
    // Without a word on its PCIe link, that of the data sheet.
    const ThisComputer found = computer(one_socket(), amd_gpus(root()));
    QCOMPARE(channel(found.machine, "pcie0/up").model, std::string("PCIe 4.0 x16"));
    QVERIFY(says(found, "does not say how fast its PCIe link is"));
}

void TestThisComputer::cpuFacts_data() {
    QTest::addColumn<QByteArray>("cpuinfo");
    QTest::addColumn<QByteArray>("clockFile");
    QTest::addColumn<double>("clock");
    QTest::addColumn<double>("flops");
    const QByteArray intel = "vendor_id : GenuineIntel\ncpu family : 6\nmodel name : ";
    QTest::newRow("AVX-512, clock in the name")
        << intel + "Intel(R) Xeon(R) CPU @ 2.30GHz\ncpu MHz : 3100.5\nflags : fpu avx avx2 fma avx512f"
        << QByteArray() << 2.3e9 << 64.0;
    QTest::newRow("AVX2, base clock of the kernel")
        << intel + "Core\nflags : avx avx2 fma" << QByteArray("cpufreq/base_frequency 2100000") << 2.1e9
        << 32.0;
    QTest::newRow("Zen 4 has half the width")
        << QByteArray(
               "vendor_id : AuthenticAMD\ncpu family : 25\nmodel name : EPYC\ncpu MHz : 2596.1\n"
               "flags : avx2 fma avx512f")
        << QByteArray() << 2596.1e6 << 32.0;
    QTest::newRow("Zen 5 has the whole width")
        << QByteArray(
               "vendor_id : AuthenticAMD\ncpu family : 26\nmodel name : EPYC\nflags : avx2 fma avx512f")
        << QByteArray("acpi_cppc/nominal_freq 2700") << 2.7e9 << 64.0;
    QTest::newRow("AVX alone") << intel + "Old\ncpu MHz : 2000\nflags : sse2 avx" << QByteArray() << 2e9
                               << 16.0;
    QTest::newRow("ARM") << QByteArray("processor : 0\nFeatures : fp asimd")
                         << QByteArray("cpufreq/cpuinfo_max_freq 3000000") << 3e9 << 16.0;
    QTest::newRow("nothing") << QByteArray() << QByteArray() << 2.5e9 << 8.0;
}

void TestThisComputer::cpuFacts() {
    QFETCH(QByteArray, cpuinfo);
    QFETCH(QByteArray, clockFile);
    QFETCH(double, clock);
    QFETCH(double, flops);
    write("proc/cpuinfo", cpuinfo.toStdString());
    if (!clockFile.isEmpty()) {
        const QByteArrayList parts = clockFile.split(' ');
        write("sys/devices/system/cpu/cpu0/" + parts[0].toStdString(), parts[1].toStdString());
    }
    const CpuFacts found = read_cpu_facts(root());
    QCOMPARE(found.clock_hz, clock);
    QCOMPARE(found.flops_per_cycle, flops);
    QVERIFY(!found.clock_source.empty() && !found.units.empty());
}

/// A container with a quarter of the memory.
void TestThisComputer::memoryLimit() {
    write("sys/fs/cgroup/memory.max", "max");
    QVERIFY(!memory_limit_bytes(root()));
    write("sys/fs/cgroup/memory.max", "16000000000");
    QVERIFY(memory_limit_bytes(root()) == 16e9);
    write("proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable:   20000000 kB");
    QVERIFY(available_memory_bytes(root()) == 20000000 * 1024.0);
    const ThisComputer found = computer_of({one_socket(), facts(), 20e9, 16e9, {}}, shipped_devices());
    QCOMPARE(found.machine.device(0).memory_bytes, 16e9);
    QVERIFY(found.devices[0].free_bytes == 16e9);
    QVERIFY(says(found, "limited to 16.0 GB of 64.0 GB"));
}

void TestThisComputer::memoryWithoutSys() {
    HostTopology host = one_socket();
    write("proc/meminfo", "MemTotal:       8000000 kB\nMemAvailable:   2000000 kB");
    read_memory(host, root());
    QCOMPARE(host.sockets.front().memory_bytes, one_socket().sockets.front().memory_bytes);
    host.sockets.front().memory_bytes = 0;
    read_memory(host, root());
    QCOMPARE(host.sockets.front().memory_bytes, 8000000 * 1024.0);
}

void TestThisComputer::messagesFitTheFreeMemory() {
    QCOMPARE(largest_message_bytes(root()), 1e9);  // nothing is known
    write("proc/meminfo", "MemAvailable:   20000000 kB");
    QCOMPARE(largest_message_bytes(root()), 1e9);
    write("proc/meminfo", "MemAvailable:   1000000 kB");
    QCOMPARE(largest_message_bytes(root()), 256e6);
    const std::vector<double> sizes = message_sizes(largest_message_bytes(root()));
    QCOMPARE(sizes.front(), 1e3);
    QCOMPARE(sizes.back(), 2e8);
    write("sys/fs/cgroup/memory.max", "4000000");
    QCOMPARE(largest_message_bytes(root()), 1e6);
}

void TestThisComputer::threadsOfAPhysicalCore() {
    const auto siblings = [&](int thread, const char* list) {
        write("sys/devices/system/cpu/cpu" + std::to_string(thread) + "/topology/thread_siblings_list", list);
    };
    const std::vector<int> threads{0, 1, 2, 3, 5};
    // Nothing is known: each is a core.
    QCOMPARE(by_physical_core(threads, root()), threads);
    siblings(0, "0-1");
    siblings(1, "0-1");
    siblings(2, "2-3");
    siblings(3, "2-3");
    QCOMPARE(by_physical_core(threads, root()), (std::vector<int>{0, 2, 5, 1, 3}));
    // Siblings far apart, as most servers number them.
    for (const int thread : {0, 2}) siblings(thread, "0,2");
    for (const int thread : {1, 3}) siblings(thread, "1,3");
    QCOMPARE(by_physical_core(threads, root()), (std::vector<int>{0, 1, 5, 2, 3}));

    const Machine machine = test::uniform_machine(3);
    const auto notes = [&](std::vector<int> cores) {
        std::vector<PhysicalDevice> devices;
        for (const int core : cores) devices.push_back({PhysicalDevice::Kind::logical_cpu, core});
        std::string all;
        for (const std::string& note : device_notes(machine, devices, root())) all += note + '\n';
        return all;
    };
    const std::string apart = notes({0, 1, 5}), siblings_used = notes({0, 1, 2});
    QVERIFY2(apart.find("physical core") == std::string::npos, apart.c_str());
    QVERIFY2(
        siblings_used.find("cores 0 and 2 are hardware threads of one physical core") != std::string::npos,
        siblings_used.c_str());
}

/// The kernel's word on a link wins over hwloc's, which is the speed at the moment.
void TestThisComputer::bridgeLinksOfTheKernel() {
    HostTopology topology = host_topology_of_xml(TwoSockets().xml(kModel));
    for (const char* port : {"0000:00:01.0", "0000:10:00.0"}) {
        write(std::string("sys/bus/pci/devices/") + port + "/max_link_speed", "16.0 GT/s PCIe");
        write(std::string("sys/bus/pci/devices/") + port + "/current_link_width", "8");
    }
    read_bridge_links(topology, root());
    const ThisComputer found = computer(topology, nvidia("gpus=2"));
    QCOMPARE(channel(found.machine, "switch0/up").model, std::string("PCIe 4.0 x8"));
    // The driver's word on the GPU's own way counts as it is.
    QCOMPARE(channel(found.machine, "pcie0/up").model, std::string("PCIe 4.0 x16"));
}

QTEST_GUILESS_MAIN(TestThisComputer)
#include "tst_this_computer.moc"
