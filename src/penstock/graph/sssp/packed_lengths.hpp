#pragma once
#include "penstock/graph/gpu/packed_lists.hpp"

// Lengths of edges in packed lists: whole numbers, each stored as what it exceeds the least one, all in the same width.
namespace penstock {

/// The bits that lengths of `least` to `largest` take each.
int length_bits(std::uint32_t least, std::uint32_t largest);

/// The same lists with the lengths of their edges, which stand beside the columns of `graph` in any of its orders: `lists` are
/// pack_lists(graph). Lists of edges that all have one length share their arrays with `lists`. The result is the same for any
/// number of threads. Throws Error{invalid_argument} if lengths take more than kLengthBits, or the lists are not the graph's.
template <class N>
PackedLists with_lengths(const PackedLists& lists, const CsrView<One>& graph, const N* lengths,
                         std::uint32_t least, std::uint32_t largest);

/// The bytes of lists with lengths of `bits`, where those without take `bytes`; about as many, since lists are cut into words.
constexpr std::int64_t bytes_with_lengths(std::int64_t bytes, Offset edges, int bits) {
  return bytes + (edges * bits + 7) / 8;
}

}  // namespace penstock
