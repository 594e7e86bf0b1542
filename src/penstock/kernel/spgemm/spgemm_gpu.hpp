#pragma once
#include <cstdint>

#include "penstock/core/device.hpp"
#include "penstock/kernel/spgemm/spgemm.hpp"

namespace penstock {

/// How the products of a row are added up on a GPU. `automatic` chooses by the row's size and the columns of B. A row of at
/// most 16 entries of A and 128 products is merged by one thread if the rows of B ascend; in other rows of at most 64 products
/// a warp compares all products with all. Rows of up to 4096 entries go to a hash table in shared memory: a warp's up to 256,
/// a block's above. Longer ones go to a bitmap of columns, and so do rows of more than 256 entries if B has few columns. `hash`
/// and `bitmap` are for tests and benchmarks. A hash table takes at most 4096 entries, or fewer if a block's shared memory does
/// not hold a table with twice as many slots; longer rows go to the bitmap even with `hash`.
enum class SpgemmGpuMethod { automatic, hash, bitmap };

/// Bytes of scratch memory for each row that is studied.
inline constexpr std::int64_t kStudiedRowBytes = 17;

struct SpgemmGpuOptions {
  /// Bytes that C may take on the GPU; below 0: what is free there. The entries of C are counted before C is allocated; a C
  /// that does not fit is refused with Error{out_of_memory}, which has the numbers and the remedy.
  std::int64_t memory = -1;
  bool pooled = false;  // C comes from the stream's pool: quicker, but the stream must outlive C
  SpgemmGpuMethod method = SpgemmGpuMethod::automatic;
  std::int64_t chunk_rows = 1 << 24;  // rows studied at a time: kStudiedRowBytes each
  std::int64_t window = 0;  // columns of a bitmap; 0: as many as shared memory holds (1.1 million on an H200)
  bool count_only = false;  // C gets its row offsets, and no entries
};

/// Rows [first, first + entries.rows) of a taller matrix. In each row the columns strictly ascend.
template <class P>
struct CsrRows {
  CsrView<P> entries;
  std::int64_t first = 0;
};

/// C = A B on `stream.where`, complete when it returns. If the values of A or B are null, every entry is one; over or_and only
/// the patterns count. `count` of the views must be stated. Rows need not be sorted and may hold duplicates, which add up;
/// columns of C ascend. C has an entry wherever there is a product, also if products cancel. On a GPU rows of at most 64
/// products have the same bits in every run, and if the rows of B ascend those of at most 256 entries (128 where a block has 64 KB of shared
/// memory and values take 8 bytes); in longer rows sums are
/// taken in any order, so that last bits may differ. On the CPU it is `spgemm` (kernel/spgemm/spgemm.hpp). Throws Error{not_compiled} for a GPU in a build without CUDA.
template <Semiring S>
Csr<ProductValue<S>> spgemm_on(const CsrView<typename S::value_type>& a,
                               const CsrView<typename S::value_type>& b, Stream stream,
                               const SpgemmGpuOptions& options = {});

/// X + Y, complete when it returns. It has the rows from the smaller first row to the larger last one. The bits are the same
/// in every run, and on the CPU. Of the options it uses `memory` and `pooled`.
template <Semiring S>
Csr<ProductValue<S>> add_on(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y,
                            Stream stream, const SpgemmGpuOptions& options = {});

struct SpgemmGpuCounts {
  Offset products = 0;  // of all rows
  Offset bound = 0;     // an upper bound of nnz(C): the sum over rows of min(products, columns)
};

/// Counts the products, on the GPU or the CPU, from A's entries and B's row offsets alone. `per_row` gets those of each of the
/// a.rows rows, in memory of that device; it may be null.
SpgemmGpuCounts spgemm_products(const CsrView<One>& a, const CsrView<One>& b, Offset* per_row, Stream stream);

}  // namespace penstock

// The closed list of what is compiled.
#define PENSTOCK_FOR_EACH_SPGEMM_GPU(X) X(PlusTimes<float>) X(PlusTimes<double>) X(OrAnd)
