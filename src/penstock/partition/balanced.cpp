#include "penstock/partition/partition.hpp"

namespace penstock::partition {

/// Rows in order, cut where the entries before are nearest to equal shares.
Partition balanced(const Csr<One>& a, std::int64_t parts) {
  auto p = begin(a, parts, PartitionKind::balanced);
  p.row_cuts = cut_by_entries(a.indptr.data, a.rows, parts);
  own_ranges(p);
  return p;
}

}  // namespace penstock::partition
