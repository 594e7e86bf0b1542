#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "penstock/kernel/vectors/sweep.hpp"

// The passes of conjugate gradients, where M is the identity or a diagonal (`Diagonal`: its entries d are one more vector), and at the
// end those for another M.
// alpha and beta stay with the vectors. An iteration is a product and three passes, and the host may queue several iterations
// before it looks at the norms of the first. Iterations that were queued behind the last one do nothing.
namespace penstock {

inline constexpr std::int64_t kNoLastIteration = std::numeric_limits<std::int64_t>::max();

/// The scalars, in the memory of the vectors.
struct CgScalars {
  double rz, alpha, beta;
  std::int64_t last;  // iterations after this one do nothing
};

/// The results of an iteration, in memory that the host reads.
struct CgNews {
  enum Code : std::int64_t { running, small, not_finite, bad_preconditioner, not_positive };
  std::int64_t code;
  double rr;     // r . r
  double value;  // after a breakdown: the number that should have been positive
};

constexpr bool is_finite(double v) { return v - v == 0; }

/// found[0] = v . v, found[1] = entries that are not zero, found[2] = entries that are no finite numbers
template <class T>
struct CgMeasure {
  using In = T;
  using Out = T;
  static constexpr int kIn = 1, kOut = 0, kSums = 3;
  const T* in[kIn];  // v
  T* out[1];
  double* found;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    const auto entry = double(v[0]);
    sums[0] += entry * entry;
    sums[1] += entry != 0 ? 1.0 : 0.0;
    sums[2] += is_finite(entry) ? 0.0 : 1.0;
  }
  constexpr void finish(const double* sums) const {
    found[0] = sums[0], found[1] = sums[1], found[2] = sums[2];
  }
};

/// r = b, x = 0; *norm2 = r . r
template <class T>
struct CgStart {
  using In = T;
  using Out = T;
  static constexpr int kIn = 1, kOut = 2, kSums = 1;
  const T* in[kIn];  // b
  T* out[kOut];      // r, x
  double* norm2;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    o[0] = v[0], o[1] = T(0);
    sums[0] += double(v[0]) * double(v[0]);
  }
  constexpr void finish(const double* sums) const { *norm2 = sums[0]; }
};

/// r = b - A x; *norm2 = r . r
template <class T>
struct CgResidual {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 1, kSums = 1;
  const T* in[kIn];  // b, A x
  T* out[kOut];      // r
  double* norm2;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    o[0] = v[0] - v[1];
    sums[0] += double(o[0]) * double(o[0]);
  }
  constexpr void finish(const double* sums) const { *norm2 = sums[0]; }
};

/// p = M r; rz = r . M r. The iterations begin anew.
template <class T, bool Diagonal>
struct CgBegin {
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 2 : 1, kOut = 1, kSums = 1;
  const T* in[kIn];  // r, d
  T* out[kOut];      // p
  CgScalars* own;
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
  constexpr void finish(const double* sums) const {
    own->rz = sums[0];
    own->last = kNoLastIteration;
  }
};

/// r becomes b - q, with q = A x, and p what it would be had r been so; rz = r . M r, *norm2 = r . r. The iterations go on.
template <class T, bool Diagonal>
struct CgReplace {
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 5 : 4, kOut = 2, kSums = 2;
  const T* in[kIn];  // b, q, r, p, d
  T* out[kOut];      // r, p
  CgScalars* own;
  double* norm2;
  constexpr bool wanted() const { return true; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T* o, double* sums) const {
    const T r = v[0] - v[1];
    T d = T(1);
    if constexpr (Diagonal) d = v[4];
    o[0] = r, o[1] = v[3] + d * (r - v[2]);
    sums[0] += double(r) * double(r);
    sums[1] += double(r) * (double(d) * double(r));
  }
  constexpr void finish(const double* sums) const {
    *norm2 = sums[0], own->rz = sums[1];
    own->last = kNoLastIteration;
  }
};

/// alpha = rz / p . q, with q = A p; the breakdowns are found here.
template <class T>
struct CgCurvature {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 0, kSums = 1;
  const T* in[kIn];  // p, q
  T* out[1];
  CgScalars* own;
  CgNews* news;
  std::int64_t iteration;
  constexpr bool wanted() const { return iteration <= own->last; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    sums[0] += double(v[0]) * double(v[1]);
  }
  constexpr void finish(const double* sums) const {
    const double pq = sums[0], rz = own->rz;
    auto code = CgNews::running;
    if (!is_finite(rz + pq)) code = CgNews::not_finite;
    else if (!(rz > 0)) code = CgNews::bad_preconditioner;
    else if (!(pq > 0)) code = CgNews::not_positive;
    if (code == CgNews::running) {
      own->alpha = rz / pq;
    } else {
      own->last = iteration - 1;
      *news = {code, 0, code == CgNews::not_positive ? pq : rz};
    }
  }
};

