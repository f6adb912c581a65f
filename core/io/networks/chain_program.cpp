// SPDX-License-Identifier: MIT
#include "core/io/networks/chain_program.hpp"

#include <algorithm>
#include <utility>

#include "core/graph/kinds.hpp"
#include "core/io/text/json.hpp"

namespace placewright {

ChainProgram::ChainProgram(Program& program)
    : program_(program), gone_(program.nodes.size()), constant_(program.nodes.size()) {
    values_.reserve(program.inputs.size() + program.parameters.size() + program.nodes.size());
    for (std::size_t i = 0; i < program.parameters.size(); ++i)
        values_[program.parameters[i].name].parameter = i;
    for (NodeIndex i = 0; i < size(); ++i) {
        for (const Program::Value& value : node(i).outputs) {
            if (!value.name.empty()) values_[value.name].producer = i;
        }
        for (const std::string& input : node(i).inputs) {
            Readers& readers = values_[input].readers;
            readers.insert(readers.end(), i);
        }
        constant_[i] =
            std::ranges::all_of(node(i).inputs, [&](const std::string& input) { return is_constant(input); });
    }
    outputs_.insert(program.outputs.begin(), program.outputs.end());
    if (outputs_.empty()) return;
    for (NodeIndex i = size(); i-- > 0;) {
        const bool read = std::ranges::any_of(node(i).outputs, [&](const Program::Value& value) {
            return is_result(value.name) || !readers(value.name).empty();
        });
        if (!read) remove(i);
    }
}

ChainProgram::~ChainProgram() {
    NodeIndex left = 0;
    for (NodeIndex i = 0; i < size(); ++i) {
        if (gone_[i]) continue;
        if (left != i) node(left) = std::move(node(i));
        ++left;
    }
    program_.nodes.resize(left);
}

void ChainProgram::remove(NodeIndex i) {
    gone_[i] = true;
    for (const std::string& input : node(i).inputs) values_[input].readers.erase(i);
}

NodeIndex ChainProgram::only_reader(NodeIndex i) {
    if (i == kNoNode || node(i).outputs.empty()) return kNoNode;
    const auto unread = [&](const Program::Value& output) {
        return readers(output.name).empty() && !outputs_.contains(output.name);
    };
    if (!std::ranges::all_of(node(i).outputs.begin() + 1, node(i).outputs.end(), unread)) return kNoNode;
    const std::string& name = node(i).outputs.front().name;
    const Readers& of_first = readers(name);
    return of_first.size() == 1 && !outputs_.contains(name) ? *of_first.begin() : kNoNode;
}

NodeIndex ChainProgram::next(NodeIndex i, std::string_view kind) {
    const NodeIndex reader = only_reader(i);
    return reader != kNoNode && node(reader).kind == kind ? reader : kNoNode;
}

NodeIndex ChainProgram::producer(const std::string& value) const {
    const auto found = values_.find(value);
    return found == values_.end() ? kNoNode : found->second.producer;
}

NodeIndex ChainProgram::before(NodeIndex reader, const std::string& value, std::string_view kind) {
    const NodeIndex from = producer(value);
    return is(from, kind) && only_reader(from) == reader ? from : kNoNode;
}

const Program::Parameter* ChainProgram::parameter_named(const std::string& value) const {
    const auto found = values_.find(value);
    if (found == values_.end() || !found->second.parameter) return nullptr;
    return &program_.parameters[*found->second.parameter];
}

const Program::Parameter* ChainProgram::parameter(const std::string& value, bool* is_view) {
    if (const Program::Parameter* const named = parameter_named(value)) return named;
    const NodeIndex from = producer(value);
    if (from == kNoNode || node(from).inputs.empty()) return nullptr;
    const KindInfo& kind = kind_info(node(from).kind);
    if (!kind.view || kind.range) return nullptr;
    const Program::Parameter* const viewed = parameter_named(node(from).inputs.front());
    if (viewed != nullptr && is_view != nullptr) *is_view = true;
    return viewed;
}

bool ChainProgram::is_number(const std::string& value) {
    const Program::Parameter* const found = parameter(value);
    return found != nullptr && found->path.empty() && element_count(found->tensor) == 1;
}

bool ChainProgram::is_constant(const std::string& value) const {
    if (const Program::Parameter* const named = parameter_named(value)) return named->path.empty();
    const NodeIndex from = producer(value);
    return from != kNoNode && constant_[from];
}

void ChainProgram::transpose(const Program::Parameter& parameter) {
    Shape& extents = *program_.parameters[*values_.at(parameter.name).parameter].tensor.shape;
    std::swap(extents[0], extents[1]);
}

std::optional<Shape> ChainProgram::shape(const std::string& value) {
    if (const Program::Parameter* const named = parameter_named(value)) return named->tensor.shape;
    const NodeIndex from = producer(value);
    const auto& values = from == kNoNode ? program_.inputs : node(from).outputs;
    const auto found = std::ranges::find(values, value, &Program::Value::name);
    if (found == values.end() || !found->tensor) return {};
    return found->tensor->shape;
}

double ChainProgram::flops(NodeIndex i) {
    if (node(i).flops) return *node(i).flops;
    std::vector<Shape> inputs, outputs;
    for (const std::string& input : node(i).inputs) {
        if (auto known = shape(input)) inputs.push_back(*std::move(known));
    }
    for (const Program::Value& value : node(i).outputs) {
        if (value.tensor && value.tensor->shape) outputs.push_back(*value.tensor->shape);
    }
    return forward_flops({node(i).kind, inputs, outputs, node(i).window, node(i).equation}).value_or(0);
}

std::optional<std::string> ChainProgram::other_input(NodeIndex i, const std::string& value) {
    const auto& inputs = node(i).inputs;
    if (inputs.empty() || inputs.size() > 2) return {};
    if (inputs.size() == 1) return inputs[0] == value ? std::optional<std::string>("") : std::nullopt;
    if (inputs[0] == value) return inputs[1];
    if (inputs[1] == value) return inputs[0];
    return {};
}

bool ChainProgram::with_number(NodeIndex i, const std::string& value) {
    const auto other = other_input(i, value);
    return other && (other->empty() || is_number(*other));
}

std::optional<std::string> ChainProgram::beside_number(NodeIndex i) {
    const auto& inputs = node(i).inputs;
    if (inputs.size() == 1) return inputs[0];
    if (inputs.size() != 2) return {};
    if (is_number(inputs[1])) return inputs[0];
    if (is_number(inputs[0])) return inputs[1];
    return {};
}

void ChainProgram::merge(const std::vector<NodeIndex>& chain, const std::string& kind,
                         std::vector<std::string> inputs, std::map<std::string, std::string> attributes,
                         std::optional<double> of_all) {
    Json merged = Json::array();
    for (const NodeIndex i : chain) {
        merged.push_back(node(i).name.empty() ? output(i) : node(i).name);
        // A node may stand for others already.
        const auto own = node(i).attributes.find("merged");
        if (own == node(i).attributes.end()) continue;
        for (Json& name : json_value(own->second)) merged.push_back(std::move(name));
    }
    const NodeIndex last = *std::ranges::max_element(chain);
    Program::Node result;
    result.kind = kind;
    result.scope = node(last).scope;
    const std::string prefix = result.scope + '/';
    result.name =
        !result.scope.empty() && node(last).name.starts_with(prefix) ? prefix + kind : node(last).name;
    result.inputs = std::move(inputs);
    result.outputs = {node(last).outputs.front()};
    result.flops = of_all;
    result.attributes = std::move(attributes);
    result.attributes["merged"] = merged.dump(-1, ' ', false, Json::error_handler_t::replace);
    for (const NodeIndex i : chain) remove(i);
    gone_[last] = false;
    node(last) = std::move(result);
    for (const std::string& input : node(last).inputs) values_[input].readers.insert(last);
}

}  // namespace placewright
