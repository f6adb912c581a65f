// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace placewright::test {

/// A computer with two sockets of two cores. Socket 0 has a PCIe 3.0 x16 port with a switch above the GPUs
/// at buses 1 and 2, socket 1 a port each for those at 3 and 4.
class TwoSockets {
public:
    std::string vendor = "10de";  ///< of the GPUs

    std::string xml(const std::string& cpu_model) {
        id_ = 0;
        std::string text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">";
        text += open("Machine", 0xf, 0x3, R"(os_index="0" allowed_cpuset="0xf" allowed_nodeset="0x3")");
        for (unsigned socket = 0; socket < 2; ++socket) {
            const unsigned cpus = 0x3U << (2 * socket), nodes = 1U << socket;
            const std::string index = std::to_string(socket);
            text += open("Package", cpus, nodes, "os_index=\"" + index + '"');
            text += R"(<info name="CPUModel" value=")" + cpu_model + "\"/>";
            text += open("NUMANode", cpus, nodes, "os_index=\"" + index + R"(" local_memory="64000000000")") +
                    kClose;
            text += open("L3Cache", cpus, nodes,
                         R"(cache_size="33554432" depth="3" cache_linesize="64" cache_associativity="16" )"
                         R"(cache_type="0")");
            for (unsigned core = 0; core < 2; ++core) {
                const std::string number = std::to_string(2 * socket + core);
                const unsigned cpu = 1U << (2 * socket + core);
                text += open("Core", cpu, nodes, "os_index=\"" + number + '"') +
                        open("PU", cpu, nodes, "os_index=\"" + number + '"') + kClose + kClose;
            }
            text += kClose;
            text += R"(<object type="Bridge" )" + next() +
                    R"(bridge_type="0-1" depth="0" bridge_pci="0000:[00-3f]">)";
            text += socket == 0 ? bridge("0000:00:01.0", "15.753846",
                                         bridge("0000:10:00.0", "15.753846",
                                                bridge("0000:11:00.0", "31.507692", gpu(1)) +
                                                    bridge("0000:11:01.0", "31.507692", gpu(2))))
                                : bridge("0000:20:01.0", "31.507692", gpu(3)) +
                                      bridge("0000:20:02.0", "31.507692", gpu(4));
            text += kClose;
            text += kClose;
        }
        return text + kClose + "</topology>";
    }

private:
    static constexpr auto kClose = "</object>";
    std::string next() { return "gp_index=\"" + std::to_string(++id_) + "\" "; }
    std::string open(const std::string& type, unsigned cpus, unsigned nodes, const std::string& rest) {
        std::array<char, 200> sets{};
        std::snprintf(sets.data(), sets.size(),
                      "cpuset=\"0x%x\" complete_cpuset=\"0x%x\" nodeset=\"0x%x\" complete_nodeset=\"0x%x\" ",
                      cpus, cpus, nodes, nodes);
        return "<object type=\"" + type + "\" " + next() + sets.data() + rest + '>';
    }
    std::string bridge(const std::string& address, const std::string& speed, const std::string& below) {
        return R"(<object type="Bridge" )" + next() +
               R"(bridge_type="1-1" depth="1" bridge_pci="0000:[01-3f]" pci_busid=")" + address +
               R"(" pci_type="0604 [8086:0001] [0000:0000] 00" pci_link_speed=")" + speed + "\">" + below +
               kClose;
    }
    std::string gpu(int bus) {
        return R"(<object type="PCIDev" )" + next() + "pci_busid=\"0000:0" + std::to_string(bus) +
               R"(:00.0" pci_type="0302 [)" + vendor +
               R"(:20b2] [0000:0000] a1" pci_link_speed="31.507692"/>)";
    }
    int id_ = 0;
};

}  // namespace placewright::test
