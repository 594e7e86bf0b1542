// Triangles by orientation (Chiba, Nishizeki 1985; ordered by degree as in Latapy 2008): every edge points to its end of
// higher degree, so no list of ends is longer than sqrt(2 m), and each triangle is found once, at its vertex of least
// degree. The ends of that vertex are marked in a bitmap, and the lists of those ends are looked up in it. Vertices are
// renumbered from the hubs down: the bits that are asked for most lie together. Where degrees are alike (a sample
// decides, as in Beamer, Asanovic, Patterson 2015) the given numbers serve.
#include "penstock/graph/triangles.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace graph {
namespace {

constexpr std::int64_t kBlock = 4 << 10;
constexpr std::int64_t kFew = 10;    // edges a vertex, below which rows are merged as they lie
constexpr std::int64_t kChunk = 64;  // vertices that a thread claims at once

std::int64_t marked(const std::uint32_t* bits, const Index* list, std::int64_t count) {
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto w = static_cast<std::uint32_t>(list[k]);
    n += bits[w >> 5] >> (w & 31) & 1;
  }
  return n;
}

Marked best_marked() {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx512) return avx512::marked;
  return marked;
}

/// Whether a few vertices have most edges: the mean degree of sampled vertices is far above their median.
bool skewed(const CsrView<One>& a) {
  constexpr std::int64_t kSamples = 1000;
  if (a.nnz() < kFew * a.rows) return false;
  std::vector<Offset> degrees;
  for (std::int64_t i = 0; i < std::min(kSamples, a.rows); ++i) {
    const auto v = static_cast<std::int64_t>(static_cast<double>(i) / kSamples * static_cast<double>(a.rows));
    if (const auto d = a.indptr[v + 1] - a.indptr[v]) degrees.push_back(d);
  }
  if (degrees.empty()) return false;
  std::sort(degrees.begin(), degrees.end());
  const auto sum = std::accumulate(degrees.begin(), degrees.end(), Offset(0));
  return static_cast<double>(sum) / static_cast<double>(degrees.size()) >
         1.3 * static_cast<double>(degrees[degrees.size() / 2]);
}

/// The edges that point to smaller numbers; numbers given from the highest degree down where `by_degree`.
struct Oriented {
  std::vector<Index> vertex;  // by number; empty where numbers are the vertices
  std::vector<Index> number;
  Array<Offset> indptr;
  Array<Index> ends;
};

void number_by_degree(const CsrView<One>& a, Oriented& o) {
  const auto n = static_cast<std::size_t>(a.rows);
  Offset most = 0;
  for (std::int64_t v = 0; v < a.rows; ++v) most = std::max(most, a.indptr[v + 1] - a.indptr[v]);
  std::vector<Index> start(static_cast<std::size_t>(most) + 2);
  const auto key = [&](std::int64_t v) {
    return static_cast<std::size_t>(most - (a.indptr[v + 1] - a.indptr[v]));
  };
  for (std::int64_t v = 0; v < a.rows; ++v) ++start[key(v) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  o.vertex.resize(n), o.number.resize(n);
  for (std::int64_t v = 0; v < a.rows; ++v) {
    const auto number = start[key(v)]++;
    o.number[static_cast<std::size_t>(v)] = number;
    o.vertex[static_cast<std::size_t>(number)] = static_cast<Index>(v);
  }
}

/// Calls f(w) once for each neighbour of v but v itself. A row that ascends needs no memory of what came.
template <class F>
void for_each_neighbour(const CsrView<One>& a, std::int64_t v, std::vector<Index>& scratch, F&& f) {
  const Index *first = a.indices + (a.indptr[v] - a.first_nnz),
              *last = a.indices + (a.indptr[v + 1] - a.first_nnz);
  if (!std::is_sorted(first, last)) {
    scratch.assign(first, last);
    std::sort(scratch.begin(), scratch.end());
    first = scratch.data(), last = first + scratch.size();
  }
  for (const Index* w = first; w < last; ++w)
    if (*w != v && (w == first || w[-1] != *w)) f(*w);
}

Oriented orient(const CsrView<One>& a) {
  Oriented o;
  const bool by_degree = skewed(a);
  if (by_degree) number_by_degree(a, o);
  o.indptr = allocate<Offset>(a.rows + 1);
  const auto vertex = [&](std::int64_t u) { return by_degree ? o.vertex[static_cast<std::size_t>(u)] : u; };
  const auto number = [&](Index v) { return by_degree ? o.number[static_cast<std::size_t>(v)] : v; };
  const auto walk = [&](auto&& f) {
    parallel_ranges(a.rows, kBlock / 4, [&](std::int64_t first, std::int64_t last) {
      std::vector<Index> scratch;
      for (auto u = first; u < last; ++u)
        for_each_neighbour(a, vertex(u), scratch, [&](Index w) {
          if (const auto to = number(w); to < u) f(u, to);
        });
    });
  };
  o.indptr.data[0] = 0;
  std::fill(o.indptr.data, o.indptr.data + a.rows + 1, 0);
  walk([&](std::int64_t u, Index) { ++o.indptr.data[u + 1]; });
  for (std::int64_t u = 0; u < a.rows; ++u) o.indptr.data[u + 1] += o.indptr.data[u];
  o.ends = allocate<Index>(o.indptr.data[a.rows]);
  std::vector<std::uint32_t> filled(static_cast<std::size_t>(a.rows));
  walk([&](std::int64_t u, Index to) {
    o.ends.data[o.indptr.data[u] + filled[static_cast<std::size_t>(u)]++] = to;
  });
  return o;
}

/// The total of a graph of few edges a vertex: rows are merged as they lie, which costs less than any preparation. -1
/// where a row does not ascend.
std::int64_t count_as_it_lies(const CsrView<One>& a) {
  std::atomic<std::int64_t> total = 0;
  std::atomic<bool> ascends = true;
  const auto row = [&](std::int64_t v) { return a.indices + (a.indptr[v] - a.first_nnz); };
  parallel_ranges(a.rows, kBlock, [&](std::int64_t first, std::int64_t last) {
    std::int64_t sum = 0;
    bool good = true;
    for (auto u = first; u < last; ++u) {
      const Index *begin = row(u), *end = row(u + 1);
      for (const Index* v = begin; v < end; ++v) {
        good &= v == begin || v[-1] < *v;
        if (*v >= u || !good) continue;
        const Index *x = begin, *y = row(*v), *y_end = row(*v + 1);
        while (x < v && y < y_end) {
          sum += *x == *y;
          const bool left = *x <= *y, right = *y <= *x;
          x += left, y += right;
        }
      }
    }
    total += sum;
    if (!good) ascends = false;
    poll_interrupt();
  });
  return ascends ? total.load() : -1;
}

void add(std::int64_t& cell, std::int64_t n) {
  std::atomic_ref<std::int64_t>(cell).fetch_add(n, std::memory_order_relaxed);
}

}  // namespace
}  // namespace graph

