#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/kernel/structure/steps.hpp"

// The steps of PageRank of many sources on a device. Ranks of k sources lie side by side: that of vertex v for source j is at v k + j.
namespace penstock::many_ranks {

inline constexpr std::int64_t kRowsOfASum = 256, kSumsOfASum = 256;

constexpr double weight_of(double out) { return out == 0 ? 1.0 : out; }

/// All rank is at the sources, over the weight out; x was 0.
template <class T>
struct BeginAtSources {
  const Index* sources;
  const double* out;
  std::int64_t k;
  T* x;
  constexpr void operator()(std::int64_t j) const {
    x[sources[j] * k + j] = static_cast<T>(1 / weight_of(out[sources[j]]));
  }
};
/// Adds what jumps to the sources, from all vertices and from those without edges.
template <class T>
struct AddJumps {
  const Index* sources;
  const double* dangling;
  double alpha;
  std::int64_t k;
  T* y;
  constexpr void operator()(std::int64_t j) const {
    y[sources[j] * k + j] += static_cast<T>(1 - alpha + alpha * dangling[j]);
  }
};

/// Puts the ranks y into x. Of some rows and one column: what changed, and the rank of vertices without edges.
template <class T>
struct RenewRanks {
  const double* out;
  std::int64_t n, k;
  T* x;
  const T* y;
  double* parts;  // 2 k of some rows
  constexpr void operator()(std::int64_t i) const {
    const auto task = i / k, j = i % k, first = task * kRowsOfASum;
    const auto last = first + kRowsOfASum < n ? first + kRowsOfASum : n;
    double change = 0, stays = 0;
    for (auto v = first; v < last; ++v) {
      const T w = static_cast<T>(weight_of(out[v])), inverse = T(1) / w;
      const T now = y[v * k + j], moved = now - x[v * k + j] * w;
      change += static_cast<double>(moved < 0 ? -moved : moved);
      x[v * k + j] = now * inverse;
      if (out[v] == 0) stays += static_cast<double>(now);
    }
    parts[task * 2 * k + j] = change;
    parts[task * 2 * k + k + j] = stays;
  }
};
struct SumRanks {
  const double* out;
  std::int64_t n, k;
  const double* x;
  double* parts;  // k of some rows
  constexpr void operator()(std::int64_t i) const {
    const auto task = i / k, j = i % k, first = task * kRowsOfASum;
    const auto last = first + kRowsOfASum < n ? first + kRowsOfASum : n;
    double sum = 0;
    for (auto v = first; v < last; ++v) sum += x[v * k + j] * weight_of(out[v]);
    parts[i] = sum;
  }
};
/// Adds up some neighbouring rows of `width` numbers.
struct FoldSums {
  const double* from;
  std::int64_t rows, width;
  double* to;
  constexpr void operator()(std::int64_t i) const {
    const auto j = i % width, first = i / width * kSumsOfASum;
    const auto last = first + kSumsOfASum < rows ? first + kSumsOfASum : rows;
    double sum = 0;
    for (auto r = first; r < last; ++r) sum += from[r * width + j];
    to[i] = sum;
  }
};

struct WidenRanks {
  const float* from;
  double* to;
  constexpr void operator()(std::int64_t i) const { to[i] = static_cast<double>(from[i]); }
};
struct DivideRanks {
  const double *sums, *out;
  std::int64_t k;
  bool finishes;  // from ranks over weights out to ranks
  double* x;
  constexpr void operator()(std::int64_t i) const {
    x[i] = x[i] / sums[i % k] * (finishes ? weight_of(out[i / k]) : 1.0);
  }
};
struct DivideDangling {
  const double* sums;
  double* dangling;
  constexpr void operator()(std::int64_t j) const { dangling[j] /= sums[j]; }
};

}  // namespace penstock::many_ranks
