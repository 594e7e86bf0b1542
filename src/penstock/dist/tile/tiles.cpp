// TileMatrix: a directory that all ranks have, and bytes that one rank has. The idea is that every rank computes by itself
// where any tile lies: tile (i, j) belongs to rank (i % rows, j % cols) of the grid, and in that rank's arena its own tiles
// follow one another in the order of their numbers. So the ranks exchange only how many entries each sparse tile has
// (`lay_out`), and from then on a tile is fetched by one get to a known address, and its owner takes no part.
#include "penstock/dist/tile/tiles.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/tile/tile_spans.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kTileAlign = 64;

/// The bytes at the beginning of a sparse tile that must be 0 before it is written: the first row offset, and all row
/// offsets of a tile without entries, which nobody writes.
std::int64_t offset_bytes(const TileAt& tile) { return tile.nnz == 0 ? (tile.rows + 1) * 8 : 8; }

/// Bytes that a thread copies at a time: fewer cost more tasks, more leave threads without work at the end.
constexpr std::int64_t kCopied = 256 << 10;

void copy_all(std::byte* to, const void* from, std::int64_t bytes) {
  parallel_ranges(bytes, kCopied, [&](std::int64_t first, std::int64_t last) {
    std::memcpy(to + first, static_cast<const std::byte*>(from) + first,
                static_cast<std::size_t>(last - first));
  });
}

}  // namespace

template <class V>
CsrView<V> csr_of(const std::byte* blob, const TileAt& tile) {
  CsrView<V> a{.rows = tile.rows, .cols = tile.cols, .count = tile.nnz};
  a.indptr = reinterpret_cast<const Offset*>(blob);
  a.indices = reinterpret_cast<const Index*>(blob + (tile.rows + 1) * 8);
  if constexpr (!is_pattern<V>)
    a.values = reinterpret_cast<const V*>(blob + (tile.rows + 1) * 8 + padded_to(tile.nnz * 4, 8));
  return a;
}

template <class V>
void write_csr(const CsrView<V>& from, std::byte* blob) {
  const auto n = from.nnz();
  auto* indptr = reinterpret_cast<Offset*>(blob);
  const auto begin = from.indptr[0], first = begin - from.first_nnz;
  parallel_ranges(from.rows + 1, kCopied / 8, [&](std::int64_t r, std::int64_t last) {
    for (; r < last; ++r) indptr[r] = from.indptr[r] - begin;
  });
  auto* at = blob + (from.rows + 1) * 8;
  copy_all(at, from.indices + first, n * 4);
  if constexpr (!is_pattern<V>)
    copy_all(at + padded_to(n * 4, 8), from.values + first, n * static_cast<std::int64_t>(sizeof(V)));
}

MakeTransport transport_of_kind(std::string kind) {
  return [kind = std::move(kind)](std::shared_ptr<Comm> comm, std::int64_t bytes, std::int64_t zeroed) {
    return make_transport(kind, std::move(comm), bytes, zeroed);
  };
}

bool on_device(const Transport& transport) {
  return transport.where().is_gpu() || transport.name() == "peer";
}

TileMatrix::TileMatrix(std::shared_ptr<Comm> comm, TileMap map, MakeTransport make, const Fill& fill,
                       Filled filled)
    : comm_(std::move(comm)), map_(std::move(map)), make_(std::move(make)) {
  require(map_.grid.ranks() == comm_->size(), [&] {
    return "tiles: the grid of " + std::to_string(map_.grid.rows) + " x " + std::to_string(map_.grid.cols) +
           " is of " + std::to_string(map_.grid.ranks()) + " ranks, but there are " +
           std::to_string(comm_->size());
  });
  lay_out(fill, filled);
}

