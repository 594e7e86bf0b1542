#pragma once
#include <cstdint>

#include "penstock/kernel/vectors/sweep.hpp"

// The passes of PageRank's power method (graph/pagerank/pagerank_cpu.cpp). Ranks are stored divided by the weights out of
// their vertices, as the product needs them; a vertex without edges has weight -1. `Based`: jumps and dangling vertices lead
// to distributions that are two more vectors. Otherwise both are uniform, and `base` is what each vertex gets.
namespace penstock {

/// The results of a step, in memory that the host reads.
struct RankNews {
  double change, dangling;  // of RankTake: the sum of ranks, and how many were below zero
};

/// What a step adds to a vertex.
struct RankJumps {
  double alpha, jump, sunk, base;

  template <bool Based, class T>
  constexpr double at(const T* personal_and_sink) const {
    if constexpr (Based) return jump * double(personal_and_sink[0]) + sunk * double(personal_and_sink[1]);
    else return base;
  }
};

/// Writes the weights, with -1 for vertices without edges, and ranks over weights. The sum is the rank of those vertices.
template <class T>
struct RankBegin {
  using In = double;
  using Out = T;
  static constexpr int kIn = 2, kOut = 2, kSums = 1;
  const double* in[kIn];  // weights, ranks
  T* out[kOut];           // weights, ranks over weights
  RankNews* news;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const double* v, T* o, double* sums) const {
    const bool sinks = !(v[0] > 0);
    o[0] = sinks ? T(-1) : T(v[0]);
    o[1] = sinks ? T(v[1]) : T(v[1]) / o[0];
    if (sinks) sums[0] += v[1];
  }
  constexpr void finish(const double* sums) const { *news = {0, sums[0]}; }
};

/// One step. `Accelerated`: it is extrapolated by omega from the step before (never with Based).
template <class T, bool Accelerated, bool Based>
struct RankStep {
  struct Numbers {
    RankJumps jumps;
    T alpha, omega;
  };
  using In = T;
  using Out = T;
  static constexpr int kIn = 3 + (Accelerated ? 1 : 0) + (Based ? 2 : 0), kOut = 1, kSums = 2;
  // Y, weights, ranks over weights, and those of the step before; personalization, dangling.
  const T* in[kIn];
  T* out[kOut];  // the next ranks over weights
  RankJumps jumps;
  double omega;
  RankNews* news;
  constexpr bool wanted() const { return true; }
  constexpr Numbers scalars() const { return {jumps, T(jumps.alpha), T(omega)}; }
  constexpr void operator()(const Numbers& n, const T* v, T* o, double* sums) const {
    const T weight = v[1] < T(0) ? -v[1] : v[1];
    const T step = (n.alpha * v[0] + T(n.jumps.template at<Based>(v + 3))) / weight;
    T next = step;
    if constexpr (Accelerated) next = n.omega * (step - v[3]) + v[3];
    const T moved = step - v[2];
    sums[0] += double((moved < T(0) ? -moved : moved) * weight);
    if (v[1] < T(0)) sums[1] += double(next);
    o[0] = next;
  }
  constexpr void finish(const double* sums) const { *news = {sums[0], sums[1]}; }
};

/// Takes the ranks to which the last plain step led. Those below zero become zero.
template <class T, bool Based>
struct RankTake {
  using In = T;
  using Out = double;
  static constexpr int kIn = Based ? 3 : 1, kOut = 1, kSums = 2;
  const T* in[kIn];   // y, personalization, dangling
  double* out[kOut];  // ranks
  RankJumps jumps;
  RankNews* news;
  constexpr bool wanted() const { return true; }
  constexpr RankJumps scalars() const { return jumps; }
  constexpr void operator()(const RankJumps& n, const T* v, double* o, double* sums) const {
    const double rank = n.alpha * double(v[0]) + n.template at<Based>(v + 1);
    const bool fine = rank >= 0;
    o[0] = fine ? rank : 0;
    sums[0] += o[0];
    if (!fine) sums[1] += 1;
  }
  constexpr void finish(const double* sums) const { *news = {sums[0], sums[1]}; }
};

/// ranks /= number; or, with `Fill`, ranks = number, for which the pass reads a vector for nothing.
template <bool Fill>
struct RankSet {
  using In = double;
  using Out = double;
  static constexpr int kIn = 1, kOut = 1, kSums = 0;
  const double* in[kIn];
  double* out[kOut];
  double number;
  constexpr bool wanted() const { return true; }
  constexpr double scalars() const { return number; }
  constexpr void operator()(double n, const double* v, double* o, double*) const {
    o[0] = Fill ? n : v[0] / n;
  }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_RANK_PASS(X, T) \
  X(RankBegin, T)                         \
  X(RankStep, T, false, false)            \
  X(RankStep, T, true, false)             \
  X(RankStep, T, false, true)             \
  X(RankTake, T, false)                   \
  X(RankTake, T, true)
