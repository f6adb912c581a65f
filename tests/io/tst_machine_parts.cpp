// SPDX-License-Identifier: MIT
// Machines that are made of parts by name.
#include <QTest>

#include "core/io/machines/device_catalogue_file.hpp"
#include "core/io/machines/machine_parts.hpp"
#include "tests/support/input_files.hpp"

namespace placewright {
namespace {

using test::refusal;

class TestMachineParts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void listsOfMachines() {
        using Names = std::vector<std::string>;
        QCOMPARE(machines_in("4x-v100-nvlink"), Names{"4x-v100-nvlink"});
        QCOMPARE(machines_in("4x-v100-nvlink, 4x-v100-pcie"), (Names{"4x-v100-nvlink", "4x-v100-pcie"}));
        // The parts of one machine, as for the other commands.
        QCOMPARE(machines_in("RTX 4090, RTX 3060"), Names{"RTX 4090, RTX 3060"});
        QCOMPARE(machines_in("EPYC 7742, 4x-v100-nvlink"), (Names{"EPYC 7742", "4x-v100-nvlink"}));
        QCOMPARE(machines_in("RTX 4090, RTX 3060; 4x-v100-pcie"),
                 (Names{"RTX 4090, RTX 3060", "4x-v100-pcie"}));
        QCOMPARE(machines_in("4x-v100-nvlink, 2x RTX 4090"), (Names{"4x-v100-nvlink", "2x RTX 4090"}));
        QCOMPARE(machines_in("RTX 4090, no such thing"), (Names{"RTX 4090", "no such thing"}));
        QCOMPARE(machines_in(""), Names{""});
    }

