// Strength of connection, and aggregation by a maximal independent set of distance 2 (Bell, Dalton and Olson 2012; Kelley and
// Rajamanickam 2022). All passes read what an earlier pass has written, so threads need no atomics.
#include "penstock/solver/multigrid/aggregate.hpp"

#include <cmath>
#include <vector>

#include "penstock/solver/multigrid/rows_in_ranges.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kAggregateRows = 8192;  // rows of a task

/// The vertices of the list that still satisfy `keep`, in the same order.
template <class F>
void shorten(std::vector<Index>& list, F&& keep) {
  const auto n = std::ssize(list), ranges = (n + kAggregateRows - 1) / kAggregateRows;
  std::vector<std::vector<Index>> parts(at(ranges));
  parallel_for(ranges, [&](std::int64_t i) {
    for (auto k = i * kAggregateRows; k < std::min(n, (i + 1) * kAggregateRows); ++k)
      if (keep(list[at(k)])) parts[at(i)].push_back(list[at(k)]);
  });
  list.clear();
  for (const auto& part : parts) list.insert(list.end(), part.begin(), part.end());
}

}  // namespace

template <class T>
Csr<T> condensed(const Csr<T>& a, std::int64_t block) {
  return rows_in_ranges<T>(
      a.rows / block, a.cols / block, [&](std::int64_t r) { return a.indptr.data[r * block] + r; },
      [&](std::int64_t v, RowPiece<T>& piece) {
        std::vector<std::pair<Index, double>> entries;
        for (auto k = a.indptr.data[v * block]; k < a.indptr.data[(v + 1) * block]; ++k) {
          const auto value = static_cast<double>(a.values.data[k]);
          entries.emplace_back(static_cast<Index>(a.indices.data[k] / block), value * value);
        }
        std::stable_sort(entries.begin(), entries.end(),
                         [](const auto& x, const auto& y) { return x.first < y.first; });
        for (std::size_t k = 0, end = 0; k < entries.size(); k = end) {
          double sum = 0;
          for (; end < entries.size() && entries[end].first == entries[k].first; ++end)
            sum += entries[end].second;
          piece.indices.push_back(entries[k].first);
          piece.values.push_back(static_cast<T>(std::sqrt(sum)));
        }
      });
}

template <class T>
Strength<T> strength_of(const Csr<T>& a, Array<const T> inverse, double strength) {
  const auto largest = allocate<float>(std::max<std::int64_t>(a.rows, 1));
  Strength<T> strong{strength * strength, std::move(inverse), largest};
  for_row_ranges(a, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) {
      double most = 0;
      for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k) {
        const auto j = a.indices.data[k];
        if (j != i) most = std::max(most, strong.square(i, j, a.values.data[k]));
      }
      largest.data[i] = static_cast<float>(most);
    }
  });
  return strong;
}

template <class T>
Csr<One> strong_graph(const Csr<T>& a, const Strength<T>& strong) {
  return rows_in_ranges<One>(
      a.rows, a.cols, [&](std::int64_t r) { return a.indptr.data[r] + r; },
      [&](std::int64_t i, RowPiece<One>& piece) {
        for (auto k = a.indptr.data[i]; k < a.indptr.data[i + 1]; ++k) {
          const auto j = a.indices.data[k];
          if (j != i && strong(i, j, a.values.data[k])) piece.indices.push_back(j);
        }
      });
}