/// r -= alpha q; beta from r . M r
template <class T, bool Diagonal>
struct CgDescend {
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 3 : 2, kOut = 1, kSums = Diagonal ? 2 : 1;
  const T* in[kIn];  // r, q, d
  T* out[kOut];      // r
  CgScalars* own;
  CgNews* news;
  std::int64_t iteration;
  double target;  // of the norm of r
  constexpr bool wanted() const { return iteration <= own->last; }
  constexpr T scalars() const { return T(own->alpha); }
  constexpr void operator()(T alpha, const T* v, T* o, double* sums) const {
    o[0] = v[0] - alpha * v[1];
    const auto r = double(o[0]);
    sums[0] += r * r;
    if constexpr (Diagonal) sums[1] += r * (double(v[2]) * r);
  }
  constexpr void finish(const double* sums) const {
    const double rz = sums[Diagonal ? 1 : 0];
    const bool small = std::sqrt(sums[0]) <= target;
    own->beta = rz / own->rz;
    own->rz = rz;
    if (small) own->last = iteration;
    *news = {small ? CgNews::small : CgNews::running, sums[0], 0};
  }
};

/// x += alpha p, p = M r + beta p
template <class T, bool Diagonal>
struct CgAdvance {
  struct Steps {
    T alpha, beta;
  };
  using In = T;
  using Out = T;
  static constexpr int kIn = Diagonal ? 4 : 3, kOut = 2, kSums = 0;
  const T* in[kIn];  // x, p, r, d
  T* out[kOut];      // x, p
  const CgScalars* own;
  std::int64_t iteration;
  constexpr bool wanted() const { return iteration <= own->last; }
  constexpr Steps scalars() const { return {T(own->alpha), T(own->beta)}; }
  constexpr void operator()(Steps s, const T* v, T* o, double*) const {
    o[0] = v[0] + s.alpha * v[1];
    if constexpr (Diagonal) o[1] = v[3] * v[2] + s.beta * v[1];
    else o[1] = v[2] + s.beta * v[1];
  }
};

// With any other M the iteration begins with z = M r, so that none is made in vain behind the last one.

/// rz = r . z; beta from the rz before, 0 where the iterations begin anew.
template <class T>
struct CgTurn {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 0, kSums = 1;
  const T* in[kIn];  // r, z
  T* out[1];
  CgScalars* own;
  std::int64_t iteration;
  constexpr bool wanted() const { return iteration <= own->last; }
  constexpr NoScalars scalars() const { return {}; }
  constexpr void operator()(NoScalars, const T* v, T*, double* sums) const {
    sums[0] += double(v[0]) * double(v[1]);
  }
  constexpr void finish(const double* sums) const {
    own->beta = own->rz > 0 ? sums[0] / own->rz : 0;
    own->rz = sums[0];
  }
};

/// p = z + beta p
template <class T>
struct CgDirection {
  using In = T;
  using Out = T;
  static constexpr int kIn = 2, kOut = 1, kSums = 0;
  const T* in[kIn];  // z, p
  T* out[kOut];      // p
  const CgScalars* own;
  std::int64_t iteration;
  constexpr bool wanted() const { return iteration <= own->last; }
  constexpr T scalars() const { return T(own->beta); }
  constexpr void operator()(T beta, const T* v, T* o, double*) const { o[0] = v[0] + beta * v[1]; }
};

/// x += alpha p, r -= alpha q
template <class T>
struct CgMove {
  using In = T;
  using Out = T;
  static constexpr int kIn = 4, kOut = 2, kSums = 1;
  const T* in[kIn];  // x, p, r, q
  T* out[kOut];      // x, r
  CgScalars* own;
  CgNews* news;
  std::int64_t iteration;
  double target;  // of the norm of r
  constexpr bool wanted() const { return iteration <= own->last; }
  constexpr T scalars() const { return T(own->alpha); }
  constexpr void operator()(T alpha, const T* v, T* o, double* sums) const {
    o[0] = v[0] + alpha * v[1];
    o[1] = v[2] - alpha * v[3];
    sums[0] += double(o[1]) * double(o[1]);
  }
  constexpr void finish(const double* sums) const {
    const bool small = std::sqrt(sums[0]) <= target;
    if (small) own->last = iteration;
    *news = {small ? CgNews::small : CgNews::running, sums[0], 0};
  }
};

}  // namespace penstock

// Every pass that is compiled for GPUs.
#define PENSTOCK_FOR_EACH_CG_PASS(X, T) \
  X(CgMeasure<T>)                       \
  X(CgStart<T>)                         \
  X(CgResidual<T>)                      \
  X(CgCurvature<T>)                     \
  X(CgTurn<T>)                          \
  X(CgDirection<T>)                     \
  X(CgMove<T>)
#define PENSTOCK_FOR_EACH_CG_PASS_OF_M(X, T, D) \
  X(CgBegin, T, D)                              \
  X(CgReplace, T, D)                            \
  X(CgDescend, T, D)                            \
  X(CgAdvance, T, D)
