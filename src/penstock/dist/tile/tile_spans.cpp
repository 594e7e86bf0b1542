#include "penstock/dist/tile/tile_spans.hpp"

#include <algorithm>
#include <mutex>

#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kLooked = 256 << 10;  // entries of one task
constexpr Span kNoSpan{std::numeric_limits<std::int64_t>::max(), 0};

void widen(Span& span, std::int64_t first, std::int64_t last) {
  span = {std::min(span.first, first), std::max(span.end, last + 1)};
}

}  // namespace

void find_spans(const std::byte* blob, TileAt& tile) {
  tile.in_rows = tile.in_cols = {0, 0};
  if (tile.nnz == 0) return;
  const auto a = csr_of<One>(blob, tile);
  const auto* const end = a.indptr + tile.rows + 1;
  tile.in_rows = {std::upper_bound(a.indptr, end, 0) - a.indptr - 1,
                  std::lower_bound(a.indptr, end, tile.nnz) - a.indptr};
  tile.in_cols = kNoSpan;
  std::mutex lock;
  parallel_ranges(tile.nnz, kLooked, [&](std::int64_t e, std::int64_t last) {
    const auto [low, high] = std::minmax_element(a.indices + e, a.indices + last);
    const std::lock_guard guard(lock);
    widen(tile.in_cols, *low, *high);
  });
}

template <class V>
void find_spans(const CsrView<V>& whole, TileMap& map) {
  parallel_for(map.across() > 0 ? map.down() : 0, [&](std::int64_t i) {
    auto* const tiles = map.tiles.data() + map.number(i, 0);
    for (std::int64_t j = 0; j < map.across(); ++j) tiles[j].in_rows = tiles[j].in_cols = kNoSpan;
    for (std::int64_t r = 0; r < tiles->rows; ++r) {
      const auto* const offsets = whole.indptr + i * map.tile_rows + r;
      for (auto e = offsets[0] - whole.first_nnz; e < offsets[1] - whole.first_nnz; ++e) {
        const auto j = whole.indices[e] / map.tile_cols;
        const auto column = whole.indices[e] - j * map.tile_cols;
        widen(tiles[j].in_rows, r, r);
        widen(tiles[j].in_cols, column, column);
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
