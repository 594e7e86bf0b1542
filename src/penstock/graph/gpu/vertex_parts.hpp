#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// The first vertex of a part is a multiple of this, so that a word of a bitmap, and a group of packed lists, belongs to one part.
inline constexpr std::int64_t kPartVertices = 64;

/// Cuts vertices into at most `parts` ranges with about equally many edges plus vertices. Returns the first vertex of each
/// range, and then the number of vertices. No range is empty, so there are fewer if the graph is tiny (one if it has no
/// vertices), or if one list exceeds a share.
std::vector<std::int64_t> cut_vertices(std::span<const Offset> offsets, int parts);

}  // namespace penstock
