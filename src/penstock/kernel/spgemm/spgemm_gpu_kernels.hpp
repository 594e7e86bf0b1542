#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"
#include "penstock/kernel/spgemm/spgemm_merge.hpp"

// The steps of SpGEMM on a GPU, which spgemm_gpu.cpp puts together. Rows are studied in chunks. Rows of about the same size,
// whose products are added up in the same way, are a class. Each class is one launch, the class of the largest rows first.
namespace penstock::gpu {

/// Rows that one thread merges (spgemm_merge.hpp) are in the first bins, by their entries of A (at most 4, 8 or 16) and their
/// products (at most kFewProducts, or more). The other bins hold rows with sizes in (2^(b - 1), 2^b], b = 0 to kSizeBins - 1; the
/// last one also holds all larger ones. Empty rows are in no bin.
inline constexpr int kMergeBins = 6, kSizeBins = 32, kBins = kMergeBins + kSizeBins;
constexpr int merge_bin(Offset lists, Offset products) {
  const int kind = lists <= 4 ? 0 : lists <= spgemm_merge::kFewLists ? 1 : 2;
  return 2 * kind + (products > spgemm_merge::kFewProducts);
}
constexpr int size_bin(Offset size) {
  int b = 0;
  for (int step = 16; step > 0; step /= 2)
    if (b + step < kSizeBins && (Offset(1) << (b + step - 1)) < size) b += step;
  return kMergeBins + b;
}

enum class RowMethod { merge, tiny, hash, bitmap };

struct RowClass {
  RowMethod method = RowMethod::tiny;
  int threads = 32;         // threads that take a row
  int lists = 0;            // for a merge: entries of A at most
  int log_slots = 0;        // for a hash table: log2 of its slots,
  std::int64_t wide = 0;    // in the first so many rows; in the others it is half as large
  std::int64_t window = 0;  // for a bitmap: the columns that it holds
  bool single = false;      // no row of B has a column twice
  // Its part of the list, in which the bin of the largest rows comes first.
  std::int64_t begin = 0, count = 0;
  bool operator==(const RowClass&) const = default;
};

/// The number of rows in each bin, and the sums over all rows of the size and of min(size, columns). `entries` are C's, once
/// its rows are counted. `ascends`: the columns of B's rows do.
struct RowBins {
  std::array<std::int64_t, kBins> rows{};
  std::int64_t sizes = 0, bound = 0, entries = 0;
  std::int64_t repeated = 0;  // rows that are in no bin because they repeat the row above
  bool ascends = false;
};

/// The classes of the rows in `bins`. `window` is how many columns a bitmap holds at a time. `writing` says that sizes are
/// entries of C and not products. Rows that do not fit a hash table of 2^most_log_slots slots go to a bitmap. A warp that counts
/// gets a table that may be too small (count_rows).
std::vector<RowClass> row_classes(const RowBins& bins, SpgemmGpuMethod method, bool writing,
                                  std::int64_t cols, std::int64_t window, int most_log_slots);
/// How many columns a bitmap holds: `asked`, or if that is 0 `most`, made smaller so that all windows are about equally wide.
std::int64_t bitmap_window(std::int64_t cols, std::int64_t most, std::int64_t asked);

/// How many products a row may have that one thread merges: few, if so few rows leave most of the GPU without a thread.
Offset merged_products(std::int64_t rows, const GpuFacts& gpu);

/// Shared memory that a block needs beside its table or bitmap: for the queue of long rows, and for sums.
inline constexpr std::int64_t kBeside = 4 << 10;
/// How many columns of a bitmap a block with so many bytes of shared memory holds.
std::int64_t most_columns(std::int64_t shared_bytes, bool writing);
/// log2 of the slots of the largest hash table that such a block holds, with so many bytes a slot.
int most_log_slots(std::int64_t shared_bytes, std::int64_t slot_bytes);

/// What the study of a chunk of rows counts, in device memory. All is 0 before, but for `falls` of a later chunk.
struct RowCounters {
  std::uint64_t falls;  // adjacent entries of a row of B whose columns do not ascend, for all of B
  std::uint64_t rows[kBins], listed[kBins];       // rows of each bin, and how many of them are in the list
  std::uint64_t sizes, bound, entries, repeated;  // as in RowBins
  int longs;                                      // long rows that wait
  int retries;                                    // rows that filled their table
};

/// Sizes of rows: their products, or if `indptr` is given their entries in C. In the second case a row with few entries but
/// more than kTinyProducts products counts as if it had more than kTinyProducts entries, so that no method for few products
/// gets it. With `lists`, the offsets of A's rows, and rows of B that ascend (*falls == 0), rows with few lists and at most `merged`
/// products are merged.
struct RowSizes {
  const Offset* products = nullptr;
  const Offset* indptr = nullptr;  // of C
  const Offset* lists = nullptr;
  const std::uint64_t* falls = nullptr;
  const std::uint8_t* repeats =
      nullptr;  // not 0: the row of A has the columns of the row above, and so has that of C
  Offset merged = spgemm_merge::kProducts;
};
inline constexpr Offset kTinyProducts = 64;
constexpr Offset size_of(const RowSizes& sizes, std::int64_t r) {
  const Offset products = sizes.products[r];
  if (!sizes.indptr || products <= kTinyProducts) return products;
  const Offset entries = sizes.indptr[r + 1] - sizes.indptr[r];
  return entries > kTinyProducts ? entries : kTinyProducts + 1;
}
constexpr bool merges(const RowSizes& sizes) { return sizes.lists && *sizes.falls == 0; }
/// The bin of a row, or -1 for an empty one and for one that repeats the row above. `merging` is merges(sizes).
constexpr int bin_of(const RowSizes& sizes, std::int64_t r, bool merging) {
  const Offset products = sizes.products[r];
  if (products == 0 || (sizes.repeats && sizes.repeats[r])) return -1;
  const Offset lists = merging ? sizes.lists[r + 1] - sizes.lists[r] : 0;
  if (merging && products <= sizes.merged && spgemm_merge::takes(lists, products))
    return merge_bin(lists, products);
  return size_bin(size_of(sizes, r));
}

/// Writes products[r] for rows [first, first + rows), and if it is not null repeats[r]: whether the row has the columns of the
/// row above, as the rows of one node of a mesh have. `list` is scratch memory for as many numbers, and *longs is 0.
void row_products(const CsrView<One>& a, const CsrView<One>& b, std::int64_t first, std::int64_t rows,
                  Offset* products, std::uint8_t* repeats, Index* list, int* longs, Stream stream);
/// Gives rows that repeat the row above its count.
void repeat_counts(const std::uint8_t* repeats, std::int64_t rows, Offset* counts, Stream stream);
/// Adds to counters->falls how often B's columns do not ascend within a row.
void count_falls(const CsrView<One>& b, RowCounters* counters, Stream stream);
/// Counts the rows in each bin. `total`, if not null, is where the number of C's entries is.
void count_bins(const RowSizes& sizes, std::int64_t rows, std::int64_t cols, const Offset* total,
                RowCounters* counters, Stream stream);
/// What was counted; waits for it.
RowBins read_bins(const RowCounters* counters, Stream stream);
/// Writes the list of rows, those of the last bin first.
void list_bins(const RowSizes& sizes, std::int64_t rows, const RowBins& bins, RowCounters* counters,
               Index* list, Stream stream);

/// Rows of a chunk whose tables were too small: `count` of them.
struct Retries {
  Index* list;
  int* count;
};
/// For each row of a class: counts[row] = the number of entries of that row of C. Warps with hash tables put rows that fill them
/// on the list of retries, from which count_again() takes them.
void count_rows(const RowClass& which, const CsrView<One>& a, const CsrView<One>& b, std::int64_t first,
                const Index* list, Retries retries, Offset* counts, Stream stream);
constexpr bool may_retry(const RowClass& c) { return c.method == RowMethod::hash && c.threads == 32; }
void count_again(const CsrView<One>& a, const CsrView<One>& b, std::int64_t first, Retries retries,
                 Offset* counts, Stream stream);
inline constexpr int kRetrySlots = 12,
                     kLastRetried = 11;  // log2 of the slots; the last size bin of rows that they hold
/// Writes the entries of the rows of a class, each row at indptr[row].
template <Semiring S>
void write_rows(const RowClass& which, const CsrView<typename S::value_type>& a,
                const CsrView<typename S::value_type>& b, std::int64_t first, const Index* list,
                const Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream);

/// The same for classes of rows that one thread merges.
void count_merged(const RowClass& which, const CsrView<One>& a, const CsrView<One>& b, std::int64_t first,
                  const Index* list, Offset* counts, Stream stream);
template <Semiring S>
void write_merged(const RowClass& which, const CsrView<typename S::value_type>& a,
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
