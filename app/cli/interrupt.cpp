// SPDX-License-Identifier: MIT
#include "app/cli/interrupt.hpp"

namespace placewright {
namespace {

bool hangup_is_ignored = false;

// UCX, which Open MPI 5 loads, handles SIGHUP from its constructor on, so nohup is looked for before the
// constructors of libraries. Sanitizers are not ready by then.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void note_hangup(int, char**, char**) {
    struct sigaction action {};
    hangup_is_ignored = sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const kNoteHangup)(int, char**, char**) = note_hangup;
#endif

}  // namespace

bool ignored_hangup() {
    return hangup_is_ignored;
}

}  // namespace placewright
