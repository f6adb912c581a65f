// SPDX-License-Identifier: MIT
// placewright-torchscript FILE INPUTS RUN: writes the program of a TorchScript file to the standard output,
// as JSON.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core/base/units.hpp"
#include "core/io/pytorch/script_message.hpp"
#include "core/io/pytorch/script_process.hpp"
#include "core/io/text/json.hpp"

using namespace placewright;
using script_message::Json;

#ifdef __SANITIZE_ADDRESS__
// To look for leaks takes system calls that confine() refuses; a crash of LibTorch is told by its signal.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0:handle_segv=0";
}
#endif
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
    return "handle_segv=0";
}
#endif

namespace {

void limit(__rlimit_resource resource, std::uint64_t most) {
    rlimit limits{};
    getrlimit(resource, &limits);
    limits.rlim_cur = std::min<rlim_t>(most, limits.rlim_max);
    setrlimit(resource, &limits);
}

/// Restricts the process: from here on it can read files and compute, but not write, create or remove a file,
/// start a program, or reach another process or the network. LibTorch runs code of the file as soon as it
/// loads it: __setstate__, and default arguments. Returns false if the system has no such filters.
bool confine() {
#if defined(__x86_64__)
    constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
    constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
    constexpr std::uint32_t kArchitecture = AUDIT_ARCH_RISCV64;
#else
#error "Which architecture are the system calls of?"
#endif
    // clang-format off
    constexpr long kRefused[] = {
        SYS_openat2, SYS_open_by_handle_at, SYS_unlinkat, SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_mkdirat, SYS_mknodat,
        SYS_truncate, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
        SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_mount, SYS_umount2, SYS_mq_open, SYS_mq_unlink, SYS_shmget, SYS_msgget,
        SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_writev, SYS_pidfd_open, SYS_pidfd_send_signal, SYS_kill, SYS_tkill,
        SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
        SYS_socket, SYS_socketpair, SYS_io_uring_setup,
#ifdef __x86_64__  // other architectures have only the variants with a folder argument
        SYS_creat, SYS_unlink, SYS_rename, SYS_link, SYS_symlink, SYS_mkdir, SYS_rmdir, SYS_mknod, SYS_chmod, SYS_chown, SYS_lchown,
        SYS_utime, SYS_utimes, SYS_futimesat,
#endif
#ifdef SYS_renameat
        SYS_renameat,
#endif
    };
    // clang-format on
    constexpr std::uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

    std::vector<sock_filter> filter;
    const auto load = [&](std::size_t at) {
        filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at)));
    };
    /// Refuses calls for which a comparison holds; with `otherwise`, those for which it does not hold.
    const auto refuse_if = [&](std::uint16_t comparison, std::uint32_t value, bool otherwise = false) {
        filter.push_back(BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), value,
                                  std::uint8_t{otherwise}, static_cast<std::uint8_t>(!otherwise)));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
    };
    /// Refuses `call` if its flags, the argument with this index, permit writing. The arguments are
    /// little-endian on the architectures above.
    const auto refuse_writing = [&](long call, std::size_t flags) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4));
        load(offsetof(seccomp_data, args) + flags * sizeof(std::uint64_t));
        refuse_if(BPF_JSET, kWriting);
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    };
    load(offsetof(seccomp_data, arch));
    refuse_if(BPF_JEQ, kArchitecture, true);
    load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
    refuse_if(BPF_JGE, 0x40000000);  // the calls of x32 have the same numbers, and this bit
    refuse_writing(SYS_open, 1);
#endif
    refuse_writing(SYS_openat, 2);
    for (const long call : kRefused) refuse_if(BPF_JEQ, static_cast<std::uint32_t>(call));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));

    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

int report(const Json& json, int status) {
    // Names in a hostile file need not be UTF-8.
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? status : 2;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::fputs(
            "placewright-torchscript: is a part of Placewright, which starts it to read TorchScript files\n",
            stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const std::string file = arguments[1];
    std::error_code none;
    [[maybe_unused]] const std::uint64_t file_bytes = std::filesystem::file_size(file, none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which reserve terabytes of addresses
    limit(RLIMIT_AS, kMostScriptBytes + 3 * (none ? 0 : file_bytes));
#endif
    limit(RLIMIT_CPU, kMostScriptSeconds);
    alarm(kMostScriptWaitSeconds);  // waiting for a pipe takes no processor time
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);  // a pipe is no file
    if (!confine()) {
        return report(
            script_message::of(ScriptError(ScriptError::Remedy::none, "",
                                           "cannot be read safely: the system refuses the seccomp filter "
                                           "that keeps code in the file from writing to others")),
            1);
    }
    try {
        const auto inputs = script_message::inputs_in(Json::parse(arguments[2]));
        return report(script_message::of(walk_script(file, inputs, std::string_view(arguments[3]) == "run")),
                      0);
    } catch (const ScriptError& error) {
        return report(script_message::of(error), 1);
    } catch (const std::bad_alloc&) {
        return report(script_message::of(ScriptError(ScriptError::Remedy::none, "",
                                                     "takes too much memory to read: more than " +
                                                         format_bytes(static_cast<double>(kMostScriptBytes)) +
                                                         " in addition to its weights")),
                      1);
    } catch (const std::exception& error) {
        return report(script_message::of(ScriptError(ScriptError::Remedy::none, "", error.what())), 1);
    }
}
