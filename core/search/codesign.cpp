// SPDX-License-Identifier: MIT
#include "core/search/codesign.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <stdexcept>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "core/base/random.hpp"
#include "core/search/threads.hpp"

namespace placewright {
namespace {

/// Machines bred from the same state of the front: enough for the cores of a workstation.
constexpr std::size_t kGeneration = 16;
constexpr int kTries = 2'000;  ///< attempts to find a machine that was not tried yet

/// A machine to try, and the point of the front that it was bred from.
struct Candidate {
    Design design;
    const DesignPoint* parent = nullptr;
};

bool dominates(const DesignPoint& a, const DesignPoint& b) {
    return a.price <= b.price && a.score.penalised_s <= b.score.penalised_s &&
           (a.price < b.price || a.score.penalised_s < b.score.penalised_s);
}

class Codesign {
public:
    Codesign(const CodesignTask& task, std::stop_token stop, const CodesignCallback& report)
        : task_(task),
          catalogue_(task.catalogue),
          stop_(std::move(stop)),
          report_(report),
          random_(task.seed) {
        if (catalogue_.hosts.empty() || catalogue_.accelerators.empty() || catalogue_.host_links.empty() ||
            catalogue_.fabrics.empty())
            throw std::invalid_argument(
                "a catalogue needs at least one host, accelerator, host link and fabric");
    }

    CodesignResult run() {
        const auto all = enumerate(task_.designs);
        if (all && all->empty()) throw std::invalid_argument("the budget buys no machine");
        const std::vector<Design> first = all ? *all : cheapest();
        tried_.insert(first.begin(), first.end());
        for (std::size_t begin = 0; begin < first.size() && !stop_.stop_requested(); begin += kGeneration) {
            std::vector<Candidate> generation;
            for (std::size_t i = begin; i < std::min(first.size(), begin + kGeneration); ++i)
                generation.push_back({first[i], nullptr});
            place(generation);
        }
        while (!all && !stop_.stop_requested() && result_.designs < task_.designs) {
            // The cheapest machines are part of the first generation.
            const std::uint64_t room = kGeneration - result_.designs % kGeneration;
            const std::vector<Candidate> generation = breed(std::min(room, task_.designs - result_.designs));
            if (generation.empty()) break;
            place(generation);
        }
        result_.cancelled = stop_.stop_requested();
        result_.all = all && !result_.cancelled;
        if (impossible_ == result_.designs && why_impossible_ && !result_.cancelled)
            std::rethrow_exception(why_impossible_);
        return std::move(result_);
    }

private:
    bool affordable(const Design& design) const {
        return design.accelerators.size() <= catalogue_.hosts[design.host].places &&
               price_of(design, catalogue_) <= task_.budget;
    }

    /// Without accelerators, fabric and links do not matter; with one accelerator, the fabric does not.
    Design simplified(Design design) const {
        if (design.accelerators.empty()) design.host_link = 0;
        if (design.accelerators.size() < 2) {
            const auto none = std::ranges::find(catalogue_.fabrics, Catalogue::Fabric::Topology::none,
                                                &Catalogue::Fabric::topology);
            design.fabric = none == catalogue_.fabrics.end()
                                ? 0
                                : static_cast<std::size_t>(none - catalogue_.fabrics.begin());
        }
        std::ranges::sort(design.accelerators);
        return design;
    }

    /// Returns all machines within the budget; nothing if there are more than `most`.
    std::optional<std::vector<Design>> enumerate(std::uint64_t most) const {
        std::set<Design> found;
        for (std::size_t host = 0; host < catalogue_.hosts.size(); ++host) {
            for (std::size_t link = 0; link < catalogue_.host_links.size(); ++link) {
                for (std::size_t fabric = 0; fabric < catalogue_.fabrics.size(); ++fabric) {
                    Design design{host, link, fabric, {}};
                    if (!enumerate(design, 0, most, found)) return {};
                }
            }
        }
        return std::vector<Design>(found.begin(), found.end());
    }

