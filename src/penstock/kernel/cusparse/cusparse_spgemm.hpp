#pragma once
#include <string_view>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/format/csr.hpp"

// SpGEMM by cuSPARSE, the rival of our own (spgemm_gpu.hpp): nothing else uses it.
namespace penstock::cusparse {

/// The number of an algorithm ("default", "alg1", "alg2", "alg3"). Throws Error{invalid_argument} listing them.
int spgemm_algorithm(std::string_view name);

/// C = A B, float or double: A and B with offsets of 32 bits, made once.
template <class T>
class Spgemm {
 public:
  /// C as cuSPARSE leaves it: offsets of 32 bits, rows in any order. Of the stream's pool, which must outlive it.
  struct Product {
    std::int64_t rows = 0, cols = 0;
    Array<std::int32_t> indptr;
    Array<Index> indices;
    Array<T> values;
    /// In memory of its own on the GPU, with this library's offsets; waits.
    Csr<T> csr(Stream stream) const;
  };
  /// Waits. Throws Error{invalid_argument} where there are 2^31 nonzeros or more, and Error{not_accessible} unless the GPU
  /// can read A and B.
  Spgemm(const Csr<T>& a, const Csr<T>& b, Where where);
  ~Spgemm();
  Spgemm(const Spgemm&) = delete;
  Spgemm& operator=(const Spgemm&) = delete;

  /// All steps, their workspaces included; complete when it returns. Throws Error{out_of_memory} where cuSPARSE says that
  /// memory or other resources do not suffice, or C would have 2^31 entries or more.
  Product multiply(int algorithm, Stream stream);

 private:
  Csr<T> a_, b_;
  Array<std::int32_t> a_offsets_, b_offsets_;
  void *handle_ = nullptr, *a_matrix_ = nullptr, *b_matrix_ = nullptr;
};

}  // namespace penstock::cusparse
