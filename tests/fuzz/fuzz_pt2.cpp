// SPDX-License-Identifier: MIT
// Archives of torch.export: as whole files, and as contents put into an archive. The latter get further,
// because a zip file has checksums.
#include "core/io/pytorch/exported_program.hpp"
#include "core/io/text/input_error.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/zip.hpp"

using namespace placewright;

namespace {

void read(std::string_view bytes) {
    try {
        const Archive archive("model.pt2", bytes);
        if (is_exported_program(archive)) read_exported_program(archive, 3);
    } catch (const InputError&) {
    }
}

/// A convolution with an open batch size, a split, a sum and a product with a parameter.
constexpr const char* kProgram =
    R"({"schema_version": {"major": 8, "minor": 2}, "graph_module": {"signature": {
 "input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
  {"parameter": {"arg": {"name": "w"}, "parameter_name": "conv.weight"}}, {"buffer": {"arg": {"name": "m"}, "buffer_name": "bn.running_mean"}}],
 "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]},
 "graph": {"inputs": [], "outputs": [], "sym_int_values": {"s": {"as_expr": {"expr_str": "s0", "hint": {"as_int": 2}}}},
 "tensor_values": {
  "x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0", "hint": {"as_int": 2}}}, {"as_int": 4}, {"as_int": 6}, {"as_int": 6}]},
  "w": {"dtype": 7, "sizes": [{"as_int": 8}, {"as_int": 4}, {"as_int": 3}, {"as_int": 3}]},
  "m": {"dtype": 7, "sizes": [{"as_int": 8}]},
  "c": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0", "hint": {"as_int": 2}}}, {"as_int": 8}, {"as_int": 4}, {"as_int": 4}]},
  "a": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "4*s0", "hint": {"as_int": 8}}}]},
  "b": {"dtype": 7, "sizes": [{"as_int": 3}]},
  "y": {"dtype": 7, "sizes": [{"as_int": 8}]}},
 "nodes": [
  {"target": "torch.ops.aten.convolution.default", "metadata": {"nn_module_stack": "k,conv,torch.nn.Conv2d"}, "inputs": [
    {"name": "input", "arg": {"as_tensor": {"name": "x"}}}, {"name": "weight", "arg": {"as_tensor": {"name": "w"}}},
    {"name": "stride", "arg": {"as_ints": [1, 1]}}, {"name": "padding", "arg": {"as_ints": [0, 0]}},
    {"name": "transposed", "arg": {"as_bool": false}}, {"name": "groups", "arg": {"as_int": 1}}],
   "outputs": [{"as_tensor": {"name": "c"}}]},
  {"target": "torch.ops.aten.split.Tensor", "metadata": {}, "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "c"}}},
    {"name": "split_size", "arg": {"as_sym_ints": [{"as_name": "s"}, {"as_int": 2}]}}],
   "outputs": [{"as_tensors": [{"name": "a"}, {"name": "b"}]}]},
  {"target": "torch.ops.aten.add_.Tensor", "metadata": {}, "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "a"}}},
    {"name": "other", "arg": {"as_optional_tensors": [{"as_tensor": {"name": "m"}}, {"as_none": true}]}}],
   "outputs": [{"as_tensor": {"name": "y"}}]}]}}})";

}  // namespace

int fuzz(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(bytes), size);
    read(text);
    if (text.starts_with('{')) read(zipped({{"models/model.json", std::string(text)}}));
    return 0;
}

std::vector<std::string> seeds() {
    return {kProgram, zipped({{"models/model.json", kProgram}})};
}
