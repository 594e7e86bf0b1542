// Conjugate gradients (hestenes-1952). An iteration is a product with p . A p taken on the way and two passes: r -= alpha q
// with its inner products, then x += alpha p and p = z + beta p together. Ten vectors cross memory, the least that
// the method allows without storing less; a diagonal M costs one more read in each pass.
#include "penstock/solver/progress.hpp"

namespace penstock {
namespace {

/// r -= alpha q; {r . r, r . M r}, the second where M is none or a diagonal.
template <class T>
std::array<double, 2> update_residual(Sweeper& sweep, T alpha, std::span<const T> q, std::span<T> r, const T* diagonal) {
  std::array<double, 2> sums;
  sweep(std::ssize(r), diagonal ? 4 : 3, sums, [&](std::int64_t f, std::int64_t n, double* s) {
    axpy<T>(-alpha, q.data() + f, r.data() + f, n);
    s[0] += dot(r.data() + f, r.data() + f, n);
    if (diagonal) s[1] += dot_scaled(diagonal + f, r.data() + f, n);
  });
  if (!diagonal) sums[1] = sums[0];
  return sums;
}

}  // namespace

template <class T>
SolveResult cg(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
               const SolveOptions& o, const Space& space) {
  const auto n = a.rows;
  const T* diagonal = m && m->diagonal.size ? m->diagonal.data : nullptr;
  const bool general = m && !diagonal;
  Progress<T> progress(a, m, b, x, o, space);
  auto& sweep = progress.sweep;
  const Workspace<T> work(n, general ? 4 : 3);
  const auto r = work[0], p = work[1], q = work[2], z = general ? work[3] : r;

  /// {r . r, r . z} with z = M r. `rr` is this process's part.
  const auto precondition = [&](std::array<double, 2> sums) {
    if (general) sums[1] = apply_dots<T>(*m, r, z, r.data(), sweep).wy;
    space.sum(sums);
    return sums;
  };
  /// p = z: a first direction, or a new beginning. Returns r . z.
  const auto begin = [&] {
    std::array<double, 2> sums;
    sweep(n, diagonal ? 2 : 1, sums, [&](std::int64_t f, std::int64_t count, double* s) {
      s[0] += dot(r.data() + f, r.data() + f, count);
      if (diagonal) s[1] += dot_scaled(diagonal + f, r.data() + f, count);
    });
    if (!diagonal) sums[1] = sums[0];
    const auto rz = precondition(sums)[1];
    sweep(n, diagonal ? 3 : 2, [&](std::int64_t f, std::int64_t count) {
      if (diagonal)
        for (auto i = f; i < f + count; ++i) p[i] = diagonal[i] * r[i];
      else std::copy_n(z.data() + f, count, p.data() + f);
    });
    return rz;
  };
  const auto advance = [&](T alpha, T beta, bool last) {
    sweep(n, last ? 3 : diagonal ? 6 : 5, [&](std::int64_t f, std::int64_t count) {
      axpy<T>(alpha, p.data() + f, x.data() + f, count);
      if (last) return;
      if (diagonal) dxpby<T>(diagonal + f, r.data() + f, beta, p.data() + f, count);
      else xpby<T>(z.data() + f, beta, p.data() + f, count);
    });
  };

  auto norm = progress.residual(r, o.starts_at_zero);
  progress.start(norm);
  if (progress.small(norm)) progress.end(Stop::converged, "converged");
  auto rz = progress.ended() ? 0.0 : begin();
  while (!progress.ended() && progress.more()) {
    std::array<double, 1> pq{apply_dots<T>(a, p, q, p.data(), sweep).wy};
    space.sum(pq);
    if (!std::isfinite(rz + pq[0])) progress.not_finite();
    else if (!(rz > 0)) progress.bad_preconditioner(rz);
    else if (!(pq[0] > 0)) progress.not_positive(pq[0]);
    if (progress.ended()) break;
    const auto alpha = static_cast<T>(rz / pq[0]);
    const auto sums = precondition(update_residual<T>(sweep, alpha, q, r, diagonal));
    const bool done = progress.small(norm = std::sqrt(sums[0]));
    advance(alpha, static_cast<T>(sums[1] / rz), done);
    rz = sums[1];
    progress.step(norm);
    if (!done) continue;
    if (progress.verified(r)) break;
    rz = begin();
  }
  return progress.finish(r);
}

template SolveResult cg(const LinearOp<float>&, const LinearOp<float>*, std::span<const float>, std::span<float>,
                        const SolveOptions&, const Space&);
template SolveResult cg(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>, std::span<double>,
                        const SolveOptions&, const Space&);

}  // namespace penstock
