#pragma once
#include <algorithm>
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/graph/sample/draws.hpp"
#include "penstock/io/random.hpp"

// One walker, and the rules by which it moves. They are constexpr: the CPU moves many walkers together (walk_group.hpp), a
// thread of a GPU one alone (walk_steps.hpp), and both draw the same numbers.
namespace penstock::graph {

constexpr Index kNowhere = -1;

struct Walker {
  Random random{0, 0};
  std::uint64_t draws = 0;
  Index at = 0, before = kNowhere, start = 0;
  int tries = 0;
  std::int64_t step = 0;
  Index* out = nullptr;
  Offset first = 0, edge = 0;
  std::int64_t degree = 0;

  constexpr std::uint64_t draw() { return random(draws++); }
  constexpr double draw_unit() { return unit<double>(draw()); }
};

/// Where a row that ascends has a column, or -1. Every step halves what is left, without a branch. (nvcc 13.0 compiles
/// std::lower_bound into other code for a GPU: its std::advance goes nowhere.)
constexpr std::int64_t place_of_column(const Index* row, std::int64_t n, Index column) {
  if (n == 0) return -1;
  const auto* at = row;
  for (; n > 1; n -= n / 2) at += at[n / 2 - 1] < column ? n / 2 : 0;
  return *at == column ? at - row : -1;
}
constexpr bool has_column(const Index* row, std::int64_t n, Index column) {
  return place_of_column(row, n, column) >= 0;
}

/// node2vec's preferences, and what a rejection needs to know of them.
struct Bias {
  double back, away;   // 1/p and 1/q
  double most, least;  // of the edges that do not lead back
  double near_back;    // what the edge back has up to `most`
  double extra;        // and what it has beyond

  constexpr Bias(double p, double q)
      : back(1 / p),
        away(1 / q),
        most(std::max(1.0, away)),
        least(std::min(1.0, away)),
        near_back(std::min(back, most)),
        extra(std::max(0.0, back - most)) {}
};

/// A row that is searched for a column.
struct SearchedRow {
  const Index* row;
  std::int64_t size;
  Index column;
};

/// What comes of a try to move.
enum class Try : std::uint8_t {
  end,      // there is no edge to take
  restart,  // to the start
  back,     // to the vertex before
  drawn,    // w.edge is to be looked at
  taken,    // w.edge is taken
  tested,   // ... if is_taken() says so of whether its end and the vertex before are neighbours
  row,      // an edge is to be drawn by the sums of the row
  failed,   // try again
};

/// Steps are drawn by rejection, as in KnightKing (Yang et al., SOSP 2019): an edge of the row is drawn uniformly, and a dart
/// below the largest possible preference says whether it is taken. What an edge back has beyond the others' largest is a
/// stripe of its own, so that a small p does not make others be rejected. Darts below the least preference need no look
/// whether the last vertex and the next are neighbours.
template <class V, bool kWeighted, bool kBiased>
struct WalkRules {
  static constexpr int kTries = 48;              // rejections after which the whole row is looked at
  static constexpr std::int64_t kShortRow = 12;  // of which weights are looked at one by one
  static constexpr std::uint64_t kWalkStream = std::uint64_t{1} << 62;

  const Offset* indptr;
  const Index* indices;
  const V* values;
  const double* largest;  // of each row
  Bias bias;
  std::uint64_t restarts, seed;
  bool symmetric;
  std::int64_t length;

  constexpr Walker enter(std::int64_t i, Index start, Index* out) const {
    Walker w{.random = Random(seed, static_cast<std::uint64_t>(i) + kWalkStream),
             .at = start,
             .start = start,
             .out = out + i * (length + 1)};
    *w.out = start;
    return w;
  }
  constexpr void arrive(Walker& w, Index to) const {
    w.out[++w.step] = to;
    w.before = w.at;
    w.at = to;
    w.tries = 0;
  }
  constexpr void restart(Walker& w) const {
    arrive(w, w.start);
    w.before = kNowhere;
  }
  constexpr void end(Walker& w) const {
    while (w.step < length) w.out[++w.step] = kNowhere;
  }

