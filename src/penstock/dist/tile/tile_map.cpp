// The directory of a matrix of tiles: how it is cut, whose a tile is, and how many bytes of it travel.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "penstock/core/error.hpp"
#include "penstock/dist/tile/tiles.hpp"

namespace penstock {
namespace {

/// Tiles in a directory, which takes up to 5.4 GB on every rank then.
constexpr std::int64_t kMostTiles = 1 << 26;

std::string short_text(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

}  // namespace

ProcessGrid square_grid(int ranks) {
  int cols = std::max(static_cast<int>(std::sqrt(static_cast<double>(ranks))), 1);
  while (cols > 1 && ranks % cols != 0) --cols;
  return {ranks / cols, cols};
}

std::int64_t bytes_of(TileValue value) {
  switch (value) {
    case TileValue::pattern: return 0;
    case TileValue::byte: return 1;
    case TileValue::float32: return 4;
    case TileValue::float64: return 8;
  }
  return 8;
}

std::string_view text_of(TileValue value) {
  static constexpr std::string_view kTexts[] = {"bool (a pattern)", "uint8", "float32", "float64"};
  return kTexts[static_cast<std::size_t>(value)];
}

std::int64_t blob_bytes(bool sparse, TileValue value, std::int64_t rows, std::int64_t cols, Offset nnz) {
  if (!sparse) return rows * cols * bytes_of(value);
  return (rows + 1) * 8 + padded_to(nnz * 4, 8) + nnz * bytes_of(value);
}

std::int64_t TileMap::bytes(std::int64_t i, std::int64_t j) const {
  const auto& t = at(i, j);
  return blob_bytes(sparse, value, t.rows, t.cols, t.nnz);
}

std::int64_t TileMap::bytes_for(const TileAt& left, const TileAt& tile, RowsAlone rows) const {
  const auto all = left.col_span();
  if (sparse) {
    const auto whole = blob_bytes(true, value, tile.rows, tile.cols, tile.nnz);
    if (!gathers || rows.entries < 0 || left.cols_met < 0) return whole;
    const auto some = (all.size() + 1) * 8 + rows.entries * (4 + bytes_of(value));
    // A row is two ranges, of columns and of values, each of which is named.
    return some + 2 * (kRowName * left.cols_met + range_bytes * rows.ranges) < whole ? some : whole;
  }
  const auto row = tile.cols * bytes_of(value);
  return (names_rows(left.cols_met, all, row) ? left.cols_met : all.size()) * row;
}

bool TileMap::one_by_one(std::int64_t i, std::int64_t j, std::int64_t met, Span all) const {
  return names_rows(met, all, at(i, j).cols * bytes_of(value));
}

bool TileMap::names_rows(std::int64_t met, Span all, std::int64_t row_bytes) const {
  return gathers && met >= 0 && worth_naming(met, all, row_bytes) &&
         (range_bytes == 0 || met * (row_bytes + range_bytes) < all.size() * row_bytes);
}

std::int64_t TileMap::bytes_of_sum(std::int64_t i, std::int64_t j, std::int64_t met, Span all) const {
  const auto row = at(i, j).cols * bytes_of(value);
  return one_by_one(i, j, met, all) ? met * (row + kRowName) : all.size() * row;
}

Offset TileMap::nnz() const {
  Offset n = 0;
  for (const auto& t : tiles) n += t.nnz;
  return n;
}

std::string TileMap::text() const {
  Offset most = 0;
  for (const auto& t : tiles) most = std::max(most, t.nnz);
  const auto times = [](std::int64_t a, std::int64_t b) {
    return std::to_string(a) + " x " + std::to_string(b);
  };
  std::string out = times(rows, cols) + (sparse ? " sparse, " : " dense, ") + std::to_string(tiles.size()) +
                    " tiles (" + times(down(), across()) + ") of at most " + times(tile_rows, tile_cols) +
                    " on a grid of " + times(grid.rows, grid.cols) + " ranks";
  if (const auto all = nnz(); sparse && all > 0)
    out +=
        ", " + std::to_string(all) + " entries, the fullest tile " +
        short_text(static_cast<double>(most) * static_cast<double>(tiles.size()) / static_cast<double>(all)) +
        " times the mean";
  return out;
}

std::int64_t size_of_tiles(std::vector<std::int64_t>& cuts) {
  std::int64_t largest = 1;
  bool equal = true;
  for (std::size_t n = 1; n < cuts.size(); ++n) largest = std::max(largest, cuts[n] - cuts[n - 1]);
  for (std::size_t n = 1; n + 1 < cuts.size(); ++n) equal &= cuts[n] - cuts[n - 1] == largest;
  if (equal) cuts.clear();
  return largest;
}

TileMap tile_map(std::int64_t rows, std::int64_t cols, std::int64_t tile_rows, std::int64_t tile_cols,
                 ProcessGrid grid, TileValue value, bool sparse, std::vector<std::int64_t> row_cuts,
                 std::vector<std::int64_t> col_cuts) {
  require(rows >= 0 && cols >= 0,
          "tiles: a matrix of " + std::to_string(rows) + " x " + std::to_string(cols));
  require(grid.rows > 0 && grid.cols > 0, "tiles: a process grid of " + std::to_string(grid.rows) + " x " +
                                              std::to_string(grid.cols) + " has no ranks");
  const std::int64_t each_way = std::lcm<std::int64_t>(grid.rows, grid.cols);
  const auto chosen = [&](std::int64_t size, std::int64_t wish, std::int64_t parts) {
    return std::max<std::int64_t>(
        1, wish > 0 ? std::min(wish, std::max<std::int64_t>(size, 1)) : (size + parts - 1) / parts);
  };
  TileMap map{.rows = rows, .cols = cols, .grid = grid, .value = value, .sparse = sparse, .tiles = {}};
  const auto cut = [](std::vector<std::int64_t>& cuts, std::int64_t size, const char* what) {
    require(cuts.front() == 0 && cuts.back() == size && std::ranges::is_sorted(cuts, std::less_equal<>()),
            [&] {
              return std::string("tiles: cuts of ") + what + " ascend from 0 to their number, " +
                     std::to_string(size);
            });
    return size_of_tiles(cuts);
  };
  map.tile_rows = row_cuts.empty() ? chosen(rows, tile_rows, each_way) : cut(row_cuts, rows, "rows");
  map.tile_cols = col_cuts.empty() ? chosen(cols, tile_cols, sparse ? each_way : grid.cols)
                                   : cut(col_cuts, cols, "columns");
  map.row_cuts = std::move(row_cuts), map.col_cuts = std::move(col_cuts);
  require(!sparse || map.tile_cols <= 2147483647, [&] {
    return "tiles: " + std::to_string(map.tile_cols) +
           " columns a tile: at most 2^31 - 1, give a smaller tile_cols";
  });
  require(!sparse || map.tile_rows <= 2147483647, [&] {
    return "tiles: " + std::to_string(map.tile_rows) +
           " rows a tile: at most 2^31 - 1, give a smaller tile_rows";
  });
  require(map.down() == 0 || map.across() <= kMostTiles / map.down(), [&] {
    return "tiles: " + std::to_string(map.down()) + " x " + std::to_string(map.across()) +
           " tiles are more than 2^26: give larger ones";
  });
  for (std::int64_t i = 0; i < map.down(); ++i)
    for (std::int64_t j = 0; j < map.across(); ++j) {
      TileAt t{.rows = map.first_row(i + 1) - map.first_row(i),
               .cols = map.first_col(j + 1) - map.first_col(j)};
      if (!sparse) t.nnz = t.rows * t.cols;
      map.tiles.push_back(t);
    }
  return map;
}

}  // namespace penstock
