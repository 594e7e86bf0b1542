#pragma once
#include "penstock/format/csr.hpp"

// Orders of the vertices of a square matrix, as permutations p: new vertex i is old vertex p[i].
namespace penstock {

/// The reverse Cuthill-McKee order, in which every edge joins vertices that are near each other. The pattern should be
/// symmetric (an edge in one direction only is followed in that direction); rows may be in any order. The order is the same on
/// every machine. Throws Error{invalid_argument} if the matrix is not square.
Array<Index> reverse_cuthill_mckee(const Csr<One>& a);

/// Vertices sorted by the length of their rows, and by number if lengths are equal.
Array<Index> degree_order(const Csr<One>& a, bool descending);

/// The largest |i - j| of an entry (i, j); 0 if there is no entry.
std::int64_t bandwidth(const Csr<One>& a);

}  // namespace penstock