void TileMatrix::lay_out(const Fill& fill, Filled filled) {
  const auto down = map_.down(), across = map_.across();
  if (map_.sparse) {
    const auto nnz = shared_by_owners<Offset>([](const TileAt& t) { return t.nnz; });
    for (std::size_t n = 0; n < nnz.size(); ++n) map_.tiles[n].nnz = nnz[n];
  }
  std::vector<std::int64_t> used(static_cast<std::size_t>(comm_->size()));
  for (std::int64_t i = 0; i < down; ++i)
    for (std::int64_t j = 0; j < across; ++j) {
      auto& end = used[static_cast<std::size_t>(map_.owner(i, j))];
      map_.tiles[static_cast<std::size_t>(map_.number(i, j))].offset = end;
      end += padded_to(map_.bytes(i, j), kTileAlign);
    }
  transport_ = make_(comm_, *std::max_element(used.begin(), used.end()), 0);
  map_.gathers = gathers_ && transport_->gets_rows(), map_.range_bytes = transport_->range_bytes();
  held_.clear(), held_on_host_.clear(), columns_met_.clear(), memos_.clear(), split_ = nullptr;
  pool_ = nullptr;
  std::int64_t largest = 0;
  std::optional<OwnedStream> stream;
  for (std::int64_t i = 0; i < down; ++i)
    for (std::int64_t j = 0; j < across; ++j) {
      const auto bytes = map_.bytes(i, j);
      largest = std::max(largest, bytes);
      if (!mine(i, j) || bytes == 0) continue;
      if (const auto rest = padded_to(bytes, kTileAlign) - bytes; rest > 0 && on_device()) {
        if (!stream) stream.emplace(where());  // what is between tiles is sent with runs of them
        fill_async(own_tile(i, j) + bytes, 0, rest, *stream);
      }
      if (filled == Filled::host) {
        const auto written = draft(i, j);
        fill(i, j, written.data);
        publish(i, j, written);
      } else {
        if (map_.sparse) {
          if (!stream) stream.emplace(where());
          const auto& tile = map_.at(i, j);
          fill_async(own_tile(i, j), 0, offset_bytes(tile), *stream);
          if (tile.nnz % 2 != 0)  // what pads the columns, which is sent with them
            fill_async(own_tile(i, j) + (tile.rows + 1) * 8 + tile.nnz * 4, 0, 4, *stream);
          synchronize(Stream(*stream));
        }
        fill(i, j, own_tile(i, j));
      }
    }
  if (stream) synchronize(Stream(*stream));
  if (on_device())
    pool_ = std::make_shared<TileHere::Pool>(TileHere::Pool{device_place(where()), largest, 0, {}});
  if (map_.sparse && filled == Filled::host) share_spans();
  transport_->barrier();
}

template <class T, class Get>
std::vector<T> TileMatrix::shared_by_owners(const Get& get) const {
  constexpr auto kEach = static_cast<std::int64_t>(sizeof(T));
  std::vector<std::int64_t> starts(static_cast<std::size_t>(comm_->size()) + 1);
  std::vector<T> own, found(map_.tiles.size()), all(map_.tiles.size());
  for (std::int64_t i = 0; i < map_.down(); ++i)
    for (std::int64_t j = 0; j < map_.across(); ++j) {
      starts[static_cast<std::size_t>(map_.owner(i, j)) + 1] += kEach;
      if (mine(i, j)) own.push_back(get(map_.at(i, j)));
    }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  comm_->all_gather_v(own.data(), found.data(), starts);
  for (std::int64_t i = 0; i < map_.down(); ++i)
    for (std::int64_t j = 0; j < map_.across(); ++j) {
      auto& next = starts[static_cast<std::size_t>(map_.owner(i, j))];
      all[static_cast<std::size_t>(map_.number(i, j))] = found[static_cast<std::size_t>(next / kEach)];
      next += kEach;
    }
  return all;
}

void TileMatrix::share_spans() {
  struct Found {
    Span rows, cols;
    std::int64_t rows_met, cols_met;
  };
  const auto all = shared_by_owners<Found>([](const TileAt& t) {
    return Found{t.in_rows, t.in_cols, t.rows_met, t.cols_met};
  });
  for (std::size_t n = 0; n < all.size(); ++n) {
    auto& t = map_.tiles[n];
    t.in_rows = all[n].rows, t.in_cols = all[n].cols;
    t.rows_met = all[n].rows_met, t.cols_met = all[n].cols_met;
  }
}

TileMatrix::Draft TileMatrix::draft(std::int64_t i, std::int64_t j) {
  Draft out{own_tile(i, j), {}};
  if (on_device()) out.copy = allocate<std::byte>(map_.bytes(i, j)), out.data = out.copy.data;
  if (map_.sparse) std::memset(out.data, 0, static_cast<std::size_t>(offset_bytes(map_.at(i, j))));
  return out;
}

void TileMatrix::publish(std::int64_t i, std::int64_t j, const Draft& draft) {
  const RemotePtr to{comm_->rank(), map_.at(i, j).offset};
  if (map_.sparse) find_spans(draft.data, map_.tiles[static_cast<std::size_t>(map_.number(i, j))]);
  if (on_device()) transport_->wait(transport_->put(draft.data, to, map_.bytes(i, j)));
}