Triangles count_triangles(const CsrView<One>& a, bool of_vertex) {
  require(a.rows == a.cols, "triangles need a square matrix");
  if (!of_vertex && a.nnz() < graph::kFew * a.rows)
    if (const auto total = graph::count_as_it_lies(a); total >= 0) return {.total = total, .of_vertex = {}};
  const auto o = graph::orient(a);
  const auto* const start = o.indptr.data;
  const auto* const ends = o.ends.data;
  Triangles result;
  if (of_vertex) {
    result.of_vertex = allocate<std::int64_t>(a.rows);
    std::fill(result.of_vertex.data, result.of_vertex.data + a.rows, 0);
  }
  static const auto marked = graph::best_marked();
  std::atomic<std::int64_t> total = 0, claimed = 0;
  const auto vertex = [&](Index u) -> std::int64_t& {
    return result.of_vertex.data[o.vertex.empty() ? u : o.vertex[static_cast<std::size_t>(u)]];
  };
  parallel_for(num_threads(), [&](std::int64_t) {
    std::vector<std::uint32_t> bits(static_cast<std::size_t>(a.rows / 32 + 1));
    std::int64_t sum = 0;
    for (;;) {
      const auto begin = claimed.fetch_add(graph::kChunk, std::memory_order_relaxed);
      if (begin >= a.rows) break;
      for (auto u = begin; u < std::min(a.rows, begin + graph::kChunk); ++u) {
        const auto first = start[u], last = start[u + 1];
        if (last - first < 2) continue;
        const auto mark = [&](auto&& f) {
          for (auto k = first; k < last; ++k)
            f(bits[static_cast<std::size_t>(ends[k] >> 5)], 1U << (ends[k] & 31));
        };
        mark([](std::uint32_t& word, std::uint32_t bit) { word |= bit; });
        std::int64_t own = 0;
        for (auto k = first; k < last; ++k) {
          const auto v = ends[k];
          const auto* const list = ends + start[v];
          const auto n = start[v + 1] - start[v];
          if (k + 4 < last) __builtin_prefetch(ends + start[ends[k + 4]]);
          const auto found = marked(bits.data(), list, n);
          own += found;
          if (!of_vertex || !found) continue;
          graph::add(vertex(v), found);
          for (std::int64_t i = 0; i < n; ++i)
            if (bits[static_cast<std::size_t>(list[i] >> 5)] >> (list[i] & 31) & 1)
              graph::add(vertex(list[i]), 1);
        }
        mark([](std::uint32_t& word, std::uint32_t) { word = 0; });
        if (of_vertex && own) graph::add(vertex(static_cast<Index>(u)), own);
        sum += own;
        poll_interrupt();
      }
    }
    total += sum;
  });
  result.total = total;
  return result;
}

}  // namespace penstock
