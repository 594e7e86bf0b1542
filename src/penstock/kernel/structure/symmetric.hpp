#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// Whether every entry (i, j) has as many entries (j, i), exactly. Rows in any order. A few samples tell most directed
/// graphs at once; otherwise one half of the pattern is turned and compared with the other, which takes as much memory.
bool has_symmetric_pattern(const Csr<One>& a);

}  // namespace penstock
