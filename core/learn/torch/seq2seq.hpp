// SPDX-License-Identifier: MIT
// The network of SequenceNetwork for any inputs: of groups, or of clusters.
#pragma once

#include "core/learn/sequence_policies.hpp"
#include "core/learn/torch/layers.hpp"

namespace placewright {

class Seq2Seq {
public:
    static void declare(WeightList& list, const SequenceNetwork& network, std::size_t inputs) {
        list.lstm("encoder.forward", network.hidden / 2, inputs);
        list.lstm("encoder.backward", network.hidden / 2, inputs);
        list.table("devices", network.devices + 1, network.embedding);
        list.lstm("decoder", network.hidden, network.embedding);
        list.linear("attention.memory", network.attention, network.hidden);
        list.linear("attention.query", network.attention, network.hidden);
        list.linear("attention.score", 1, network.attention);
        // Initially all devices are about equally likely.
        list.linear("head", network.devices, 2 * std::size_t{network.hidden}, 0.1);
    }

    Seq2Seq(const SequenceNetwork& network, WeightReader& reader)
        : network_(network),
          forward_(reader),
          backward_(reader),
          table_(reader.take()),
          decoder_(reader),
          memory_(reader),
          query_(reader),
          score_(reader),
          head_(reader) {}

    /// Output of the encoder: one sequence, or one per rollout.
    struct Memory {
        at::Tensor outputs;  ///< [sequence, place, hidden]
        at::Tensor keys;     ///< [sequence, place, attention]
        at::Tensor hidden,
            cell;  ///< [1, sequence, hidden]: the encoder's last states, with which the decoder starts
    };

    /// `inputs` [sequence, place, input]
    Memory encode(const at::Tensor& inputs) const {
        const auto sequences = inputs.size(0);
        const at::Tensor zeros = torch::zeros({2, sequences, network_.hidden / 2}, torch_device());
        std::vector<at::Tensor> weights = forward_.tensors();
        for (const at::Tensor& weight : backward_.tensors()) weights.push_back(weight);
        const auto [outputs, hidden, cell] =
            torch::lstm(inputs.transpose(0, 1), {zeros, zeros}, weights, true, 1, 0, true, true, false);
        const auto join = [&](const at::Tensor& state) {
            return state.transpose(0, 1).reshape({1, sequences, network_.hidden});
        };
        Memory memory{outputs.transpose(0, 1).contiguous(), {}, join(hidden), join(cell)};
        memory.keys = memory_(memory.outputs);
        return memory;
    }

    /// Returns the decoder's states [rollout, place, hidden] if it is fed `previous` [rollout, place]: the
    /// previous device, or `devices` if there is none.
    at::Tensor follow(const Memory& memory, const at::Tensor& previous) const {
        const auto rollouts = previous.size(0);
        const at::Tensor hidden = memory.hidden.expand({1, rollouts, -1}).contiguous();
        const at::Tensor cell = memory.cell.expand({1, rollouts, -1}).contiguous();
        const auto outputs = torch::lstm(torch::embedding(table_, previous.transpose(0, 1)), {hidden, cell},
                                         decoder_.tensors(), true, 1, 0, true, false, false);
        return std::get<0>(outputs).transpose(0, 1);
    }

    /// Returns [rollout, place, device] from the decoder's states at these places.
    at::Tensor logits(const at::Tensor& outputs, const at::Tensor& keys, const at::Tensor& states) const {
        const at::Tensor scores =
            score_((keys.unsqueeze(1) + query_(states).unsqueeze(2)).tanh()).squeeze(-1);
        const at::Tensor context = torch::matmul(torch::softmax(scores, -1), outputs);
        return shaped_logits(head_(torch::cat({context, states}, -1)), network_.temperature,
                             network_.tanh_constant);
    }

    /// Decodes one sequence place by place, without gradient: `decide`(place, logits) returns the next input
    /// of the decoder.
    template <class Decide>
    void decode(const Memory& memory, const Decide& decide) const {
        at::Tensor hidden = memory.hidden[0], cell = memory.cell[0];
        std::int64_t previous = network_.devices;
        const auto places = static_cast<std::size_t>(memory.outputs.size(1));
        for (std::size_t place = 0; place < places; ++place) {
            std::tie(hidden, cell) =
                torch::lstm_cell(table_.narrow(0, previous, 1), {hidden, cell}, decoder_.weight_ih,
                                 decoder_.weight_hh, decoder_.bias, decoder_.forget);
            const at::Tensor now =
                logits(memory.outputs, memory.keys, hidden.unsqueeze(1)).to(torch::kCPU).contiguous();
            previous = decide(place, row(now, 0));
        }
    }

    /// Decisions of a batch of rollouts.
    struct Decisions {
        at::Tensor previous;    ///< [rollout, place]: see follow()
        at::Tensor choices;     ///< [rollout, place]
        at::Tensor forbidden;   ///< [rollout or 1, place, device]
        at::Tensor advantages;  ///< [rollout, place]
    };

    /// Adds their gradient; `before` and its inputs belong to the weights before, or are absent.
    static void climb(Climb& climb, const GradientTask& task, const Seq2Seq& now, const at::Tensor& inputs,
                      const Seq2Seq* before, const at::Tensor& inputs_before, const Decisions& decisions) {
        const Memory memory = now.encode(inputs);
        const Shared outputs(memory.outputs), keys(memory.keys),
            states(now.follow(memory, decisions.previous));
        Memory memory_before;
        at::Tensor states_before;
        if (before != nullptr) {
            const torch::NoGradGuard none;
            memory_before = before->encode(inputs_before);
            states_before = before->follow(memory_before, decisions.previous);
        }
        const auto rollouts = decisions.previous.size(0), places = decisions.previous.size(1);
        const auto step = static_cast<std::int64_t>(
            piece(static_cast<std::size_t>(rollouts * places) * now.network_.attention));
        for (std::int64_t first = 0; first < places; first += step) {
            const auto count = std::min(step, places - first);
            const at::Tensor forbidden = decisions.forbidden.narrow(1, first, count);
            at::Tensor logits_before;
            if (before != nullptr) {
                const torch::NoGradGuard none;
                logits_before = without(before->logits(memory_before.outputs, memory_before.keys,
                                                       states_before.narrow(1, first, count)),
                                        forbidden);
            }
            climb.add(decision_terms(
                without(now.logits(outputs.leaf(), keys.leaf(), states.leaf().narrow(1, first, count)),
                        forbidden),
                decisions.choices.narrow(1, first, count), decisions.advantages.narrow(1, first, count),
                logits_before, task.entropy_weight, task.divergence_weight));
        }
        Shared::pull({&outputs, &keys, &states});
    }

    /// Returns the number of rollouts that climb() processes at a time.
    static std::size_t batch(const SequenceNetwork& network, std::size_t places) {
        return std::min<std::size_t>(piece(places * 4 * network.hidden), 64);
    }

private:
    const SequenceNetwork& network_;
    LstmLayer forward_, backward_;
    at::Tensor table_;  ///< [devices + 1, embedding]; the last row starts a sequence
    LstmLayer decoder_;
    LinearLayer memory_, query_, score_, head_;
};

}  // namespace placewright
