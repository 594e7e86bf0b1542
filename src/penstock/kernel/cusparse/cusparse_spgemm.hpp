#pragma once
#include <string_view>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// SpGEMM by cuSPARSE. Only benchmarks use it, as the rival of spgemm_gpu.hpp.
namespace penstock::cusparse {

/// The number of an algorithm ("default", "alg1", "alg2", "alg3"). Throws Error{invalid_argument} listing them.
int spgemm_algorithm(std::string_view name);

/// C = A B in float or double. The copies of A's and B's offsets in 32 bits are made once.
template <class T>
class Spgemm {
 public:
  /// C as cuSPARSE leaves it: offsets of 32 bits, and rows in any order. Its memory is of the stream's pool, and the stream
  /// must outlive it.
  struct Product {
    std::int64_t rows = 0, cols = 0;
    Array<std::int32_t> indptr;
    Array<Index> indices;
    Array<T> values;
    /// A copy in memory of its own on the GPU, with 64-bit offsets. Waits for it.
    Csr<T> csr(Stream stream) const;
  };
  /// Converts the offsets and waits. Throws Error{invalid_argument} if there are 2^31 nonzeros or more, and
  /// Error{not_accessible} unless the GPU can read A and B.
  Spgemm(const Csr<T>& a, const Csr<T>& b, Where where);
  ~Spgemm();
  Spgemm(const Spgemm&) = delete;
  Spgemm& operator=(const Spgemm&) = delete;

  /// Computes C by all steps, workspaces included; C is complete when it returns. Throws Error{out_of_memory} if cuSPARSE says
  /// that memory or other resources do not suffice, or if C would have 2^31 entries or more.
  Product multiply(int algorithm, Stream stream);

 private:
  Csr<T> a_, b_;
  Array<std::int32_t> a_offsets_, b_offsets_;
  void *handle_ = nullptr, *a_matrix_ = nullptr, *b_matrix_ = nullptr;
};

}  // namespace penstock::cusparse