Array<const std::uint8_t> distance_2_independent_set(const Csr<One>& graph, std::uint64_t seed,
                                                     const RankRows& rows) {
  const auto n = graph.rows;
  const auto* ptr = graph.indptr.data;
  const auto* to = graph.indices.data;
  const auto own = allocate<std::uint64_t>(std::max<std::int64_t>(graph.cols, 1));
  const auto best =
      allocate<std::uint64_t>(std::max<std::int64_t>(graph.cols, 1));  // of the closed neighbourhood
  std::vector<Index> open(at(n));
  for (std::int64_t i = 0; i < n; ++i) open[at(i)] = static_cast<Index>(i);
  parallel_ranges(n, kAggregateRows, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) own.data[i] = best.data[i] = kOutside;
  });
  shorten(open, [&](Index i) { return ptr[i + 1] > ptr[i]; });
  auto near = open;  // vertices whose `best` may still change
  const auto over = [](const std::vector<Index>& list, auto&& f) {
    parallel_ranges(std::ssize(list), kAggregateRows, [&](std::int64_t first, std::int64_t last) {
      for (auto k = first; k < last; ++k) f(list[at(k)]);
    });
  };
  for (std::uint64_t round = 0; rows.any(!open.empty()); ++round) {
    poll_interrupt();
    const auto key = round_key(seed, round);
    over(open, [&](Index i) { own.data[i] = priority_of(key, static_cast<std::uint64_t>(rows.number(i))); });
    rows.fill(own, n);
    over(near, [&](Index i) {
      auto most = own.data[i];
      for (auto k = ptr[i]; k < ptr[i + 1]; ++k) most = std::max(most, own.data[to[k]]);
      best.data[i] = most;
    });
    rows.fill(best, n);
    over(open, [&](Index i) {
      auto most = best.data[i];
      for (auto k = ptr[i]; k < ptr[i + 1]; ++k) most = std::max(most, best.data[to[k]]);
      if (most == kInside) own.data[i] = kOutside;
      else if (most == own.data[i]) own.data[i] = kInside;
    });
    shorten(open, [&](Index i) { return own.data[i] != kOutside && own.data[i] != kInside; });
    shorten(near, [&](Index i) { return best.data[i] != kInside; });
  }
  const auto chosen = allocate<std::uint8_t>(std::max<std::int64_t>(n, 1));
  parallel_ranges(n, kAggregateRows, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) chosen.data[i] = own.data[i] == kInside;
  });
  return chosen.slice(0, n);
}

Aggregates aggregate(const Csr<One>& graph, std::uint64_t seed, const RankRows& rows) {
  const auto n = graph.rows;
  const auto* ptr = graph.indptr.data;
  const auto* to = graph.indices.data;
  const auto roots = distance_2_independent_set(graph, seed, rows);
  const auto first_ring = allocate<Index>(std::max<std::int64_t>(graph.cols, 1));
  const auto all = allocate<Index>(std::max<std::int64_t>(graph.cols, 1));  // of roots, then of all
  const auto starts = rows.starts(std::count(roots.data, roots.data + n, 1));
  auto count = static_cast<Index>(starts[at(rows.comm ? rows.comm->rank() : 0)]);
  for (std::int64_t i = 0; i < n; ++i) all.data[i] = roots.data[i] ? count++ : -1;
  rows.fill(all, n);
  parallel_ranges(n, kAggregateRows, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) {
      auto a = all.data[i];
      for (auto k = ptr[i]; a < 0 && k < ptr[i + 1]; ++k) a = std::max(a, all.data[to[k]]);
      first_ring.data[i] = a;
    }
  });
  rows.fill(first_ring, n);
  parallel_ranges(n, kAggregateRows, [&](std::int64_t first, std::int64_t last) {
    std::vector<Index> seen;
    for (auto i = first; i < last; ++i) {
      all.data[i] = first_ring.data[i];
      if (first_ring.data[i] >= 0) continue;
      // The aggregate that most neighbours are in; of several the one with the smallest number.
      seen.clear();
      for (auto k = ptr[i]; k < ptr[i + 1]; ++k)
        if (first_ring.data[to[k]] >= 0) seen.push_back(first_ring.data[to[k]]);
      std::sort(seen.begin(), seen.end());
      std::size_t most = 0;
      for (std::size_t k = 0, end = 0; k < seen.size(); k = end) {
        while (end < seen.size() && seen[end] == seen[k]) ++end;
        if (end - k > most) most = end - k, all.data[i] = seen[k];
      }
    }
  });
  return {starts.back(), all.slice(0, n), starts};
}

template Csr<float> condensed(const Csr<float>&, std::int64_t);
template Csr<double> condensed(const Csr<double>&, std::int64_t);
template Strength<float> strength_of(const Csr<float>&, Array<const float>, double);
template Strength<double> strength_of(const Csr<double>&, Array<const double>, double);
template Csr<One> strong_graph(const Csr<float>&, const Strength<float>&);
template Csr<One> strong_graph(const Csr<double>&, const Strength<double>&);

}  // namespace penstock
