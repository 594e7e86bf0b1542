#pragma once
#include "penstock/kernel/vectors/sweep.hpp"

// The passes of BiCGStab over rows that several ranks share. Sums are written to memory that the host reads. r is also used as
// s.
namespace penstock {

/// shadow = p = r
template <class T>
struct StabBegin {
  using In = T;
  using Out = T;
  static constexpr int kIn = 1, kOut = 2, kSums = 0;
  const T* in[kIn];  // r
  T* out[kOut];      // shadow, p
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const { o[0] = o[1] = v[0]; }
};

/// r -= alpha v; out[0] = r . r
template <class T>
struct StabHalf {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 1, kSums = 1;
  const T* in[kIn];  // r, v
  T* out[kOut];      // r
  T alpha;
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    o[0] = v[0] - alpha * v[1];
    sums[0] += double(o[0]) * double(o[0]);
  }
  constexpr void finish(const double* sums) const { sums_out[0] = sums[0]; }
};

/// x += alpha p_hat + omega s_hat, r -= omega t; out[0] = r . r, out[1] = shadow . r. Without M, s_hat is r as it was.
template <class T, bool Preconditioned>
struct StabAdvance {
  using In = T;
  using Out = T;
  static constexpr int kIn = Preconditioned ? 6 : 5, kOut = 2, kSums = 2;
  const T* in[kIn];  // x, p_hat, r, t, shadow, s_hat
  T* out[kOut];      // x, r
  T alpha, omega;
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    o[0] = v[0] + alpha * v[1] + omega * v[kIn == 6 ? 5 : 2];
    o[1] = v[2] - omega * v[3];
    sums[0] += double(o[1]) * double(o[1]), sums[1] += double(v[4]) * double(o[1]);
  }
  constexpr void finish(const double* sums) const { sums_out[0] = sums[0], sums_out[1] = sums[1]; }
};

/// p = r + beta (p - omega v)
template <class T>
struct StabDirection {
  using In = T;
  using Out = T;
  static constexpr int kIn = 3, kOut = 1, kSums = 0;
  const T* in[kIn];  // p, r, v
  T* out[kOut];      // p
  T beta, omega;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    o[0] = v[1] + beta * (v[0] - omega * v[2]);
  }
};

}  // namespace penstock

// Every pass that is compiled for GPUs.
#define PENSTOCK_FOR_EACH_STAB_PASS(X, T) \
  X(StabBegin, T)                         \
  X(StabHalf, T)                          \
  X(StabAdvance, T, false)                \
  X(StabAdvance, T, true)                 \
  X(StabDirection, T)
