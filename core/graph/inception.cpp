// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <string>

#include "core/graph/network_builder.hpp"
#include "core/graph/networks.hpp"

// Blocks A to E are the paper's figure 5, grid reduction, figure 6, grid reduction and figure 7; op names are
// torchvision's module paths.
namespace placewright {
namespace {

/// Convolution, batch normalisation and relu.
Value basic(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels,
            const Window& window) {
    Value x = net.conv2d(scope + "/conv", from, {.channels = channels, .window = window});
    x = net.batch_norm(scope + "/bn", x);
    return net.relu(scope + "/relu", x);
}

constexpr Window k1x1{.kernel = 1};
constexpr Window k3x3{.kernel = 3, .padding = 1};
constexpr Window k5x5{.kernel = 5, .padding = 2};
constexpr Window k1x3{.kernel = {1, 3}, .padding = {0, 1}};
constexpr Window k3x1{.kernel = {3, 1}, .padding = {1, 0}};
constexpr Window k1x7{.kernel = {1, 7}, .padding = {0, 3}};
constexpr Window k7x1{.kernel = {7, 1}, .padding = {3, 0}};
constexpr Window k3x3_valid{.kernel = 3};
constexpr Window k3x3_halving{.kernel = 3, .stride = 2};

Value pool_branch(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels) {
    const Value x = net.avg_pool2d(scope + "/branch_pool/avg_pool", from, k3x3);
    return basic(net, scope + "/branch_pool", x, channels, k1x1);
}

Value block_a(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t pool_channels) {
    const Value branch1x1 = basic(net, scope + "/branch1x1", from, 64, k1x1);

    Value branch5x5 = basic(net, scope + "/branch5x5_1", from, 48, k1x1);
    branch5x5 = basic(net, scope + "/branch5x5_2", branch5x5, 64, k5x5);

    Value branch3x3dbl = basic(net, scope + "/branch3x3dbl_1", from, 64, k1x1);
    branch3x3dbl = basic(net, scope + "/branch3x3dbl_2", branch3x3dbl, 96, k3x3);
    branch3x3dbl = basic(net, scope + "/branch3x3dbl_3", branch3x3dbl, 96, k3x3);

    const Value pool = pool_branch(net, scope, from, pool_channels);
    return net.cat(scope + "/cat", std::array{branch1x1, branch5x5, branch3x3dbl, pool});
}

Value block_b(NetworkBuilder& net, const std::string& scope, const Value& from) {
    const Value branch3x3 = basic(net, scope + "/branch3x3", from, 384, k3x3_halving);

    Value branch3x3dbl = basic(net, scope + "/branch3x3dbl_1", from, 64, k1x1);
    branch3x3dbl = basic(net, scope + "/branch3x3dbl_2", branch3x3dbl, 96, k3x3);
    branch3x3dbl = basic(net, scope + "/branch3x3dbl_3", branch3x3dbl, 96, k3x3_halving);

    const Value pool = net.max_pool2d(scope + "/branch_pool/max_pool", from, k3x3_halving);
    return net.cat(scope + "/cat", std::array{branch3x3, branch3x3dbl, pool});
}

Value block_c(NetworkBuilder& net, const std::string& scope, const Value& from, std::int64_t channels) {
    const Value branch1x1 = basic(net, scope + "/branch1x1", from, 192, k1x1);

    Value branch7x7 = basic(net, scope + "/branch7x7_1", from, channels, k1x1);
    branch7x7 = basic(net, scope + "/branch7x7_2", branch7x7, channels, k1x7);
    branch7x7 = basic(net, scope + "/branch7x7_3", branch7x7, 192, k7x1);

    Value branch7x7dbl = basic(net, scope + "/branch7x7dbl_1", from, channels, k1x1);
    branch7x7dbl = basic(net, scope + "/branch7x7dbl_2", branch7x7dbl, channels, k7x1);
    branch7x7dbl = basic(net, scope + "/branch7x7dbl_3", branch7x7dbl, channels, k1x7);
    branch7x7dbl = basic(net, scope + "/branch7x7dbl_4", branch7x7dbl, channels, k7x1);
    branch7x7dbl = basic(net, scope + "/branch7x7dbl_5", branch7x7dbl, 192, k1x7);

    const Value pool = pool_branch(net, scope, from, 192);
    return net.cat(scope + "/cat", std::array{branch1x1, branch7x7, branch7x7dbl, pool});
}

Value block_d(NetworkBuilder& net, const std::string& scope, const Value& from) {
    Value branch3x3 = basic(net, scope + "/branch3x3_1", from, 192, k1x1);
    branch3x3 = basic(net, scope + "/branch3x3_2", branch3x3, 320, k3x3_halving);

    Value branch7x7x3 = basic(net, scope + "/branch7x7x3_1", from, 192, k1x1);
    branch7x7x3 = basic(net, scope + "/branch7x7x3_2", branch7x7x3, 192, k1x7);
    branch7x7x3 = basic(net, scope + "/branch7x7x3_3", branch7x7x3, 192, k7x1);
    branch7x7x3 = basic(net, scope + "/branch7x7x3_4", branch7x7x3, 192, k3x3_halving);

    const Value pool = net.max_pool2d(scope + "/branch_pool/max_pool", from, k3x3_halving);
    return net.cat(scope + "/cat", std::array{branch3x3, branch7x7x3, pool});
}

/// 1x3 and 3x1 convolutions side by side.
Value split_branch(NetworkBuilder& net, const std::string& scope, const std::string& number,
                   const Value& from) {
    const Value wide = basic(net, scope + number + "a", from, 384, k1x3);
    const Value tall = basic(net, scope + number + "b", from, 384, k3x1);
    return net.cat(scope + "_cat", std::array{wide, tall});
}

Value block_e(NetworkBuilder& net, const std::string& scope, const Value& from) {
    const Value branch1x1 = basic(net, scope + "/branch1x1", from, 320, k1x1);

    Value branch3x3 = basic(net, scope + "/branch3x3_1", from, 384, k1x1);
    branch3x3 = split_branch(net, scope + "/branch3x3", "_2", branch3x3);

    Value branch3x3dbl = basic(net, scope + "/branch3x3dbl_1", from, 448, k1x1);
    branch3x3dbl = basic(net, scope + "/branch3x3dbl_2", branch3x3dbl, 384, k3x3);
    branch3x3dbl = split_branch(net, scope + "/branch3x3dbl", "_3", branch3x3dbl);

    const Value pool = pool_branch(net, scope, from, 192);
    return net.cat(scope + "/cat", std::array{branch1x1, branch3x3, branch3x3dbl, pool});
}

void auxiliary_head(NetworkBuilder& net, const Value& from) {
    Value x = net.avg_pool2d("AuxLogits/avg_pool", from, {.kernel = 5, .stride = 3});
    x = basic(net, "AuxLogits/conv0", x, 128, k1x1);
    x = basic(net, "AuxLogits/conv1", x, 768, {.kernel = 5});
    x = net.adaptive_avg_pool2d("AuxLogits/avgpool", x, 1);
    x = net.flatten("AuxLogits/flatten", x);
    x = net.linear("AuxLogits/fc", x, 1000);
    net.cross_entropy("AuxLogits/loss", x);
}

}  // namespace

Graph inception_v3(std::int64_t batch) {
    NetworkBuilder net("inception_v3", batch);
    Value x = net.input("input", std::array<std::int64_t, 3>{3, 299, 299});
    x = basic(net, "Conv2d_1a_3x3", x, 32, k3x3_halving);
    x = basic(net, "Conv2d_2a_3x3", x, 32, k3x3_valid);
    x = basic(net, "Conv2d_2b_3x3", x, 64, k3x3);
    x = net.max_pool2d("maxpool1", x, k3x3_halving);
    x = basic(net, "Conv2d_3b_1x1", x, 80, k1x1);
    x = basic(net, "Conv2d_4a_3x3", x, 192, k3x3_valid);
    x = net.max_pool2d("maxpool2", x, k3x3_halving);
    x = block_a(net, "Mixed_5b", x, 32);
    x = block_a(net, "Mixed_5c", x, 64);
    x = block_a(net, "Mixed_5d", x, 64);
    x = block_b(net, "Mixed_6a", x);
    x = block_c(net, "Mixed_6b", x, 128);
    x = block_c(net, "Mixed_6c", x, 160);
    x = block_c(net, "Mixed_6d", x, 160);
    x = block_c(net, "Mixed_6e", x, 192);
    auxiliary_head(net, x);
    x = block_d(net, "Mixed_7a", x);
    x = block_e(net, "Mixed_7b", x);
    x = block_e(net, "Mixed_7c", x);
    x = net.adaptive_avg_pool2d("avgpool", x, 1);
    x = net.dropout("dropout", x);
    x = net.flatten("flatten", x);
    x = net.linear("fc", x, 1000);
    net.cross_entropy("loss", x);
    return net.build();
}

}  // namespace placewright
