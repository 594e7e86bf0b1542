#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "penstock/kernel/vectors/sweep.hpp"

// The passes of a multigrid cycle and of its set-up. A smoother's step is d = keep d + add W r, z += d, where W is a diagonal matrix
// with the entries w, and q is A d.
namespace penstock {

/// The first step from zero: z = d = add W b
template <class T>
struct SmoothFirst {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 2, kSums = 0;
  const T* in[kIn];  // b, w
  T* out[kOut];      // z, d
  T add;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const { o[0] = o[1] = add * v[1] * v[0]; }
};

/// The first step from z, with q = A z: r = b - q, d = add W r, z += d. `Last`: z alone is written.
template <class T, bool Last>
struct SmoothAgain {
  using In = T;
  using Out = T;
  static constexpr int kIn = 4, kOut = Last ? 1 : 3, kSums = 0;
  const T* in[kIn];  // b, q, w, z
  T* out[kOut];      // z, r, d
  T add;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    const T r = v[0] - v[1], d = add * v[2] * r;
    o[0] = v[3] + d;
    if constexpr (!Last) o[1] = r, o[2] = d;
  }
};

/// A step: r -= q, d = keep d + add W r, z += d. `Last`: z alone is written.
template <class T, bool Last>
struct SmoothStep {
  using In = T;
  using Out = T;
  static constexpr int kIn = 5, kOut = Last ? 1 : 3, kSums = 0;
  const T* in[kIn];  // r, q, w, z, d
  T* out[kOut];      // z, r, d
  T keep, add;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    const T r = v[0] - v[1], d = keep * v[4] + add * v[2] * r;
    o[0] = v[3] + d;
    if constexpr (!Last) o[1] = r, o[2] = d;
  }
};

/// r = b - q
template <class T>
struct SmoothResidual {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 1, kSums = 0;
  const T* in[kIn];  // b, q
  T* out[kOut];      // r
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const { o[0] = v[0] - v[1]; }
};

/// 2^-e for a number from 2^e on and below 2^(e + 1); 1 for 0, for numbers below the normal ones, and for what is no finite number.
constexpr double power_of_two_for(double number) {
  constexpr int kBias = 1023, kMantissa = 52, kExponents = 2047;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(number) >> kMantissa & kExponents);
  if (!(number > 0) || exponent == 0 || exponent == kExponents) return 1;
  const int scaled = 2 * kBias - exponent;
  return std::bit_cast<double>(static_cast<std::uint64_t>(scaled > 1 ? scaled : 1) << kMantissa);
}

/// *scale = power_of_two_for(the sum of |b|), which brings entries below 1, and the largest to no less than one part in n.
struct ScaleOf {
  using In = double;
  using Out = double;
  static constexpr int kIn = 1, kOut = 0, kSums = 1;
  const double* in[kIn];  // b
  double* out[1];
  double* scale;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const double* v, double*, double* sums) const {
    sums[0] += v[0] < 0 ? -v[0] : v[0];
  }
  constexpr void finish(const double* sums) const { *scale = power_of_two_for(sums[0]); }
};

/// low = *scale b, in float32
struct Narrow {
  using In = double;
  using Out = float;
  static constexpr int kIn = 1, kOut = 1, kSums = 0;
  const double* in[kIn];  // b
  float* out[kOut];       // low
  const double* scale;
  constexpr bool wanted() const { return true; }
  constexpr double scalars() const { return *scale; }
  constexpr void operator()(double by, const double* v, float* o, double*) const { o[0] = float(by * v[0]); }
};

/// z = factor / *scale low
struct Widen {
  using In = float;
  using Out = double;
  static constexpr int kIn = 1, kOut = 1, kSums = 0;
  const float* in[kIn];  // low
  double* out[kOut];     // z
  const double* scale;
  double factor;
  constexpr bool wanted() const { return true; }
  constexpr double scalars() const { return factor / *scale; }
  constexpr void operator()(double by, const float* v, double* o, double*) const { o[0] = by * double(v[0]); }
};

