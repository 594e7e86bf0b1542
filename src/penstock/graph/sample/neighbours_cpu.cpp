// One hop: threads draw edges of a few vertices at a time, and their ends are numbered together.
#include "penstock/graph/sample/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"
#include "penstock/graph/sample/draw_row.hpp"
#include "penstock/io/random.hpp"

namespace penstock::graph {
namespace {

constexpr std::int64_t kDrawnRows = 128;       // vertices that a thread claims at once
constexpr std::int64_t kAloneEdges = 1 << 13;  // up to which waking other threads takes as long as drawing
constexpr std::int64_t kRowsAhead = 16;        // rows between a prefetch and its use

/// The edges that one thread draws of some vertices.
template <class V>
class HopDraws {
 public:
  HopDraws(const Csr<V>& a, const PackedRows* lists, const HopOptions& options)
      : a_(a), lists_(lists), options_(options) {}

  /// The number of edges drawn of `vertex`, which are appended to `edges`.
  std::int64_t draw(std::int64_t vertex, std::int64_t number, std::span<const std::int64_t> times,
                    std::int64_t until, std::vector<Offset>& edges) {
    const auto first = a_.indptr.data[vertex];
    auto n = a_.indptr.data[vertex + 1] - first;
    if (lists_) require_degree(vertex, n);
    const auto before = std::ssize(edges);
    if (times.empty()) {
      draw_of(
          vertex, n, number, [first](std::int64_t i) { return first + i; }, edges);
    } else {
      allowed_.clear();
      for (auto e = first; e < first + n; ++e)
        if (times[at(e)] <= until) allowed_.push_back(e);
      n = std::ssize(allowed_);
      draw_of(
          vertex, n, number, [this](std::int64_t i) { return allowed_[at(i)]; }, edges);
    }
    return std::ssize(edges) - before;
  }

 private:
  template <class Edge>
  void draw_of(std::int64_t vertex, std::int64_t n, std::int64_t number, Edge edge,
               std::vector<Offset>& edges) {
    const auto& o = options_;
    const auto random = draws_of(o.seed, o.relation, number);
    const auto take = [&](std::int64_t i) { edges.push_back(edge(i)); };
    const auto weight = [&](std::int64_t i) { return weight_of(vertex, edge(i)); };
    if (n == 0) return;
    const auto k = drawn_of(n, o.fanout, o.replace);
    if (o.fanout < 0 && !o.weighted) row_.subset(n, n, random, take);
    else if (o.weighted && o.replace && o.fanout >= 0) row_.repeated_weighted(n, k, random, weight, take);
    else if (o.weighted) row_.subset_weighted(n, k, random, weight, take);
    else if (o.replace) row_.repeated(n, k, random, take);
    else row_.subset(n, k, random, take);
  }
  double weight_of(std::int64_t vertex, Offset e) const {
    if constexpr (is_pattern<V>) {
      return 1;
    } else {
      const auto w = static_cast<double>(a_.values.data[e]);
      require(w >= 0 && std::isfinite(w), [&] {
        return "the edge " + std::to_string(vertex) + " -> " + std::to_string(a_.indices.data[e]) +
               " has weight " + std::to_string(w) +
               ": weighted sampling needs finite weights of zero or more";
      });
      return w;
    }
  }
  /// Of lists that were not compared with the matrix.
  void require_degree(std::int64_t vertex, std::int64_t n) const {
    const auto there = degree_of(*lists_, vertex);
    require(there == n, [&] {
      return "the packed lists have " + std::to_string(there) + " edges of vertex " + std::to_string(vertex) +
             ", the matrix has " + std::to_string(n) +
             ": they are of another one, save the store again with lists=True";
    });
  }

  const Csr<V>& a_;
  const PackedRows* lists_;
  const HopOptions& options_;
  RowDraw row_;
  std::vector<Offset> allowed_;
};

/// Where the edges lead that one thread has drawn of some vertices.
template <class V>
class DrawnEnds {
 public:
  DrawnEnds(const Csr<V>& a, const PackedRows* lists) : a_(a), lists_(lists) {}

  void prefetch_vertex(std::int64_t vertex) const {
    if (lists_) prefetch_range(*lists_, static_cast<Index>(vertex));
  }
  void prefetch_edges(std::int64_t vertex) const {
    if (lists_) prefetch_list(*lists_, static_cast<Index>(vertex));
  }
  void read(std::int64_t vertex, std::span<const Offset> edges, Index* ends) {
    if (lists_) return decode(vertex, edges, ends);
    for (std::size_t i = 0; i < edges.size(); ++i) ends[i] = a_.indices.data[edges[i]];
  }

