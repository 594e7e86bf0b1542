#include "penstock/partition/partition.hpp"

namespace penstock::partition {

/// Equal numbers of rows, in order.
Partition contiguous(const Csr<One>& a, std::int64_t parts) {
  auto p = begin(a, parts, PartitionKind::contiguous);
  for (std::int64_t i = 0; i <= parts; ++i) p.row_cuts.push_back(share(a.rows, parts, i));
  own_ranges(p);
  return p;
}

}  // namespace penstock::partition
