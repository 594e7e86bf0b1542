#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/solver/outcome.hpp"
#include "penstock/solver/vectors.hpp"

namespace penstock {

/// b . b of this process's rows, and 1 where that is 0 although an entry of b is not.
template <class T>
std::array<double, 2> squares(std::span<const T> b, Sweeper& sweep) {
  std::array<double, 1> bb;
  sweep(std::ssize(b), 1, bb,
        [&](std::int64_t f, std::int64_t n, double* s) { s[0] += square(b.data() + f, n); });
  const bool tiny =
      bb[0] < Outcome::kLeastSquares && std::any_of(b.begin(), b.end(), [](T v) { return v != T(0); });
  return {bb[0], tiny ? 1.0 : 0.0};
}

/// What the methods on the CPU's vectors share: an outcome, and the check that the recurrence's residual is the true one.
template <class T>
class Progress : public Outcome {
 public:
  Progress(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
           const SolveOptions& o, const Space& space)
      : Outcome(o, sizeof(RealOf<T>)), a_(a), b_(b), x_(x), space_(space), sweep(sizeof(T)) {
    require(std::ssize(b) == a.rows && b.size() == x.size(), "solve: b and x need the rows of A");
    require(!m || m->rows == a.rows,
            "solve: M has " + std::to_string(m ? m->rows : 0) + " rows, A has " + std::to_string(a.rows));
    auto sums = squares(b, sweep);
    space.sum(sums);
    aim(sums[0], sums[1] > 0);
  }

  /// r = b - A x; its norm.
  double residual(std::span<T> r, bool x_is_zero = false) {
    std::array<double, 1> rr;
    x_is_zero = x_is_zero && !anew();
    if (!x_is_zero) a_.apply(x_, r), sweep.count(a_.rows, 2);
    sweep(a_.rows, x_is_zero ? 2 : 3, rr, [&](std::int64_t f, std::int64_t n, double* s) {
      const T* __restrict from = b_.data() + f;
      T* __restrict to = r.data() + f;
      if (x_is_zero) std::copy_n(from, n, to);
      else
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[i] - to[i];
      s[0] += square(to, n);
    });
    space_.sum(rr);
    return std::sqrt(rr[0]);
  }

  /// Keeps the method's state if that is due: x, these vectors and scalars are then enough to go on.
  void save(std::initializer_list<double> scalars, std::span<const std::span<T>> vectors) {
    if (saves()) Outcome::save({.scalars = scalars, .vectors = bytes_of(vectors)});
  }
  /// Goes on from a state that was kept: x, the vectors and the scalars are overwritten. False: there is none, or none
  /// but x (anew()): the method begins from b - A x.
  bool load(std::initializer_list<double*> scalars, std::span<const std::span<T>> vectors) {
    SolveState state{.scalars = std::vector<double>(scalars.size()), .vectors = bytes_of(vectors)};
    if (!Outcome::load(state)) return false;
    auto from = state.scalars.begin();
    for (double* scalar : scalars) *scalar = *from++;
    return true;
  }

  /// For when the recurrence says that it is done. True: the solve ends. False: the method starts again from `r`, which now
  /// holds b - A x.
  bool verified(std::span<T> r) { return settles(residual(r)); }

  /// `r` is overwritten.
  SolveResult finish(std::span<T> r) {
    auto result = close([&] { return residual(r); });
    result.vector_bytes = sweep.bytes();
    return result;
  }

 private:
  std::vector<std::span<std::byte>> bytes_of(std::span<const std::span<T>> vectors) const {
    std::vector<std::span<std::byte>> all{std::as_writable_bytes(x_)};
    for (const auto v : vectors) all.push_back(std::as_writable_bytes(v));
    return all;
  }

  const LinearOp<T>& a_;
  std::span<const T> b_;
  std::span<T> x_;
  const Space& space_;

 public:
  Sweeper sweep;
};

}  // namespace penstock
