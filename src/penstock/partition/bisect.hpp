#pragma once
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock::partition {

/// Parts of about equal entries, each near itself: the rows in the order of a breadth-first search from far out, cut in
/// two, and both halves again (George's level structures). `back` is the transpose of `a`. A label in [0, parts) a row;
/// the same for any number of threads.
std::vector<Index> bisect(const Csr<One>& a, const Csr<One>& back, std::int64_t parts);

}  // namespace penstock::partition
