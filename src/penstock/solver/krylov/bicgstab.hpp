#pragma once
#include <cmath>
#include <limits>

#include "penstock/solver/scalars.hpp"
#include "penstock/solver/solve.hpp"

// BiCGStab (van der Vorst 1992), preconditioned from the right, wherever the vectors are: W is HostWork or DeviceWork with
// the method's passes. An iteration is two products, whose inner products are taken on the way or after, and three passes;
// the vector r also serves as s.
namespace penstock {

/// Vectors that the method keeps.
constexpr int bicgstab_vectors(bool m) { return m ? 7 : 5; }

template <class W>
SolveResult bicgstab_on(W& work) {
  using T = typename W::Entry;
  using Scalar = typename W::Scalar;
  constexpr int kRenewals = 10;
  constexpr auto eps = static_cast<double>(std::numeric_limits<RealOf<T>>::epsilon());
  const bool m = work.has_m();
  T *const r = work[0], *const shadow = work[1], *const p = work[2], *const v = work[3], *const t = work[4];
  T *const p_hat = m ? work[5] : p, *const s_hat = m ? work[6] : r;

  double norm = 0, shadow_norm = 0, renewals = 0, kept = 0;
  Scalar rho = 0;
  /// The shadow residual is r itself; p = r.
  const auto begin = [&](double residual) {
    work.begin(r, shadow, p);
    shadow_norm = residual, rho = residual * residual;
  };
  if (work.load({&kept, &shadow_norm, &renewals}, {r, shadow, p})) {
    rho = kept;  // states are kept of real systems alone
  } else {
    norm = work.residual(r, work.starts_at_zero());
    work.start(norm);
    if (!work.ended()) begin(norm);
  }
  const auto save = [&] { work.save({std::real(rho), shadow_norm, renewals}, {r, shadow, p}); };
  for (; !work.ended() && work.more(); save()) {
    if (m) work.precondition(p, p_hat);
    work.multiply_dots(p_hat, v, shadow);
    const Scalar rv = work.total(1)[0];
    if (!finite(rv) || !finite(rho)) {
      work.not_finite();
      break;
    }
    if (rv == Scalar(0)) {
      work.end(Stop::rho, "breakdown: the shadow residual is orthogonal to A p: use gmres, or another M");
      break;
    }
    const Scalar alpha = rho / rv;
    work.half(static_cast<T>(alpha), v, r);
    const double ss = std::real(work.total(1)[0]);
    if (work.small(std::sqrt(ss))) {  // the first half of the iteration was enough
      work.add(static_cast<T>(alpha), p_hat, work.x());
      work.step(std::sqrt(ss));
      if (work.verified(r)) break;
      begin(work.norm());
      continue;
    }
    if (m) work.precondition(r, s_hat);
    work.multiply_dots(s_hat, t, r);
    const auto dots = work.total(2);
    const Scalar st = dots[0];
    const double tt = std::real(dots[1]);
    const Scalar omega = tt > 0 ? conjugate(st) / tt : Scalar(0);
    work.advance(static_cast<T>(alpha), static_cast<T>(omega), p_hat, s_hat, t, shadow, r);
    const auto sums = work.total(2);
    const double rr = std::real(sums[0]);
    const Scalar next = sums[1];
    norm = std::sqrt(rr);
    work.step(norm);
    if (!finite(rr + next + omega)) {
      work.not_finite();
      break;
    }
    if (work.small(norm)) {
      if (work.verified(r)) break;
      begin(work.norm());
      continue;
    }
    if (std::abs(st) <= eps * std::sqrt(tt * ss)) {
      work.end(Stop::omega, "breakdown: omega = " + work.number(std::abs(omega)) +
                                ": A s is orthogonal to s, as for skew matrices; use gmres");
      break;
    }
    // A shadow residual that has become orthogonal to r is of no use: take a new one.
    if (std::abs(next) <= eps * norm * shadow_norm) {
      if (++renewals > kRenewals) {
        work.end(Stop::rho,
                 "breakdown: rho = " + work.number(std::abs(next)) +
                     " again and again: the shadow residual is orthogonal to r; use gmres, or another M");
        break;
      }
      begin(norm);
      continue;
    }
    const auto beta = static_cast<T>(next / rho * (alpha / omega));
    rho = next;
    work.direction(beta, static_cast<T>(omega), v, r, p);
  }
  return work.finish(r);
}

}  // namespace penstock