    /// Adds the design and those with more accelerators from position `next` on; returns false if there are
    /// more than `most`.
    bool enumerate(Design& design, std::size_t next, std::uint64_t most, std::set<Design>& found) const {
        // Prices are not negative: more accelerators would not make it cheaper.
        if (!affordable(design)) return true;
        found.insert(simplified(design));
        if (found.size() > most) return false;
        for (std::size_t kind = next; kind < catalogue_.accelerators.size(); ++kind) {
            design.accelerators.push_back(kind);
            const bool room = enumerate(design, kind, most, found);
            design.accelerators.pop_back();
            if (!room) return false;
        }
        return true;
    }

    /// Returns the start of an evolution: the cheapest host alone, then with one accelerator, by ascending
    /// price; no more machines than may be tried.
    std::vector<Design> cheapest() const {
        const auto position_of_cheapest = [](const auto& parts) {
            return static_cast<std::size_t>(
                std::ranges::min_element(parts, {}, [](const auto& part) { return part.price; }) -
                parts.begin());
        };
        const Design alone{
            position_of_cheapest(catalogue_.hosts), position_of_cheapest(catalogue_.host_links), 0, {}};
        std::vector<Design> designs{simplified(alone)};
        for (std::size_t kind = 0; kind < catalogue_.accelerators.size(); ++kind) {
            Design design = alone;
            design.accelerators = {kind};
            design = simplified(std::move(design));
            if (affordable(design)) designs.push_back(std::move(design));
        }
        std::ranges::stable_sort(designs, {},
                                 [&](const Design& design) { return price_of(design, catalogue_); });
        if (designs.size() > task_.designs) designs.resize(task_.designs);
        return designs;
    }

    /// Returns new machines: changes of machines on the front; random ones in the first generation, while the
    /// front is empty, and if changes find nothing new.
    std::vector<Candidate> breed(std::size_t count) {
        std::vector<Candidate> generation;
        const auto add = [&](const Design& design, const DesignPoint* parent) {
            const Design simple = simplified(design);
            if (affordable(simple) && tried_.insert(simple).second) generation.push_back({simple, parent});
        };
        for (int tries = 0; tries < kTries && generation.size() < count; ++tries) {
            // The machines that remain at the end may be too many changes away from the front.
            const bool draws = result_.designs < kGeneration || result_.front.empty() || tries >= kTries / 2;
            const DesignPoint* parent = draws ? nullptr : &result_.front[random_.index(result_.front.size())];
            add(draws ? drawn() : changed(parent->design), parent);
        }
        return generation;
    }

    Design drawn() {
        Design design{random_.index(catalogue_.hosts.size()),
                      random_.index(catalogue_.host_links.size()),
                      random_.index(catalogue_.fabrics.size()),
                      {}};
        const std::size_t count = 1 + random_.index(catalogue_.hosts[design.host].places);
        for (std::size_t i = 0; i < count; ++i)
            design.accelerators.push_back(random_.index(catalogue_.accelerators.size()));
        return design;
    }

    /// Applies one to three changes; more changes are rarer.
    Design changed(Design design) {
        for (std::size_t change = std::min<std::size_t>(3, random_.geometric(0.6)); change > 0; --change) {
            auto& accelerators = design.accelerators;
            const std::size_t kind = random_.index(catalogue_.accelerators.size());
            switch (random_.index(6)) {
                case 0:
                    design.host = random_.index(catalogue_.hosts.size());
                    break;
                case 1:
                    design.host_link = random_.index(catalogue_.host_links.size());
                    break;
                case 2:
                    design.fabric = random_.index(catalogue_.fabrics.size());
                    break;
                case 3:
                    accelerators.push_back(kind);
                    break;
                case 4:
                    if (!accelerators.empty())
                        accelerators.erase(accelerators.begin() +
                                           static_cast<std::ptrdiff_t>(random_.index(accelerators.size())));
                    break;
                default:
                    if (!accelerators.empty()) accelerators[random_.index(accelerators.size())] = kind;
                    break;
            }
        }
        return design;
    }

