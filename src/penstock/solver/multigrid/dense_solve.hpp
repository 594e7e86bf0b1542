#pragma once
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// A dense L D L^T of a symmetric positive semidefinite matrix. Rows that depend on those before them are left out, so that a
/// singular matrix has a symmetric generalised inverse.
class DenseSolve {
 public:
  /// `tolerance`: a pivot below this part of its diagonal entry is rounding. Throws Error{invalid_argument} where one is negative.
  template <class T>
  DenseSolve(const Csr<T>& a, double tolerance);
  template <class T>
  void apply(const T* b, T* z) const;
  /// That one solve reads once.
  std::int64_t bytes() const { return (std::ssize(l_) + std::ssize(inverse_)) * 8; }

 private:
  std::int64_t n_;
  std::vector<double> l_, inverse_;  // rows of L below the diagonal; 1 / D, or 0
};

}  // namespace penstock
