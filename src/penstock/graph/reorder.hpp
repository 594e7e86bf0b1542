#pragma once
#include "penstock/format/csr.hpp"

// Orders of the vertices of a square matrix, as permutations p: new vertex i is old vertex p[i].
namespace penstock {

/// Reverse Cuthill-McKee: every edge joins vertices that are near each other. The pattern must be symmetric (edges in
/// one direction only are followed in that direction); rows in any order. The same order on every machine. Throws
/// Error{invalid_argument} where the matrix is not square.
Array<Index> reverse_cuthill_mckee(const Csr<One>& a);

/// By the length of rows; equal ones by number.
Array<Index> degree_order(const Csr<One>& a, bool descending);

/// The largest |i - j| of an entry, 0 where there is none.
std::int64_t bandwidth(const Csr<One>& a);

}  // namespace penstock
