#pragma once
#include <algorithm>

#include "penstock/core/device.hpp"
#include "penstock/solver/multigrid/prolongate.hpp"

// The products of a set-up with a finest matrix that is not in the memory of the stream's device. They go by
// blocks of rows (staged_rows.hpp), so that what they take beside their results does not grow with the matrix.
namespace penstock {

/// Entries of A in a block: few enough that its products take a part of `memory` (0: some hundred MB), where nothing else is asked for.
inline constexpr Offset kFinestBlock = 8 << 20, kLeastFinestBlock = 1 << 16;
inline constexpr std::int64_t kBytesOfProducts = 128;  // for an entry of A, about
constexpr Offset finest_block(Offset asked, std::int64_t memory) {
  if (asked > 0 || memory <= 0) return asked > 0 ? asked : kFinestBlock;
  return std::clamp<Offset>(memory / kBytesOfProducts, kLeastFinestBlock, kFinestBlock);
}

/// As smoothed_on (prolongate_gpu.hpp). The CPU reads A's row offsets.
template <class T>
Csr<T> smoothed_in_blocks(const Csr<T>& a, const Csr<T>& t, const Array<const T>& inverse, double omega,
                          const Strength<T>* strong, Offset block_nnz, Stream stream);

/// P^T (A P), from which the product of whole matrices differs by rounding.
template <class T>
Csr<T> galerkin_in_blocks(const Csr<T>& a, const Csr<T>& p, Offset block_nnz, Stream stream);

}  // namespace penstock
