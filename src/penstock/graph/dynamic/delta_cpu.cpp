// Batches are sorted by radix, least significant digits first, so that equal edges keep their order. Runs are merged in ranges
// that begin at equally spaced edges of the older one.
#include "penstock/graph/dynamic/delta.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kGrain = 64 << 10;
constexpr int kDigit = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigit;

struct Placed {
  EdgeKey key;
  std::int64_t from;  // the place in the batch
};

/// Sorts by key, stably, with as much memory again. Bits that all keys share are left out.
void sort_by_key(Array<Placed>& a) {
  const auto n = a.size;
  if (n < 2) return;
  EdgeKey varies = 0;
  for (std::int64_t i = 1; i < n; ++i) varies |= a.data[i].key ^ a.data[0].key;
  if (varies == 0) return;
  const auto chunks = std::clamp<std::int64_t>(n / kGrain, 1, num_threads());
  const auto cut = [&](std::int64_t c) { return n / chunks * c + std::min(c, n % chunks); };
  auto b = allocate<Placed>(n);
  std::vector<std::array<std::int64_t, kDigits>> counts(at(chunks));
  for (int shift = std::countr_zero(varies); shift < 64; shift += kDigit) {
    const auto digit = [shift](EdgeKey k) { return (k >> shift) & (kDigits - 1); };
    if (digit(varies) == 0) continue;
    parallel_for(chunks, [&](std::int64_t c) {
      auto& count = counts[at(c)];
      count.fill(0);
      for (auto i = cut(c); i < cut(c + 1); ++i) ++count[digit(a.data[i].key)];
    });
    std::int64_t before = 0;
    for (std::size_t d = 0; d < kDigits; ++d)
      for (auto& count : counts) before += std::exchange(count[d], before);
    parallel_for(chunks, [&](std::int64_t c) {
      auto& next = counts[at(c)];
      for (auto i = cut(c); i < cut(c + 1); ++i) b.data[next[digit(a.data[i].key)]++] = a.data[i];
    });
    std::swap(a, b);
    poll_interrupt();
  }
}

/// The last of each edge's entries, in order; value(from) is the value of the batch's entry.
template <class V, class Value>
Delta<V> last_of_each(const Array<Placed>& sorted, Value&& value) {
  const auto keys = allocate<EdgeKey>(sorted.size);
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(sorted.size);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < sorted.size; ++i) {
    const auto& e = sorted.data[i];
    if (i + 1 < sorted.size && edge_of(sorted.data[i + 1].key) == edge_of(e.key)) continue;
    keys.data[count] = e.key;
    if constexpr (!is_pattern<V>) values.data[count] = value(e.from);
    ++count;
  }
  Delta<V> out{keys.slice(0, count), {}};
  if constexpr (!is_pattern<V>) out.values = values.slice(0, count);
  return out;
}

template <class V>
void require_inside(const CooView<V>& edges, std::int64_t vertices, bool added) {
  for (std::int64_t i = 0; i < edges.entries; ++i)
    for (const auto& [name, end] : {std::pair("rows", edges.row[i]), std::pair("cols", edges.col[i])})
      require(0 <= end && end < vertices, [&] {
        return std::string(name) + "[" + std::to_string(i) + "]=" + std::to_string(end) +
               " is outside a graph of " + std::to_string(vertices) + " vertices" +
               (end < 0 ? ": they are numbered from 0"
                : added ? ": add_vertices makes it larger"
                        : "");
      });
}

/// Merges the entries [i, i_end) of `a` and [j, j_end) of `b` into `keys` and `values` from `to` on; returns their number.
template <class V>
std::int64_t merge_range(const Delta<V>& a, std::int64_t i, std::int64_t i_end, const Delta<V>& b,
                         std::int64_t j, std::int64_t j_end, EdgeKey* keys, V* values) {
  std::int64_t to = 0;
  const auto take = [&](const Delta<V>& d, std::int64_t from) {
    keys[to] = d.keys.data[from];
    if constexpr (!is_pattern<V>) values[to] = d.values.data[from];
    ++to;
  };
  while (i < i_end && j < j_end) {
    const auto x = edge_of(a.keys.data[i]), y = edge_of(b.keys.data[j]);
    if (x < y) take(a, i++);
    else take(b, j++), i += x == y;
  }
  for (; i < i_end; ++i) take(a, i);
  for (; j < j_end; ++j) take(b, j);
  return to;
}

std::int64_t first_from(std::span<const EdgeKey> keys, EdgeKey edge) {
  return std::ranges::lower_bound(keys, edge, {}, edge_of) - keys.begin();
}

template <class V>
bool has_edge(const Csr<V>& base, const std::vector<Delta<V>>& deltas, EdgeKey key) {
  for (const auto& d : deltas) {
    const auto i = first_from(d.keys.span(), edge_of(key));
    if (i < d.size() && edge_of(d.keys.data[i]) == edge_of(key)) return !is_removed(d.keys.data[i]);
  }
  const auto row = row_of(key);
  if (row >= base.rows) return false;
  return std::binary_search(base.indices.data + base.indptr.data[row],
                            base.indices.data + base.indptr.data[row + 1], column_of(key));
}

}  // namespace

