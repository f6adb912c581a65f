// SPDX-License-Identifier: MIT
// The graph of a step of a language model.
#pragma once

#include <cstdint>

#include "core/graph/graph.hpp"
#include "core/io/language/language_model.hpp"
#include "core/io/language/language_options.hpp"
#include "core/io/language/tensor_book.hpp"

namespace placewright {

/// Tokens of a sequence: the option, or 4096, or the model's limit if that is smaller.
std::int64_t sequence_of(const LanguageModel& model, const LanguageOptions& options);

/// Builds the graph of one step with `batch` sequences.
///
/// Ops. One for each module with parameters, beside attention, activations and sums; all experts of a layer
/// together are one op for their input maps and one for their output maps. An op's scope is the path of its
/// module; attributes["parameters"] lists the names of its tensors in the files,
/// attributes["parameter_bytes"] their bytes. The ops of a block share a colocation label, the path of the
/// block; with options.split_layers it is their attributes["block"] alone. A head that reads the table of the
/// embedding shares the embedding's.
///
/// attributes["unread_blocks"] of the embedding is the number of blocks that the file has beyond those of the
/// graph, which predict more tokens and do not run. attributes["causal"] is false of the attention of
/// encoders.
///
/// Cache. Keys and values, or latents, are resident_bytes of the attention ops in prefill and decode;
/// attributes["expanded_cache_bytes"] is what compressed latents would take expanded.
/// read_bytes of an op is what it reads in a step of its parameters and of the cache: rows of tables, the
/// experts that tokens are routed to (E (1 - (1 - k/E)^tokens) of E in expectation with uniform routing).
///
/// FLOPs. Two per weight and token; a head computes one token of each sequence but in training; attention
/// computes 4 heads head_dim for each pair of positions that is not masked (latent: 2 heads (nope + rope +
/// value), or 2 heads (2 rank + rope) absorbed into the cache's space).
///
/// Modules that do not run in the phase (the encoder in decode) are ops of kind "constant" that hold their
/// tensors. Throws InputError for tensors that the files lack, std::invalid_argument if sizes of the model do
/// not fit into 63 bits, std::length_error if the batch times the sequence does not.
Graph language_graph(const LanguageModel& model, const LanguageOptions& options, std::int64_t batch,
                     TensorBook& book);

}  // namespace placewright
