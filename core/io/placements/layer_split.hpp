// SPDX-License-Identifier: MIT
// Placements of language models as arguments of programs that split a model by its layers.
#pragma once

#include <cstddef>
#include <string>

#include "core/io/placements/placed_network.hpp"

namespace placewright {

/// How a program that runs the stages of a pipeline is started.
struct StageStart {
    std::size_t stages = 0;
    std::string
        visible{};  ///< "CUDA_VISIBLE_DEVICES=2,0"; empty if the stages are on the first GPUs, in order
};

/// Returns 0 stages for a placement that is no pipeline.
StageStart stage_start(const PlacedNetwork& placed);

/// Arguments of llama.cpp in one line: `-ngl N --tensor-split a,b --ctx-size N --parallel B`, such that its
/// own rule gives the placement (llama.cpp, src/llama-model.cpp, load_tensors): of n layers and the output
/// after them the last N are on GPUs, layer i on the first one whose cumulated share exceeds (i - n - 1 + N)
/// / N. Layers that the rule puts elsewhere get `--override-tensor`, as do tensors that are elsewhere than
/// their layer's attention (experts on the CPU); the cache of such layers stays where the rule has it, which
/// is said. The context is that of all B sequences
/// (src/llama-context.cpp). `--device` where GPUs are used in another order.
///
/// All four throw PlacementError for a network without blocks or with two chains of them (layers.hpp), and
/// name the layers at fault. They warn where the program runs ops elsewhere than placed, with the step time
/// of that run.
WrittenPlacement llama_cpp_arguments(const PlacedNetwork& placed);

/// A shell script that serves the model with vLLM: VLLM_PP_LAYER_PARTITION (vllm, distributed/utils.py,
/// get_pp_indices) has the layers of each stage. Throws PlacementError for layers that are cut or on a CPU,
/// and for a device whose layers do not follow each other; so do the other two. Batches in flight are
/// sequences that are served at a time. These programs run the embedding with the first layer and the head
/// with the last.
WrittenPlacement vllm_script(const PlacedNetwork& placed);

/// {"parts": bounds of the stages in "layers", "num_stages", "layers": embedding, blocks, norm, head}, for a
/// subclass of DeepSpeed's PipelineModule.
WrittenPlacement deepspeed_parts(const PlacedNetwork& placed);

/// A comment on the number format of weights, if that was chosen; empty otherwise.
std::string weights_note(const PlacedNetwork& placed);

/// Puts the layers of each device into one run (core/search/layer_runs.hpp): of those placements the fastest
/// that fits, or the fastest if none does. Returns a placement that has such runs as it is.
Placement repair_layer_runs(const PlacedNetwork& placed);

/// Arguments of Megatron-LM: `--pipeline-model-parallel-layout` with E for the embedding, t for a layer, L
/// for head and loss, and | between stages.
WrittenPlacement megatron_arguments(const PlacedNetwork& placed);

}  // namespace placewright
