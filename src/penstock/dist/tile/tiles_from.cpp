// From a matrix somewhere to tiles, and back to a matrix on one rank.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "penstock/core/parallel.hpp"
#include "penstock/dist/tile/tile_entries.hpp"
#include "penstock/dist/tile/tiles.hpp"

namespace penstock {
namespace {

/// An entry on its way to the owner of its tile.
template <class V>
struct Entry {
  std::int64_t tile;
  std::int64_t row;
  Index col;
  V value;
};
template <>
struct Entry<One> {
  std::int64_t tile;
  std::int64_t row;
  Index col;
};

/// One pass over the entries of the rows of tile row i: f(tile column, row within the tile, entry).
template <class V, class F>
void walk(const Csr<V>& a, const TileMap& map, std::int64_t i, F&& f) {
  const auto first = map.first_row(i), last = map.first_row(i + 1);
  for (auto r = first; r < last; ++r)
    for (auto e = a.indptr.data[r]; e < a.indptr.data[r + 1]; ++e)
      f(map.col_tile(a.indices.data[e]), r - first, e);
}

template <class V>
struct Blob {
  Offset* indptr;
  Index* indices;
  V* values;
  Blob(std::byte* data, const TileAt& t) {
    const auto view = csr_of<V>(data, t);
    indptr = const_cast<Offset*>(view.indptr);
    indices = const_cast<Index*>(view.indices);
    values = const_cast<V*>(view.values);
  }
};

}  // namespace

template <class V>
TileMatrix tiles_of_whole(std::shared_ptr<Comm> comm, const Csr<V>& whole, TileMap map, MakeTransport make) {
  const auto me = comm->rank();
  const auto mine = [&](std::int64_t i, std::int64_t j) { return map.owner(i, j) == me; };
  const auto row_is_mine = [&](std::int64_t i) {
    return static_cast<int>(i % map.grid.rows) == me / map.grid.cols;
  };
  for (std::int64_t i = 0; i < map.down(); ++i)
    if (row_is_mine(i))
      walk(whole, map, i, [&](std::int64_t j, std::int64_t, Offset) {
        if (mine(i, j)) ++map.tiles[static_cast<std::size_t>(map.number(i, j))].nnz;
      });
  TileMatrix out(
      std::move(comm), map, std::move(make), [](auto, auto, auto*) {}, TileMatrix::Filled::arena);
  for (std::int64_t i = 0; i < map.down(); ++i) {
    if (!row_is_mine(i)) continue;
    std::vector<std::pair<std::int64_t, Blob<V>>> blobs;
    std::vector<std::pair<std::int64_t, TileMatrix::Draft>> drafts;
    std::vector<std::int64_t> slot(static_cast<std::size_t>(map.across()), -1);
    for (std::int64_t j = 0; j < map.across(); ++j)
      if (mine(i, j)) {
        slot[static_cast<std::size_t>(j)] = std::ssize(blobs);
        drafts.push_back({j, out.draft(i, j)});
        blobs.push_back({0, Blob<V>(drafts.back().second.data, out.map().at(i, j))});
      }
    const auto rows = map.first_row(i + 1) - map.first_row(i);
    std::int64_t done = 0;  // rows whose end is written
    const auto close = [&](std::int64_t upto) {
      for (; done < upto; ++done)
        for (auto& [n, b] : blobs) b.indptr[done + 1] = n;
    };
    walk(whole, map, i, [&](std::int64_t j, std::int64_t r, Offset e) {
      close(r);
      const auto s = slot[static_cast<std::size_t>(j)];
      if (s < 0) return;
      auto& [n, b] = blobs[static_cast<std::size_t>(s)];
      b.indices[n] = static_cast<Index>(whole.indices.data[e] - map.first_col(j));
      if constexpr (!is_pattern<V>) b.values[n] = whole.values.data[e];
      ++n;
    });
    close(rows);
    for (const auto& [j, written] : drafts) out.publish(i, j, written);
  }
  out.share_spans();
  out.transport()->barrier();
  return out;
}

TileMatrix tiles_of_dense(std::shared_ptr<Comm> comm, const std::byte* whole, TileMap map,
                          MakeTransport make) {
  constexpr std::int64_t kGrain = 256 << 10;  // bytes that a thread copies at a time
  const auto size = bytes_of(map.value), step = map.cols * size;
  TileMatrix out(
      std::move(comm), map, std::move(make), [](auto, auto, auto*) {}, TileMatrix::Filled::arena);
  for (std::int64_t i = 0; i < map.down(); ++i)
    for (std::int64_t j = 0; j < map.across(); ++j) {
      const auto bytes = map.bytes(i, j);
      if (!out.mine(i, j) || bytes == 0) continue;
      const auto* from = whole + map.first_row(i) * step + map.first_col(j) * size;
      const auto width = map.at(i, j).cols * size;
      if (out.on_device() && width == step) {  // it lies there as it is
        out.publish(i, j, {const_cast<std::byte*>(from), {}});
        continue;
      }
      const auto written = out.draft(i, j);
      parallel_ranges(map.at(i, j).rows, std::max<std::int64_t>(kGrain / width, 1),
                      [&](std::int64_t r, std::int64_t end) {
                        for (; r < end; ++r)
                          std::memcpy(written.data + r * width, from + r * step,
                                      static_cast<std::size_t>(width));
                      });
      out.publish(i, j, written);
    }
  out.transport()->barrier();
  return out;
}

template <class V>
TileMatrix tiles_of_part(std::shared_ptr<Comm> comm, const std::vector<CsrView<V>>& parts,
                         const std::vector<std::vector<GlobalIndex>>& row_ids,
                         const std::vector<std::vector<GlobalIndex>>& col_ids, TileMap map,
                         MakeTransport make) {
  using E = Entry<V>;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(E));
  const auto ranks = static_cast<std::size_t>(comm->size());
  const auto each = [&](auto&& f) {
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (std::int64_t r = 0; r < parts[p].rows; ++r) {
        const auto row = row_ids[p][static_cast<std::size_t>(r)];
        for (auto e = parts[p].indptr[r] - parts[p].first_nnz;
             e < parts[p].indptr[r + 1] - parts[p].first_nnz; ++e) {
          const auto col = col_ids[p][static_cast<std::size_t>(parts[p].indices[e])];
          const auto i = map.row_tile(row), j = map.col_tile(col);
          E entry{};
          entry.tile = map.number(i, j);
          entry.row = row - map.first_row(i);
          entry.col = static_cast<Index>(col - map.first_col(j));
          if constexpr (!is_pattern<V>) entry.value = parts[p].values[e];
          f(static_cast<std::size_t>(map.owner(i, j)), entry);
        }
      }
  };
  std::vector<std::int64_t> counts(ranks), come(ranks), sends(ranks + 1), receives(ranks + 1),
      ones(ranks + 1);
  each([&](std::size_t to, const E&) { counts[to] += kSize; });
  std::partial_sum(counts.begin(), counts.end(), sends.begin() + 1);
  for (std::size_t r = 0; r <= ranks; ++r) ones[r] = static_cast<std::int64_t>(r) * 8;
  comm->all_to_all_v(counts.data(), ones, come.data(), ones);
  std::partial_sum(come.begin(), come.end(), receives.begin() + 1);
  std::vector<E> here(static_cast<std::size_t>(receives.back() / kSize));
  {
    std::vector<E> out(static_cast<std::size_t>(sends.back() / kSize));
    auto next = sends;
    each([&](std::size_t to, const E& entry) {
      out[static_cast<std::size_t>(next[to] / kSize)] = entry;
      next[to] += kSize;
    });
    comm->all_to_all_v(out.data(), sends, here.data(), receives);
  }
  for (const auto& e : here) ++map.tiles[static_cast<std::size_t>(e.tile)].nnz;
  std::stable_sort(here.begin(), here.end(), [](const E& a, const E& b) {
    return std::tie(a.tile, a.row, a.col) < std::tie(b.tile, b.row, b.col);
  });
  const auto copy = map;
  return {std::move(comm), std::move(map), std::move(make),
          [&](std::int64_t i, std::int64_t j, std::byte* data) {
            auto tile = copy.at(i, j);
            const Blob<V> blob(data, tile);
            auto e = std::lower_bound(here.begin(), here.end(), copy.number(i, j),
                                      [](const E& a, std::int64_t n) { return a.tile < n; });
            blob.indptr[0] = 0;
            Offset n = 0;
            for (std::int64_t r = 0; r < tile.rows; ++r) {
              for (; n < tile.nnz && e->row == r; ++e, ++n) {
                blob.indices[n] = e->col;
                if constexpr (!is_pattern<V>) blob.values[n] = e->value;
              }
              blob.indptr[r + 1] = n;
            }
          }};
}

