// SPDX-License-Identifier: MIT
// placewright-torchscript FILE INPUTS RUN: writes the program of a TorchScript file to the standard output, as JSON.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core/base/units.hpp"
#include "core/io/script_message.hpp"
#include "core/io/script_process.hpp"

using namespace placewright;
using script_message::Json;

namespace {

void limit(__rlimit_resource resource, std::uint64_t most) {
    rlimit limits{};
    getrlimit(resource, &limits);
    limits.rlim_cur = std::min<rlim_t>(most, limits.rlim_max);
    setrlimit(resource, &limits);
}

/// From here on no file can be changed, no program started and nobody talked to but by what is open: code in a file that gets further than
/// it should can do no more than compute. Where the system does not offer this (seccomp), nothing changes.
void forbid_changes() {
#if defined(__x86_64__) || defined(__aarch64__)
#ifdef __x86_64__
    constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#else
    constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#endif
    constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
    std::vector<sock_filter> filter;
    const auto load = [&](std::size_t offset) { filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset))); };
    const auto refuse_if = [&](std::uint16_t test, std::uint32_t value) {
        filter.push_back(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, kRefuse));
    };
    load(offsetof(seccomp_data, arch));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
    refuse_if(BPF_JGE, 0x40000000);  // the same calls by other numbers (x32)
    for (const int call : {__NR_creat, __NR_unlink, __NR_rename, __NR_link, __NR_symlink, __NR_mkdir, __NR_rmdir, __NR_mknod, __NR_chmod,
                           __NR_chown, __NR_lchown, __NR_fork, __NR_vfork})
        refuse_if(BPF_JEQ, static_cast<std::uint32_t>(call));
#endif
    for (const int call : {__NR_openat2,
                           __NR_open_by_handle_at,
                           __NR_io_uring_setup,
                           __NR_unlinkat,
                           __NR_renameat,
                           __NR_renameat2,
                           __NR_linkat,
                           __NR_symlinkat,
                           __NR_mkdirat,
                           __NR_mknodat,
                           __NR_truncate,
                           __NR_fchmodat,
                           __NR_fchownat,
                           __NR_mount,
                           __NR_socket,
                           __NR_execve,
                           __NR_execveat,
                           __NR_ptrace,
                           __NR_process_vm_writev,
                           __NR_kill})
        refuse_if(BPF_JEQ, static_cast<std::uint32_t>(call));
    // Files are opened for reading alone.
    const auto refuse_to_write = [&](int call, std::size_t argument) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4));
        load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));  // its lower half: both machines are little-endian
        refuse_if(BPF_JSET, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    };
#ifdef __x86_64__
    refuse_to_write(__NR_open, 1);
#endif
    refuse_to_write(__NR_openat, 2);
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

int tell(const Json& json, int status) {
    // Names in a hostile file need not be UTF-8.
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? status : 2;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::fputs("placewright-torchscript: is a part of Placewright, and of no use alone\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string file = arguments[1];
    std::error_code none;
    const std::uint64_t file_bytes = std::filesystem::file_size(file, none);
    limit(RLIMIT_AS, kMostScriptBytes + 3 * (none ? 0 : file_bytes));
    limit(RLIMIT_CPU, kMostScriptSeconds);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);  // a pipe is no file
    forbid_changes();
    try {
        const auto inputs = script_message::inputs_in(Json::parse(arguments[2]));
        return tell(script_message::of(walk_script(file, inputs, std::string_view(arguments[3]) == "run")), 0);
    } catch (const ScriptError& error) {
        return tell(script_message::of(error), 1);
    } catch (const std::bad_alloc&) {
        return tell(script_message::of(ScriptError(ScriptError::Remedy::none, "",
                                                   "takes more memory to read than it should: more than " +
                                                       format_bytes(static_cast<double>(kMostScriptBytes)) + " beside its weights")),
                    1);
    } catch (const std::exception& error) {
        return tell(script_message::of(ScriptError(ScriptError::Remedy::none, "", error.what())), 1);
    }
}
