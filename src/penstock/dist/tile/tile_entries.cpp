// Counts entries by rows, by columns and by cells of a coarse grid, so that tiles can be cut where the work is. No rank needs
// the whole matrix: what is exchanged is one sum of the counts over all ranks.
#include "penstock/dist/tile/tile_entries.hpp"

#include <algorithm>
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/dist/tile/tiles.hpp"

namespace penstock {
namespace {

std::vector<GlobalIndex> numbers_from(std::int64_t first, std::int64_t count) {
  std::vector<GlobalIndex> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), static_cast<GlobalIndex>(first));
  return out;
}

/// The place of each number between the cuts.
std::vector<std::int32_t> places_of(const std::vector<GlobalIndex>& ids, std::span<const std::int64_t> cuts) {
  std::vector<std::int32_t> out(ids.size());
  std::size_t last = 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const auto id = static_cast<std::int64_t>(ids[n]);
    if (id < cuts[last] || id >= cuts[last + 1])  // neighbours mostly lie in one
      last = static_cast<std::size_t>(std::upper_bound(cuts.begin(), cuts.end(), id) - cuts.begin()) - 1;
    out[n] = static_cast<std::int32_t>(last);
  }
  return out;
}

void require_cuts(std::span<const std::int64_t> cuts, std::int64_t size) {
  require(cuts.size() > 1 && cuts.front() == 0 && cuts.back() == size &&
              std::ranges::is_sorted(cuts, std::less_equal<>()),
          "cuts of cells ascend from 0 to " + std::to_string(size));
}

}  // namespace

template <class V>
TileEntries<V> entries_of_rows(const CsrView<V>& part, std::int64_t first_row, std::int64_t rows) {
  return {rows, part.cols, {part}, {numbers_from(first_row, part.rows)}, {numbers_from(0, part.cols)}};
}

template <class V>
TileEntries<V> share_of_whole(const Comm& comm, const Csr<V>& whole) {
  const auto at = [&](int rank) {
    return whole.rows / comm.size() * rank + std::min<std::int64_t>(whole.rows % comm.size(), rank);
  };
  const auto first = at(comm.rank());
  auto part = whole.view();
  part.indptr += first, part.rows = at(comm.rank() + 1) - first;
  return entries_of_rows<V>(part, first, whole.rows);
}

template <class V>
std::vector<std::int64_t> count_lines(Comm& comm, const TileEntries<V>& here, std::int64_t width) {
  const auto lines = [&](std::int64_t n) { return (n + width - 1) / width; };
  std::vector<std::int64_t> out(static_cast<std::size_t>(lines(here.rows) + lines(here.cols)));
  auto* const of_cols = out.data() + lines(here.rows);
  for (std::size_t p = 0; p < here.parts.size(); ++p) {
    const auto& part = here.parts[p];
    for (std::int64_t r = 0; r < part.rows; ++r)
      out[static_cast<std::size_t>(here.row_ids[p][static_cast<std::size_t>(r)] / width)] +=
          part.indptr[r + 1] - part.indptr[r];
    for (auto e = part.indptr[0] - part.first_nnz; e < part.indptr[part.rows] - part.first_nnz; ++e)
      ++of_cols[here.col_ids[p][static_cast<std::size_t>(part.indices[e])] / width];
  }
  comm.all_reduce(std::span<std::int64_t>(out), Reduce::sum);
  return out;
}

template <class V>
std::vector<std::int64_t> count_cells(Comm& comm, const TileEntries<V>& here,
                                      std::span<const std::int64_t> row_cuts,
                                      std::span<const std::int64_t> col_cuts) {
  require_cuts(row_cuts, here.rows), require_cuts(col_cuts, here.cols);
  const auto across = col_cuts.size() - 1;
  std::vector<std::int64_t> out((row_cuts.size() - 1) * across);
  for (std::size_t p = 0; p < here.parts.size(); ++p) {
    const auto& part = here.parts[p];
    const auto rows = places_of(here.row_ids[p], row_cuts), cols = places_of(here.col_ids[p], col_cuts);
    for (std::int64_t r = 0; r < part.rows; ++r) {
      auto* const cells = out.data() + static_cast<std::size_t>(rows[static_cast<std::size_t>(r)]) * across;
      for (auto e = part.indptr[r] - part.first_nnz; e < part.indptr[r + 1] - part.first_nnz; ++e)
        ++cells[cols[static_cast<std::size_t>(part.indices[e])]];
    }
  }
  comm.all_reduce(std::span<std::int64_t>(out), Reduce::sum);
  return out;
}

#define X(V)                                                                                  \
  template TileEntries<V> share_of_whole(const Comm&, const Csr<V>&);                         \
  template TileEntries<V> entries_of_rows(const CsrView<V>&, std::int64_t, std::int64_t);     \
  template std::vector<std::int64_t> count_lines(Comm&, const TileEntries<V>&, std::int64_t); \
  template std::vector<std::int64_t> count_cells(                                             \
      Comm&, const TileEntries<V>&, std::span<const std::int64_t>, std::span<const std::int64_t>);
X(One) X(float) X(double)
#undef X

}  // namespace penstock
