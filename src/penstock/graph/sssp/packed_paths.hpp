#pragma once
#include <optional>

#include "penstock/graph/gpu/pack_gpu.hpp"
#include "penstock/graph/gpu/packed_lists.hpp"
#include "penstock/graph/sssp/weights.hpp"

namespace penstock {

/// The bits that the weights of a matrix take each in packed lists (packed_lengths.hpp). None where they cannot stand there:
/// some have fractions or are infinite, or the largest exceeds the least by 2^16 or more. For a pattern, too.
std::optional<int> packed_weight_bits(const PathWeights& weights);

/// Throws Error{invalid_argument}, with the remedy, where packed_weight_bits() has none.
void require_packed_weights(const PathWeights& weights);

/// The packed lists of a matrix with its weights: `lists` are those of `graph`, of which `weights` were found. Throws as
/// require_packed_weights().
PackedLists pack_weights(const PackedLists& lists, const CsrView<One>& graph, const PathWeights& weights);

/// The same weights for whoever packs lists with them at once.
PackLengths lengths_to_pack(const PathWeights& weights);

}  // namespace penstock
