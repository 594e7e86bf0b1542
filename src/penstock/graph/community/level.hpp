#pragma once
// One level of the hierarchy: a graph whose vertices are communities of the level before.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"
#include "penstock/graph/community/moves.hpp"
#include "penstock/graph/gpu/packed_rows.hpp"

namespace penstock::community {

/// Packed lists, whose edges weigh 1.
struct PackedEdges {
  std::int64_t rows = 0;
  const Offset* indptr = nullptr;  // rows + 1, as a matrix would have them
  graph::PackedRows lists;

  Offset nnz() const { return indptr[rows]; }
};

/// What a method reads of a graph, a CsrView or PackedEdges. Entries on the diagonal are passed over; what they weigh is in
/// `degree`.
template <class G>
struct Level {
  G a;
  const double* degree = nullptr;  // of every vertex the weight of its edges, of self loops twice
};

template <class V>
double weight(const CsrView<V>& a, Offset e) {
  if constexpr (is_pattern<V>) return 1;
  else return static_cast<double>(a.values[e]);
}

/// Calls f(u, weight) for the entries of v's row.
template <class V, class F>
inline __attribute__((always_inline)) void each_entry(const CsrView<V>& a, std::int64_t v, F&& f) {
  const Index* const indices = a.indices;
  for (auto e = a.indptr[v], end = a.indptr[v + 1]; e < end; ++e) f(indices[e], weight(a, e));
}
template <class F>
inline __attribute__((always_inline)) void each_entry(const PackedEdges& a, std::int64_t v, F&& f) {
  graph::any_end(a.lists, v, [&](Index u) { return f(u, 1.0), false; });
}
/// Whether all edges weigh 1.
template <class G>
inline constexpr bool is_unweighted = std::same_as<G, PackedEdges> || std::same_as<G, CsrView<One>>;

/// Packed lists with offsets of their own, which are what the lists say.
class PackedBase {
 public:
  explicit PackedBase(const PackedLists& p)
      : lists_(graph::rows_of(p)), indptr_(allocate<Offset>(p.vertices + 1)) {
    indptr_.data[0] = 0;
    for (std::int64_t v = 0; v < p.vertices; ++v)
      indptr_.data[v + 1] = indptr_.data[v] + graph::degree_of(lists_, v);
  }
  PackedEdges edges() const { return {lists_.rows, indptr_.data, lists_}; }

 private:
  graph::PackedRows lists_;
  Array<Offset> indptr_;
};

template <class G>
Offset longest_row(const G& a) {
  Offset longest = 0;
  for (std::int64_t v = 0; v < a.rows; ++v) longest = std::max(longest, a.indptr[v + 1] - a.indptr[v]);
  return longest;
}

/// For a community in reach of a vertex: the weight of the edges to it. Two sums, which take turns: an entry then need not wait
/// until the one before it is stored, which is often of the same community.
struct Slot {
  double sums[2] = {0, 0};
  double weight() const { return sums[0] + sums[1]; }
};

/// What one thread works with. All slots and changes are zero between its uses.
struct Workspace {
  Array<Slot> slots;
  Array<double> change;  // of the total of a community since the round began
  Array<Index> touched;  // the communities in reach
  Array<double> met;     // and weights, where an algorithm keeps them
};

/// The workspaces of as many threads as may work at a time: fewer than there are where they would take more than the graph.
class Workspaces {
 public:
  Workspaces(std::int64_t vertices, Offset entries, Offset longest_row) : all_(1) {
    const auto each =
        std::max<std::int64_t>(vertices * static_cast<std::int64_t>(sizeof(Slot) + sizeof(double)), 1);
    const auto room = std::max<std::int64_t>(std::int64_t{1} << 30, entries * 24) / each;
    all_.resize(at(std::clamp<std::int64_t>(num_threads(), 1, std::max<std::int64_t>(room, 1))));
    for (auto& w : all_) {
      w.slots = allocate<Slot>(vertices);
      w.change = allocate<double>(vertices);
      w.touched = allocate<Index>(std::max<std::int64_t>(longest_row, vertices) + 1);
      w.met = allocate<double>(w.touched.size);
    }
    parallel_for(static_cast<std::int64_t>(all_.size()), [&](std::int64_t i) {
      std::ranges::fill(all_[at(i)].slots.span(), Slot{});
      std::ranges::fill(all_[at(i)].change.span(), 0.0);
    });
  }

  /// f(workspace, i) for every i in [0, n), each i on one thread; `alone`: all on this one.
  template <class F>
  void share(std::int64_t n, F&& f, bool alone = false) {
    if (n == 1 || alone) {
      for (std::int64_t i = 0; i < n; ++i) f(all_[0], i);
      return;
    }
    std::atomic<std::int64_t> next = 0;
    parallel_for(std::min(n, static_cast<std::int64_t>(all_.size())), [&](std::int64_t worker) {
      for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < n;) f(all_[at(worker)], i);
    });
  }

 private:
  std::vector<Workspace> all_;
};

