// SPDX-License-Identifier: MIT
// In place of mailbox.cpp in a build without MPI.
#include "core/base/missing_part.hpp"
#include "core/distributed/mailbox.hpp"

namespace placewright {

struct Mailbox::Traffic {};

Mailbox::Mailbox() {
    throw MissingPart(missing_part_text("MPI", "PLACEWRIGHT_WITH_MPI") + ", or start one process");
}
Mailbox::~Mailbox() = default;
void Mailbox::post(int, int, Bytes) {}
bool Mailbox::sent() {
    return true;
}
void Mailbox::give_up(int) {}
std::optional<Message> Mailbox::next() {
    return {};
}

}  // namespace placewright
