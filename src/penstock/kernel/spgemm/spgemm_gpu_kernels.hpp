#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

// The steps of SpGEMM on a GPU, which spgemm_gpu.cpp puts together. Rows are studied in chunks. Rows of about the same size,
// whose products are added up in the same way, are a class. Each class is one launch, the class of the largest rows first.
namespace penstock::gpu {

/// Bin b holds rows with sizes in (2^(b - 1), 2^b]; the last bin also holds all larger ones. Empty rows are in no bin.
inline constexpr int kBins = 32;
constexpr int bin_of(Offset size) {
  int b = 0;
  while (b < kBins - 1 && (Offset(1) << b) < size) ++b;
  return b;
}

enum class RowMethod { tiny, hash, bitmap };

struct RowClass {
  RowMethod method = RowMethod::tiny;
  int threads = 32;         // threads that take a row
  int log_slots = 0;        // for a hash table: log2 of its slots
  std::int64_t window = 0;  // for a bitmap: the columns that it holds
  // Its part of the list, in which the bin of the largest rows comes first.
  std::int64_t begin = 0, count = 0;
  bool operator==(const RowClass&) const = default;
};

/// The number of rows in each bin, and the sums over all rows of the size and of min(size, columns).
struct RowBins {
  std::array<std::int64_t, kBins> rows{};
  std::int64_t sizes = 0, bound = 0;
};

/// The classes of the rows in `bins`. `window` is how many columns a bitmap holds at a time. `writing` says that sizes are
/// entries of C and not products. Rows that do not fit a hash table of 2^most_log_slots slots go to a bitmap.
std::vector<RowClass> row_classes(const RowBins& bins, SpgemmGpuMethod method, bool writing,
                                  std::int64_t cols, std::int64_t window, int most_log_slots);
/// How many columns a bitmap holds: `asked`, or if that is 0 `most`, made smaller so that all windows are about equally wide.
std::int64_t bitmap_window(std::int64_t cols, std::int64_t most, std::int64_t asked);

/// Shared memory that a block needs beside its table or bitmap: for the queue of long rows, and for sums.
inline constexpr std::int64_t kBeside = 4 << 10;
/// How many columns of a bitmap a block with so many bytes of shared memory holds.
std::int64_t most_columns(std::int64_t shared_bytes, bool writing);
/// log2 of the slots of the largest hash table that such a block holds, with so many bytes a slot.
int most_log_slots(std::int64_t shared_bytes, std::int64_t slot_bytes);

/// Writes products[r] for rows [first, first + rows). `list` is scratch memory for as many numbers, `counter` for one.
void row_products(const CsrView<One>& a, const CsrView<One>& b, std::int64_t first, std::int64_t rows,
                  Offset* products, Index* list, int* counter, Stream stream);

/// Sizes of rows: their products, or if `indptr` is given their entries in C. In the second case a row with few entries but
/// more than kTinyProducts products counts as if it had more than kTinyProducts entries, so that no method for few products
/// gets it.
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
/// Counts the rows in each bin, and waits for it. `counters` is scratch memory for kBins + 2 numbers.
RowBins count_bins(RowSizes sizes, std::int64_t rows, std::int64_t cols, std::uint64_t* counters,
                   Stream stream);
/// Writes the list of rows, those of the last bin first.
void list_bins(RowSizes sizes, std::int64_t rows, const RowBins& bins, std::uint64_t* counters, Index* list,
               Stream stream);

/// For each row of a class: counts[row] = the number of entries of that row of C.
void count_rows(const RowClass& which, const CsrView<One>& a, const CsrView<One>& b, std::int64_t first,
                const Index* list, Offset* counts, Stream stream);
/// Writes the entries of the rows of a class, each row at indptr[row].
template <Semiring S>
void write_rows(const RowClass& which, const CsrView<typename S::value_type>& a,
                const CsrView<typename S::value_type>& b, std::int64_t first, const Index* list,
                const Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream);

/// counts[p] = the number of entries that piece p gives to the sum (spgemm_add.hpp).
template <Semiring S>
void count_sum(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y, Offset* counts,
               Stream stream);
/// Writes the sum, and indptr[1..rows]. `starts` are the exclusive sums of the counts.
template <Semiring S>
void write_sum(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y, const Offset* starts,
               Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream);

}  // namespace penstock::gpu