    void two_gpus();
    void all_parts();
    void direct_links();
    void unnamed_direct_links();
    void shipped_names_come_first();
    void not_parts();
    void refused_data();
    void refused();
};

Machine machine_of(const char* text) {
    auto machine = machine_of_parts(text, shipped_devices());
    if (!machine) qFatal("no machine");
    return *std::move(machine);
}

void TestMachineParts::two_gpus() {
    QCOMPARE(machine_of("2 \u00d7 RTX 4090, PCIe 4").name(), std::string("2x RTX 4090, PCIe 4.0 x16"));
    const Machine machine = machine_of("2 x rtx 4090, pcie 4.0 x8");
    QCOMPARE(machine.name(), std::string("2x rtx 4090, PCIe 4.0 x8"));
    QCOMPARE(machine.devices().size(), std::size_t{3});
    QCOMPARE(machine.device(0).kind, DeviceKind::cpu);
    QCOMPARE(machine.device(2).name, std::string("gpu:1"));
    QCOMPARE(machine.device(2).model, std::string("NVIDIA GeForce RTX 4090"));
    QCOMPARE(machine.crossing(), Crossing::cut_through);
    QCOMPARE(machine.channels().size(), std::size_t{4});
    for (const Channel& channel : machine.channels()) QCOMPARE(channel.model, std::string("PCIe 4.0 x8"));
    // From one GPU up to the host bridge and down to the other.
    const auto route = machine.route(1, 2);
    QCOMPARE(route.size(), std::size_t{2});
    QCOMPARE(machine.channels()[route[0]].name, std::string("link0/up"));
    QCOMPARE(machine.channels()[route[1]].name, std::string("link1/down"));
}

void TestMachineParts::all_parts() {
    const Machine machine = machine_of("PCIe 3, RTX 3090, EPYC 7742, 2x RTX 3060");
    QCOMPARE(machine.devices().size(), std::size_t{4});
    QCOMPARE(machine.device(0).model, std::string("EPYC 7742"));
    QCOMPARE(machine.device(1).model, std::string("NVIDIA GeForce RTX 3090"));
    QCOMPARE(machine.device(3).model, std::string("NVIDIA GeForce RTX 3060"));
    QCOMPARE(machine.channels()[0].model, std::string("PCIe 3.0 x16"));
    // Without a link each GPU has that of its data sheet.
    QCOMPARE(machine_of("RTX 4060 Ti").channels()[0].model, std::string("PCIe 4.0 x8"));
    // A computer without a GPU.
    const Machine cpu = machine_of("EPYC 7742");
    QCOMPARE(cpu.devices().size(), std::size_t{1});
    QCOMPARE(cpu.device(0).kind, DeviceKind::cpu);
    QVERIFY(cpu.channels().empty());
}

void TestMachineParts::direct_links() {
    const Machine machine = machine_of("4x V100, NVLink 2 x6");
    QCOMPARE(machine.channels().size(), std::size_t{16});
    QCOMPARE(machine.channels()[machine.route(1, 0)[0]].model, std::string("PCIe 3.0 x16"));
    for (const ChannelId channel : machine.route(1, 4))
        QCOMPARE(machine.channels()[channel].model, std::string("NVLink 2 x6"));
}

void TestMachineParts::unnamed_direct_links() {
    QCOMPARE(
        direct_link_text("4x H100 SXM, EPYC 7742"),
        std::string("the GPUs reach each other over PCIe 5.0 x16; if they are joined directly, name that "
                    "link, too: \"4x H100 SXM, EPYC 7742, NVLink 4 x18\""));
    // The text that it proposes says which links there are.
    QCOMPARE(direct_link_text("4x H100 SXM, EPYC 7742, NVLink 4 x18"), std::string());
    QCOMPARE(direct_link_text("4x H100 SXM, PCIe 5.0"), std::string());
    QCOMPARE(direct_link_text("2x GH200 96GB"),
             std::string("the GPUs reach each other over NVLink-C2C; if they are joined directly, name that "
                         "link, too: \"2x GH200 96GB, NVLink 4 x18\""));
    for (const char* text : {"H100 SXM, RTX 4090", "RTX 4090, 2x H100 SXM", "H100 SXM", "2x RTX 4090",
                             "4x-v100-nvlink", "EPYC 7742"})
        QCOMPARE(direct_link_text(text), std::string());
}

void TestMachineParts::shipped_names_come_first() {
    QCOMPARE(find_machine("4x-v100-nvlink").name(), std::string("4x V100, NVLink"));
    // The name inside a shipped file, which would also be parts.
    QCOMPARE(find_machine("2x V100, PCIe 3").device(0).model, std::string("Xeon Gold 6132"));
    QCOMPARE(find_machine("3x V100, PCIe 3").devices().size(), std::size_t{4});
}

void TestMachineParts::not_parts() {
    QVERIFY(!machine_of_parts("", shipped_devices()));
    QVERIFY(!machine_of_parts("nothing, whatever", shipped_devices()));
    const QString message = refusal([] { find_machine("no such machine"); });
    QVERIFY2(message.contains("there is no such file, and no shipped machine has this name"),
             qPrintable(message));
    QVERIFY2(message.contains("parts by name make one, too"), qPrintable(message));
    const QString device = refusal([] { find_machine("RTX 3090 Max"); });
    QVERIFY2(device.contains("similar: \"NVIDIA GeForce RTX 3090\""), qPrintable(device));
    const QString machine = refusal([] { find_machine("4x-v100-nvlnk"); });
    QVERIFY2(machine.contains("no shipped machine (similar: \"4x-v100-nvlink\", "
                              "\"4x-v100-pcie\""),
             qPrintable(machine));
    // Parts as in the names of shipped machines.
    QCOMPARE(find_machine("3x-v100").name(), std::string("3x v100"));
    QCOMPARE(find_machine("2x A100 SXM 80GB").device(1).model,
             find_machine("NVIDIA A100 SXM 80GB").device(1).model);
    QCOMPARE(find_machine("2xV100").devices().size(), std::size_t{3});
}

void TestMachineParts::refused_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("complaint");
    QTest::newRow("unknown part") << "2x RTX 4090, PCIx"
                                  << "\"PCIx\" is no device and no link";
    QTest::newRow("only an unknown GPU") << "nothing, PCIe 4.0 x8"
                                         << "\"nothing\" is no device and no link";
    QTest::newRow("counted") << "2x RTX 3090 Max"
                             << "\"RTX 3090 Max\" is no device and no link that is known by name (similar: "
                                "\"NVIDIA GeForce RTX 3090\"";
    QTest::newRow("like no GPU") << "2x RTX 3900"
                                 << "\"RTX 3900\" is no device and no link that is known by name; ";
    QTest::newRow("unknown beside a CPU") << "Ryzen 9 7950X, RTX 9999"
                                          << "\"RTX 9999\" is no device and no link";
    QTest::newRow("no GPU") << "EPYC 7742, PCIe 4.0 x8"
                            << "has a link but no GPU";
    QTest::newRow("two links") << "RTX 4090, PCIe 3, PCIe 4"
                               << "has several links";
    QTest::newRow("two CPUs") << "RTX 4090, EPYC 7742, EPYC 9654"
                              << "has several CPUs";
    QTest::newRow("none of it") << "0x RTX 4090"
                                << "needs a count from 1 to 64";
    QTest::newRow("too many") << "99999999999999999999x RTX 4090"
                              << "needs a count from 1 to 64";
    QTest::newRow("too many together") << "60x RTX 4090, 60x RTX 3090"
                                       << "has 120 GPUs, expected up to 64";
}

void TestMachineParts::refused() {
    QFETCH(QString, text);
    QFETCH(QString, complaint);
    const QString message = refusal([&] { machine_of_parts(text.toStdString(), shipped_devices()); });
    QVERIFY2(message.startsWith(text) && message.contains(complaint), qPrintable(message));
}

}  // namespace
}  // namespace placewright

QTEST_APPLESS_MAIN(placewright::TestMachineParts)
#include "tst_machine_parts.moc"
