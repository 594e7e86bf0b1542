// Restarted GMRES (Saad & Schultz 1986), preconditioned from the right. Vectors are made orthogonal by classical Gram-Schmidt
// in two passes over the basis: the first takes the inner products, the second subtracts and takes them again, tile
// by tile, while the basis is in the cache. Where these say that rounding left too much, a third pass subtracts once
// more (the criterion is measured, not estimated). One reduction a pass, whatever the number of vectors.
#include <vector>

#include "penstock/solver/progress.hpp"

namespace penstock {
namespace {

/// The least-squares problem of a cycle: the Hessenberg matrix as it grows, turned into a triangle by rotations.
class Triangle {
 public:
  explicit Triangle(int m)
      : m_(m), h_(static_cast<std::size_t>(m + 1) * static_cast<std::size_t>(m)), c_(m), s_(m), g_(m + 1) {}
  void start(double norm) { std::fill(g_.begin(), g_.end(), 0.0), g_[0] = norm, size_ = 0; }

  /// Column `size` of the Hessenberg matrix, size + 2 numbers. Returns the norm of the residual with it.
  double add(std::span<const double> column) {
    const int j = size_++;
    double* h = at(j);
    std::copy(column.begin(), column.end(), h);
    for (int i = 0; i < j; ++i) rotate(i, h[i], h[i + 1]);
    const double length = std::hypot(h[j], h[j + 1]);
    c_[j] = length > 0 ? h[j] / length : 1, s_[j] = length > 0 ? h[j + 1] / length : 0;
    h[j] = length, h[j + 1] = 0;
    rotate(j, g_[j], g_[j + 1]);
    return std::abs(g_[j + 1]);
  }
  /// The coefficients of the basis. A column that adds nothing (a singular A) gets none.
  std::vector<double> solve() const {
    std::vector<double> y(g_.begin(), g_.begin() + size_);
    for (int j = size_ - 1; j >= 0; --j) {
      const double* h = at(j);
      y[j] = singular(j) ? 0 : y[j] / h[j];
      for (int i = 0; i < j; ++i) y[i] -= h[i] * y[j];
    }
    return y;
  }
  bool singular(int j) const {
    double largest = 0;
    for (int i = 0; i < size_; ++i) largest = std::max(largest, std::abs(at(i)[i]));
    return !(std::abs(at(j)[j]) > 1e-15 * largest);
  }
  int size() const { return size_; }

 private:
  const double* at(int j) const {
    return &h_[static_cast<std::size_t>(j) * static_cast<std::size_t>(m_ + 1)];
  }
  double* at(int j) { return &h_[static_cast<std::size_t>(j) * static_cast<std::size_t>(m_ + 1)]; }
  void rotate(int i, double& a, double& b) const {
    const double t = c_[i] * a + s_[i] * b;
    b = c_[i] * b - s_[i] * a, a = t;
  }
  int m_, size_ = 0;
  std::vector<double> h_, c_, s_, g_;
};

/// The Krylov basis and the passes over it.
template <class T>
class Basis {
 public:
  Basis(std::int64_t n, int m, Sweeper& sweep, const Space& space)
      : n_(n), v_(n, m + 1), sweep_(sweep), space_(space), sums_(static_cast<std::size_t>(m) + 2) {}
  std::span<T> operator[](int i) const { return v_[i]; }

  /// v[j + 1], which holds A M v[j], made orthogonal to v[0 .. j] and of length 1; h receives j + 2 numbers.
  void orthogonalise(int j, std::span<double> h) {
    const auto w = v_[j + 1];
    const auto k = static_cast<std::size_t>(j) + 1;
    const std::span<double> sums(sums_.data(), k + 1);
    sweep_(n_, j + 2, sums, [&](std::int64_t f, std::int64_t count, double* s) { project(j, f, count, s); });
    space_.sum(sums);
    const double before = std::sqrt(sums[k]);
    std::copy_n(sums.begin(), k, h.begin());
    subtract(j, sums);
    double after = std::sqrt(sums[k]), lost = 0;
    for (std::size_t i = 0; i < k; ++i) lost = std::max(lost, std::abs(sums[i]));
    const auto eps = static_cast<double>(std::numeric_limits<T>::epsilon());
    if (lost > std::sqrt(eps) * after) {  // half the digits of orthogonality are enough
      for (std::size_t i = 0; i < k; ++i) h[i] += sums[i];
      subtract(j, sums);
      after = std::sqrt(sums[k]);
    }
    if (!(after > eps * before)) after = 0;  // A M v[j] lies in the space already
    h[k] = after;
    if (after == 0) return;
    const auto scale = static_cast<T>(1 / after);
    sweep_(n_, 2, [&](std::int64_t f, std::int64_t count) {
      for (auto i = f; i < f + count; ++i) w[i] *= scale;
    });
  }

