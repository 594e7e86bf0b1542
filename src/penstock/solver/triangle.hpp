#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "penstock/solver/scalars.hpp"

namespace penstock {

/// The least-squares problem of a cycle: the Hessenberg matrix as it grows, turned into a triangle by rotations. S is double or complex.
template <class S>
class Triangle {
 public:
  explicit Triangle(int m)
      : m_(m), h_(static_cast<std::size_t>(m + 1) * static_cast<std::size_t>(m)), c_(m), g_(m + 1), s_(m) {}
  void start(double norm) { std::fill(g_.begin(), g_.end(), S(0)), g_[0] = norm, size_ = 0; }

  /// Column `size` of the Hessenberg matrix, size + 2 numbers. Returns the norm of the residual with it.
  double add(std::span<const S> column) {
    const int j = size_++;
    S* h = at(j);
    std::copy(column.begin(), column.end(), h);
    for (int i = 0; i < j; ++i) rotate(i, h[i], h[i + 1]);
    const double below = std::real(h[j + 1]), length = std::hypot(std::abs(h[j]), below);
    c_[j] = length > 0 ? h[j] / length : S(1), s_[j] = length > 0 ? below / length : 0;
    h[j] = length, h[j + 1] = 0;
    rotate(j, g_[j], g_[j + 1]);
    return std::abs(g_[j + 1]);
  }
  /// The coefficients of the basis. A column that adds nothing, of a singular A, gets 0.
  std::vector<S> solve() const {
    std::vector<S> y(g_.begin(), g_.begin() + size_);
    for (int j = size_ - 1; j >= 0; --j) {
      const S* h = at(j);
      y[j] = singular(j) ? S(0) : y[j] / h[j];
      for (int i = 0; i < j; ++i) y[i] -= h[i] * y[j];
    }
    return y;
  }
  bool singular(int j) const {
    double largest = 0;
    for (int i = 0; i < size_; ++i) largest = std::max(largest, std::abs(at(i)[i]));
    return !(std::abs(at(j)[j]) > kRounding * largest);
  }
  int size() const { return size_; }

 private:
  /// A diagonal entry below this part of the largest one is taken for rounding, and its column for a combination of others.
  static constexpr double kRounding = 1e-15;
  const S* at(int j) const { return &h_[static_cast<std::size_t>(j) * static_cast<std::size_t>(m_ + 1)]; }
  S* at(int j) { return &h_[static_cast<std::size_t>(j) * static_cast<std::size_t>(m_ + 1)]; }
  void rotate(int i, S& a, S& b) const {
    const S t = conjugate(c_[i]) * a + s_[i] * b;
    b = c_[i] * b - s_[i] * a, a = t;
  }
  int m_, size_ = 0;
  std::vector<S> h_, c_, g_;
  std::vector<double> s_;  // a column's last number is real, and so are the sines
};

}  // namespace penstock
