// SPDX-License-Identifier: MIT
#include "core/io/state/shipped_policy.hpp"

#include <filesystem>

#include "core/io/shipped.hpp"
#include "core/io/text/input_error.hpp"
#include "core/learn/list_guide.hpp"

namespace placewright {

Path shipped_policy_file() {
    return models_folder() / "policies" / "general.safetensors";
}

std::shared_ptr<const PolicyFile> shipped_policy() {
    static const std::shared_ptr<const PolicyFile> policy = [] {
        const Path file = shipped_policy_file();
        std::error_code error;
        if (!std::filesystem::exists(file, error)) return std::shared_ptr<const PolicyFile>();
        try {
            return std::make_shared<const PolicyFile>(read_policy(file));
        } catch (const InputError& damage) {
            const std::string problem = std::string(damage.what()).substr(file.string().size() + 2);
            throw InputError(file.string(), "",
                             problem +
                                 ", or install Placewright again; Auto does without the file if its "
                                 "option policy is false (--set policy=false)");
        }
    }();
    return policy;
}

std::unique_ptr<SearchGuide> shipped_guide(const std::shared_ptr<const Problem>& problem) {
    if (problem->groups > kMostGuidedGroups) return nullptr;
    const std::shared_ptr<const PolicyFile> file = shipped_policy();
    if (file == nullptr) return nullptr;
    const auto* policy = dynamic_cast<const ListPolicy*>(file->design.policy.get());
    if (policy == nullptr) return nullptr;
    return std::make_unique<ListGuide>(
        std::make_shared<const PolicyGraph>(problem, file->design.allow_cpu, false), policy->network(),
        file->state.weights);
}

}  // namespace placewright
