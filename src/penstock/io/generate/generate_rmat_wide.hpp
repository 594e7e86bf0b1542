#pragma once
#include <vector>

#include "penstock/dist/share/coordinates.hpp"
#include "penstock/io/generate/generate_rmat.hpp"

namespace penstock {

/// The largest scale of an R-MAT whose vertices have numbers of 64 bits.
inline constexpr int kMostWideScale = 60;

/// Appends the part of an R-MAT's entries that rank `rank` of `ranks` draws, in no order and with duplicates: together, and
/// without them, they are the graph of the same options. Values of entries are those of generate_rmat's. Of 0 ranks it only
/// checks the options.
template <class V>
void append_rmat(std::vector<Coordinate<V>>& entries, const RmatOptions& options, int ranks, int rank);

}  // namespace penstock