namespace {

/// The numbers, in the whole matrix, of what a plan brings here: each owner sends those of what it packs.
std::vector<GlobalIndex> ghost_ids(Comm& comm, const CommPlan& plan, const Ownership& owners) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::int64_t> sends(ranks + 1), receives(ranks + 1);
  for (std::size_t n = 0; n < plan.send_ranks.size(); ++n)
    sends[static_cast<std::size_t>(plan.send_ranks[n]) + 1] =
        8 * (plan.send_offsets[n + 1] - plan.send_offsets[n]);
  for (std::size_t n = 0; n < plan.receive_ranks.size(); ++n)
    receives[static_cast<std::size_t>(plan.receive_ranks[n]) + 1] =
        8 * (plan.receive_offsets[n + 1] - plan.receive_offsets[n]);
  std::partial_sum(sends.begin(), sends.end(), sends.begin());
  std::partial_sum(receives.begin(), receives.end(), receives.begin());
  std::vector<GlobalIndex> out(static_cast<std::size_t>(plan.sent())),
      in(static_cast<std::size_t>(plan.ghosts()));
  const auto mine = owners.numbers(comm.rank());
  for (std::size_t n = 0; n < out.size(); ++n) out[n] = mine.data[plan.send_indices.data[n]];
  comm.all_to_all_v(out.data(), sends, in.data(), receives);
  return in;
}

