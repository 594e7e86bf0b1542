#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace penstock {

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
  /// The coefficients of the basis. A column that adds nothing, of a singular A, gets 0.
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
    return !(std::abs(at(j)[j]) > kRounding * largest);
  }
  int size() const { return size_; }

 private:
  /// A diagonal entry below this part of the largest one is taken for rounding, and its column for a combination of others.
  static constexpr double kRounding = 1e-15;
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

}  // namespace penstock
