// SPDX-License-Identifier: MIT
// Tables of experiments: a file as values.csv and as curves.csv of a folder.
#include <filesystem>
#include <fstream>

#include "app/window/compare/experiment_results.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

namespace {

/// A folder of an experiment with one table.
class Folder {
public:
    Folder(const std::string& table, const std::string& to)
        : path_(std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(getpid()) + "-" + table)) {
        std::filesystem::create_directory(path_);
        std::ofstream(path_ / "fuzz.md") << "# Experiment\n";
        std::filesystem::remove(path_ / table);
        std::filesystem::create_symlink(to, path_ / table);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const Path& path() const { return path_; }

private:
    Path path_;
};

}  // namespace

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    for (const char* table : {"values.csv", "curves.csv"}) {
        const Folder folder(table, file.path());
        try {
            read_experiment(folder.path());
        } catch (const InputError&) {
            // Invalid input may only be refused with this exception.
        }
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {
        "family,scheme,graph,seed,step_time_s,one_device_s,fits\nnmt,Scotch,a,1,0.5,0.75,true\n"
        "nmt,Scotch,b,1,0.25,,false\nnmt,Placeto,a,1,1e-3,0.75,true\n",
        "network,algorithm,seed,evaluations,seconds,best_s,mean_s\na,expert,1,1,0.1,0.5,0.5\n"
        "\"a, b\",tabu,1,1,0.1,3,\n\"a, b\",tabu,1,200,2,,2\n",
        "family,updates,evaluations,cost,cost_spread,best_cost,entropy,divergence,learning_rate,entropy_"
        "weight\n"
        "nmt,1,8,0.9,0.1,0.8,0.6,0,0.001,0.01\nnmt,2,16,0.9,0.1,0.8,0.6,0,0.001,0.01\n"};
}