    void place(const std::vector<Candidate>& generation) {
        std::vector<std::optional<DesignPoint>> points(generation.size());
        std::vector<std::exception_ptr> impossible(generation.size());
        tbb::task_arena(static_cast<int>(usable_threads(task_.threads))).execute([&] {
            tbb::parallel_for(std::size_t{0}, generation.size(), [&](std::size_t i) {
                if (stop_.stop_requested()) return;
                DesignPoint point{generation[i].design,
                                  price_of(generation[i].design, catalogue_),
                                  {},
                                  nullptr,
                                  nullptr,
                                  {}};
                point.machine = std::make_shared<const Machine>(build_machine(point.design, catalogue_));
                try {
                    point.problem = make_problem(task_.graph, point.machine, task_.problem);
                } catch (const PlacementError&) {
                    // For example, it lacks a device that some op has to run on. Other machines may have it.
                    impossible[i] = std::current_exception();
                    return;
                }
                points[i] = placed(std::move(point), generation[i].parent);
            });
        });
        for (const std::exception_ptr& why : impossible) {
            if (!why) continue;
            ++impossible_;
            if (!why_impossible_) why_impossible_ = why;
        }
        // The parents stay on the front until all are placed.
        for (auto& point : points) {
            if (point) enter(*std::move(point));
        }
        result_.designs += generation.size();
        if (report_) report_(result_);
    }

    /// Returns the point with its network placed, also starting from the placement of `parent` if there is
    /// one; nothing if stopped.
    std::optional<DesignPoint> placed(DesignPoint point, const DesignPoint* parent) const {
        const Problem& problem = *point.problem;
        SearchContext context{point.problem,     task_.seed, {single_device_placement(problem)},
                              task_.evaluations, nullptr,    task_.simulation};
        if (parent != nullptr) {
            // Which ops may move together depends on the devices of the machine.
            Placement carried = regrouped(parent->placement, *parent->problem, problem);
            for (GroupId group = 0; group < problem.groups; ++group) {
                // The ops of a removed device go to the remaining ones.
                carried[group] = static_cast<DeviceId>(carried[group] % problem.devices);
                if (!std::ranges::binary_search(problem.allowed_devices(group), carried[group]))
                    carried[group] = context.seeds[0][group];
            }
            context.seeds.push_back(obeying(problem, std::move(carried)));
        }
        const auto optimizer = task_.algorithm->make(context, task_.options);
        const auto evaluator = simulation_evaluator(point.problem, task_.simulation, task_.penalty, 1);
        const SearchResult found = run_search(*optimizer, *evaluator, {task_.evaluations}, stop_);
        if (!found.progress.best_placement) return {};
        point.score = found.progress.best;
        point.placement = *found.progress.best_placement;
        // Not every algorithm takes start placements into account.
        std::vector<Score> scores(context.seeds.size());
        if (!evaluator->evaluate(context.seeds, scores, {})) return {};
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (scores[i].penalised_s >= point.score.penalised_s) continue;
            point.score = scores[i];
            point.placement = context.seeds[i];
        }
        return point;
    }

    void enter(DesignPoint point) {
        auto& front = result_.front;
        if (!point.score.fits) return;
        const bool useless = std::ranges::any_of(front, [&](const DesignPoint& other) {
            return dominates(other, point) ||
                   (other.price == point.price && other.score.penalised_s == point.score.penalised_s);
        });
        if (useless) return;
        std::erase_if(front, [&](const DesignPoint& other) { return dominates(point, other); });
        front.insert(std::ranges::upper_bound(front, point.price, {}, &DesignPoint::price), std::move(point));
    }

    const CodesignTask& task_;
    const Catalogue& catalogue_;
    const std::stop_token stop_;
    const CodesignCallback& report_;
    Random random_;
    std::set<Design> tried_;
    std::uint64_t impossible_ = 0;       ///< machines tried on which no placement of the network is possible
    std::exception_ptr why_impossible_;  ///< exception of the first of them
    CodesignResult result_;
};

}  // namespace

CodesignResult codesign(const CodesignTask& task, std::stop_token stop, const CodesignCallback& report) {
    return Codesign(task, std::move(stop), report).run();
}

}  // namespace placewright