std::vector<GlobalIndex> owned_ids(const Ownership& owners, int rank) {
  const auto ids = owners.numbers(rank);
  return {ids.data, ids.data + ids.size};
}

}  // namespace

template <class V>
TileEntries<V> entries_of_dist(const DistCsr<V>& d) {
  auto rows = owned_ids(*d.row_owners, d.comm->rank());
  const auto foreign = ghost_ids(*d.comm, *d.sums, *d.row_owners);
  rows.insert(rows.end(), foreign.begin(), foreign.end());
  const auto ghosts = ghost_ids(*d.comm, *d.plan, *d.col_owners);
  return {d.all_rows(),
          d.all_cols(),
          {d.local.view(), d.halo.view()},
          {rows, rows},
          {owned_ids(*d.col_owners, d.comm->rank()), ghosts}};
}

template <class V>
TileMatrix tiles_of_dist(const DistCsr<V>& d, TileMap map, MakeTransport make) {
  const auto here = entries_of_dist(d);
  return tiles_of_part<V>(d.comm, here.parts, here.row_ids, here.col_ids, std::move(map), std::move(make));
}

template <class V>
Csr<V> whole_of(TileMatrix& tiles) {
  const auto& map = tiles.map();
  require(map.cols <= 2147483647, "the whole matrix has more than 2^31 - 1 columns: read it tile by tile");
  const auto indptr = allocate<Offset>(map.rows + 1);
  const auto indices = allocate<Index>(map.nnz());
  const auto values = allocate<V>(is_pattern<V> ? 0 : map.nnz());
  Offset n = 0;
  indptr.data[0] = 0;
  for (std::int64_t i = 0; i < map.down(); ++i) {
    std::vector<TileHere> row;
    for (std::int64_t j = 0; j < map.across(); ++j) row.push_back(tiles.async_get_on_host(i, j));
    std::vector<CsrView<V>> views;
    for (const auto& t : row) views.push_back(csr_of<V>(t.data(), t.tile()));
    for (std::int64_t r = 0; r < map.first_row(i + 1) - map.first_row(i); ++r) {
      for (std::int64_t j = 0; j < map.across(); ++j) {
        const auto& v = views[static_cast<std::size_t>(j)];
        for (auto e = v.indptr[r]; e < v.indptr[r + 1]; ++e, ++n) {
          indices.data[n] = static_cast<Index>(v.indices[e] + map.first_col(j));
          if constexpr (!is_pattern<V>) values.data[n] = v.values[e];
        }
      }
      indptr.data[map.first_row(i) + r + 1] = n;
    }
  }
  if (map.across() == 0) std::fill_n(indptr.data, map.rows + 1, Offset{0});
  return {map.rows, map.cols, indptr, indices, values};
}

void whole_of_dense(TileMatrix& tiles, std::byte* out) {
  const auto& map = tiles.map();
  const auto size = bytes_of(map.value), step = map.cols * size;
  for (std::int64_t i = 0; i < map.down(); ++i)
    for (std::int64_t j = 0; j < map.across(); ++j) {
      const auto tile = tiles.get_on_host(i, j);
      auto* to = out + map.first_row(i) * step + map.first_col(j) * size;
      for (std::int64_t r = 0; r < tile.tile().rows; ++r)
        std::memcpy(to + r * step, tile.data() + r * tile.tile().cols * size,
                    static_cast<std::size_t>(tile.tile().cols * size));
    }
}

#define X(V)                                                                                               \
  template TileMatrix tiles_of_whole(std::shared_ptr<Comm>, const Csr<V>&, TileMap, MakeTransport);        \
  template TileMatrix tiles_of_part(std::shared_ptr<Comm>, const std::vector<CsrView<V>>&,                 \
                                    const std::vector<std::vector<GlobalIndex>>&,                          \
                                    const std::vector<std::vector<GlobalIndex>>&, TileMap, MakeTransport); \
  template TileEntries<V> entries_of_dist(const DistCsr<V>&);                                              \
  template TileMatrix tiles_of_dist(const DistCsr<V>&, TileMap, MakeTransport);                            \
  template Csr<V> whole_of<V>(TileMatrix&);
X(One) X(float) X(double)
#undef X

}  // namespace penstock
