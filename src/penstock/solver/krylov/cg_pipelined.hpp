#pragma once
#include <cmath>
#include <initializer_list>
#include <utility>

#include "penstock/solver/solve.hpp"

// Pipelined conjugate gradients (Ghysels & Vanroose 2014, algorithm 4), wherever the vectors are: W is HostWork or
// DeviceWork with the method's passes. Recurrences for w = A u and its images let the one reduction of an iteration travel
// while M and A are applied. All of an iteration's updates and inner products are one pass. The recurrences drift more
// than CG's: where the true residual turns out larger, they start again from it.
namespace penstock {

/// The vectors of an iteration. Without M, u is r, m is w and q is s.
template <class T>
struct PipeVectors {
  T *x, *r, *u, *w, *m, *n, *z, *q, *s, *p;
  bool preconditioned;  // a flag, because all pointers are equal where no row is owned
};

/// Vectors that the method keeps.
constexpr int pipelined_vectors(bool m) { return m ? 9 : 6; }

template <class W>
SolveResult pipelined_cg_on(W& work) {
  using T = typename W::Entry;
  const bool pre = work.has_m();
  const std::size_t dots = pre ? 3 : 2;
  PipeVectors<T> v{};
  v.x = work.x(), v.preconditioned = pre;
  v.r = work[0], v.w = work[1], v.n = work[2], v.z = work[3], v.s = work[4], v.p = work[5];
  v.u = pre ? work[6] : v.r, v.m = pre ? work[7] : v.w, v.q = pre ? work[8] : v.s;
  const auto images = [&] {
    if (pre) work.precondition(v.w, v.m);
    work.multiply(v.m, v.n);
  };
  /// u, w and the inner products {u . r, u . w, r . r} from r; the directions begin at zero.
  const auto begin = [&] {
    if (pre) work.precondition(v.r, v.u);
    work.multiply(v.u, v.w);
    work.begin(v);
  };

  /// Those of the iteration before; gamma = 0: the recurrences begin here.
  double norm = 0, gamma = 0, alpha = 0;
  const auto with_state = [&](auto&& use) {
    return pre ? use({v.r, v.w, v.z, v.s, v.p, v.u, v.q}) : use({v.r, v.w, v.z, v.s, v.p});
  };
  using List = std::initializer_list<T*>;
  const auto save = [&](List vectors) { work.save({gamma, alpha}, vectors); };
  if (with_state([&](List vectors) { return work.load({&gamma, &alpha}, vectors); })) {
    images();  // operators make what they need at their first use, which must not happen while a sum travels
    work.dots(v);
  } else {
    norm = work.residual(v.r, work.starts_at_zero());
    work.start(norm);
    if (!work.ended()) begin();
  }
  bool updated = false;  // whether the norm after an update is still to come
  while (!work.ended()) {
    work.start_total(dots);
    images();
    const auto sums = work.finish_total();
    const double ur = sums[0], uw = sums[1];
    norm = std::sqrt(pre ? sums[2] : ur);
    if (std::exchange(updated, false)) work.step(norm);
    const double beta = gamma != 0 ? ur / gamma : 0;
    const double curvature = uw - (gamma != 0 ? beta * ur / alpha : 0);
    const bool broken = !(ur > 0) || !(curvature > 0) || !std::isfinite(ur + curvature);
    if (work.small(norm) || (broken && gamma != 0)) {
      // The recurrences say that the solve is done, or they have lost their accuracy to rounding: b - A x decides.
      if (work.verified(v.r)) break;
      begin();
      gamma = 0;
      continue;
    }
    with_state(save);
    if (!work.more()) break;
    if (broken) {  // at the first step from a residual, where u . w is p . A p itself
      if (!std::isfinite(ur + curvature)) work.not_finite();
      else if (!(ur > 0)) work.bad_preconditioner(ur);
      else work.not_positive(curvature);
      break;
    }
    gamma = ur, alpha = ur / curvature;
    work.update(v, static_cast<T>(alpha), static_cast<T>(beta));
    updated = true;
  }
  return work.finish(v.r);
}

}  // namespace penstock
