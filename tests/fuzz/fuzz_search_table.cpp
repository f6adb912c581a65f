// SPDX-License-Identifier: MIT
// Tables of searches: read, compared and written.
#include "core/io/text/input_error.hpp"
#include "core/job/compared_case.hpp"
#include "core/job/search_table.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace placewright;

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const MemoryFile file(bytes, size);
    try {
        const SearchTable table = read_search_table(file.path());
        search_csv(table);
        const std::vector<ComparedCase> cases = compared_cases(table);
        for (const ComparedCase& one : cases) standing_rows(one);
        const std::vector<std::string> labels{"network", "machine", "options"};
        runs_csv(labels, cases);
        curves_csv(labels, cases);
    } catch (const InputError&) {
        // Invalid input may only be refused with this exception.
    }
    return 0;
}

std::vector<std::string> seeds() {
    const std::string header =
        "network,machine,options,algorithm,seed,budget,score_s,step_time_s,fits,evaluations,"
        "simulations,wall_s,one_device_s,lower_bound_s,problem,curve\n";
    return {
        header +
            "alexnet,2x,batch=64,genetic,1,100,0.5,0.5,true,100,90,1.5,0.75,0.25,f,1:0.1:0.75! 50:0.5:0.5\n"
            "alexnet,2x,batch=64,genetic,2,100,0.25,0.25,true,100,90,1.5,0.75,0.25,f,1:0.1:0.25\n"
            "alexnet,2x,batch=64,hill-climbing,1,100,0.75,0.5,false,100,90,1.5,,,f,\n"
            "alexnet,2x,batch=64,\"genetic (mutation_rate=0.5, "
            "population_size=20)\",1,100,1,1,true,9,9,1,,,f,\n"
            "\"a, b\",2x,,random,3,100,,,false,7,7,1e-3,,,,\n",
        "network,machine,algorithm,seed,score_s,step_time_s,fits,evaluations,simulations,wall_s\r\n"
        "a,b,random,1,1,1,true,1,1,1\r\n"};
}
