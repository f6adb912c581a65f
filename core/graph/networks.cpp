// SPDX-License-Identifier: MIT
#include "core/graph/networks.hpp"

#include <algorithm>
#include <array>

namespace placewright {
namespace {

constexpr std::string_view kNasnet =
    "Zoph, Vasudevan, Shlens, Le: Learning Transferable Architectures for Scalable Image Recognition (2018)";
constexpr std::string_view kResNet =
    "He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition (2016)";
constexpr std::string_view kRnnlm =
    "Zaremba, Sutskever, Vinyals: Recurrent Neural Network Regularization (2014)";
constexpr std::string_view kNmt =
    "Wu, Schuster, Chen, Le, Norouzi and others: Google's Neural Machine Translation System (2016)";

constexpr std::array kNetworks{
    NetworkInfo{"alexnet", "AlexNet",
                "Krizhevsky: One weird trick for parallelizing convolutional neural networks (2014)",
                alexnet},
    NetworkInfo{
        "vgg16", "VGG-16",
        "Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition (2015)",
        vgg16},
    NetworkInfo{"resnet50", "ResNet-50", kResNet, resnet50},
    NetworkInfo{"resnet101", "ResNet-101", kResNet, resnet101},
    NetworkInfo{"resnet152", "ResNet-152", kResNet, resnet152},
    NetworkInfo{"resnet200", "ResNet-200",
                "He, Zhang, Ren, Sun: Identity Mappings in Deep Residual Networks (2016)", resnet200},
    NetworkInfo{"inception_v3", "Inception-V3",
                "Szegedy, Vanhoucke, Ioffe, Shlens, Wojna: Rethinking the Inception Architecture for "
                "Computer Vision (2016)",
                inception_v3},
    NetworkInfo{"nasnet", "NASNet-A Large", kNasnet, nasnet},
    NetworkInfo{"nasnet_mobile", "NASNet-A Mobile", kNasnet, nasnet_mobile},
    NetworkInfo{"rnnlm", "RNNLM", kRnnlm, rnnlm},
    NetworkInfo{"rnnlm4", "RNNLM, 4 layers", kRnnlm, rnnlm4},
    NetworkInfo{"nmt2", "NMT, 2 layers", kNmt, nmt2},
    NetworkInfo{"nmt4", "NMT, 4 layers", kNmt, nmt4},
    NetworkInfo{"nmt8", "NMT, 8 layers", kNmt, nmt8},
    NetworkInfo{"transformer", "Transformer",
                "Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin: Attention Is All You "
                "Need (2017)",
                transformer},
    NetworkInfo{"bert_base", "BERT base",
                "Devlin, Chang, Lee, Toutanova: BERT: Pre-training of Deep Bidirectional Transformers for "
                "Language Understanding (2019)",
                bert_base},
    NetworkInfo{"gpt2", "GPT-2",
                "Radford, Wu, Child, Luan, Amodei, Sutskever: Language Models are Unsupervised Multitask "
                "Learners (2019)",
                gpt2},
};

}  // namespace

std::span<const NetworkInfo> known_networks() {
    return kNetworks;
}

const NetworkInfo* find_network(std::string_view name) {
    const auto found = std::find_if(kNetworks.begin(), kNetworks.end(),
                                    [&](const NetworkInfo& info) { return info.name == name; });
    return found == kNetworks.end() ? nullptr : &*found;
}

}  // namespace placewright
