#pragma once
#include "penstock/kernel/vectors/sweep.hpp"

// The passes of conjugate gradients over rows that several ranks share. Sums are written to memory that the host reads; the
// host adds up the sums of all ranks, and gives the step lengths. M is the identity or a diagonal (`Diagonal`: d is one more
// vector).
namespace penstock {

/// out[0] = b . b; out[1] = entries of b that are not zero
template <class T>
struct DistNorm {
  using In = T;
  using Out = T;
  static constexpr int kIn = 1, kOut = 0, kSums = 2;
  const T* in[kIn];
  T* out[1];
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    sums[0] += double(v[0]) * double(v[0]);
    sums[1] += v[0] != T(0) ? 1.0 : 0.0;
  }
  constexpr void finish(const double* sums) const { sums_out[0] = sums[0], sums_out[1] = sums[1]; }
};

/// out[0] = p . q
template <class T>
struct DistDot {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 0, kSums = 1;
  const T* in[kIn];  // p, q
  T* out[1];
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    sums[0] += double(v[0]) * double(v[1]);
  }
  constexpr void finish(const double* sums) const { sums_out[0] = sums[0]; }
};

/// p = M r; out[0] = r . M r
template <class T, bool Diagonal>
struct DistBegin {
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 2 : 1, kOut = 1, kSums = 1;
  const T* in[kIn];  // r, d
  T* out[kOut];      // p
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    const auto r = double(v[0]);
    if constexpr (Diagonal) {
      o[0] = v[1] * v[0];
      sums[0] += r * (double(v[1]) * r);
    } else {
      o[0] = v[0];
      sums[0] += r * r;
    }
  }
  constexpr void finish(const double* sums) const { sums_out[0] = sums[0]; }
};

/// r -= alpha q; out[0] = r . r, out[1] = r . M r
template <class T, bool Diagonal>
struct DistDescend {
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 3 : 2, kOut = 1, kSums = Diagonal ? 2 : 1;
  const T* in[kIn];  // r, q, d
  T* out[kOut];      // r
  T alpha;
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    o[0] = v[0] - alpha * v[1];
    const auto r = double(o[0]);
    sums[0] += r * r;
    if constexpr (Diagonal) sums[1] += r * (double(v[2]) * r);
  }
  constexpr void finish(const double* sums) const { sums_out[0] = sums[0], sums_out[1] = sums[kSums - 1]; }
};

/// x += alpha p, p = M r + beta p
template <class T, bool Diagonal>
struct DistAdvance {
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 4 : 3, kOut = 2, kSums = 0;
  const T* in[kIn];  // x, p, r, d
  T* out[kOut];      // x, p
  T alpha, beta;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    o[0] = v[0] + alpha * v[1];
    if constexpr (Diagonal) o[1] = v[3] * v[2] + beta * v[1];
    else o[1] = v[2] + beta * v[1];
  }
};

/// p = M r + beta p: the part of DistAdvance that waits for beta, where x was advanced before
template <class T, bool Diagonal>
struct DistTurn {
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 3 : 2, kOut = 1, kSums = 0;
  const T* in[kIn];  // p, r, d
  T* out[kOut];      // p
  T beta;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    if constexpr (Diagonal) o[0] = v[2] * v[1] + beta * v[0];
    else o[0] = v[1] + beta * v[0];
  }
};

}  // namespace penstock

// Every pass that is compiled for GPUs.
#define PENSTOCK_FOR_EACH_DIST_CG_PASS(X, T) \
  X(DistNorm<T>)                             \
  X(DistDot<T>)
#define PENSTOCK_FOR_EACH_DIST_CG_PASS_OF_M(X, T, D) \
  X(DistBegin, T, D)                                 \
  X(DistDescend, T, D)                               \
  X(DistAdvance, T, D)                               \
  X(DistTurn, T, D)