/// Adds up the edges of v by the community of their other ends; returns how many communities are in `w.touched`, where one may
/// be several times.
template <class G, class Label>
inline __attribute__((always_inline)) std::int64_t gather(const G& a, Index v, Workspace& w, Label&& label) {
  double* const sums = w.slots.data->sums;
  Index* const touched = w.touched.data;
  std::int64_t count = 0;
  std::size_t turn = 0;
  each_entry(a, v, [&](Index u, double weight) {
    if (u == v) return;
    const auto c = label(u);
    auto& sum = sums[2 * at(c) + turn];
    turn ^= 1;
    touched[count] = c;
    count += !(sum > 0);
    sum += weight;
  });
  return count;
}

/// Vertices in runs of about equal work, and how many runs are looked at side by side. Depends on the graph alone.
struct Runs {
  std::vector<std::int64_t> first;  // run i is [first[i], first[i + 1])
  std::int64_t of_a_round = 1;
  std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

template <class G>
Runs cut_runs(const G& a, std::int64_t work_of_a_run = 32 << 10) {
  constexpr std::int64_t kMostRuns = 1024, kRounds = 16;
  const auto work = [&](std::int64_t v) { return a.indptr[v] - a.indptr[0] + 4 * v; };
  const auto all = work(a.rows);
  const auto runs = std::clamp<std::int64_t>(all / work_of_a_run, 1, kMostRuns);
  Runs r;
  r.of_a_round = std::max<std::int64_t>(runs / kRounds, 1);
  r.first.push_back(0);
  for (std::int64_t i = 1; i <= runs; ++i) {
    std::int64_t low = r.first.back(), high = a.rows;
    const auto until = i == runs ? all : all / runs * i;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (work(middle) < until) low = middle + 1;
      else high = middle;
    }
    r.first.push_back(i == runs ? a.rows : low);
  }
  return r;
}

/// The numbers [0, size) once each, in an order that depends on a seed: steps of about 0.6 of the size, which share no factor
/// with it. Neighbours often have near numbers, and communities found in ascending order are long strips.
class Walk {
 public:
  Walk(std::int64_t size, std::uint64_t seed) : size_(size) {
    if (size < 3) return;
    step_ = static_cast<std::int64_t>(static_cast<double>(size) * (0.55 + 0.1 * fraction(drawn(seed, 0))));
    while (std::gcd(step_, size) != 1) ++step_;
    now_ = static_cast<std::int64_t>(drawn(seed, 1) % static_cast<std::uint64_t>(size));
  }
  std::int64_t next() {
    const auto i = now_;
    now_ += step_;
    if (now_ >= size_) now_ -= size_;
    return i;
  }

 private:
  static double fraction(std::uint64_t x) { return static_cast<double>(x >> 11) * 0x1p-53; }
  std::int64_t size_, step_ = 1, now_ = 0;
};

/// The rounds in the order of a seed.
std::vector<std::int64_t> order_of(std::int64_t rounds, std::uint64_t seed);

/// Numbers labels below `labels.size()` anew in the order of their first vertices; returns how many there are.
std::int64_t renumber(std::span<Index> labels);

/// A pass over a level that gains less modularity is its last: later levels make up for it. Each level demands less than the one
/// before (threshold scaling: Lu, Halappanavar, Kalyanaraman 2015).
inline double tolerance_of(int level) {
  constexpr double kFirst = 1e-5, kTighter = 0.1, kLast = 1e-7;
  return std::max(kFirst * std::pow(kTighter, level), kLast);
}

struct MoveOptions {
  double scale = 0;      // the resolution over the weight of all edges, counted from both ends
  double tolerance = 0;  // a pass that gains less is the last one, in units of that weight
  std::uint64_t seed = 0;
};

/// Moves vertices to the neighbouring communities where modularity grows most, until it hardly grows. Returns how many moved.
template <class G>
std::int64_t move_vertices(const Level<G>& level, std::span<Index> labels, const MoveOptions& options,
                           Workspaces& spaces);

/// Splits each community into parts that are connected, and well so (Traag et al. 2019, Algorithm A.2): vertices that are alone
/// join the part of their community where modularity grows most. Labels are numbered without gaps; returns the parts'.
template <class G>
std::vector<Index> refine(const Level<G>& level, std::span<const Index> labels, std::int64_t communities,
                          double scale, std::uint64_t seed, Workspaces& spaces);

/// A level that owns its arrays.
struct Coarse {
  Csr<double> a;
  Array<double> degree;
  Level<CsrView<double>> level() const { return {a.view(), degree.data}; }
};

/// The graph of the communities; labels are numbered without gaps.
template <class G>
Coarse aggregate(const Level<G>& level, std::span<const Index> labels, std::int64_t communities,
                 Workspaces& spaces);

/// The vertices by community: those of c are [first[c], first[c + 1]) of `vertex`, ascending.
struct Members {
  std::vector<std::int64_t> first;
  std::vector<Index> vertex;
};
Members members_of(std::span<const Index> labels, std::int64_t communities);

/// The parts into which edges of positive weight connect the vertices of each community.
template <class G>
Array<Index> parts_of(const G& a, std::span<const Index> labels);

}  // namespace penstock::community

// The graphs of a Level.
#define PENSTOCK_FOR_EACH_COMMUNITY_GRAPH(X) \
  X(CsrView<One>) X(CsrView<float>) X(CsrView<double>) X(community::PackedEdges)
