#pragma once
#include "penstock/format/csr.hpp"

namespace penstock {

/// Whether for every entry (i, j) there are as many entries (j, i); rows may be in any order. The answer is exact. For most
/// directed graphs a few samples are enough; otherwise one half of the pattern is transposed and compared with the other half,
/// which takes as much memory as that half.
bool has_symmetric_pattern(const Csr<One>& a);

}  // namespace penstock
