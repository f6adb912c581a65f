// SPDX-License-Identifier: MIT
// placewright-torchscript FILE INPUTS RUN: writes the program of a TorchScript file to the standard output, as JSON.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>

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
