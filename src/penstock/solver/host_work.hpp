#pragma once
#include <initializer_list>
#include <vector>

#include "penstock/solver/progress.hpp"

namespace penstock {

/// What a method needs besides its passes, with vectors in host memory: memory, products, sums and an outcome. DeviceWork
/// has the same functions, so that the text of a method serves both.
template <class T>
class HostWork : public Progress<T> {
 public:
  using Entry = T;
  using Scalar = ScalarOf<T>;
  /// With so many vectors of the method's own; a pass takes at most `sums` inner products.
  HostWork(const LinearOp<T>& a, const LinearOp<T>* m, std::span<const T> b, std::span<T> x,
           const SolveOptions& o, const Space& space, int vectors, std::size_t sums)
      : Progress<T>(a, m, b, x, o, space),
        n(a.rows),
        a_(a),
        m_(m),
        x_(x),
        o_(o),
        space_(space),
        vectors_(n, vectors),
        sums_(sums) {
    require(kParts<T> == 1 || o.checkpoints.every == 0, "solve: states are kept of real systems alone");
  }

  T* operator[](int i) const { return vectors_[i].data(); }
  T* x() const { return x_.data(); }
  bool has_m() const { return m_ != nullptr; }
  bool starts_at_zero() const { return o_.starts_at_zero; }

  void multiply(const T* from, T* to) { apply(a_, from, to); }
  void precondition(const T* from, T* to) { apply(*m_, from, to); }
  /// to = A from; the sums w . to, to . to
  void multiply_dots(const T* from, T* to, const T* w) {
    if constexpr (kParts<T> == 1) {
      const auto dots = apply_dots<T>(a_, whole(from), whole(to), w, this->sweep);
      sums_[0] = dots.wy, sums_[1] = dots.yy;
    } else {
      multiply(from, to);
      pass(2, 2, [&](std::int64_t f, std::int64_t count, Scalar* s) {
        s[0] += inner(w + f, to + f, count), s[1] += square(to + f, count);
      });
    }
  }
  /// to += factor from
  void add(T factor, const T* from, T* to) {
    pass(3, [&](std::int64_t f, std::int64_t count) { axpy<T>(factor, from + f, to + f, count); });
  }

  /// The first k sums of the passes before, over all ranks.
  std::span<const Scalar> total(std::size_t k) {
    space_.sum(as_doubles(k));
    return {sums_.data(), k};
  }
  /// Begins the same, so that the caller can work meanwhile: finish_total() ends it.
  void start_total(std::size_t k) { space_.start(as_doubles(k)); }
  std::span<const Scalar> finish_total() {
    space_.finish();
    return sums_;
  }

  double residual(T* r, bool x_is_zero = false) { return Progress<T>::residual(whole(r), x_is_zero); }
  bool verified(T* r) { return Progress<T>::verified(whole(r)); }
  SolveResult finish(T* r) { return Progress<T>::finish(whole(r)); }
  void save(std::initializer_list<double> scalars, std::initializer_list<T*> vectors) {
    if (this->saves()) Progress<T>::save(scalars, spans(vectors));
  }
  bool load(std::initializer_list<double*> scalars, std::initializer_list<T*> vectors) {
    return Progress<T>::load(scalars, spans(vectors));
  }

 protected:
  /// A pass that takes k sums: tile(first, count, sums).
  template <class F>
  void pass(std::int64_t moved, std::size_t k, F&& tile) {
    this->sweep(n, moved, as_doubles(k), [&](std::int64_t f, std::int64_t count, double* s) {
      tile(f, count, reinterpret_cast<Scalar*>(s));
    });
  }
  template <class F>
  void pass(std::int64_t moved, F&& tile) {
    this->sweep(n, moved, std::forward<F>(tile));
  }

  const std::int64_t n;

 private:
  std::span<double> as_doubles(std::size_t k) {
    return {reinterpret_cast<double*>(sums_.data()), static_cast<std::size_t>(kParts<T>) * k};
  }
  std::span<T> whole(T* p) const { return {p, static_cast<std::size_t>(n)}; }
  std::span<const T> whole(const T* p) const { return {p, static_cast<std::size_t>(n)}; }
  std::vector<std::span<T>> spans(std::initializer_list<T*> vectors) const {
    std::vector<std::span<T>> all;
    for (T* v : vectors) all.push_back(whole(v));
    return all;
  }
  void apply(const LinearOp<T>& op, const T* from, T* to) {
    op.apply(whole(from), whole(to));
    this->sweep.count(n, op.diagonal.size ? 3 : 2);
  }

  const LinearOp<T>& a_;
  const LinearOp<T>* m_;
  std::span<T> x_;
  const SolveOptions& o_;
  const Space& space_;
  Workspace<T> vectors_;
  std::vector<Scalar> sums_;
};

}  // namespace penstock
