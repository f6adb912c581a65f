// SPDX-License-Identifier: MIT
#include "core/algorithm_texts.hpp"

#include <algorithm>
#include <string_view>

namespace placewright {
namespace {

struct AlgorithmText {
    std::string_view group, id, summary;
};

// In the order in which they are listed.
constexpr AlgorithmText kAlgorithms[] = {
    {"Portfolio", "auto",
     "Tries every quick rule, then lets several searches take turns; best for most networks."},
    {"Portfolio", "instant",
     "Asks the policy that ships with the program, and improves its placement for a moment."},
    {"Simple", "single-device", "Puts everything on one device, each device in turn."},
    {"Simple", "random", "Puts every op on a random device, again and again."},
    {"Simple", "sequential-fill",
     "Fills one device after the other by the bytes of the weights, as Accelerate does."},
    {"Simple", "memory-proportional",
     "Gives each GPU layers in proportion to its memory, as llama.cpp does."},
    {"Simple", "expert", "Puts parallel branches on different devices, or one recurrent layer on each."},
    {"Local search", "hill-climbing", "Takes moves that help until none is left, then starts elsewhere."},
    {"Local search", "simulated-annealing", "Accepts worse moves at first, and fewer and fewer of them."},
    {"Local search", "mcmc", "Takes random moves and returns to the best placement now and then."},
    {"Local search", "tabu", "Takes the best move each time, but none that undoes a recent one."},
    {"Local search", "load-annealing", "Tries millions of moves; for max load and block latency only."},
    {"Evolutionary", "genetic", "Breeds placements from the better half of a population."},
    {"Evolutionary", "map-elites", "Keeps the best placement of each kind and breeds from all of them."},
    {"Evolutionary", "particle-swarm",
     "Moves many placements towards the best that each and all have found."},
    {"Partitioners", "scotch", "Cuts the graph into parts that suit the links of the machine."},
    {"Partitioners", "metis", "Cuts the graph into balanced parts with little traffic between them."},
    {"Partitioners", "pipedream", "Cuts the ops in order into one pipeline stage per device."},
    {"Schedulers", "heft", "Puts the most urgent op first where it finishes first."},
    {"Schedulers", "m-topo", "Fills one device after the other, in the order of the ops."},
    {"Schedulers", "m-etf", "Puts the op first that can start first, within the memory."},
    {"Schedulers", "m-sct", "As m-ETF, but a device waits for the op that needs its result most."},
    {"Learned", "cross-entropy", "Learns which device suits each group from the best placements it drew."},
    {"Learned", "policy-gradient", "Learns which device suits each group from draws better than average."},
    {"Learned", "ppo", "As policy gradient, with several careful steps per batch."},
    {"Learned", "post", "Learns which device suits each group by cross-entropy and PPO together."},
    {"Learned", "placeto", "A graph neural network learns to move one group after the other."},
    {"Learned", "colocrl", "A recurrent network learns to assign devices one by one."},
    {"Learned", "hierarchical", "One network groups the ops, another places the groups."},
    {"Learned", "spotlight", "As ColocRL, trained by PPO."},
    {"Learned", "list-policy", "A list scheduler that learns which device is best for each group."},
    {"Learned", "gdp", "A graph network and a transformer learn to place all groups at once."},
    {"Exact", "linear-search", "Tries every placement; for a dozen ops at most."},
    {"Exact", "ideals-dp", "Finds the best contiguous split for max load or block latency."},
    {"Exact", "milp", "Solves an integer program and proves a bound; for small graphs."},
};

struct OptionText {
    std::string_view name, title;
};

// An option has the same title wherever its name occurs, sorted by name.
constexpr OptionText kOptions[] = {
    {"accept_equal", "Accept equal placements"},
    {"acceptance", "Rule to accept worse placements"},
    {"acceptance_q", "Acceptance shape (q)"},
    {"advantage_limit", "Largest advantage (deviations)"},
    {"aggregation", "How neighbours are combined"},
    {"allow_cpu", "Use CPUs"},
    {"alpha", "Inverse temperature (1/ms)"},
    {"architecture", "Distances between devices"},
    {"aspiration", "Allow forbidden moves to a new best"},
    {"attempts", "Attempts to fit the memory"},
    {"attention", "Attention units"},
    {"balance", "What to balance"},
    {"balance_size", "Cells by balance of work"},
    {"baseline", "Baseline of returns"},
    {"baseline_decay", "Memory of the average (share)"},
    {"baseline_episodes", "Episodes in the baseline"},
    {"batch_size", "Placements per batch"},
    {"block_moves", "Moves of whole blocks (share)"},
    {"clusters", "Clusters"},
    {"communication", "Count transfers"},
    {"cooling", "Moves of the first cooling"},
    {"copy_mutation_rate", "Copy the previous op's device (probability)"},
    {"cpus", "Use CPUs"},
    {"credit_memory", "Credit kept after each turn (share)"},
    {"crossing_size", "Cells by bytes between devices"},
    {"crossover_points", "Cuts of a crossover"},
    {"crossover_rate", "Crossover (probability)"},
    {"crossover_type", "Kind of crossover"},
    {"decay", "Cooling per evaluation (factor)"},
    {"devices", "Devices"},
    {"discount", "Weight of later rewards (factor)"},
    {"divergence_target", "Divergence per update (nats)"},
    {"draws", "Placements drawn"},
    {"earliest", "What is earliest"},
    {"early_stopping", "End fruitless chains early"},
    {"edges", "Unit of traffic"},
    {"elite_share", "Elite (share)"},
    {"elite_size", "Placements that survive"},
    {"embedding", "Embedding size"},
    {"end_temperature", "Last temperature (× best value)"},
    {"end_temperature_ratio", "Last temperature (× first)"},
    {"entropy_weight", "First entropy weight"},
    {"events_a_step", "Solver events per step"},
    {"evolve_mutation_rate", "Let mutation rates evolve"},
    {"exploration", "Exploration (share)"},
    {"exploration_samples", "Placements to explore"},
    {"exponential_base", "Exponential ranking (factor)"},
    {"favourite", "Choice of favourite children"},
    {"final_entropy_weight", "Last entropy weight"},
    {"final_imitation", "Final imitation (share)"},
    {"final_learning_rate", "Last learning rate"},
    {"foresight", "Foresight of finish times"},
    {"fresh_starts", "Restart at random every other time"},
    {"gradient_clip", "Largest gradient"},
    {"gradient_steps", "Gradient steps per batch"},
    {"graph_episodes", "Episodes per network"},
    {"grouper_hidden", "Units that choose clusters"},
    {"growth", "Growth of each cooling (factor)"},
    {"heads", "Attention heads"},
    {"hidden", "Hidden units"},
    {"imbalance", "Allowed imbalance (share)"},
    {"imitation", "Imitation (share of episodes)"},
    {"include_trivial_solutions", "Begin with single devices"},
    {"inertia", "Inertia"},
    {"initial_mutation_rate_deviation", "First deviation of mutation rates"},
    {"initial_size", "Random placements to begin with"},
    {"initial_zone_mutation_rate_deviation", "First deviation of zone mutation rates"},
    {"insertion", "Fill gaps in schedules"},
    {"jumps_size", "Cells by edges between devices"},
    {"kick", "Random moves at a restart"},
    {"largest_step", "Longest step (share of range)"},
    {"layers", "Layers"},
    {"learn_moves", "Learn which moves help"},
    {"learning_rate", "Learning rate"},
    {"least_share", "Least share of each search"},
    {"link_contention", "Wait for busy links"},
    {"lp_iterations", "Solver iterations"},
    {"main_device", "Main device (from 0; -1: fastest)"},
    {"max_ideals", "Most ideals"},
    {"max_mutation_rate", "Highest mutation rate"},
    {"max_states", "Most states"},
    {"measure", "Measure of cost"},
    {"memory", "Balance memory"},
    {"memory_filter", "Skip full devices"},
    {"merge_moves", "Moves of whole pieces (share)"},
    {"merge_mutation_rate", "Mutation of whole pieces (probability)"},
    {"merged_share", "Placements with merged pieces (share)"},
    {"messages", "Messages of several senders"},
    {"method", "Method"},
    {"min_mutation_rate", "Lowest mutation rate"},
    {"minimize_every", "Placements per cross-entropy update"},
    {"most_slow_share", "Largest slow annealing (share)"},
    {"most_used_size", "Cells by most used device"},
    {"moves", "Moves per evaluation"},
    {"mutation_rate", "Mutation per op (probability)"},
    {"mutation_rate_deviation", "Deviation of mutation rates"},
    {"neighbourhood", "Moves to try"},
    {"neighbours", "Neighbours described"},
    {"nodes", "Most branch-and-cut nodes"},
    {"objective", "What to minimise"},
    {"order", "Order of the groups"},
    {"parent_selection", "Choice of parents"},
    {"part_episodes", "Episodes on a part (share)"},
    {"parts", "Devices to use (0: any number)"},
    {"passes", "Decisions per group"},
    {"patience", "Patience (steps without success)"},
    {"penalty", "First divergence penalty"},
    {"personal_weight", "Pull to a particle's best"},
    {"policy", "Guidance by the shipped policy"},
    {"population_size", "Placements per generation"},
    {"proximal_steps", "Proximal steps per update"},
    {"rank", "Time in an op's rank"},
    {"rank_distribution", "Fall of probability with rank"},
    {"refinement", "Evaluations to refine"},
    {"reheated_share", "Reheated annealing (share)"},
    {"replace_mutation_rate", "Replace a device (probability)"},
    {"restart_temperature_ratio", "Restart temperature (× first)"},
    {"restarts", "Most restarts"},
    {"return_period", "Evaluations between returns to the best"},
    {"reward", "Reward"},
    {"reward_interval", "Decisions per reward"},
    {"rounds", "Rounds of messages"},
    {"sample", "Neighbours per step (0: all)"},
    {"seconds", "Solver time limit (s; 0: none)"},
    {"segment", "Groups per segment"},
    {"selection", "Choice of parents"},
    {"selection_pressure", "Selection pressure (children of the best)"},
    {"shortest_chain", "Least evaluations per chain"},
    {"slow_share", "Slow annealing (share)"},
    {"smallest_branch", "Smallest branch (share of time)"},
    {"standardize", "Standardize advantages"},
    {"start", "Start placement"},
    {"start_acceptance", "First acceptance (probability)"},
    {"start_temperature", "First temperature (× best value)"},
    {"start_temperature_ms", "First temperature (ms; 0: automatic)"},
    {"steps", "Evaluations per cooling (0: all)"},
    {"strategy", "Strategy"},
    {"swaps", "Swaps among moves (share)"},
    {"swarm_size", "Particles"},
    {"swarm_weight", "Pull to the swarm's best"},
    {"tanh_constant", "Bound of logits (0: none)"},
    {"target_divergence", "Divergence per batch (nats)"},
    {"temperature", "Temperature of choices"},
    {"tenure", "Steps that a move stays forbidden"},
    {"threshold", "Threshold of favourites"},
    {"tournament_size", "Placements per tournament"},
    {"tries", "Tries of each kind"},
    {"turn", "Evaluations per round (0: automatic)"},
    {"updates", "Updates until the rates end"},
    {"used_size", "Cells by devices used"},
    {"visiting_q", "Visiting shape (q)"},
    {"visiting_temperature", "First visiting temperature"},
    {"width", "Embedding width"},
    {"workers", "Episodes per update"},
    {"zone_mutation_rate", "Mutation of a run of ops (probability)"},
    {"zone_mutation_rate_deviation", "Deviation of zone mutation rates"},
};

// Choices that read badly as they are.
constexpr OptionText kChoices[] = {
    {"if-needed", "only if needed"}, {"lp", "linear program"},  {"cpu", "first CPU"},
    {"k-way", "all parts at once"},  {"complete", "all equal"},
};

template <std::size_t size>
std::string text_of(const OptionText (&table)[size], std::string_view name) {
    const auto found = std::ranges::find(table, name, &OptionText::name);
    return std::string(found == std::end(table) ? name : found->title);
}

}  // namespace

std::vector<AlgorithmInfo> with_texts(std::vector<AlgorithmInfo> algorithms) {
    const auto place = [](const AlgorithmInfo& info) {
        return std::ranges::find(kAlgorithms, info.id, &AlgorithmText::id);
    };
    std::ranges::stable_sort(algorithms, {}, place);
    for (AlgorithmInfo& info : algorithms) {
        if (const auto text = place(info); text != std::end(kAlgorithms)) {
            info.group = text->group;
            info.summary = text->summary;
        }
        for (OptionInfo& option : info.options) {
            option.title = text_of(kOptions, option.name);
            for (const std::string& choice : option.choices)
                option.choice_titles.push_back(text_of(kChoices, choice));
        }
    }
    return algorithms;
}

}  // namespace placewright
