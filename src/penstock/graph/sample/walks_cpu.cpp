// Walks, a few thousand of them for a thread at a time.
#include "penstock/graph/sample/walks.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/sample/walk_group.hpp"

namespace penstock::graph {
namespace {

constexpr std::int64_t kMostWalks = 1 << 13;  // that a thread claims at once
constexpr std::int64_t kWeightRows = 1 << 10;

}  // namespace

template <class V>
Array<double> largest_weights(const Csr<V>& a) {
  const auto largest = allocate<double>(a.rows);
  parallel_ranges(a.rows, kWeightRows, [&](std::int64_t first, std::int64_t last) {
    for (auto u = first; u < last; ++u) {
      double most = 0, sum = 0;
      for (auto e = a.indptr.data[u]; e < a.indptr.data[u + 1]; ++e) {
        double w = 1;
        if constexpr (!is_pattern<V>) w = static_cast<double>(a.values.data[e]);
        require(w >= 0 && std::isfinite(w), [&] {
          return "the edge " + std::to_string(u) + " -> " + std::to_string(a.indices.data[e]) +
                 " has weight " + std::to_string(w) + ": weighted walks need finite weights of zero or more";
        });
        most = std::max(most, w);
        sum += w;
      }
      require(std::isfinite(sum), [&] {
        return "the weights of row " + std::to_string(u) + " add up to more than a float64 holds: scale them";
      });
      largest.data[u] = most;
    }
    poll_interrupt();
  });
  return largest;
}

template <class V>
Array<Index> random_walks(const Csr<V>& a, std::span<const Index> starts, std::span<const double> largest,
                          const WalkOptions& options) {
  const auto out = allocate<Index>(std::ssize(starts) * (options.length + 1));
  with_kind<V>(options, [&]<bool kWeighted, bool kBiased>() {
    const auto rules =
        walk_rules<kWeighted, kBiased>(a.indptr.data, a.indices.data, a.values.data, largest.data(), options);
    const auto walks = std::ssize(starts);
    const auto range = std::clamp<std::int64_t>(walks / (4 * num_threads()), 1, kMostWalks);
    parallel_ranges(walks, range, [&](std::int64_t first, std::int64_t last) {
      WalkGroup(rules, starts.data(), out.data).run(first, last);
    });
  });
  return out;
}

template <class V>
Array<Index> walk_ends(const Csr<V>& a, Index source, std::int64_t walks, double damping,
                       std::span<const double> largest, bool weighted, std::uint64_t seed) {
  constexpr std::int64_t kTogether = 64, kEnds = 1 << 12;
  const auto out = allocate<Index>(walks);
  const auto goes_on = threshold(damping);
  const auto rules =
      walk_rules<!is_pattern<V>, false>(a.indptr.data, a.indices.data, a.values.data, largest.data(), {});
  parallel_ranges(walks, kEnds, [&](std::int64_t first, std::int64_t last) {
    std::vector<Walker> walkers(at(std::min(kTogether, last - first)));
    std::vector<double> sums;
    for (auto begin = first; begin < last; begin += kTogether) {
      auto left = std::min(kTogether, last - begin);
      for (std::int64_t i = 0; i < left; ++i)
        walkers[at(i)] = {
            .random = Random(seed, static_cast<std::uint64_t>(begin + i)), .at = source, .step = begin + i};
      while (left > 0) {
        for (std::int64_t i = 0; i < left;) {
          auto& w = walkers[at(i)];
          if (w.draw() >= goes_on) {
            out.data[w.step] = w.at;
            std::swap(w, walkers[at(--left)]);
            continue;
          }
          w.first = a.indptr.data[w.at];
          w.degree = a.indptr.data[w.at + 1] - w.first;
          if (w.degree == 0 || (weighted && !is_pattern<V> && !(largest[at(w.at)] > 0))) w.edge = -1;
          else if (weighted && !is_pattern<V>) w.edge = draw_by_sums(rules, w, sums);
          else w.edge = w.first + below(w.draw(), w.degree);
          if (w.edge >= 0) __builtin_prefetch(a.indices.data + w.edge);
          ++i;
        }
        for (std::int64_t i = 0; i < left; ++i) {
          auto& w = walkers[at(i)];
          w.at = w.edge < 0 ? source : a.indices.data[w.edge];
          __builtin_prefetch(a.indptr.data + w.at);
        }
      }
      poll_interrupt();
    }
  });
  return out;
}

#define X(V)                                                                                                 \
  template Array<double> largest_weights(const Csr<V>&);                                                     \
  template Array<Index> random_walks(const Csr<V>&, std::span<const Index>, std::span<const double>,         \
                                     const WalkOptions&);                                                    \
  template Array<Index> walk_ends(const Csr<V>&, Index, std::int64_t, double, std::span<const double>, bool, \
                                  std::uint64_t);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock::graph
