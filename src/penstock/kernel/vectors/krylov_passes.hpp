#pragma once
#include "penstock/kernel/vectors/sweep.hpp"

// Passes that several methods over ranks share, and those of GMRES over its basis. Sums are written to memory that the host
// reads.
namespace penstock {

/// out[0] = w . y, out[1] = y . y
template <class T>
struct KrylovDots {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 0, kSums = 2;
  const T* in[kIn];  // w, y
  T* out[1];
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    const auto y = double(v[1]);
    sums[0] += double(v[0]) * y, sums[1] += y * y;
  }
  constexpr void finish(const double* sums) const { sums_out[0] = sums[0], sums_out[1] = sums[1]; }
};

/// z = d r, entry by entry
template <class T>
struct KrylovDiagonal {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 1, kSums = 0;
  const T* in[kIn];  // d, r
  T* out[kOut];      // z
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const { o[0] = v[0] * v[1]; }
};

/// y = scale x
template <class T>
struct KrylovScale {
  using In = T;
  using Out = T;
  static constexpr int kIn = 1, kOut = 1, kSums = 0;
  const T* in[kIn];  // x
  T* out[kOut];      // y
  T scale;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const { o[0] = scale * v[0]; }
};

/// out[i] = v_i . w for K vectors v_i
template <class T, int K>
struct BasisDots {
  using In = T;
  using Out = T;
  static constexpr int kIn = K + 1, kOut = 0, kSums = K;
  const T* in[kIn];  // w, v_0 ...
  T* out[1];
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    const auto w = double(v[0]);
    for (int i = 0; i < K; ++i) sums[i] += double(v[i + 1]) * w;
  }
  constexpr void finish(const double* sums) const {
    for (int i = 0; i < K; ++i) sums_out[i] = sums[i];
  }
};

/// w += factor_0 v_0 + ..., for K vectors
template <class T, int K>
struct BasisAdd {
  using In = T;
  using Out = T;
  static constexpr int kIn = K + 1, kOut = 1, kSums = 0;
  const T* in[kIn];  // w, v_0 ...
  T* out[kOut];      // w
  T factor[K];
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    T w = v[0];
    for (int i = 0; i < K; ++i) w += factor[i] * v[i + 1];
    o[0] = w;
  }
};

/// The Chebyshev iteration from zero: r = b, z = d = scale inverse b
template <class T>
struct ChebyshevStart {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 3, kSums = 0;
  const T* in[kIn];  // b, inverse
  T* out[kOut];      // r, d, z
  T scale;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    o[0] = v[0];
    o[1] = o[2] = scale * (v[1] * v[0]);
  }
};

/// r -= q, d = keep d + add inverse r, z += d
template <class T>
struct ChebyshevStep {
  using In = T;
  using Out = T;
  static constexpr int kIn = 5, kOut = 3, kSums = 0;
  const T* in[kIn];  // r, q, d, z, inverse
  T* out[kOut];      // r, d, z
  T keep, add;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    const T r = v[0] - v[1], d = keep * v[2] + add * (v[4] * r);
    o[0] = r, o[1] = d, o[2] = v[3] + d;
  }
};

}  // namespace penstock

// Every pass that is compiled for GPUs.
#define PENSTOCK_FOR_EACH_KRYLOV_PASS(X, T) \
  X(KrylovDots, T)                          \
  X(KrylovDiagonal, T)                      \
  X(KrylovScale, T)                         \
  X(BasisDots, T, 1)                        \
  X(BasisDots, T, 2)                        \
  X(BasisDots, T, 4)                        \
  X(BasisDots, T, 8)                        \
  X(BasisAdd, T, 1)                         \
  X(BasisAdd, T, 2)                         \
  X(BasisAdd, T, 4)                         \
  X(BasisAdd, T, 8)                         \
  X(ChebyshevStart, T)                      \
  X(ChebyshevStep, T)
