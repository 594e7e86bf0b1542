#pragma once
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/io/generate/generate_rmat.hpp"
#include "penstock/io/generate/generate_uniform.hpp"

// Generators on a GPU: the same matrices as the CPU's, bit for bit, values included, in the GPU's memory.
namespace penstock {

struct OnGpu {
  int gpu = 0;
  std::int64_t memory = 0;  // bytes that it may take on the GPU, with the matrix; 0: all that is free
};

template <class V>
struct MadeOnGpu {
  Csr<V> matrix;
  std::int64_t passes = 0;  // passes over the generator, without those that only count
  std::int64_t peak_bytes = 0;
};

/// One, float or double; values are those of with_uniform_values. Throws Error{invalid_argument} on bad options,
/// {not_compiled} without CUDA, {not_accessible} where there is no such GPU, and {out_of_memory} with the numbers
/// before the matrix is begun.
template <class V>
MadeOnGpu<V> generate_rmat_on(const OnGpu& where, const RmatOptions& options);
template <class V>
MadeOnGpu<V> generate_uniform_on(const OnGpu& where, const UniformOptions& options);

}  // namespace penstock
