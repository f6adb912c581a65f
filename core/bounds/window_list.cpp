// SPDX-License-Identifier: MIT
#include "core/bounds/window_list.hpp"

#include <algorithm>
#include <utility>

namespace placewright {

WindowList::WindowList(const Problem& problem, const DependencyChain& chain)
    : chain_(chain), ops_after_(chain.ops.size()), last_begin_(chain.ops.size()) {
    for (OpId op = 0; op < problem.ops; ++op) {
        ops_after_[chain.after[op]].push_back(op);
        if (is_on_chain(op)) continue;
        for (const std::size_t end : {chain.before[op], chain.before_on_device[op]})
            last_begin_[end] = std::max(last_begin_[end].value_or(0), chain.after[op]);
    }
}

void WindowList::for_each_to(std::size_t last, const std::function<bool(std::size_t)>& goes_on,
                             const std::function<void(std::size_t, const OpWindow&)>& use) const {
    std::vector<OpId> ops;
    std::size_t looked_at = 0;
    for (std::size_t first = last; first-- > 0;) {
        bool begins = false;
        for (const OpId op : ops_after_[first]) {
            ++looked_at;
            if (chain_.before_on_device[op] > last || (is_on_chain(op) && chain_.position[op] >= last))
                continue;
            ops.push_back(op);
            begins = begins || !is_on_chain(op);
        }
        // A window is more than those within it if some op begins with it, and some op ends with it.
        const bool ends = last_begin_[last] && *last_begin_[last] >= first;
        if (first + 1 == last || (begins && ends)) use(first, window(first, last, ops));
        if (!last_begin_[last] || !goes_on(looked_at)) return;
    }
}

OpWindow WindowList::window(std::size_t first, std::size_t last, std::vector<OpId> ops) const {
    std::ranges::sort(ops);
    OpWindow made{chain_.ops[first], chain_.ops[last], std::move(ops), {}};
    for (const OpId op : made.ops)
        made.on_device_only.push_back(!is_on_chain(op) && chain_.before[op] > last);
    return made;
}

}  // namespace placewright
