#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// Vertices of a part begin at a multiple of this: a word of a bitmap belongs to one part.
inline constexpr std::int64_t kPartVertices = 32;

/// Cuts vertices in at most `parts` ranges of about equally many edges and vertices together: the first of each range,
/// then the number of vertices. No range is empty, so that there are fewer where the graph is tiny (one where it has no
/// vertices) or one list exceeds a share.
std::vector<std::int64_t> cut_vertices(std::span<const Offset> offsets, int parts);

}  // namespace penstock
