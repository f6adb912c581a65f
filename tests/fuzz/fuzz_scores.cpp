// SPDX-License-Identifier: MIT
// Score files, with and without scores.
#include "core/io/state/score_file.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    const ScoreConditions conditions{{"network", "net"}, {"machine", "box"}};
    try {
        is_score_file(file.path());
        read_saved_search(file.path(), conditions);
        read_scores(file.path(), conditions);
    } catch (const InputError&) {
    }
    return 0;
}

std::vector<std::string> seeds() {
    const std::string header =
        R"({"format":"placewright.scores","version":1,"network":"net","machine":"box")";
    const std::string scores = R"(["00000000000000010000000000000002",0.5,0.25,true]
["ffffffffffffffff0123456789abcdef",1e9,1e-3,false]
)";
    return {
        header + "}\n" + scores,
        header +
            R"(,"search":{"algorithm":"genetic","options":{"population_size":50,"rate":0.5},"seed":18446744073709551615,)"
            R"("evaluations":100,"starts":[[0,1,1],[2,0,65535]]}})" +
            '\n' + scores,
        header};
}
