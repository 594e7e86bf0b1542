#include "penstock/dist/share/balance.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/dist/share/share.hpp"

namespace penstock {
namespace {

/// A rank's rows.
struct Part {
  std::int64_t first, rows, entries;
};

/// The counts of all ranks; the same answer, or error, on each.
std::vector<Part> parts_of(Comm& comm, std::int64_t first_row, const Array<const Offset>& offsets,
                           std::int64_t rows) {
  const bool well = offsets.size > 0 && offsets.data[0] == 0;
  const Part mine{first_row, well ? offsets.size - 1 : -1, well ? offsets.data[offsets.size - 1] : 0};
  std::vector<Part> parts(static_cast<std::size_t>(comm.size()));
  comm.all_gather(&mine, sizeof(Part), parts.data());
  std::int64_t next = 0;
  for (std::size_t r = 0; r < parts.size(); next += parts[r++].rows) {
    const auto who = "a partition by lengths: rank " + std::to_string(r);
    require(parts[r].rows >= 0, who + "'s offsets do not begin at 0, or there are none");
    require(parts[r].first == next, who + " has rows from " + std::to_string(parts[r].first) +
                                        " on, not those from " + std::to_string(next) + " on");
  }
  require(next == rows, "a partition by lengths: the ranks have " + std::to_string(next) + " rows of " +
                            std::to_string(rows));
  return parts;
}

}  // namespace

Partition bins_by(Comm& comm, std::int64_t first_row, Array<const Offset> offsets, std::int64_t rows,
                  std::int64_t cols) {
  const auto parts = parts_of(comm, first_row, offsets, rows);
  const bool root = comm.rank() == 0;
  std::vector<std::int64_t> places;  // of each rank's offsets, in bytes
  for (const auto& part : parts) places.push_back(part.first * std::int64_t{sizeof(Offset)});
  places.push_back(rows * std::int64_t{sizeof(Offset)});
  auto all = allocate_apart<Offset>(root ? rows + 1 : 1);
  all.data[0] = 0;
  comm.gather_v(offsets.data + 1, all.data + 1, places, 0);
  offsets = {};
  std::optional<Partition> mine;
  if (root) {
    Offset before = 0;
    for (const auto& [first, count, entries] : parts) {
      for (auto i = first; before > 0 && i < first + count; ++i) all.data[i + 1] += before;
      before += entries;
    }
    mine = partition::bins({rows, cols, all, {nullptr, before, {}, {}}, {}}, comm.size());
    all = {};
  }
  return broadcast(comm, mine ? &*mine : nullptr, 0);
}

Partition balanced_by(Comm& comm, std::int64_t first_row, const Array<const Offset>& offsets,
                      std::int64_t rows, std::int64_t cols) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto mine = offsets.size - 1;
  const auto of_ranks = parts_of(comm, first_row, offsets, rows);
  Offset before = 0, nnz = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (static_cast<int>(r) < comm.rank()) before += of_ranks[r].entries;
    nnz += of_ranks[r].entries;
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
  // The owners follow from the cuts; the lengths are not needed again.
  Csr<One> shape{rows, cols, {}, {nullptr, nnz, {}, {}}, {}};
  auto p = partition::begin(shape, parts, PartitionKind::balanced);
  p.row_cuts = std::move(cuts);
  partition::own_ranges(p);
  return p;
}

}  // namespace penstock
