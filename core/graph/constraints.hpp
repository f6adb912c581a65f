// SPDX-License-Identifier: MIT
// Rules that a person sets for placements: where ops may run, which share a device, which never do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace placewright {

struct Constraint {
    enum class Rule : std::uint8_t {
        pin,       ///< the members run on the named devices only
        together,  ///< all ops of all members share a device
        apart,     ///< no device holds ops of two members
    };
    /// An op, or a module with all ops in it.
    struct Member {
        std::string name;  ///< name of the op, or path of the module
        bool is_module = false;

        bool operator==(const Member&) const = default;
    };

    Rule rule = Rule::pin;
    std::vector<Member> members;
    std::vector<std::string> devices{};  ///< of a pin: as Op::devices

    bool operator==(const Constraint&) const = default;
};

struct Constraints {
    std::vector<Constraint> rules;
    std::string file{};  ///< that they were read from, for messages; empty: none

    bool operator==(const Constraints&) const = default;
};

/// "pin "conv1" to gpu:0", "keep "a" and module "encoder" apart". A rule with many members names the first.
std::string constraint_text(const Constraint& constraint);

/// Whether a scope is the module of that path or lies in it.
bool is_in_module(const std::string& scope, const std::string& path);

}  // namespace placewright
