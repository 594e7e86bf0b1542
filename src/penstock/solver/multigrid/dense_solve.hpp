#pragma once
#include <vector>

#include "penstock/format/csr.hpp"

namespace penstock {

/// A dense L D L^T of a symmetric positive semidefinite matrix, or L U of another one, with rows exchanged. Rows that depend on those
/// before them are left out, so that a singular matrix has a generalised inverse, which is symmetric where the matrix is.
class DenseSolve {
 public:
  /// `tolerance`: a pivot below this part of its diagonal entry is rounding. Throws Error{invalid_argument} where one of
  /// a symmetric matrix is negative.
  template <class T>
  DenseSolve(const Csr<T>& a, double tolerance, bool symmetric = true);
  template <class T>
  void apply(const T* b, T* z) const;
  /// The (generalised) inverse, row by row. Of a symmetric matrix it is symmetric to the last bit.
  template <class T>
  std::vector<T> inverse() const;
  /// That one solve reads once.
  std::int64_t bytes() const { return (std::ssize(l_) + std::ssize(inverse_)) * 8; }

 private:
  std::int64_t n_;
  void factor_symmetric(double tolerance);
  void factor(double tolerance);
  std::vector<double> l_, inverse_;  // rows of L below the diagonal, and of U above it; 1 / D, or 0
  std::vector<Index> rows_;          // row i of L U is row rows_[i] of A; empty where A is symmetric
};

}  // namespace penstock
