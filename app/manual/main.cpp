// SPDX-License-Identifier: MIT
// placewright-manual FOLDER [help]: writes the manual pages and the completions for shells of both programs,
// in the folders in which they are installed below a prefix's share/. "help": the help is installed as
// section 7.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "app/manual/completions.hpp"
#include "app/manual/manual_page.hpp"

namespace placewright {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    if (!(out << text).flush()) throw std::runtime_error(file.string() + " cannot be written");
}

void write_all(const std::filesystem::path& folder, bool has_help) {
    for (const ProgramUsage& program : {command_line_program(), window_program()}) {
        const std::filesystem::path pages = folder / "man" / "man1";
        write(pages / (program.name + ".1"), manual_page(program, PLACEWRIGHT_VERSION, has_help));
        for (const ProgramCommand& command : program.commands) {
            if (!command.name.empty())
                write(pages / (program.name + '-' + command.name + ".1"),
                      manual_page(program, command, PLACEWRIGHT_VERSION, has_help));
        }
        write(folder / "bash-completion" / "completions" / program.name, bash_completion(program));
        write(folder / "zsh" / "vendor-completions" / ('_' + program.name), zsh_completion(program));
        write(folder / "fish" / "vendor_completions.d" / (program.name + ".fish"), fish_completion(program));
    }
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) {
    const bool has_help = argc == 3 && std::string_view(argv[2]) == "help";
    if (argc != 2 && !has_help) {
        std::cerr << "usage: placewright-manual FOLDER [help]\n";
        return 2;
    }
    try {
        placewright::write_all(argv[1], has_help);
    } catch (const std::exception& error) {
        std::cerr << "placewright-manual: " << error.what() << '\n';
        return 1;
    }
    return 0;
}
