// SPDX-License-Identifier: MIT
#include "core/io/pytorch/torch/script_names.hpp"

#include "core/io/pytorch/torch/script_shapes.hpp"
#include "core/io/pytorch/torch/script_values.hpp"

namespace placewright {

std::string ScriptNames::name_of(const at::Tensor& tensor) {
    const auto found = names_.find(tensor.unsafeGetTensorImpl());
    const auto change =
        tensor.has_storage() ? changes_.find(tensor.storage().unsafeGetStorageImpl()) : changes_.end();
    if (change == changes_.end() || (found != names_.end() && found->second.calls > change->second.call))
        return found == names_.end() ? "" : found->second.name;
    AtenCall& call = program_->calls[change->second.call];
    const std::string name = unused(call.outputs.front().name);
    call.outputs.push_back({name, described(tensor)});
    give_name(tensor, name);
    return name;
}

void ScriptNames::give_name(const at::Tensor& tensor, const std::string& name) {
    names_.insert_or_assign(tensor.unsafeGetTensorImpl(),
                            Named{WeakTensor(tensor.getIntrusivePtr()), name, program_->calls.size()});
}

std::string ScriptNames::unused(const std::string& wanted) {
    std::string name = wanted;
    while (!used_.insert(name).second) name = wanted + '@' + std::to_string(++repeats_[wanted]);
    return name;
}

void ScriptNames::keep_names(const std::vector<c10::IValue>& inputs,
                             const std::vector<std::vector<std::string>>& names) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::size_t next = 0;
        for_each_tensor(inputs[i], [&](const at::Tensor& tensor) {
            if (next == names[i].size()) return;  // tensors that the operator added to a list
            const std::string& name = names[i][next++];
            if (!name.empty() && name_of(tensor).empty()) give_name(tensor, name);
        });
    }
}

void ScriptNames::note_change(const at::Tensor& tensor) {
    changes_.insert_or_assign(
        tensor.storage().unsafeGetStorageImpl(),
        Change{WeakStorage(tensor.storage().getWeakStorageImpl()), program_->calls.size() - 1});
}

void ScriptNames::name_constant(const at::Tensor& tensor, const std::string& wanted) {
    if (tensor.dim() == 0 || !name_of(tensor).empty()) return;
    program_->parameters.push_back({unused("constant " + wanted), "", described(tensor), false});
    give_name(tensor, program_->parameters.back().name);
}

const std::string* ScriptNames::path_of(const Object& object) const {
    const auto found = paths_.find(object.get());
    return found == paths_.end() ? nullptr : &found->second;
}

c10::IValue ScriptNames::attribute(const Object& object, const std::string& name) {
    c10::IValue value = object->getAttr(name);
    const std::string* const owner = path_of(object);
    if (owner == nullptr) return value;
    const std::string path = owner->empty() ? name : *owner + '.' + name;
    if (value.isObject()) {
        if (value.type()->is_module()) paths_.emplace(value.toObject().get(), path);
    } else if (value.isTensorList()) {
        // Recurrent layers also list their weights, which keep the names of their attributes.
        const c10::ClassType& type = *object->type();
        for (std::size_t slot = 0; slot < type.numAttributes(); ++slot) {
            if (type.is_parameter(slot) || type.is_buffer(slot))
                attribute(object, type.getAttributeName(slot));
        }
        c10::List<at::Tensor> items;
        for (const at::Tensor& tensor : value.toTensorVector())
            items.push_back(parameter(tensor, path, type, name));
        return items;
    } else if (value.isTensor() && value.toTensor().defined()) {
        return parameter(value.toTensor(), path, *object->type(), name);
    }
    return value;
}

at::Tensor ScriptNames::parameter(const at::Tensor& tensor, const std::string& path,
                                  const c10::ClassType& type, const std::string& attribute) {
    if (!name_of(tensor).empty()) return tensor;
    if (const auto known = stand_in_.find(tensor.unsafeGetTensorImpl()); known != stand_in_.end())
        return known->second.second;
    const std::size_t slot = type.getAttributeSlot(attribute);
    const bool trained = type.is_parameter(slot), stored = trained || type.is_buffer(slot);
    // Parameters of several modules that share memory are one parameter.
    const auto place = std::tuple(tensor.has_storage() ? tensor.storage().data() : nullptr,
                                  tensor.has_storage() ? tensor.storage_offset() : 0, tensor.sizes().vec());
    std::string& name = parameter_at_[place];
    if (name.empty() || std::get<0>(place) == nullptr) {
        name = unused(path);
        program_->parameters.push_back({name, stored ? path : "", described(tensor), trained});
    }
    const at::Tensor seen = run_ ? tensor : without_numbers(tensor);
    stand_in_.emplace(tensor.unsafeGetTensorImpl(), std::pair(tensor, seen));
    give_name(seen, name);
    return seen;
}

void ScriptNames::list_parameters(const Object& model, std::size_t steps) {
    for (std::size_t i = 0; i < program_->parameters.size(); ++i)
        parameter_index_.emplace(program_->parameters[i].name, i);
    list_parameters(model, "", 0, steps);
}

void ScriptNames::list_parameters(const Object& object, const std::string& path, std::size_t depth,
                                  std::size_t& steps) {
    if (depth > kDeepest || ++steps > kMostSteps)
        throw ScriptError(ScriptError::Remedy::none, path, "has too many modules, or nests them too deeply");
    const c10::ClassType& type = *object->type();
    for (std::size_t slot = 0; slot < type.numAttributes(); ++slot) {
        const std::string& name = type.getAttributeName(slot);
        const std::string inner = path.empty() ? name : path + '.' + name;
        const c10::IValue& value = object->getSlot(slot);
        if (value.isModule()) {
            list_parameters(value.toObject(), inner, depth + 1, steps);
        } else if ((type.is_parameter(slot) || type.is_buffer(slot)) && value.isTensor() &&
                   value.toTensor().defined()) {
            const std::size_t before = program_->parameters.size();
            const std::string known = name_of(parameter(value.toTensor(), inner, type, name));
            if (program_->parameters.size() > before) parameter_index_.emplace(known, before);
            const auto index = parameter_index_.find(known);
            if (index == parameter_index_.end())
                continue;  // a result that a call has stored there (num_batches_tracked)
            ScriptedProgram::Parameter& found = program_->parameters[index->second];
            if (!found.path.empty() && found.path != inner) found.other_paths.push_back(inner);
        }
    }
}

}  // namespace placewright