  /// Draws an edge, or says what else happens.
  constexpr Try propose(Walker& w) const {
    if (w.tries == 0) {
      w.first = indptr[w.at];
      w.degree = indptr[w.at + 1] - w.first;
      if (w.degree == 0) return Try::end;
      if constexpr (kWeighted)
        if (!(largest[w.at] > 0)) return Try::end;
      if (restarts != 0 && w.draw() < restarts) return Try::restart;
      if constexpr (kWeighted && !kBiased)
        if (w.degree <= kShortRow) return Try::row;
    }
    if (w.tries++ == kTries) return Try::row;
    if constexpr (kBiased) {
      if (bias.extra > 0 && w.before != kNowhere) {
        const auto others = static_cast<double>(w.degree) * bias.most;
        if (w.draw_unit() * (others + bias.extra) > others) return go_back(w);
      }
    }
    w.edge = w.first + below(w.draw(), w.degree);
    return Try::drawn;
  }
  /// The dart is in the stripe of the edge back, if there is one.
  constexpr Try go_back(Walker& w) const {
    if constexpr (!kWeighted)
      if (symmetric) return Try::back;
    const auto place = place_of_column(indices + w.first, w.degree, w.before);
    if (place < 0) return Try::failed;
    if constexpr (kWeighted)
      if (w.draw_unit() * lifted(w, largest[w.at]) > lifted_weight(w, w.first + place)) return Try::failed;
    return Try::back;
  }
  /// Whether a drawn edge, which leads to `to`, is taken.
  constexpr Try decide(Walker& w, Index to) const {
    if constexpr (!kWeighted && !kBiased) {
      return Try::taken;
    } else {
      double weight = 1, most = 1;
      if constexpr (kWeighted) weight = lifted_weight(w, w.edge), most = lifted(w, largest[w.at]);
      const bool biased = kBiased && w.before != kNowhere;
      const auto dart = w.draw_unit() * most * (biased ? bias.most : 1);
      if (!biased || to == w.before)
        return dart <= weight * (biased ? bias.near_back : 1) ? Try::taken : Try::failed;
      if (dart <= weight * bias.least) return Try::taken;
      return dart <= weight * bias.most ? Try::tested : Try::failed;
    }
  }
  /// Where to look whether the vertex before has an edge to `to`.
  constexpr SearchedRow searched(Index before, Index to) const {
    const auto first = indptr[before], size = indptr[before + 1] - first;
    if (symmetric)
      if (const auto other = indptr[to + 1] - indptr[to]; other < size)
        return {indices + indptr[to], other, before};
    return {indices + first, size, to};
  }
  /// Whichever it is, one of "neighbours" and "no neighbours" takes the edge: the other rejects it.
  constexpr bool is_taken(bool neighbours) const { return neighbours == (bias.away < 1); }

  /// A weight of the walker's row, multiplied as all of the row are. Positive float32 weights are no smaller than 2^-149.
  constexpr double lifted(const Walker& w, double weight) const {
    if constexpr (sizeof(V) < sizeof(double)) return weight;
    else return weight * lift_of(largest[w.at]);
  }
  constexpr double lifted_weight(const Walker& w, Offset e) const {
    return lifted(w, static_cast<double>(values[e]));
  }

  /// What edge i of the walker's row is drawn in proportion to.
  constexpr double weight_of(const Walker& w, std::int64_t i) const {
    double weight = 1;
    if constexpr (kWeighted) weight = lifted_weight(w, w.first + i);
    if (kBiased && w.before != kNowhere) {
      const auto to = indices[w.first + i];
      const auto first = indptr[w.before];
      weight *= to == w.before                                                  ? bias.back
                : has_column(indices + first, indptr[w.before + 1] - first, to) ? 1
                                                                                : bias.away;
    }
    return weight;
  }
};

}  // namespace penstock::graph
