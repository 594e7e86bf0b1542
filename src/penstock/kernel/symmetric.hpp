#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// Whether every entry (i, j) has as many entries (j, i), exactly. Rows in any order. A few samples tell most directed
/// graphs at once; otherwise the pattern is compared with its transpose, which takes memory for that.
bool has_symmetric_pattern(const Csr<One>& a);

}  // namespace penstock
