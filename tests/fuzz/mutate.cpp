// SPDX-License-Identifier: MIT
// Runs the reader on its seeds, on the corpus that campaign.py left, and on changes of them, the same in
// every run, as part of the test suite. `--seeds FOLDER` writes the seeds as a corpus for libFuzzer; file
// names as arguments read those files, to reproduce a finding. `--seconds N` runs so long from another random
// seed each time and leaves what ends the program in the file mutate-finding.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string_view>
#include <zip.h>

#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/structure.hpp"

namespace {

constexpr std::chrono::seconds kTime{5};
constexpr int kRounds = 200'000;

/// Changes the structure of a file, or changes, removes, duplicates or inserts (from another one) a few
/// bytes.
std::string mutated(const std::vector<std::string>& all, std::mt19937& random) {
    const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
    std::string text = all[below(all.size())];
    if (below(2) == 0)
        if (auto changed = with_changed_structure(text, random)) return *std::move(changed);
    for (std::size_t change = 1 + below(4); change > 0; --change) {
        const std::size_t at = below(text.size()), length = 1 + below(16);
        switch (below(6)) {
            case 0:
                if (!text.empty()) text[at] = static_cast<char>(random());
                break;
            case 1:
                if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                break;
            case 2:
                text.erase(at, length);
                break;
            case 3:
                text.insert(at, text.substr(at, length));
                break;
            case 4: {
                const std::string& other = all[below(all.size())];
                text.insert(at, other.substr(below(other.size()), length * 4));
                break;
            }
            case 5:
                text.resize(at);
                break;
        }
    }
    return text;
}

/// Inputs that campaign.py found; none for readers that it does not run. Ends the program if the file of them
/// is damaged.
std::vector<std::string> corpus() {
    std::vector<std::string> files;
    if (!std::filesystem::exists(PLACEWRIGHT_CORPUS)) return files;
    const auto need = [](bool done) {
        if (done) return;
        std::fprintf(stderr, "%s: damaged; write it again with tests/fuzz/campaign.py\n", PLACEWRIGHT_CORPUS);
        std::exit(1);
    };
    zip_t* const archive = zip_open(PLACEWRIGHT_CORPUS, ZIP_RDONLY, nullptr);
    need(archive != nullptr);
    const zip_int64_t count = zip_get_num_entries(archive, 0);
    for (zip_uint64_t index = 0; index < static_cast<zip_uint64_t>(count); ++index) {
        zip_stat_t stat;
        zip_file_t* const file = zip_fopen_index(archive, index, 0);
        need(file != nullptr && zip_stat_index(archive, index, 0, &stat) == 0);
        std::string& text = files.emplace_back(stat.size, '\0');
        need(zip_fread(file, text.data(), text.size()) == static_cast<zip_int64_t>(text.size()));
        zip_fclose(file);
    }
    zip_close(archive);
    return files;
}

std::string_view running;

void keep_finding(int signal) {
    const int file = open("mutate-finding", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, running.data(), running.size()) < 0) std::_Exit(signal);
    std::_Exit(1);
}

void run(const std::string& text) {
    running = text;
    fuzz(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::string> all = seeds();
    if (count == 3 && std::strcmp(arguments[1], "--seeds") == 0) {
        std::filesystem::create_directories(arguments[2]);
        for (std::size_t i = 0; i < all.size(); ++i)
            std::ofstream(std::filesystem::path(arguments[2]) / ("seed" + std::to_string(i)),
                          std::ios::binary)
                << all[i];
        return 0;
    }
    std::mt19937 random(1);
    auto time = kTime;
    int rounds = kRounds;
    if (count == 3 && std::strcmp(arguments[1], "--seconds") == 0) {
        random.seed(std::random_device()());
        time = std::chrono::seconds(std::atoi(arguments[2]));
        rounds = std::numeric_limits<int>::max();
        for (const int signal : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(signal, keep_finding);
        count = 1;
    }
    for (int i = 1; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        run(std::string(std::istreambuf_iterator<char>(file), {}));
    }
    if (count > 1) return 0;
    const auto found = corpus();
    all.insert(all.end(), found.begin(), found.end());
    for (const std::string& seed : all) run(seed);
    const auto begin = std::chrono::steady_clock::now();
    int round = 0;
    for (; round < rounds && std::chrono::steady_clock::now() - begin < time; ++round)
        run(mutated(all, random));
    std::printf("%d files\n", round);
    return 0;
}
