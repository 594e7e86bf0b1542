#include "penstock/dist/tile/tile_spans.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/bitmap.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kLooked = 256 << 10;  // entries of one task
constexpr Span kNoSpan{std::numeric_limits<std::int64_t>::max(), 0};

/// Columns, a bit each.
struct Marks {
  explicit Marks(std::int64_t columns) : words(static_cast<std::size_t>(graph::words_of(columns))) {}
  std::int64_t count() const {
    return std::transform_reduce(words.begin(), words.end(), std::int64_t{0}, std::plus<>(),
                                 [](auto word) { return std::popcount(word); });
  }
  std::vector<Index> list() const {
    std::vector<Index> out;
    out.reserve(static_cast<std::size_t>(count()));
    for (std::size_t w = 0; w < words.size(); ++w)
      for (auto rest = words[w]; rest != 0; rest &= rest - 1)
        out.push_back(static_cast<Index>(64 * w + static_cast<std::size_t>(std::countr_zero(rest))));
    return out;
  }
  std::vector<graph::Word> words;
};

Marks columns_of(const CsrView<One>& a) {
  Marks found(a.cols);
  parallel_ranges(a.count, kLooked, [&](std::int64_t e, std::int64_t last) {
    for (; e < last; ++e) graph::claim_bit<true>(found.words.data(), a.indices[e]);
  });
  return found;
}

void widen(Span& span, std::int64_t first, std::int64_t last) {
  span = {std::min(span.first, first), std::max(span.end, last + 1)};
}

}  // namespace

void find_spans(const std::byte* blob, TileAt& tile) {
  tile.in_rows = tile.in_cols = {0, 0}, tile.rows_met = tile.cols_met = 0;
  if (tile.nnz == 0) return;
  const auto a = csr_of<One>(blob, tile);
  const auto* const end = a.indptr + tile.rows + 1;
  tile.in_rows = {std::upper_bound(a.indptr, end, 0) - a.indptr - 1,
                  std::lower_bound(a.indptr, end, tile.nnz) - a.indptr};
  for (auto r = tile.in_rows.first; r < tile.in_rows.end; ++r) tile.rows_met += a.indptr[r] < a.indptr[r + 1];
  const auto columns = columns_of(a).list();
  tile.cols_met = std::ssize(columns), tile.in_cols = {columns.front(), columns.back() + 1};
}

TileRows find_columns(const std::byte* blob, const TileAt& tile) {
  return std::make_shared<TileNames>(tile.nnz > 0 ? columns_of(csr_of<One>(blob, tile)).list()
                                                  : std::vector<Index>{});
}

TileRows with_gaps(std::span<const Index> named, const Offset* ends, std::int64_t each, std::int64_t most,
                   RowsAlone& alone) {
  std::vector<Index> out;
  alone = {0, 0};
  Index last = -1;  // the row that ends the range before
  for (const auto r : named) {
    const auto count = ends[r + 1] - ends[r];
    if (count == 0) continue;
    const auto gap = last < 0 ? Offset{0} : ends[r] - ends[last + 1];
    if (last >= 0 && gap * each <= most) {
      for (auto between = last + 1; between < r; ++between) out.push_back(between);
      alone.entries += gap;
    } else {
      ++alone.ranges;
    }
    out.push_back(r);
    alone.entries += count, last = r;
  }
  return std::make_shared<TileNames>(std::move(out));
}

template <class V>
void find_spans(const CsrView<V>& whole, TileMap& map) {
  parallel_for(map.across() > 0 ? map.down() : 0, [&](std::int64_t i) {
    auto* const tiles = map.tiles.data() + map.number(i, 0);
    for (std::int64_t j = 0; j < map.across(); ++j) {
      tiles[j].in_rows = tiles[j].in_cols = kNoSpan;
      tiles[j].rows_met = tiles[j].cols_met = 0;
    }
    Marks seen(map.cols);
    for (std::int64_t r = 0; r < tiles->rows; ++r) {
      const auto* const offsets = whole.indptr + map.first_row(i) + r;
      for (auto e = offsets[0] - whole.first_nnz; e < offsets[1] - whole.first_nnz; ++e) {
        const auto j = map.col_tile(whole.indices[e]);
        const auto column = whole.indices[e] - map.first_col(j);
        auto& tile = tiles[j];
        tile.rows_met += tile.in_rows.size() == 0 || tile.in_rows.end <= r;
        tile.cols_met += graph::claim_bit<false>(seen.words.data(), whole.indices[e]);
        widen(tile.in_rows, r, r);
        widen(tile.in_cols, column, column);
      }
    }
    for (std::int64_t j = 0; j < map.across(); ++j)
      if (tiles[j].in_rows.size() == 0) tiles[j].in_rows = tiles[j].in_cols = {0, 0};
  });
}

#define X(V) template void find_spans<V>(const CsrView<V>&, TileMap&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