  /// u = V y
  void combine(std::span<const double> y, std::span<T> u) {
    sweep_(n_, std::ssize(y) + 1, [&](std::int64_t f, std::int64_t count) {
      std::fill_n(u.data() + f, count, T(0));
      for (std::size_t i = 0; i < y.size(); ++i)
        axpy<T>(static_cast<T>(y[i]), v_[static_cast<int>(i)].data() + f, u.data() + f, count);
    });
  }

 private:
  /// v[0 .. j] . w, w . w
  void project(int j, std::int64_t f, std::int64_t count, double* s) const {
    const T* w = v_[j + 1].data() + f;
    for (int i = 0; i <= j; ++i) s[i] += dot(v_[i].data() + f, w, count);
    s[j + 1] += dot(w, w, count);
  }
  /// w -= V sums, and the inner products of what is left.
  void subtract(int j, std::span<double> sums) {
    const std::vector<double> h(sums.begin(), sums.end());
    sweep_(n_, j + 3, sums, [&](std::int64_t f, std::int64_t count, double* s) {
      T* w = v_[j + 1].data() + f;
      for (int i = 0; i <= j; ++i)
        axpy<T>(static_cast<T>(-h[static_cast<std::size_t>(i)]), v_[i].data() + f, w, count);
      project(j, f, count, s);
    });
    space_.sum(sums);
  }

  std::int64_t n_;
  Workspace<T> v_;
  Sweeper& sweep_;
  const Space& space_;
  std::vector<double> sums_;
};

}  // namespace

template <class T>
SolveResult gmres(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
                  const SolveOptions& o, const Space& space) {
  const auto n = a.rows;
  const auto all = space.all_rows < 0 ? n : space.all_rows;
  const int kept = static_cast<int>(std::clamp<std::int64_t>(o.restart, 1, std::max<std::int64_t>(all, 1)));
  Progress<T> progress(a, m, b, x, o, space);
  auto& sweep = progress.sweep;
  Basis<T> v(n, kept, sweep, space);
  const Workspace<T> work(n, 2);
  const auto u = work[0], z = work[1];
  Triangle triangle(kept);
  std::vector<double> column(static_cast<std::size_t>(kept) + 1);

  double norm = 0;
  if (!progress.load({&norm}, {v[0]})) {
    norm = progress.residual(v[0], o.starts_at_zero);
    progress.start(norm);
  }
  for (; !progress.ended() && progress.more(); progress.save({norm}, {v[0]})) {
    const auto scale = static_cast<T>(1 / norm);
    sweep(n, 2, [&](std::int64_t f, std::int64_t count) {
      for (auto i = f; i < f + count; ++i) v[0][i] *= scale;
    });
    triangle.start(norm);
    bool exhausted = false;
    double estimate = norm;
    for (int j = 0; j < kept && progress.more() && !exhausted && !progress.small(estimate); ++j) {
      if (m) {
        m->apply(v[j], z);
        sweep.count(n, m->diagonal.size ? 3 : 2);
      }
      a.apply(m ? z : v[j], v[j + 1]);
      sweep.count(n, 2);
      v.orthogonalise(j, {column.data(), static_cast<std::size_t>(j) + 2});
      exhausted = column[static_cast<std::size_t>(j) + 1] == 0;
      estimate = triangle.add({column.data(), static_cast<std::size_t>(j) + 2});
      if (!std::isfinite(estimate)) break;
      progress.step(estimate);
    }
    if (!std::isfinite(estimate)) {
      progress.not_finite();
      break;
    }
    v.combine(triangle.solve(), u);
    if (m) {
      m->apply(u, z);
      sweep.count(n, m->diagonal.size ? 3 : 2);
    }
    const auto step = m ? z : u;
    sweep(n, 3,
          [&](std::int64_t f, std::int64_t count) { axpy<T>(T(1), step.data() + f, x.data() + f, count); });
    progress.cycle();
    const auto before = norm;
    if (progress.small(estimate)) {
      if (progress.verified(v[0])) break;
      norm = progress.norm();
    } else {
      norm = progress.residual(v[0]);
      if (progress.small(norm)) progress.end(Stop::converged, "converged");
      progress.correct(norm);
    }
    if (exhausted && !progress.small(norm) && !(norm < 0.5 * before))
      progress.end(Stop::singular,
                   "breakdown: A M maps the Krylov space into itself and b is not reached: the matrix is "
                   "singular, or b is not in its range");
  }
  return progress.finish(v[0]);
}

template SolveResult gmres(const LinearOp<float>&, const LinearOp<float>*, std::span<const float>,
                           std::span<float>, const SolveOptions&, const Space&);
template SolveResult gmres(const LinearOp<double>&, const LinearOp<double>*, std::span<const double>,
                           std::span<double>, const SolveOptions&, const Space&);

}  // namespace penstock
