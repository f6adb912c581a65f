// SPDX-License-Identifier: MIT
// What is known of kinds of devices and links by their names: the figures of their data sheets, and which
// share of them ops reach. A machine file that says only the model of a device gets the rest from here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/efficiencies.hpp"
#include "core/machine/machine.hpp"

namespace placewright {

/// Types of numbers whose speeds a data sheet tells apart. `tf32`: products of float32 whose factors are
/// rounded to 10 bits of mantissa (NVIDIA's TensorFloat-32).
enum class NumberType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8 };
inline constexpr std::size_t kNumberTypes = 7;
std::string_view to_string(NumberType type);
std::optional<NumberType> number_type_from(std::string_view text);

/// FLOP/s by NumberType; 0 for a type that the unit does not have.
class Speeds {
public:
    double operator[](NumberType type) const { return flops_[static_cast<std::size_t>(type)]; }
    double& operator[](NumberType type) { return flops_[static_cast<std::size_t>(type)]; }

    bool operator==(const Speeds&) const = default;

private:
    std::array<double, kNumberTypes> flops_{};
};

/// A kind of device, as frameworks see it: of a board with two dies, one die.
struct DeviceModel {
    std::string model;                 ///< "NVIDIA V100 SXM2 32GB"
    std::vector<std::string> aliases;  ///< other names, such as those that drivers report
    DeviceKind kind = DeviceKind::gpu;
    std::string vendor;
    std::string architecture;  ///< "volta"; names an entry of the efficiencies
    std::int64_t year = 0;
    std::int64_t cores = 0;  ///< of a CPU; 0: unknown
    double memory_bytes = 0;
    double memory_bandwidth = 0;  ///< bytes per second
    double cache_bytes = 0;       ///< last level; 0: unknown
    double power_w = 0;           ///< limit of the board; 0: unknown
    bool unified_memory = false;  ///< the memory is shared with the CPU
    /// Dense peaks of the ordinary and of the matrix units (tensor cores), products of 16 bits and less with
    /// sums in float32.
    Speeds vector_flops, matrix_flops;
    std::vector<std::string> links;  ///< models of links
    std::string source;
    /// Shares of the peaks by class of op; those of its architecture.
    std::shared_ptr<const Efficiencies> efficiencies;
    /// The efficiencies are those of one device (calibrated()), in place of those of its architecture.
    bool own_efficiencies = false;
    bool in_catalogue = true;  ///< else the figures are those of a machine file

    /// The faster of the two units; 0 if neither has the type.
    double peak_flops(NumberType type) const;
    /// Speed of products of float32 without TF32.
    double peak_flops() const { return peak_flops(NumberType::fp32); }

    bool operator==(const DeviceModel&) const = default;
};

/// A kind of link, in one direction.
struct LinkModel {
    std::string model;  ///< "PCIe 4.0 x16"
    std::vector<std::string> aliases;
    double bandwidth = 0;  ///< bytes per second
    double latency_s = 0;
    /// Shares of the bandwidth by size, as in Channel.
    std::vector<std::pair<double, double>> efficiency_by_bytes;
    std::string source;
};

/// A device of a known model, without a name. Its `efficiency` is 0.9 of both peaks, which the cost models
/// that know no classes of ops use.
Device device_of(const std::shared_ptr<const DeviceModel>& model);
/// The device with efficiencies of its own, such as those that were measured on it, and with their launch_s.
/// If the catalogue does not know it, it gets a model of its own figures, in place of its other shares
/// (efficiency_by_kind and so on); float32 is then its one type of number. Devices with equal figures get
/// the same model, so that machines are equal if their files are.
Device calibrated(Device device, const Efficiencies& efficiencies);
/// A channel of a known model, without a name.
Channel channel_of(const LinkModel& model);

/// Lower-case letters and digits of a name: names are compared without case, spaces and punctuation.
std::string plain_name(std::string_view name);

/// Whether `name` is the model or an alias of it.
bool names(const DeviceModel& model, std::string_view name);

/// Whether `name` is the model of the device, or another name of it in the catalogue.
bool is_called(const Device& device, std::string_view name);

/// The names that contain most letters of the words of `name`, a number among them; at most four.
std::vector<std::string> similar_names(std::string_view name, const std::vector<std::string>& names);
/// Names for a message, " (similar: "A", "B")"; empty if there are none.
std::string similar_text(const std::vector<std::string>& models);

/// All known kinds of devices and links. Immutable.
class DeviceCatalogue {
public:
    /// Throws MachineError if two entries share a name.
    DeviceCatalogue(std::vector<DeviceModel> devices, std::vector<LinkModel> links);

    std::span<const std::shared_ptr<const DeviceModel>> devices() const { return devices_; }
    std::span<const LinkModel> links() const { return links_; }

    /// The device or link of that model or alias, of a device also without its vendor; null if there is none.
    std::shared_ptr<const DeviceModel> find_device(std::string_view name) const;
    const LinkModel* find_link(std::string_view name) const;
    /// A device of this kind, and of this vendor if there is one, to take the shares of an unknown one from;
    /// null if there is none of the kind.
    const DeviceModel* find_like(DeviceKind kind, std::string_view vendor) const;
    /// Models that share words with a name that is not known, the most alike first; at most four.
    std::vector<std::string> similar_devices(std::string_view name) const;
    std::vector<std::string> similar_links(std::string_view name) const;

private:
    std::vector<std::shared_ptr<const DeviceModel>> devices_;
    std::vector<LinkModel> links_;
    std::map<std::string, std::size_t, std::less<>> device_by_name_, link_by_name_;
};

}  // namespace placewright