void TileMatrix::require_tile(std::int64_t i, std::int64_t j) const {
  require(0 <= i && i < map_.down() && 0 <= j && j < map_.across(), [&] {
    return "tile (" + std::to_string(i) + ", " + std::to_string(j) + ") is outside the " +
           std::to_string(map_.down()) + " x " + std::to_string(map_.across()) + " tiles";
  });
}

std::byte* TileMatrix::own_tile(std::int64_t i, std::int64_t j) {
  require_tile(i, j);
  require(mine(i, j), [&] {
    return "tile (" + std::to_string(i) + ", " + std::to_string(j) + ") is rank " +
           std::to_string(map_.owner(i, j)) + "'s, not rank " + std::to_string(comm_->rank()) + "'s";
  });
  return transport_->arena() + map_.at(i, j).offset;
}

TileMatrix TileMatrix::elsewhere(std::shared_ptr<Transport> transport) const {
  auto out = *this;
  out.transport_ = std::move(transport), out.map_.range_bytes = 0;  // the same node's
  out.held_.clear(), out.held_on_host_.clear(), out.columns_met_.clear(), out.memos_.clear(),
      out.split_ = nullptr;
  return out;
}

void TileMatrix::move_tile(std::int64_t number, int rank, std::int64_t offset, Offset nnz) {
  auto& tile = map_.tiles[static_cast<std::size_t>(number)];
  moved_[number] = rank, tile.offset = offset;
  if (map_.sparse) tile.nnz = nnz;
}

TileMatrix TileMatrix::rows_of_tiles(std::int64_t first, std::int64_t last) const {
  require(0 <= first && first <= last && last <= map_.down() && first % map_.grid.rows == 0, [&] {
    return "rows " + std::to_string(first) + " to " + std::to_string(last) + " of " +
           std::to_string(map_.down()) + " rows of tiles: the first is a multiple of " +
           std::to_string(map_.grid.rows);
  });
  auto out = *this;
  auto& map = out.map_;
  map.rows = map_.first_row(last) - map_.first_row(first);
  if (map.row_cuts.empty()) {
    map.tile_rows = std::min(map.tile_rows, std::max<std::int64_t>(map.rows, 1));  // as tile_map() chooses
  } else {
    map.row_cuts.assign(map_.row_cuts.begin() + first, map_.row_cuts.begin() + last + 1);
    for (auto& cut : map.row_cuts) cut -= map_.first_row(first);
    map.tile_rows = size_of_tiles(map.row_cuts);
  }
  const auto across = map_.across();
  map.tiles.assign(map_.tiles.begin() + first * across, map_.tiles.begin() + last * across);
  out.held_.clear(), out.held_on_host_.clear(), out.columns_met_.clear(), out.memos_.clear(),
      out.split_ = nullptr;
  return out;
}

void TileMatrix::replace_tile(std::int64_t i, std::int64_t j, const std::byte* data) {
  require_tile(i, j);
  require(!map_.sparse, "replace_tile is for dense tiles: renew_tiles gives sparse ones other entries");
  held_.erase(map_.number(i, j)), held_on_host_.erase(map_.number(i, j));
  if (map_.bytes(i, j) == 0) return;
  transport_->wait(transport_->put(data, {map_.owner(i, j), map_.at(i, j).offset}, map_.bytes(i, j)));
}

void TileMatrix::renew_tiles(const std::map<std::int64_t, Offset>& entries, const Fill& fill) {
  require(map_.sparse, "renew_tiles is for sparse tiles: replace_tile overwrites dense ones");
  const auto before = *this;
  for (const auto& [n, nnz] : entries) {
    require(0 <= n && n < std::ssize(map_.tiles) && nnz >= 0 && mine(n / map_.across(), n % map_.across()),
            [&, n = n] { return "renew_tiles: tile number " + std::to_string(n) + " is not this rank's"; });
    map_.tiles[static_cast<std::size_t>(n)].nnz = nnz;
  }
  const OwnedStream stream(where());
  const auto renew = [&](std::int64_t i, std::int64_t j, std::byte* blob) {
    if (entries.contains(map_.number(i, j))) {
      const auto written = draft(i, j);
      fill(i, j, written.data);
      return publish(i, j, written);
    }
    copy_async(blob, before.transport_->arena() + before.map_.at(i, j).offset, map_.bytes(i, j), stream);
    synchronize(stream);
  };
  lay_out(renew, Filled::arena);
  share_spans();
}

#define X(V)                                                      \
  template CsrView<V> csr_of<V>(const std::byte*, const TileAt&); \
  template void write_csr<V>(const CsrView<V>&, std::byte*);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
