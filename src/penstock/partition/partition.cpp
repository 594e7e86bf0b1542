#include "penstock/partition/partition.hpp"

#include <algorithm>

#include "penstock/core/choice.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"

namespace penstock {

std::string_view name(PartitionKind kind) {
  return kind == PartitionKind::labels ? "labels"
                                       : partition::partitioners()[static_cast<std::size_t>(kind)].name;
}

namespace partition {
namespace {

#define PENSTOCK_ROW(NAME, READS, TEXT) {#NAME, Reads::READS, TEXT, NAME},
constexpr Partitioner kPartitioners[] = {PENSTOCK_PARTITIONERS(PENSTOCK_ROW)};
#undef PENSTOCK_ROW

// Rows of a task: writing their owners takes a few tens of microseconds.
constexpr std::int64_t kOwnersOfATask = 1 << 14;

std::string shape_of(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  return std::to_string(rows) + " x " + std::to_string(cols) + " with " + std::to_string(nnz) + " entries";
}

std::int64_t range_of(const std::vector<std::int64_t>& cuts, std::int64_t i) {
  return std::upper_bound(cuts.begin(), cuts.end(), i) - cuts.begin() - 1;
}

/// An array with f(range) at every place i in [cuts[range], cuts[range + 1]).
template <class F>
Array<const Index> owners_of(const std::vector<std::int64_t>& cuts, F&& f) {
  auto owners = allocate_apart<Index>(cuts.back());
  parallel_ranges(owners.size, kOwnersOfATask, [&](std::int64_t first, std::int64_t last) {
    for (auto g = range_of(cuts, first); first < last; ++g) {
      const auto end = std::min(last, cuts[static_cast<std::size_t>(g) + 1]);
      std::fill(owners.data + first, owners.data + std::max(first, end), static_cast<Index>(f(g)));
      first = std::max(first, end);
    }
  });
  return owners;
}

}  // namespace

std::string_view name(Reads reads) {
  constexpr std::string_view kNames[] = {"shape", "offsets", "lengths", "graph"};
  return kNames[static_cast<int>(reads)];
}

std::span<const Partitioner> partitioners() { return kPartitioners; }

const Partitioner& partitioner(std::string_view name) {
  const auto* found = std::ranges::find(kPartitioners, name, &Partitioner::name);
  require(found != std::end(kPartitioners),
          "partition '" + std::string(name) + "' is unknown: choose one of " + list_names(kPartitioners));
  return *found;
}

Partition begin(const Csr<One>& a, std::int64_t parts, PartitionKind kind) {
  require(parts >= 1 && parts <= kMostParts, "parts = " + std::to_string(parts) + ": a partition has 1 to " +
                                                 std::to_string(kMostParts) + " parts");
  Partition p;
  p.kind = kind;
  p.parts = p.grid_rows = parts;
  p.rows = a.rows, p.cols = a.cols, p.nnz = a.nnz();
  return p;
}

void own_columns(Partition& p) {
  if (p.rows == p.cols) {
    p.col_owners = p.row_owners;
  } else if (p.grid_cols > 1) {
    p.col_owners = owners_of(p.col_cuts, [](std::int64_t j) { return j; });
  } else {
    std::vector<std::int64_t> cuts;
    for (std::int64_t i = 0; i <= p.parts; ++i) cuts.push_back(share(p.cols, p.parts, i));
    p.col_owners = owners_of(cuts, [](std::int64_t i) { return i; });
  }
}

void own_ranges(Partition& p) {
  p.row_owners = owners_of(p.row_cuts, [&](std::int64_t i) { return i * p.grid_cols; });
  own_columns(p);
}

std::vector<std::int64_t> cut_by_entries(const Offset* offsets, std::int64_t rows, std::int64_t parts) {
  std::vector<std::int64_t> cuts{0};
  const auto nnz = offsets[rows] - offsets[0];
  for (std::int64_t i = 1; i < parts; ++i) {
    const auto goal = offsets[0] + share(nnz, parts, i);
    auto cut = std::lower_bound(offsets, offsets + rows, goal) - offsets;
    if (cut > 0 && goal - offsets[cut - 1] < offsets[cut] - goal) --cut;
    cuts.push_back(std::max<std::int64_t>(cut, cuts.back()));
  }
  cuts.push_back(rows);
  return cuts;
}

void require_same(const Csr<One>& a, const Partition& p) {
  require(a.rows == p.rows && a.cols == p.cols && a.nnz() == p.nnz,
          "this partition is of a matrix of " + shape_of(p.rows, p.cols, p.nnz) + ", not of this one of " +
              shape_of(a.rows, a.cols, a.nnz()) + ": make a partition of this matrix");
}

Array<const Index> entry_parts(const Csr<One>& a, const Partition& p) {
  require_same(a, p);
  auto parts = allocate<Index>(a.nnz());
  parallel_ranges(a.rows, kOwnersOfATask / 16, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r) {
      const auto owner = p.row_owners.data[r];
      for (auto k = a.indptr.data[r]; k < a.indptr.data[r + 1]; ++k)
        parts.data[k] =
            p.grid_cols == 1 ? owner : owner + static_cast<Index>(range_of(p.col_cuts, a.indices.data[k]));
    }
  });
  parallel_for(std::ssize(p.pieces), [&](std::int64_t i) {
    const auto& piece = p.pieces[static_cast<std::size_t>(i)];
    std::fill(parts.data + piece.first, parts.data + piece.last, piece.part);
  });
  return parts;
}

}  // namespace partition
}  // namespace penstock
