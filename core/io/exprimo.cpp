// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/sharding.hpp"
#include "core/io/readers.hpp"

namespace placewright {
namespace {

// ---- Layers by full name ----

/// A layer that is named from within a block.
struct Reference {
    std::string block;  ///< full name of the block; empty outside of blocks
    std::string name;
};

struct Layer {
    std::string name;  ///< "block/layer"
    JsonValue value;
    std::vector<Reference> parents;
    std::vector<std::int64_t> devices;  ///< never empty
    bool split = false;                 ///< over a list of devices
};

struct LayerList {
    std::vector<Layer> layers;
    std::unordered_map<std::string, std::string> endpoints;  ///< of each block, by full name; empty where it has none
    bool has_devices = false;
};

std::string joined(const std::string& block, const std::string& name) {
    return block.empty() ? name : block + '/' + name;
}

/// Convolutions are split over a list of devices; others are on the first of them.
void read_devices(const JsonValue& value, Layer& layer) {
    constexpr std::int64_t kMost = std::numeric_limits<DeviceId>::max();
    layer.split = value.json().is_array();
    if (!layer.split) {
        layer.devices = {value.whole(0, kMost)};
        return;
    }
    if (value.size() == 0) value.fail("is an empty list, expected the index of a device");
    layer.devices.clear();
    value.for_each_item([&](const JsonValue& device) { layer.devices.push_back(device.whole(0, kMost)); });
}

/// Takes blocks apart. Layers of a block without parents or devices of their own get those of the block.
void collect(const JsonValue& layers, const Layer& block, LayerList& list) {
    layers.for_each_member([&](const std::string& key, const JsonValue& member) {
        const std::string name = joined(block.name, key);
        const JsonValue value = member.placed_at("layer " + in_quotes(name));
        Layer layer{name, value, {}, block.devices, block.split};
        value.at("parents").for_each_item([&](const JsonValue& parent) { layer.parents.push_back({block.name, parent.text()}); });
        if (layer.parents.empty()) layer.parents = block.parents;
        if (const auto given = value.find("device")) {
            read_devices(*given, layer);
            list.has_devices = true;
        }
        if (value.at("type").text() == "Block") {
            const std::string endpoint = value.text_or("endpoint", "");
            list.endpoints[name] = endpoint.empty() ? "" : joined(name, endpoint);
            collect(value.at("layers"), layer, list);
        } else {
            list.layers.push_back(std::move(layer));
        }
    });
}

/// The full name of the layer that is meant: within the block first, then around it. A block stands for its endpoint.
class Resolver {
public:
    explicit Resolver(const LayerList& list) : list_(list) {
        for (const Layer& layer : list.layers) names_.insert(layer.name);
    }

    std::string operator()(const Layer& reader, const Reference& reference) const {
        std::string block = reference.block;
        while (true) {
            if (const auto found = find(reader, joined(block, reference.name)); !found.empty()) return found;
            if (block.empty()) break;
            const std::size_t slash = block.rfind('/');
            block = slash == std::string::npos ? "" : block.substr(0, slash);
        }
        reader.value.fail("has the parent " + in_quotes(reference.name) + ", expected the name of a layer");
    }

private:
    std::string find(const Layer& reader, std::string name) const {
        // A chain of endpoints is as long as blocks are nested.
        for (auto block = list_.endpoints.find(name); block != list_.endpoints.end(); block = list_.endpoints.find(name)) {
            if (block->second.empty()) reader.value.fail("has the block " + in_quotes(name) + " as parent, which names no \"endpoint\"");
            name = block->second;
        }
        return names_.contains(name) ? name : std::string();
    }

