#include "penstock/dist/balance.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {

Partition balanced_by(Comm& comm, std::int64_t first_row, const Array<const Offset>& offsets,
                      std::int64_t rows, std::int64_t cols) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto mine = offsets.size - 1;
  require(mine >= 0 && offsets.data[0] == 0,
          "balanced: offsets begin at 0 and have one more entry than there are rows");
  std::vector<std::int64_t> entries(ranks), first(ranks);
  comm.all_gather(&offsets.data[mine], sizeof(Offset), entries.data());
  comm.all_gather(&first_row, sizeof(first_row), first.data());
  require(first.front() == 0 && std::ranges::is_sorted(first) && first_row + mine <= rows,
          "balanced: the ranks' rows do not follow one another");
  Offset before = 0, nnz = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (static_cast<int>(r) < comm.rank()) before += entries[r];
    nnz += entries[r];
  }
  // The cut nearest to a goal is found by the rank in whose entries (before, before + mine] the goal lies.
  const auto parts = comm.size();
  std::vector<std::int64_t> cuts(ranks + 1);
  for (int i = 1; i < parts; ++i) {
    const auto goal = partition::share(nnz, parts, i) - before;
    if (goal <= 0 || goal > offsets.data[mine]) continue;
    auto cut = std::lower_bound(offsets.data, offsets.data + mine, goal) - offsets.data;
    if (cut > 0 && goal - offsets.data[cut - 1] < offsets.data[cut] - goal) --cut;
    cuts[static_cast<std::size_t>(i)] = first_row + cut;
  }
  comm.all_reduce(cuts, Reduce::max);
  for (std::size_t i = 1; i < ranks; ++i) cuts[i] = std::max(cuts[i], cuts[i - 1]);
  cuts.back() = rows;
  // Its owners follow from the cuts; the lengths are not looked at again.
  Csr<One> shape{rows, cols, {}, {nullptr, nnz, {}, {}}, {}};
  auto p = partition::begin(shape, parts, PartitionKind::balanced);
  p.row_cuts = std::move(cuts);
  partition::own_ranges(p);
  return p;
}

}  // namespace penstock
