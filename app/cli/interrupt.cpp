// SPDX-License-Identifier: MIT
#include "app/cli/interrupt.hpp"

namespace placewright {
namespace {

bool hangup_is_ignored = false;

// UCX, which Open MPI 5 loads, installs a handler of SIGHUP when it is loaded. To see whether nohup has made
// the program ignore the signal, this runs before the constructors of all libraries. Sanitizers do not work
// at that time.
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
