#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

// The steps of SpGEMM on a GPU, which spgemm_gpu.cpp puts together. Rows are studied in chunks; those of about the same
// size and their way of being added up are a class, which one launch takes care of, the largest first.
namespace penstock::gpu {

/// Bin b holds sizes in (2^(b - 1), 2^b]; the last one all above, too. Empty rows are in none.
inline constexpr int kBins = 32;
constexpr int bin_of(Offset size) {
  int b = 0;
  while (b < kBins - 1 && (Offset(1) << b) < size) ++b;
  return b;
}

enum class RowMethod { tiny, hash, bitmap };

struct RowClass {
  RowMethod method = RowMethod::tiny;
  int threads = 32;                   // of a row
  int log_slots = 0;                  // hash
  std::int64_t window = 0;            // bitmap
  std::int64_t begin = 0, count = 0;  // in the list, which is sorted by falling bin
  bool operator==(const RowClass&) const = default;
};

/// Rows of each bin, and of all rows together the sum of sizes and of min(size, columns).
struct RowBins {
  std::array<std::int64_t, kBins> rows{};
  std::int64_t sizes = 0, bound = 0;
};

/// `window`: columns that a bitmap holds at a time. `writing`: sizes are entries of C, not products. What does not fit a hash
/// table of 2^most_log_slots goes to a bitmap.
std::vector<RowClass> row_classes(const RowBins& bins, SpgemmGpuMethod method, bool writing,
                                  std::int64_t cols, std::int64_t window, int most_log_slots);
/// Columns of a bitmap: `asked` or, where that is 0, `most`, in windows that are about equally wide.
std::int64_t bitmap_window(std::int64_t cols, std::int64_t most, std::int64_t asked);

/// Shared memory beside tables and bitmaps, of a block that takes one row: the queue of long rows, and sums.
inline constexpr std::int64_t kBeside = 4 << 10;
/// What a block with so many bytes of shared memory holds of a bitmap, in columns.
std::int64_t most_columns(std::int64_t shared_bytes, bool writing);
/// log2 of the slots of the largest hash table that it holds, of so many bytes a slot.
int most_log_slots(std::int64_t shared_bytes, std::int64_t slot_bytes);

/// products[r] for rows [first, first + rows); `list` has room for as many numbers, `counter` is one.
void row_products(const CsrView<One>& a, const CsrView<One>& b, std::int64_t first, std::int64_t rows,
                  Offset* products, Index* list, int* counter, Stream stream);

/// Sizes of rows: their products, or where `indptr` is given their entries in C. Then a row of few entries but more than
/// kTinyProducts products counts as one of more entries than these: nothing that takes few products may have it.
struct RowSizes {
  const Offset* products = nullptr;
  const Offset* indptr = nullptr;  // of C
};
inline constexpr Offset kTinyProducts = 64;
constexpr Offset size_of(const RowSizes& sizes, std::int64_t r) {
  const Offset products = sizes.products[r];
  if (!sizes.indptr || products <= kTinyProducts) return products;
  const Offset entries = sizes.indptr[r + 1] - sizes.indptr[r];
  return entries > kTinyProducts ? entries : kTinyProducts + 1;
}
/// `counters`: kBins + 2 numbers of scratch memory. Waits.
RowBins count_bins(RowSizes sizes, std::int64_t rows, std::int64_t cols, std::uint64_t* counters,
                   Stream stream);
/// The list of rows by falling bin.
void list_bins(RowSizes sizes, std::int64_t rows, const RowBins& bins, std::uint64_t* counters, Index* list,
               Stream stream);

/// counts[row] = entries of that row of C, for the rows of a class.
void count_rows(const RowClass& which, const CsrView<One>& a, const CsrView<One>& b, std::int64_t first,
                const Index* list, Offset* counts, Stream stream);
/// The rows' entries, at indptr[row].
template <Semiring S>
void write_rows(const RowClass& which, const CsrView<typename S::value_type>& a,
                const CsrView<typename S::value_type>& b, std::int64_t first, const Index* list,
                const Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream);

/// numbers[i] becomes the sum of all before it; n of them.
void exclusive_sums(Offset* numbers, std::int64_t n, Stream stream);

/// counts[p] = entries of the sum in a piece of it (spgemm_add.hpp).
template <Semiring S>
void count_sum(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y, Offset* counts,
               Stream stream);
/// `starts`: the sums of these. Sets indptr[1..rows] too.
template <Semiring S>
void write_sum(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y, const Offset* starts,
               Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream);

}  // namespace penstock::gpu