template <class V>
Delta<V> make_delta(const CooView<V>& edges, const DeltaOptions& options) {
  require_inside(edges, options.vertices, !options.remove);
  const std::int64_t copies = options.mirror ? 2 : 1;
  auto sorted = allocate<Placed>(edges.entries * copies);
  for (std::int64_t i = 0; i < edges.entries; ++i) {
    const auto u = std::uint64_t(edges.row[i]), v = std::uint64_t(edges.col[i]);
    sorted.data[i * copies] = {edge_key(u, v, options.remove), i};
    if (options.mirror) sorted.data[i * copies + 1] = {edge_key(v, u, options.remove), i};
  }
  sort_by_key(sorted);
  return last_of_each<V>(sorted, [&](std::int64_t i) { return edges.values ? edges.values[i] : V(); });
}

template <class V>
Delta<V> merge(const Delta<V>& older, const Delta<V>& newer) {
  if (newer.size() == 0) return older;
  if (older.size() == 0) return newer;
  const auto size = older.size() + newer.size();
  const auto keys = allocate<EdgeKey>(size);
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(size);
  const auto value_at = [&](std::int64_t i) {
    if constexpr (is_pattern<V>) return static_cast<V*>(nullptr);
    else return values.data + i;
  };
  const auto parts = std::clamp<std::int64_t>(size / kGrain, 1, 4 * std::int64_t(num_threads()));
  std::vector<std::int64_t> i(at(parts) + 1), j(at(parts) + 1), count(at(parts));
  for (std::int64_t p = 1; p < parts; ++p) {
    i[at(p)] = older.size() / parts * p;
    j[at(p)] = first_from(newer.keys.span(), edge_of(older.keys.data[i[at(p)]]));
  }
  i.back() = older.size(), j.back() = newer.size();
  parallel_for(parts, [&](std::int64_t p) {
    const auto to = i[at(p)] + j[at(p)];
    count[at(p)] = merge_range(older, i[at(p)], i[at(p) + 1], newer, j[at(p)], j[at(p) + 1], keys.data + to,
                               value_at(to));
  });
  auto end = count[0];
  for (std::int64_t p = 1; p < parts; ++p) {  // closes the gaps that edges of both leave
    const auto from = i[at(p)] + j[at(p)];
    if (from != end) {
      std::copy_n(keys.data + from, count[at(p)], keys.data + end);
      if constexpr (!is_pattern<V>) std::copy_n(values.data + from, count[at(p)], values.data + end);
    }
    end += count[at(p)];
  }
  Delta<V> out{keys.slice(0, end), {}};
  if constexpr (!is_pattern<V>) out.values = values.slice(0, end);
  return out;
}

template <class V>
Delta<V> filter(const Delta<V>& d, std::span<const std::uint8_t> keep) {
  require(std::ssize(keep) == d.size(), "keep has another length than the changes");
  const auto size = std::int64_t(std::ranges::count_if(keep, [](auto k) { return k != 0; }));
  const auto keys = allocate<EdgeKey>(size);
  Array<V> values;
  if constexpr (!is_pattern<V>) values = allocate<V>(size);
  for (std::int64_t i = 0, to = 0; i < d.size(); ++i) {
    if (!keep[at(i)]) continue;
    keys.data[to] = d.keys.data[i];
    if constexpr (!is_pattern<V>) values.data[to] = d.values.data[i];
    ++to;
  }
  return {keys, values};
}

template <class V>
Delta<V> transpose(const Delta<V>& d) {
  auto sorted = allocate<Placed>(d.size());
  for (std::int64_t i = 0; i < d.size(); ++i) {
    const auto k = d.keys.data[i];
    sorted.data[i] = {edge_key(std::uint64_t(column_of(k)), std::uint64_t(row_of(k)), is_removed(k)), i};
  }
  sort_by_key(sorted);
  return last_of_each<V>(sorted, [&](std::int64_t i) { return d.values.data[i]; });
}

template <class V>
Array<std::uint8_t> has_edges(const Csr<V>& base, const std::vector<Delta<V>>& deltas,
                              std::span<const EdgeKey> keys) {
  const auto found = allocate<std::uint8_t>(std::ssize(keys));
  parallel_ranges(found.size, 4096, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) found.data[i] = has_edge(base, deltas, keys[at(i)]);
    poll_interrupt();
  });
  return found;
}

void check_keys(std::span<const EdgeKey> keys, std::int64_t vertices) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    require(row_of(keys[i]) >= 0 && row_of(keys[i]) < vertices && column_of(keys[i]) < vertices,
            [&] { return "change " + std::to_string(i) + " has an end outside the vertices"; });
    require(i == 0 || edge_of(keys[i - 1]) < edge_of(keys[i]),
            [&] { return "change " + std::to_string(i) + " is out of order"; });
  }
}

#define X(V)                                                                          \
  template Delta<V> make_delta(const CooView<V>&, const DeltaOptions&);               \
  template Delta<V> merge(const Delta<V>&, const Delta<V>&);                          \
  template Delta<V> filter(const Delta<V>&, std::span<const std::uint8_t>);           \
  template Delta<V> transpose(const Delta<V>&);                                       \
  template Array<std::uint8_t> has_edges(const Csr<V>&, const std::vector<Delta<V>>&, \
                                         std::span<const EdgeKey>);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
