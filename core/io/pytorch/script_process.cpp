// SPDX-License-Identifier: MIT
#include "core/io/pytorch/script_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <system_error>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "core/base/missing_part.hpp"
#include "core/io/pytorch/example_input.hpp"
#include "core/io/pytorch/script_message.hpp"
#include "core/io/text/json.hpp"

namespace placewright {
namespace {

using Remedy = ScriptError::Remedy;

constexpr std::size_t kMostMessageBytes = std::size_t{1} << 30;

[[noreturn]] void fail(const std::string& problem) {
    throw ScriptError(Remedy::none, "", problem);
}

/// Returns the path of placewright-torchscript, relative to the program as it was built or installed.
std::filesystem::path reader() {
    std::error_code error;
    const auto bin = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    for (const char* const folder : {"../lib", "../" PLACEWRIGHT_LIBRARY_FOLDER}) {
        auto path = bin / folder / "placewright-torchscript";
        if (std::filesystem::exists(path, error)) return path;
    }
    if (!PLACEWRIGHT_WITH_LIBTORCH)
        fail("is TorchScript, and " + missing_part_text("LibTorch", "PLACEWRIGHT_WITH_LIBTORCH"));
    fail(
        "needs the program placewright-torchscript, which is not where it was installed: build or install "
        "Placewright again");
}

/// A file descriptor that child processes do not inherit.
struct FileDescriptor {
    int number = -1;

    void close() {
        if (number >= 0) ::close(number);
        number = -1;
    }
    FileDescriptor() = default;
    ~FileDescriptor() { close(); }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
};

/// Output of the process, and its status from waitpid.
struct Answer {
    std::string text;
    int status = 0;
};

Answer answer_of(const std::filesystem::path& program, std::vector<std::string> arguments) {
    FileDescriptor from_it, to_us;
    if (int ends[2]; pipe2(ends, O_CLOEXEC) == 0) {
        from_it.number = ends[0];
        to_us.number = ends[1];
    } else {
        fail(std::string("cannot be read: ") + std::strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to_us.number, STDOUT_FILENO);
    // Discards warnings and crash messages of LibTorch.
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_t process = 0;
    const int failed = posix_spawn(&process, program.c_str(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) fail(program.string() + " cannot be started: " + std::strerror(failed));
    to_us.close();

    Answer answer;
    std::array<char, 65536> buffer{};
    while (true) {
        const ssize_t count = ::read(from_it.number, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        answer.text.append(buffer.data(), static_cast<std::size_t>(count));
        if (answer.text.size() > kMostMessageBytes) {
            ::kill(process, SIGKILL);
            answer.text.clear();
            break;
        }
    }
    while (waitpid(process, &answer.status, 0) < 0 && errno == EINTR) {
    }
    return answer;
}

}  // namespace

ScriptedProgram read_script(const std::filesystem::path& file, const std::vector<ExampleInput>& inputs,
                            bool run) {
    constexpr int kNotLoaded = 127;  // exit status of the dynamic linker
    const std::filesystem::path program = reader();
    const Answer answer = answer_of(
        program, {program.string(), file.string(), script_message::of(inputs).dump(), run ? "run" : "sizes"});
    if (WIFSIGNALED(answer.status)) {
        if (WTERMSIG(answer.status) == SIGXCPU)
            fail("takes more than " + std::to_string(kMostScriptSeconds / 60) + " minutes to read");
        if (WTERMSIG(answer.status) == SIGALRM)
            fail("is not read after " + std::to_string(kMostScriptWaitSeconds / 60) +
                 " minutes: code in the file waits for something outside it");
        fail("LibTorch crashed on this file (" + std::string(strsignal(WTERMSIG(answer.status))) +
             "): it is damaged or malicious; write it again with torch.jit.save");
    }
    const int status = WEXITSTATUS(answer.status);
    if (status == kNotLoaded)
        fail(
            "needs LibTorch, which cannot be loaded: install the package libtorch1.13, or build Placewright "
            "again");
    std::optional<ScriptError> error;
    try {
        const auto json = script_message::Json::parse(answer.text);
        if (status == 0) return script_message::program_in(json);
        error = script_message::error_in(json);
    } catch (const std::exception&) {
        fail("LibTorch ended without an answer: the file is damaged; write it again with torch.jit.save");
    }
    throw *error;
}

}  // namespace placewright
