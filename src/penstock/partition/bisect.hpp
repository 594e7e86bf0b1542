#pragma once
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock::partition {

/// Parts with about equally many entries, whose rows are near each other: the rows are put in the order of a breadth-first
/// search that begins at the rim, and cut in two, and so are both halves again (George's level structures). `back` is the
/// transpose of `a`. Returns for each row a label in [0, parts), the same for any number of threads.
std::vector<Index> bisect(const Csr<One>& a, const Csr<One>& back, std::int64_t parts);

}  // namespace penstock::partition
