#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"

namespace penstock {

/// How the products of a row are added up on a GPU. `automatic` chooses by the row's size and the columns of B: rows of
/// at most 64 products are compared all with all by a warp, up to 4096 entries go to a hash table in shared memory,
/// longer ones to a bitmap of columns, and so do rows of more than 256 where B has few columns. `hash` and `bitmap` are for
/// tests and benchmarks; a hash table takes at most 4096 entries, and fewer where a block's shared memory holds no table of
/// twice as many slots; what is longer goes to the bitmap all the same.
enum class SpgemmGpuMethod { automatic, hash, bitmap };

struct SpgemmGpuOptions {
  /// Bytes that C may take on the GPU; below 0, what is free there. The entries of C are counted before C is allocated,
  /// and Error{out_of_memory} says the numbers and what to do.
  std::int64_t memory = -1;
  bool pooled = false;  // C comes from the stream's pool: quicker, but the stream must outlive C
  SpgemmGpuMethod method = SpgemmGpuMethod::automatic;
  std::int64_t chunk_rows = 1 << 24;  // rows studied at a time: 12 bytes of scratch memory each
  std::int64_t window = 0;  // columns of a bitmap; 0: as many as shared memory holds (1.1 million on an H200)
};

/// Rows [first, first + entries.rows) of a taller matrix; columns strictly ascend in each.
template <class P>
struct CsrRows {
  CsrView<P> entries;
  std::int64_t first = 0;
};

/// C = A B on `stream.where`, complete when it returns. `values` null: every entry is one, in A and in B; over or_and only
/// the patterns count. `count` must be stated. Rows need not be sorted and may hold duplicates, which add up; columns of C
/// ascend. An entry of C stands where any products meet, also where they cancel. On a GPU rows of at most 64 products have
/// the same bits in every run; in longer ones sums run in any order, and last bits may differ. On the CPU, `spgemm`
/// (kernel/spgemm.hpp). Throws Error{not_compiled} for a GPU in a build without CUDA.
template <Semiring S>
Csr<ProductValue<S>> spgemm_on(const CsrView<typename S::value_type>& a,
                               const CsrView<typename S::value_type>& b, Stream stream,
                               const SpgemmGpuOptions& options = {});

/// X + Y: rows from the smaller first row to the larger last one, complete when it returns. The same bits in every run,
/// and on the CPU. Of the options, `memory` and `pooled` count.
template <Semiring S>
Csr<ProductValue<S>> add_on(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y,
                            Stream stream, const SpgemmGpuOptions& options = {});

struct SpgemmGpuCounts {
  Offset products = 0;  // of all rows
  Offset bound = 0;     // of nnz(C): the sum over rows of min(products, columns)
};

/// Counted on the GPU (or the CPU) from A's entries and B's row offsets alone; `per_row`, of a.rows entries there, may be
/// null.
SpgemmGpuCounts spgemm_products(const CsrView<One>& a, const CsrView<One>& b, Offset* per_row, Stream stream);

}  // namespace penstock

// The closed list of what is compiled.
#define PENSTOCK_FOR_EACH_SPGEMM_GPU(X) X(PlusTimes<float>) X(PlusTimes<double>) X(OrAnd)
