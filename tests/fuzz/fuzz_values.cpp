// SPDX-License-Identifier: MIT
// Values of ops, as JSON and as CSV.
#include <functional>

#include "core/graph/networks.hpp"
#include "core/io/networks/node_values.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

namespace {

/// A file is CSV by its name.
class CsvLink {
public:
    explicit CsvLink(const std::string& to) : path_("/tmp/fuzz-" + std::to_string(getpid()) + ".csv") {
        unlink(path_.c_str());
        if (symlink(to.c_str(), path_.c_str()) != 0) path_ = to;
    }
    ~CsvLink() { unlink(path_.c_str()); }
    CsvLink(const CsvLink&) = delete;
    CsvLink& operator=(const CsvLink&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

}  // namespace

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    const CsvLink csv(file.path());
    static const Graph network = find_network("alexnet")->build(1);
    const std::function<void()> readers[] = {
        [&] { is_node_values(file.path()); },
        [&] { match(read_node_values(file.path(), "alexnet"), network); },
        [&] { match(read_node_values(csv.path()), network); },
    };
    for (const auto& read : readers) {
        try {
            read();
        } catch (const InputError&) {
            // Invalid input may only be refused with this exception.
        }
    }
    return 0;
}

std::vector<std::string> seeds() {
    return {
        "op,time\nfeatures/conv1,0.25\n# of the second\n\"a,\"\"b\"\"\",1e-3\n",
        "\xEF\xBB\xBF"
        "features/conv1;+1\r\nfeatures/pool1;-2.5\r\n",
        "features/conv1\t1\nfeatures/conv2\t2\n",
        R"({"features/conv1":0.25,"features/pool1":-1})",
        R"({"alexnet":{"results":{"features/conv1":{"value":1,"bgColor":"red"},"features/pool1":{"value":"2.5"},"x":3},"thresholds":[{"value":1,"bgColor":"#ff0000"}]}})",
        R"({"results":{"features/conv1":1},"gradient":[{"stop":0,"bgColor":"white"},{"stop":1,"bgColor":"#010203"}]})"};
}
