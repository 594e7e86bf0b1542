// Numbers the edges of a graph, and counts the triangles of each. Edges lead from lower to higher degree. Each triangle is found at its
// vertex of lowest degree: the ends of that vertex's edges are marked, and the lists of those ends are looked up (Chiba, Nishizeki
// 1985; Latapy 2008, section 3).
#include <algorithm>
#include <atomic>
#include <vector>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/truss/truss.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock::graph {
namespace {

constexpr std::int64_t kRowsAtOnce = 1 << 12;
constexpr std::int64_t kClaimed = 64;  // vertices that a thread claims at once

Offset degree(const CsrView<One>& a, std::int64_t v) { return a.indptr[v + 1] - a.indptr[v]; }

/// The edges of each vertex that lead to higher degree, or to the same degree and a larger number.
struct Upwards {
  Array<Offset> first;  // one more than vertices
  Array<Index> end;
  Array<Offset> edge;
};

Upwards upwards(const CsrView<One>& a, const NumberedEdges& edges) {
  const Index* ends = a.indices - a.first_nnz;
  const auto up = [&](std::int64_t u, Index v) {
    const auto du = degree(a, u), dv = degree(a, v);
    return du != dv ? du < dv : u < v;
  };
  Upwards out{allocate<Offset>(a.rows + 1), allocate<Index>(edges.size()), allocate<Offset>(edges.size())};
  parallel_ranges(a.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u)
      out.first.data[u + 1] =
          std::count_if(ends + a.indptr[u], ends + a.indptr[u + 1], [&](Index v) { return up(u, v); });
  });
  lengths_to_offsets(out.first);
  parallel_ranges(a.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      auto to = out.first.data[u];
      for (auto k = a.indptr[u]; k < a.indptr[u + 1]; ++k) {
        if (!up(u, ends[k])) continue;
        out.end.data[to] = ends[k];
        out.edge.data[to++] = edges.of_entry.data[k - a.first_nnz];
      }
    }
  });
  return out;
}

}  // namespace

NumberedEdges number_edges(const CsrView<One>& a) {
  const Index* ends = a.indices - a.first_nnz;
  const auto upper = [&](std::int64_t v) {
    return std::upper_bound(ends + a.indptr[v], ends + a.indptr[v + 1], static_cast<Index>(v)) - ends;
  };
  const auto first_edge = allocate<Offset>(a.rows + 1);
  parallel_ranges(a.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto v = first; v < last; ++v) first_edge.data[v + 1] = a.indptr[v + 1] - upper(v);
  });
  const auto count = lengths_to_offsets(first_edge);
  NumberedEdges out{allocate<Offset>(2 * count), allocate<Index>(count), allocate<Index>(count)};
  Offset* const of_entry = out.of_entry.data - a.first_nnz;
  parallel_ranges(a.rows, kRowsAtOnce, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      auto e = first_edge.data[u];
      for (auto k = upper(u); k < a.indptr[u + 1]; ++k, ++e) {
        const auto v = ends[k];
        const auto mirror =
            std::lower_bound(ends + a.indptr[v], ends + a.indptr[v + 1], static_cast<Index>(u));
        of_entry[k] = of_entry[mirror - ends] = e;
        out.from.data[e] = static_cast<Index>(u), out.to.data[e] = v;
      }
      poll_interrupt();
    }
  });
  return out;
}

Array<Index> triangles_of_edges(const CsrView<One>& a, const NumberedEdges& edges) {
  const auto up = upwards(a, edges);
  const auto out = allocate<Index>(edges.size());
  std::fill_n(out.data, out.size, 0);
  const auto add = [&](Offset e, Index n) {
    std::atomic_ref(out.data[e]).fetch_add(n, std::memory_order_relaxed);
  };
  std::atomic<std::int64_t> claimed = 0;
  parallel_for(std::min<std::int64_t>(num_threads(), (a.rows + kClaimed - 1) / kClaimed), [&](std::int64_t) {
    std::vector<Offset> mark(at(a.rows), -1);  // the edge that leads there from u
    for (std::int64_t from; (from = claimed.fetch_add(kClaimed, std::memory_order_relaxed)) < a.rows;) {
      for (auto u = from; u < std::min(from + kClaimed, a.rows); ++u) {
        const auto first = up.first.data[u], last = up.first.data[u + 1];
        if (last - first < 2) continue;
        for (auto k = first; k < last; ++k) mark[at(up.end.data[k])] = up.edge.data[k];
        for (auto k = first; k < last; ++k) {
          const auto v = up.end.data[k];
          Index found = 0;
          for (auto i = up.first.data[v]; i < up.first.data[v + 1]; ++i) {
            const auto third = mark[at(up.end.data[i])];
            if (third < 0) continue;
            add(third, 1), add(up.edge.data[i], 1);
            ++found;
          }
          if (found) add(up.edge.data[k], found);
        }
        for (auto k = first; k < last; ++k) mark[at(up.end.data[k])] = -1;
        poll_interrupt();
      }
    }
  });
  return out;
}

}  // namespace penstock::graph