 private:
  void decode(std::int64_t vertex, std::span<const Offset> edges, Index* ends) {
    if (edges.empty()) return;
    const auto first = a_.indptr.data[vertex];
    order_.resize(edges.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (!std::ranges::is_sorted(edges)) std::ranges::sort(order_, {}, [&](auto i) { return edges[i]; });
    places_.resize(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) places_[i] = edges[order_[i]] - first;
    ends_at(*lists_, vertex, places_, [&](std::size_t i, Index u) { ends[order_[i]] = u; });
  }

  const Csr<V>& a_;
  const PackedRows* lists_;
  std::vector<std::size_t> order_;
  std::vector<Offset> places_;
};

/// How many vertices a thread claims: all of a small hop. What is drawn does not depend on it.
std::int64_t rows_at_once(std::int64_t count, const HopOptions& o, const HopTimes& times) {
  const bool drawn_alone = o.fanout >= 0 && !o.weighted && times.edges.empty();
  return drawn_alone && count * o.fanout <= kAloneEdges ? std::max<std::int64_t>(count, 1) : kDrawnRows;
}

}  // namespace

template <class V>
HopEdges sample_hop(const Csr<V>& a, const VertexTable& from, std::int64_t first, std::int64_t last,
                    VertexTable& to, const HopOptions& options, const HopTimes& times,
                    const PackedRows* lists) {
  const auto count = last - first;
  const auto each = rows_at_once(count, options, times), tasks = (count + each - 1) / each;
  std::vector<std::vector<Offset>> drawn(at(tasks));
  std::vector<std::int64_t> taken(at(count)), starts(at(tasks + 1));
  const auto vertices = from.vertices();
  const auto seeds = from.seeds();
  parallel_for(tasks, [&](std::int64_t t) {
    HopDraws<V> draws(a, lists, options);
    const auto end = std::min(last, first + (t + 1) * each);
    for (auto i = first + t * each; i < end; ++i) {
      const auto ahead = vertices[at(std::min(i + kRowsAhead, end - 1))];
      __builtin_prefetch(a.indptr.data + ahead);
      if (lists) prefetch_range(*lists, static_cast<Index>(ahead));
      const auto until = times.edges.empty() ? 0 : times.seeds[at(seeds[at(i)])];
      taken[at(i - first)] = draws.draw(vertices[at(i)], i, times.edges, until, drawn[at(t)]);
    }
    starts[at(t + 1)] = std::ssize(drawn[at(t)]);
    poll_interrupt();
  });
  for (std::int64_t t = 0; t < tasks; ++t) starts[at(t + 1)] += starts[at(t)];
  const auto total = starts.back();
  const HopEdges hop{allocate<std::int64_t>(total), allocate<std::int64_t>(total),
                     allocate<std::int64_t>(total)};
  const auto found = allocate<Index>(total);
  const auto of = allocate<std::int64_t>(to.disjoint() ? total : 0);
  parallel_for(tasks, [&](std::int64_t t) {
    DrawnEnds<V> ends(a, lists);
    auto k = starts[at(t)];
    const Offset* e = drawn[at(t)].data();
    const auto end = std::min(last, first + (t + 1) * each);
    for (auto i = first + t * each; i < end; ++i) {
      ends.prefetch_vertex(vertices[at(std::min(i + kRowsAhead, end - 1))]);
      ends.prefetch_edges(vertices[at(std::min(i + kRowsAhead / 4, end - 1))]);
      const auto count = taken[at(i - first)];
      ends.read(vertices[at(i)], {e, at(count)}, found.data + k);
      std::fill_n(hop.rows.data + k, count, i);
      std::copy_n(e, count, hop.edges.data + k);
      if (to.disjoint()) std::fill_n(of.data + k, count, seeds[at(i)]);
      k += count, e += count;
    }
  });
  to.number({found.data, at(total)}, {of.data, at(of.size)}, hop.columns.span());
  return hop;
}

#define X(V)                                                                                                \
  template HopEdges sample_hop(const Csr<V>&, const VertexTable&, std::int64_t, std::int64_t, VertexTable&, \
                               const HopOptions&, const HopTimes&, const PackedRows*);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock::graph