    const LayerList& list_;
    std::unordered_set<std::string> names_;
};

// ---- Shapes and costs, in Exprimo's order of dimensions: batch, height, width, channels ----

using Shape = std::vector<std::int64_t>;

/// Larger numbers than any network has; products of the few that a layer has stay within the range that is checked.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 30;

std::string text_of(const Shape& shape) {
    std::string text;
    for (const std::int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return '[' + text + ']';
}

/// Outputs, parameters and FLOPs of the layer under work.
struct Inference {
    const JsonValue& layer;
    const std::vector<Shape>& inputs;
    std::int64_t batch;
    Op& op;
    Shape output = {};

    [[noreturn]] void fail(const std::string& problem) const { layer.fail(problem); }

    /// Bytes of float32 values.
    std::int64_t bytes(const Shape& shape) const {
        try {
            return make_tensor(shape).bytes;
        } catch (const std::invalid_argument& error) {
            fail(error.what());
        }
    }
    double elements(const Shape& shape) const { return static_cast<double>(bytes(shape)) / 4.0; }

    /// A member that is a list of `count` numbers of at least `least`.
    Shape numbers(const std::string& key, std::size_t count, std::int64_t least = 1) const {
        const JsonValue value = layer.at(key);
        if (value.size() != count) value.fail("has " + std::to_string(value.size()) + " items, expected " + std::to_string(count));
        Shape result;
        value.for_each_item([&](const JsonValue& item) { result.push_back(item.whole(least, kMaxExtent)); });
        return result;
    }

    /// Height and width of the only input, which must be an image.
    const Shape& image() const {
        if (inputs[0].size() != 4) fail("has an input of shape " + text_of(inputs[0]) + ", expected [batch, height, width, channels]");
        return inputs[0];
    }

    void attribute(const std::string& key, const Shape& values) const { op.attributes[key] = Json(values).dump(); }
};

/// Output extent and padding per side along one axis.
struct Axis {
    std::int64_t output = 0;
    std::int64_t padding = 0;
};

Axis axis(const Inference& at, std::int64_t input, std::int64_t kernel, std::int64_t stride, std::size_t index) {
    const JsonValue padding = at.layer.at("padding");
    Axis result;
    if (padding.json().is_array()) {
        result.padding = at.numbers("padding", 2, 0)[index];
        if (input + 2 * result.padding >= kernel) result.output = (input + 2 * result.padding - kernel) / stride + 1;
    } else if (padding.text() == "SAME") {
        result.output = (input + stride - 1) / stride;
        // A stride beyond the kernel would make this negative: rows are left out then, none are added.
        result.padding = std::max<std::int64_t>(0, (result.output - 1) * stride + kernel - input) / 2;
    } else if (padding.text() == "VALID") {
        if (input >= kernel) result.output = (input - kernel + 1 + stride - 1) / stride;
    } else {
        padding.fail("is " + in_quotes(padding.text()) + ", expected \"SAME\", \"VALID\" or a list [height, width]");
    }
    if (result.output < 1) at.fail("the kernel extent " + std::to_string(kernel) + " exceeds the input extent " + std::to_string(input));
    return result;
}

struct Window {
    Shape kernel, stride, output, padding;  ///< height, width
};

/// A window of `kernel` that moves over an input of [height, width].
Window window(const Inference& at, const Shape& kernel, std::int64_t height, std::int64_t width) {
    const Shape strides = at.numbers("strides", 4);
    const Axis rows = axis(at, height, kernel[0], strides[1], 0);
    const Axis columns = axis(at, width, kernel[1], strides[2], 1);
    Window result{kernel, {strides[1], strides[2]}, {rows.output, columns.output}, {rows.padding, columns.padding}};
    at.attribute("kernel", result.kernel);
    at.attribute("stride", result.stride);
    at.attribute("padding", result.padding);
    return result;
}

/// [kernel height, kernel width, a, b]; -1 in dimension `open` means the channels of the input.
Shape filter(const Inference& at, std::size_t open) {
    const std::int64_t channels = at.image()[3];
    const JsonValue value = at.layer.at("filter");
    if (value.size() != 4) value.fail("has " + std::to_string(value.size()) + " items, expected 4");
    Shape result;
    for (std::size_t i = 0; i < 4; ++i) {
        const bool is_open = i == open && value.at(i).whole() == -1;
        result.push_back(is_open ? channels : value.at(i).whole(1, kMaxExtent));
    }
    if (result[open] != channels) {
        value.at(open).fail("is " + std::to_string(result[open]) + ", but the input has " + std::to_string(channels) + " channels");
    }
    return result;
}

/// Filter and a bias for each of its last extent.
std::int64_t filter_bytes(const Inference& at, const Shape& filter) {
    std::int64_t bytes = 0;
    if (__builtin_add_overflow(at.bytes(filter), 4 * filter[3], &bytes)) at.fail("the filter " + text_of(filter) + " is too large");
    return bytes;
}

void convolution(Inference& at) {
    Shape shape = filter(at, 2);
    if (at.layer.find("splits")) {
        if (const JsonValue splits = at.layer.at("splits"); !splits.json().is_null()) shape[3] /= splits.whole(1, shape[3]);
    }
    const Shape& image = at.image();
    const Window moved = window(at, {shape[0], shape[1]}, image[1], image[2]);
    at.output = {image[0], moved.output[0], moved.output[1], shape[3]};
    at.op.parameter_bytes = filter_bytes(at, shape);
    at.op.flops = 2.0 * at.elements({shape[0], shape[1], shape[2]}) * at.elements(at.output);
}

void deconvolution(Inference& at) {
    // The convolution that it transposes reads the output and has the filter [height, width, channels of the output, of the input].
    const Shape shape = filter(at, 3);
    const Shape& image = at.image();
    at.output = at.numbers("output_shape", 4);
    at.output[0] = image[0];
    if (at.output[3] != shape[2]) {
        at.layer.at("output_shape")
            .fail("has " + std::to_string(at.output[3]) + " channels, but the filter gives " + std::to_string(shape[2]));
    }
    const Window moved = window(at, {shape[0], shape[1]}, at.output[1], at.output[2]);
    if (moved.output != Shape{image[1], image[2]}) {
        at.layer.at("output_shape")
            .fail("does not fit: a convolution of it gives " + text_of(moved.output) + ", but the input is " +
                  text_of({image[1], image[2]}));
    }
    at.op.parameter_bytes = filter_bytes(at, shape);
    at.op.flops = 2.0 * at.elements({shape[0], shape[1], shape[2]}) * at.elements(image);
}

void inner_product(Inference& at) {
    const Shape& input = at.inputs[0];
    std::int64_t features = 1;
    for (std::size_t i = 1; i < input.size(); ++i) features *= input[i];
    const std::int64_t outputs = at.layer.at("num_outputs").whole(1, kMaxExtent);
    at.output = {input[0], outputs};
    at.op.parameter_bytes = filter_bytes(at, {1, 1, features, outputs});
    at.op.flops = 2.0 * static_cast<double>(features) * at.elements(at.output);
}

void pooling(Inference& at) {
    const Shape& image = at.image();
    const Shape size = at.numbers("ksize", 4);
    const Window moved = window(at, {size[1], size[2]}, image[1], image[2]);
    at.output = {image[0], moved.output[0], moved.output[1], image[3]};
    at.op.flops = 2.0 * at.elements({size[1], size[2]}) * at.elements(at.output);
}

void elementwise_of_one(Inference& at) {
    at.output = at.inputs[0];
    at.op.flops = at.elements(at.output);
}

void softmax(Inference& at) {
    const Shape& input = at.inputs[0];
    at.output = {input.front(), input.back()};
    if (const auto classes = at.layer.find("num_classes"); classes && !classes->json().is_null()) {
        at.output[1] = classes->whole(1, kMaxExtent);
    }
    at.op.flops = at.elements(at.output);
}

void sum(Inference& at) {
    at.output = at.inputs[0];
    for (const Shape& input : at.inputs) {
        if (input != at.output) at.fail("adds the shapes " + text_of(at.output) + " and " + text_of(input) + ", expected equal ones");
    }
    at.op.flops = static_cast<double>(at.inputs.size() - 1) * at.elements(at.output);
}

void concatenation(Inference& at) {
    at.output = at.inputs[0];
    const auto rank = static_cast<std::int64_t>(at.output.size());
    std::int64_t dimension = at.layer.at("dim").whole(-rank, rank - 1);
    if (dimension < 0) dimension += rank;
    const auto joined_at = static_cast<std::size_t>(dimension);
    for (std::size_t i = 1; i < at.inputs.size(); ++i) {
        Shape expected = at.output;
        if (at.inputs[i].size() == expected.size()) expected[joined_at] = at.inputs[i][joined_at];
        if (at.inputs[i] != expected) {
            at.fail("joins the shapes " + text_of(at.inputs[0]) + " and " + text_of(at.inputs[i]) +
                    ", expected shapes that differ in dimension " + std::to_string(dimension) + " alone");
        }
        at.output[joined_at] += at.inputs[i][joined_at];
    }
    static constexpr std::array<int, 4> kChannelsFirst{0, 2, 3, 1};
    at.op.attributes["dim"] = std::to_string(rank == 4 ? kChannelsFirst[joined_at] : static_cast<int>(dimension));
}

/// `shape` with the batch of the input; one extent of -1 takes what is left.
void reshape_to(Inference& at, const JsonValue& shape) {
    const std::size_t rank = shape.size();
    if (rank == 0) shape.fail("is empty, expected at least one dimension");
    std::optional<std::size_t> open;
    std::int64_t rest = at.bytes(at.inputs[0]) / 4;
    for (std::size_t i = 0; i < rank; ++i) {
        std::int64_t extent = shape.at(i).whole(-1, kMaxExtent);
        if (extent == 0) shape.at(i).fail("is 0, expected at least 1");
        if (extent == -1) {
            if (open) shape.at(i).fail("is -1, expected one extent of -1 at most");
            open = i;
            extent = 1;
        } else if (i == 0) {
            extent = at.inputs[0][0];
        }
        at.output.push_back(extent);
        if (rest % extent != 0) shape.fail("does not fit the " + text_of(at.inputs[0]) + " of its input");
        rest /= extent;
    }
    if (open)
        at.output[*open] = rest;
    else if (rest != 1)
        shape.fail("has fewer elements than the " + text_of(at.inputs[0]) + " of its input");
}

void reshape(Inference& at) {
    reshape_to(at, at.layer.at("output_shape"));
}

void input(Inference& at) {
    const JsonValue tensor = at.layer.at("tensor");
    if (!at.inputs.empty()) {
        // Exprimo flattens with an input that has a parent.
        at.op.kind = "reshape";
        reshape_to(at, tensor);
        return;
    }
    tensor.for_each_item([&](const JsonValue& extent) { at.output.push_back(extent.whole(1, kMaxExtent)); });
    if (at.output.empty()) tensor.fail("is empty, expected the batch size at least");
    at.output[0] = at.batch;
}

void upsampling(Inference& at) {
    const JsonValue size = at.layer.at("ksize");
    const Shape factor = size.size() == 2 ? at.numbers("ksize", 2) : at.numbers("ksize", 4);
    const std::size_t rows = factor.size() == 2 ? 0 : 1;
    const Shape& image = at.image();
    at.output = {image[0], 0, 0, image[3]};
    for (std::size_t i = 0; i < 2; ++i) {
        if (__builtin_mul_overflow(image[i + 1], factor[rows + i], &at.output[i + 1])) size.fail("is too large");
    }
}

/// What Exprimo calls a layer, and what it becomes.
struct LayerType {
    std::string_view type;
    std::string_view kind;
    std::size_t least_parents, most_parents;
    void (*infer)(Inference&);
};

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr std::array<LayerType, 14> kTypes{{
    {"Input", "input", 0, 1, input},
    {"Convolution", "conv2d", 1, 1, convolution},
    {"Deconvolution", "conv_transpose2d", 1, 1, deconvolution},
    {"InnerProduct", "linear", 1, 1, inner_product},
    {"Pooling", "max_pool2d", 1, 1, pooling},
    {"AvgPool", "avg_pool2d", 1, 1, pooling},
    {"Dropout", "dropout", 1, 1, elementwise_of_one},
    {"Softmax", "softmax", 1, 1, softmax},
    {"Sigmoid", "sigmoid", 1, 1, elementwise_of_one},
    // Exprimo charges no parameters for it.
    {"BatchNorm", "batch_norm", 1, 1, elementwise_of_one},
    {"Concatenate", "cat", 1, kAny, concatenation},
    {"Elementwise", "add", 2, kAny, sum},
    {"Reshape", "reshape", 1, 1, reshape},
    {"UpSampling2D", "upsample", 1, 1, upsampling},
}};

const LayerType& layer_type(const JsonValue& layer) {
    const std::string type = layer.at("type").text();
    const auto* const found = std::find_if(kTypes.begin(), kTypes.end(), [&](const LayerType& entry) { return entry.type == type; });
    if (found != kTypes.end()) return *found;
    std::string known = "Block";
    for (const LayerType& entry : kTypes) known += ", " + std::string(entry.type);
    layer.at("type").fail("is " + in_quotes(type) + ", expected one of " + known);
}

/// What a layer says beyond its shape. Where Exprimo counts dimensions in another order, its own values get a name of their own.
std::map<std::string, std::string> layer_attributes(const JsonValue& layer) {
    static constexpr std::array<std::string_view, 7> kOwnOrder{"filter", "strides", "padding", "ksize", "tensor", "dim", "output_shape"};
    static constexpr std::array<std::string_view, 2> kStructure{"parents", "device"};
    const auto contains = [](const auto& keys, const std::string& key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
    std::map<std::string, std::string> attributes;
    layer.for_each_member([&](const std::string& key, const JsonValue& value) {
        if (contains(kStructure, key)) return;
        attributes[key == "type" || contains(kOwnOrder, key) ? "exprimo." + key : key] = value.json().dump();
    });
    return attributes;
}

Tensor channels_first(const Inference& at) {
    Shape shape = at.output;
    if (shape.size() == 4) shape = {shape[0], shape[3], shape[1], shape[2]};
    at.bytes(shape);
    return make_tensor(std::move(shape));
}

bool is_split(const Layer& layer) {
    return layer.split && layer.value.at("type").text() == "Convolution";
}

std::vector<ShardRequest> shard_requests(const LayerList& list) {
    std::vector<ShardRequest> requests;
    for (const Layer& layer : list.layers) {
        if (is_split(layer)) requests.push_back({layer.name, static_cast<std::int64_t>(layer.devices.size())});
    }
    return requests;
}

/// The device of each op of `graph`, some of which are parts of layers.
std::map<std::string, std::int64_t> device_indices(const LayerList& list, const Graph& graph) {
    std::map<std::string, std::int64_t> result;
    for (const Layer& layer : list.layers) {
        if (!is_split(layer)) {
            result[layer.name] = layer.devices.front();
            continue;
        }
        for (std::size_t i = 0; i < layer.devices.size(); ++i) result[shard_name(layer.name, i)] = layer.devices[i];
    }
    // A concatenation is with the op that reads it.
    for (OpId id = 0; id < graph.size(); ++id) {
        if (!result.contains(graph.op(id).name)) result[graph.op(id).name] = result.at(graph.op(graph.consumers(id).front()).name);
    }
    return result;
}

}  // namespace

NetworkFile read_exprimo_network(const JsonFile& file, std::optional<std::int64_t> batch) {
    const Json json = file.parse();
    const JsonValue root(file, json);
    LayerList list;
    collect(root.at("layers"), {"", root, {}, {0}}, list);
    const std::string name = root.text_or("name", file.path().stem().string());

    // A graph of the bare names gives the order in which shapes follow from each other, and finds what is wrong with the names.
    const auto place = [](const std::string& layer) { return "layer " + in_quotes(layer); };
    std::unordered_map<std::string, const Layer*> layer_of;
    const Graph order = build_graph(
        file,
        [&] {
            const Resolver resolve(list);
            GraphBuilder builder(name);
            for (const Layer& layer : list.layers) {
                std::vector<std::string> inputs;
                for (const Reference& parent : layer.parents) inputs.push_back(resolve(layer, parent));
                Op op;
                op.name = layer.name;
                op.outputs.resize(1);
                builder.add(std::move(op), std::move(inputs));
                layer_of.emplace(layer.name, &layer);
            }
            return builder.build();
        },
        place);

    if (!batch) {
        for (const Layer& layer : list.layers) {
            if (!layer.parents.empty() || layer.value.at("type").text() != "Input") continue;
            const JsonValue tensor = layer.value.at("tensor");
            if (tensor.size() == 0) tensor.fail("is empty, expected the batch size at least");
            batch = tensor.at(std::size_t{0}).whole(1, kMaxExtent);
            break;
        }
    }
    if (batch && (*batch < 1 || *batch > kMaxExtent)) {
        file.fail("", "cannot have a batch size of " + std::to_string(*batch) + ", expected 1 to " + std::to_string(kMaxExtent));
    }

    NetworkFile result;
    result.batch_is_open = true;
    result.graph = build_graph(
        file,
        [&] {
            GraphBuilder builder(name, batch.value_or(1), Training::implicit);
            std::vector<Shape> shapes;
            for (const Op& bare : order.ops()) {
                const Layer& layer = *layer_of.at(bare.name);
                const LayerType& type = layer_type(layer.value);
                if (bare.inputs.size() < type.least_parents || bare.inputs.size() > type.most_parents) {
                    layer.value.fail("has " + std::to_string(bare.inputs.size()) + (bare.inputs.size() == 1 ? " parent" : " parents") +
                                     ", expected " + (type.most_parents == kAny ? "at least " : "") + std::to_string(type.least_parents));
                }
                std::vector<Shape> inputs;
                for (const TensorRef& parent : bare.inputs) inputs.push_back(shapes[parent.op]);

                Op op;
                op.name = layer.name;
                op.kind = type.kind;
                op.scope = layer.name.substr(0, layer.name.find_last_of('/') == std::string::npos ? 0 : layer.name.find_last_of('/'));
                op.inputs = bare.inputs;
                op.attributes = layer_attributes(layer.value);
                Inference inference{layer.value, inputs, batch.value_or(1), op};
                type.infer(inference);
                op.outputs = {channels_first(inference)};
                shapes.push_back(std::move(inference.output));
                builder.add(std::move(op));
            }
            return shard(builder.build(), shard_requests(list));
        },
        place);
    if (list.has_devices) result.device_index = device_indices(list, result.graph);
    return result;
}

Machine read_exprimo_machine(const JsonFile& file) {
    // "GB/s" and Gbit/s count in powers of 2 here, because Exprimo's formulas divide bytes by 2^30 before they divide by the
    // bandwidth; times agree with its own only so. Its memory counts in powers of 10.
    constexpr double kExprimoGiga = 0x1.0p30;
    constexpr std::int64_t kMostItems = std::numeric_limits<DeviceId>::max();

    const Json json = file.parse();
    const JsonValue root(file, json);
    const JsonValue channel_list = root.at("comm_channels");
    const JsonValue device_list = root.at("devices");
    for (const JsonValue& items : {channel_list, device_list}) {
        if (items.size() > kMostItems) items.fail("has more than " + std::to_string(kMostItems) + " items");
    }

    std::vector<Channel> channels;
    channel_list.for_each_item([&](const JsonValue& item) {
        Channel channel;
        channel.name = item.at("type").text() + ':' + std::to_string(channels.size());
        channel.bandwidth = item.at("bandwidth").number() / 8 * kExprimoGiga;
        channels.push_back(std::move(channel));
    });

    std::vector<Device> devices;
    std::map<DeviceKind, std::size_t> of_kind;
    std::vector<JsonValue> values;
    device_list.for_each_item([&](const JsonValue& item) {
        const std::string type = item.at("type").text();
        const auto kind = device_kind_from(type);
        if (!kind) item.at("type").fail("is " + in_quotes(type) + ", expected \"cpu\", \"gpu\" or \"accelerator\"");
        Device device;
        device.kind = *kind;
        device.name = type + ':' + std::to_string(of_kind[*kind]++);
        device.model = item.at("model").text();
        device.peak_flops = item.at("peak_gflops").number() * 1e9;
        device.memory_bandwidth = item.at("mem_bandwidth").number() * kExprimoGiga;
        device.memory_bytes = item.at("memory").number() * 1e9;
        if (item.find("clock")) device.clock_hz = item.at("clock").number() * 1e6;
        values.push_back(item.placed_at("devices[" + std::to_string(devices.size()) + "] " + in_quotes(device.name)));
        devices.push_back(std::move(device));
    });

    const auto count = static_cast<std::int64_t>(devices.size());
    std::map<std::pair<DeviceId, DeviceId>, ChannelId> listed;
    std::vector<std::set<std::pair<DeviceId, DeviceId>>> joined(channels.size());
    for (std::size_t from = 0; from < devices.size(); ++from) {
        std::vector<bool> reached(devices.size(), false);
        reached[from] = true;
        values[from].at("neighbours").for_each_item([&](const JsonValue& neighbour) {
            const auto to = static_cast<std::size_t>(neighbour.at("device").whole(0, count - 1));
            const auto channel = neighbour.at("comm_channel").whole(0, static_cast<std::int64_t>(channels.size()) - 1);
            // Nothing is ever sent from a device to itself; some of Exprimo's files list it.
            if (to == from) return;
            reached[to] = true;
            const std::pair pair(static_cast<DeviceId>(from), static_cast<DeviceId>(to));
            if (!listed.emplace(pair, static_cast<ChannelId>(channel)).second)
                neighbour.fail("is listed twice, expected one channel to every other device");
            joined[static_cast<std::size_t>(channel)].insert(std::minmax(pair.first, pair.second));
        });
        const auto missing = static_cast<std::size_t>(std::find(reached.begin(), reached.end(), false) - reached.begin());
        if (missing < devices.size()) {
            values[from]
                .at("neighbours")
                .fail("has no channel from " + in_quotes(devices[from].name) + " to " + in_quotes(devices[missing].name) + " (device " +
                      std::to_string(missing) + "), expected one to every other device");
        }
    }
    std::vector<Route> routes;
    for (const auto& [pair, channel] : listed) {
        const auto [from, to] = pair;
        const ChannelId back = listed.at({to, from});
        Route route{from, to, {channel}};
        // The link of each end, unless it is one for each direction between these two alone.
        if (back != channel && (joined[channel].size() > 1 || joined[back].size() > 1)) route.channels.push_back(back);
        routes.push_back(std::move(route));
    }
    return build_machine(file, root.text_or("name", file.path().stem().string()), std::move(devices), std::move(channels),
                         std::move(routes));
}

}  // namespace placewright
