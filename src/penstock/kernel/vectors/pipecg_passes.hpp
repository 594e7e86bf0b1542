#pragma once
#include "penstock/kernel/vectors/sweep.hpp"

// The passes of pipelined conjugate gradients over rows that several ranks share. Sums are written to memory that the host
// reads. Without M (`Preconditioned` is false), u is r, m is w and q is s, and these are not passed.
namespace penstock {

/// The directions become zero; out[0] = u . r, out[1] = u . w, out[2] = r . r
template <class T, bool Preconditioned>
struct PipeBegin {
  using In = T;
  using Out = T;
  static constexpr int kIn = Preconditioned ? 3 : 2, kOut = Preconditioned ? 4 : 3,
                       kSums = Preconditioned ? 3 : 2;
  const T* in[kIn];  // r, w, u
  T* out[kOut];      // z, s, p, q
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    for (int i = 0; i < kOut; ++i) o[i] = T(0);
    const auto r = double(v[0]), u = double(v[kIn == 3 ? 2 : 0]);
    sums[0] += u * r, sums[1] += u * double(v[1]);
    if constexpr (Preconditioned) sums[2] += r * r;
  }
  constexpr void finish(const double* sums) const {
    for (int i = 0; i < kSums; ++i) sums_out[i] = sums[i];
  }
};

/// z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p; x += alpha p, r -= alpha s, u -= alpha q, w -= alpha z;
/// the sums of PipeBegin
template <class T, bool Preconditioned>
struct PipeUpdate {
  using In = T;
  using Out = T;
  static constexpr int kIn = Preconditioned ? 10 : 7, kOut = Preconditioned ? 8 : 6,
                       kSums = Preconditioned ? 3 : 2;
  const T* in[kIn];  // x, r, w, n, z, s, p, u, m, q
  T* out[kOut];      // x, r, w, z, s, p, u, q
  T alpha, beta;
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    const T z = v[3] + beta * v[4], s = v[2] + beta * v[5];
    const T p = v[kIn == 10 ? 7 : 1] + beta * v[6];
    const T r = v[1] - alpha * s, w = v[2] - alpha * z;
    o[0] = v[0] + alpha * p, o[1] = r, o[2] = w, o[3] = z, o[4] = s, o[5] = p;
    T u = r;
    if constexpr (Preconditioned) {
      const T q = v[8] + beta * v[9];
      u = v[7] - alpha * q;
      o[6] = u, o[7] = q;
      sums[2] += double(r) * double(r);
    }
    sums[0] += double(u) * double(r), sums[1] += double(u) * double(w);
  }
  constexpr void finish(const double* sums) const {
    for (int i = 0; i < kSums; ++i) sums_out[i] = sums[i];
  }
};

}  // namespace penstock

// Every pass that is compiled for GPUs.
#define PENSTOCK_FOR_EACH_PIPE_PASS(X, T, M) \
  X(PipeBegin, T, M)                         \
  X(PipeUpdate, T, M)