/// The square root of an entry of D^-1; 0 where it is not positive.
constexpr double root_of_inverse(double inverse) { return inverse > 0 ? std::sqrt(inverse) : 0; }

/// v *= scale, s = D^-1/2 v
template <class T>
struct LanczosScale {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 2, kSums = 0;
  const T* in[kIn];  // v, inverse
  T* out[kOut];      // v, s
  T scale;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    o[0] = scale * v[0];
    o[1] = T(root_of_inverse(double(v[1]))) * o[0];
  }
};

/// q = D^-1/2 q - beta before; *sums_out = q . v
template <class T>
struct LanczosTurn {
  using In = T;
  using Out = T;
  static constexpr int kIn = 4, kOut = 1, kSums = 1;
  const T* in[kIn];  // q, inverse, before, v
  T* out[kOut];      // q
  T beta;
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    o[0] = T(root_of_inverse(double(v[1]))) * v[0] - beta * v[2];
    sums[0] += double(o[0]) * double(v[3]);
  }
  constexpr void finish(const double* sums) const { *sums_out = sums[0]; }
};

/// next = q - alpha v; *sums_out = next . next
template <class T>
struct LanczosNext {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 1, kSums = 1;
  const T* in[kIn];  // q, v
  T* out[kOut];      // next
  T alpha;
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    o[0] = v[0] - alpha * v[1];
    sums[0] += double(o[0]) * double(o[0]);
  }
  constexpr void finish(const double* sums) const { *sums_out = sums[0]; }
};

/// x . Ay, y . Ax, x . x and Ay . Ay
template <class T>
struct SymmetrySums {
  using In = T;
  using Out = T;
  static constexpr int kIn = 4, kOut = 0, kSums = 4;
  const T* in[kIn];  // x, y, A x, A y
  T* out[1];
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    const auto x = double(v[0]), y = double(v[1]), ax = double(v[2]), ay = double(v[3]);
    sums[0] += x * ay, sums[1] += y * ax, sums[2] += x * x, sums[3] += ay * ay;
  }
  constexpr void finish(const double* sums) const {
    for (int i = 0; i < kSums; ++i) sums_out[i] = sums[i];
  }
};

/// What a K cycle asks of a correction x: x . v, x . q, x . b and b . b
template <class T>
struct CorrectionSums {
  using In = T;
  using Out = T;
  static constexpr int kIn = 4, kOut = 0, kSums = 4;
  const T* in[kIn];  // x, v, q, b
  T* out[1];
  double* sums_out;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    const auto x = double(v[0]), b = double(v[3]);
    sums[0] += x * double(v[1]), sums[1] += x * double(v[2]), sums[2] += x * b, sums[3] += b * b;
  }
  constexpr void finish(const double* sums) const {
    for (int i = 0; i < kSums; ++i) sums_out[i] = sums[i];
  }
};

/// z = first x + second y
template <class T>
struct SumOfTwo {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 1, kSums = 0;
  const T* in[kIn];  // x, y
  T* out[kOut];      // z
  T first, second;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double*) const {
    o[0] = first * v[0] + second * v[1];
  }
};

}  // namespace penstock

// Every pass that is compiled for GPUs.
#define PENSTOCK_FOR_EACH_AMG_PASS(X, T) \
  X(SmoothFirst<T>)                      \
  X(SmoothAgain<T, false>)               \
  X(SmoothAgain<T, true>)                \
  X(SmoothStep<T, false>)                \
  X(SmoothStep<T, true>)                 \
  X(SmoothResidual<T>)                   \
  X(LanczosScale<T>)                     \
  X(LanczosTurn<T>)                      \
  X(LanczosNext<T>)                      \
  X(SymmetrySums<T>)                     \
  X(CorrectionSums<T>)                   \
  X(SumOfTwo<T>)
#define PENSTOCK_FOR_EACH_NARROW_PASS(X) X(ScaleOf) X(Narrow) X(Widen)
