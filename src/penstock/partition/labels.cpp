#include <algorithm>
#include <atomic>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/partition/partition.hpp"

namespace penstock::partition {

Partition labels(const Csr<One>& a, const Array<const Index>& owners, std::int64_t parts) {
  require(owners.size == a.rows, "owners has " + std::to_string(owners.size) + " numbers, the matrix has " +
                                     std::to_string(a.rows) + " rows: give one owner a row");
  if (parts == 0)
    parts =
        a.rows ? std::max<std::int64_t>(1, std::int64_t{*std::ranges::max_element(owners.span())} + 1) : 1;
  auto p = begin(a, parts, PartitionKind::labels);
  auto own = allocate<Index>(a.rows);
  std::atomic<std::int64_t> fault = a.rows;  // the first row whose owner is no part
  parallel_ranges(a.rows, 1 << 14, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      own.data[r] = owners.data[r];
      if (own.data[r] >= 0 && own.data[r] < parts) continue;
      auto before = fault.load();
      while (r < before && !fault.compare_exchange_weak(before, r)) {}
    }
  });
  if (const auto r = fault.load(); r < a.rows)
    throw Error(Errc::invalid_argument, "owners[" + std::to_string(r) +
                                            "] = " + std::to_string(owners.data[r]) + ": owners are 0 to " +
                                            std::to_string(parts - 1) + " for " + std::to_string(parts) +
                                            " parts");
  p.row_owners = own;
  own_columns(p);
  return p;
}

}  // namespace penstock::partition
