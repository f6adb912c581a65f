// SPDX-License-Identifier: MIT
// Names of the tensors, parameters and modules of a TorchScript model while it is walked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <torch/script.h>

#include "core/io/pytorch/scripted_program.hpp"

namespace placewright {

/// Gives each tensor the name of the input, parameter or output of a call that it is in the program, and adds
/// the parameters that it finds to the program. A tensor may be freed, but its address is not used for
/// another one.
class ScriptNames {
public:
    using Object = c10::intrusive_ptr<c10::ivalue::Object>;

    /// `program` must outlive this object; `run`: tensors have numbers.
    ScriptNames(ScriptedProgram& program, bool run) : program_(&program), run_(run) {}

    /// Returns a name like `wanted` that no other value has.
    std::string unused(const std::string& wanted);

    /// Returns the name of a tensor; empty if it has none. If a call has written into its memory since it got
    /// its name, through a view or its base, the tensor becomes a new output of this call.
    std::string name_of(const at::Tensor& tensor);
    void give_name(const at::Tensor& tensor, const std::string& name);
    /// Gives tensors without numbers the names of their originals. `names[i]` are those of the tensors in
    /// `inputs[i]`.
    void keep_names(const std::vector<c10::IValue>& inputs,
                    const std::vector<std::vector<std::string>>& names);
    /// Records that the last call of the program has written into the memory of a tensor.
    void note_change(const at::Tensor& tensor);
    /// Makes a constant of the code a parameter, unless it is a single number or has a name.
    void name_constant(const at::Tensor& tensor, const std::string& wanted);

    void give_path(const Object& module, const std::string& path) { paths_[module.get()] = path; }
    /// Returns the path of a module ("layer1.0"); nullptr for an object that is no module of the model.
    const std::string* path_of(const Object& object) const;
    /// Returns an attribute of an object; modules, and tensors in modules, get their paths.
    c10::IValue attribute(const Object& object, const std::string& name);

    /// Adds parameters and buffers that no call reads, and further names of tied parameters; to be called
    /// after the last call. `steps` of the maximum have been taken before. Throws ScriptError for a model
    /// with too many modules.
    void list_parameters(const Object& model, std::size_t steps);

private:
    using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;
    struct Named {
        WeakTensor tensor;
        std::string name;
        std::size_t calls;  ///< number of calls before the tensor got its name
    };
    struct Change {
        WeakStorage storage;
        std::size_t call;
    };

    at::Tensor parameter(const at::Tensor& tensor, const std::string& path, const c10::ClassType& type,
                         const std::string& attribute);
    void list_parameters(const Object& object, const std::string& path, std::size_t depth,
                         std::size_t& steps);

    ScriptedProgram* program_;
    bool run_;
    std::unordered_map<const c10::ivalue::Object*, std::string> paths_;  ///< paths of modules
    std::unordered_map<const c10::TensorImpl*, Named> names_;
    std::unordered_map<const c10::StorageImpl*, Change> changes_;  ///< last change of each storage
    std::unordered_map<const c10::TensorImpl*, std::pair<at::Tensor, at::Tensor>>
        stand_in_;  ///< substitute of each parameter
    std::map<std::tuple<const void*, std::int64_t, std::vector<std::int64_t>>, std::string> parameter_at_;
    std::unordered_map<std::string, std::size_t> parameter_index_;  ///< by name; filled after the last call
    std::unordered_set<std::string> used_;
    std::unordered_map<std::string, std::size_t> repeats_;
};

}  // namespace placewright
