// The driver of C = A B on a GPU. Rows are studied in chunks: their products are counted, rows of about one size form a class,
// and one launch for each class counts the entries of C. Prefix sums of these counts give the offsets and the size of C, which
// is then allocated, and a second round of launches, with classes by the sizes of C's rows, writes it. spgemm_gpu_kernels.hpp
// has the steps. Also X + Y, by the merge path of spgemm_add.hpp.
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/kernel/spgemm/spgemm_add.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu_kernels.hpp"
#include "penstock/kernel/spgemm/spgemm_hash.hpp"
#include "penstock/kernel/structure/steps.hpp"

namespace penstock {
namespace {

/// Memory for C: a block that an earlier result may have left, since to map fresh memory and to unmap it makes the host wait;
/// or memory of the stream's pool. Whoever holds C may have queued work on any stream when it lets go.
template <class T>
Array<T> result_array(std::int64_t count, Stream stream, bool pooled) {
  const Place place = device_place(stream.where);
  if (!stream.where.is_gpu()) return allocate<T>(count);
  const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
  std::shared_ptr<void> owner;
  if (pooled) {
    owner = allocate_scratch(bytes, stream);
  } else {
    auto block = reuse_bytes(bytes, place);
    auto* const p = block.get();
    owner.reset(p, [block = std::move(block), where = stream.where](void*) mutable {
      drain(where);
      block.reset();
    });
  }
  return {static_cast<T*>(owner.get()), count, place, owner};
}

/// Allocates columns and values of a result with `nnz` entries. Throws Error{out_of_memory} if it may not take so much.
template <class P>
void allocate_entries(Offset nnz, Stream stream, const SpgemmGpuOptions& options, const std::string& what,
                      Array<Index>& indices, Array<P>& values) {
  const auto bytes = nnz * (static_cast<std::int64_t>(sizeof(Index)) + value_bytes<P>);
  const auto refuse = [&](const std::string& room) {
    throw Error(Errc::out_of_memory, what + " has " + std::to_string(nnz) + " entries, which take " +
                                         std::to_string(bytes) + " bytes, but " + room +
                                         ": multiply fewer rows or columns at a time, or allow more memory");
  };
  if (options.memory >= 0 && bytes > options.memory) refuse(std::to_string(options.memory) + " may be taken");
  try {
    indices = result_array<Index>(nnz, stream, options.pooled);
    if constexpr (!is_pattern<P>) values = result_array<P>(nnz, stream, options.pooled);
  } catch (const Error& e) {
    if (e.code() != Errc::out_of_memory) throw;
    refuse("the memory is not there (" + std::string(e.what()) + ")");
  }
}

void check_factors(const CsrView<One>& a, const CsrView<One>& b) {
  require(a.cols == b.rows, [&] {
    return "spgemm: A has " + std::to_string(a.cols) + " columns and B " + std::to_string(b.rows) +
           " rows: they must be equal";
  });
  require(a.count >= 0 && b.count >= 0, "spgemm on a GPU: state the entries of A and B (count)");
}

/// The scratch memory for the study of a chunk of rows.
class Study {
 public:
  Study(std::int64_t rows, Stream stream)
      : products_(allocate_scratch(8 * rows, stream)),
        list_(allocate_scratch(4 * rows, stream)),
        retries_(allocate_scratch(4 * rows, stream)),
        repeats_(allocate_scratch(rows, stream)),
        counters_(allocate_scratch(2 * sizeof(gpu::RowCounters), stream)),
        stream_(stream) {
    fill_async(counters_.get(), 0, 2 * sizeof(gpu::RowCounters), stream);
  }
  /// Counters are 0 for the first chunk; this clears them for another one.
  void clear(bool writing) const {
    auto* const from = &counters(writing)->rows;
    fill_async(from, 0, sizeof(gpu::RowCounters) - offsetof(gpu::RowCounters, rows), stream_);
  }
  Offset* products() const { return static_cast<Offset*>(products_.get()); }
  Index* list() const { return static_cast<Index*>(list_.get()); }
  std::uint8_t* repeats() const { return static_cast<std::uint8_t*>(repeats_.get()); }
  gpu::Retries retries() const { return {static_cast<Index*>(retries_.get()), &counters()->retries}; }
  gpu::RowCounters* counters(bool writing = false) const {
    return static_cast<gpu::RowCounters*>(counters_.get()) + writing;
  }

 private:
  std::shared_ptr<void> products_, list_, retries_, repeats_, counters_;
  Stream stream_;
};

/// Calls f(first, rows) for all chunks of [0, rows).
template <class F>
void for_chunks(std::int64_t rows, std::int64_t chunk, const F& f) {
  for (std::int64_t first = 0; first < rows; first += chunk) {
    f(first, std::min(chunk, rows - first));
    poll_interrupt();
  }
}

std::int64_t chunk_of(std::int64_t rows, const SpgemmGpuOptions& options) {
  constexpr std::int64_t kMost = 1 << 28;  // so that eight lanes a row are still a grid
  require(options.chunk_rows >= 1, "spgemm on a GPU: chunk_rows must be at least 1");
  return std::max<std::int64_t>(1, std::min({options.chunk_rows, rows, kMost}));
}

template <Semiring S>
Csr<ProductValue<S>> multiply_on_gpu(const CsrView<typename S::value_type>& a,
                                     const CsrView<typename S::value_type>& b, Stream stream,
                                     const SpgemmGpuOptions& options) {
  using P = ProductValue<S>;
  const auto pa = pattern_of(a), pb = pattern_of(b);
  const UseDevice use(stream.where);
  const auto& facts = gpu_facts(stream.where);
  const auto shared = facts.shared_block;
  const auto chunk = chunk_of(a.rows, options);
  const Study study(chunk, stream);
  const auto indptr = result_array<Offset>(a.rows + 1, stream, options.pooled);
  fill_async(indptr.data, 0, indptr.bytes(), stream);
  const bool merge = options.method == SpgemmGpuMethod::automatic;
  const auto merged = gpu::merged_products(a.rows, facts);
  const auto* const falls = &study.counters()->falls;
  gpu::count_falls(pb, study.counters(), stream);
  const auto sizes_of = [&](std::int64_t first, bool writing) -> gpu::RowSizes {
    return {.products = study.products(),
            .indptr = writing ? indptr.data + first : nullptr,
            .lists = merge ? a.indptr + first : nullptr,
            .falls = falls,
            .repeats = writing ? nullptr : study.repeats(),
            .merged = merged};
  };
  const auto classes = [&](const gpu::RowBins& bins, std::int64_t first, std::int64_t rows, bool writing) {
    gpu::list_bins(sizes_of(first, writing), rows, bins, study.counters(writing), study.list(), stream);
    const auto window = gpu::bitmap_window(b.cols, gpu::most_columns(shared, writing), options.window);
    const auto slot_bytes = writing ? spgemm_group::slot_bytes<P>(false) : std::int64_t(sizeof(Index));
    return gpu::row_classes(bins, options.method, writing, b.cols, window,
                            gpu::most_log_slots(shared, slot_bytes));
  };
  const auto study_rows = [&](std::int64_t first, std::int64_t rows) {
    if (first > 0) study.clear(false);
    gpu::row_products(pa, pb, first, rows, study.products(), study.repeats(), study.list(),
                      &study.counters()->longs, stream);
  };
  const Offset* const total = indptr.data + a.rows;
  const auto count_bins = [&](std::int64_t first, std::int64_t rows, bool writing) {
    if (writing && first > 0) study.clear(true);
    gpu::count_bins(sizes_of(first, writing), rows, b.cols, writing ? total : nullptr,
                    study.counters(writing), stream);
  };
  Offset products = 0;
  bool ascends = false;
  for_chunks(a.rows, chunk, [&](std::int64_t first, std::int64_t rows) {
    study_rows(first, rows);
    count_bins(first, rows, false);
    const auto bins = gpu::read_bins(study.counters(), stream);
    products += bins.sizes, ascends = bins.ascends;
    const auto retries = study.retries();
    bool again = false;
    for (const auto& c : classes(bins, first, rows, false)) {
      again |= gpu::may_retry(c);
      gpu::count_rows(c, pa, pb, first, study.list(), retries, indptr.data, stream);
    }
    if (again) gpu::count_again(pa, pb, first, retries, indptr.data, stream);
    if (bins.repeated > 0) gpu::repeat_counts(study.repeats(), rows, indptr.data + first, stream);
  });
  gpu::prefix_sums(indptr.data, a.rows + 1, stream);
  if (options.count_only) return synchronize(stream), Csr<P>{a.rows, b.cols, indptr, {}, {}};
  // The bins of the first chunk come with the size of C, which is waited for. What was studied of a single chunk is still there.
  const auto again = [&](std::int64_t first, std::int64_t rows) {
    if (rows < a.rows) study.clear(false), study_rows(first, rows);
    count_bins(first, rows, true);
    auto bins = gpu::read_bins(study.counters(true), stream);
    bins.ascends = ascends;
    return bins;
  };
  auto bins = again(0, std::min(chunk, a.rows));
  Array<Index> indices;
  Array<P> values;
  allocate_entries(bins.entries, stream, options, "A B, of " + std::to_string(products) + " products,",
                   indices, values);
  for_chunks(a.rows, chunk, [&](std::int64_t first, std::int64_t rows) {
    if (first > 0) bins = again(first, rows);
    for (const auto& c : classes(bins, first, rows, true))
      gpu::write_rows<S>(c, a, b, first, study.list(), indptr.data, indices.data, values.data, stream);
  });
  synchronize(stream);
  return {a.rows, b.cols, indptr, indices, values};
}

template <Semiring S>
Csr<ProductValue<S>> multiply_on_cpu(const CsrView<typename S::value_type>& a,
                                     const CsrView<typename S::value_type>& b,
                                     const SpgemmGpuOptions& options) {
  if (options.count_only) {
    const CsrView<std::uint8_t> pattern{.rows = a.rows,
                                        .cols = a.cols,
                                        .first_nnz = a.first_nnz,
                                        .indptr = a.indptr,
                                        .indices = a.indices,
                                        .count = a.count};
    return {a.rows, b.cols, spgemm<OrAnd, One>(pattern, pattern_of(b)).indptr, {}, {}};
  }
  if constexpr (!BooleanSemiring<S>)
    if (b.values) return spgemm<S, typename S::value_type>(a, b, {.memory = options.memory});
  return spgemm<S, One>(a, pattern_of(b), {.memory = options.memory});
}

constexpr const char* kOnGpu = "spgemm on a GPU";

}  // namespace

namespace gpu {

std::int64_t bitmap_window(std::int64_t cols, std::int64_t most, std::int64_t asked) {
  const auto whole = [](std::int64_t n) { return (std::max<std::int64_t>(n, 1) + 63) / 64 * 64; };
  most = std::max<std::int64_t>(most / 64 * 64, 64);
  if (asked > 0) return std::min(most, whole(asked));
  const auto windows = std::max<std::int64_t>((cols + most - 1) / most, 1);
  return std::min(most, whole((cols + windows - 1) / windows));
}

Offset merged_products(std::int64_t rows, const GpuFacts& gpu) {
  const bool few = rows < std::int64_t(gpu.multiprocessors) * gpu.threads / 4;
  return few ? spgemm_merge::kFewProducts : spgemm_merge::kProducts;
}

std::int64_t most_columns(std::int64_t shared_bytes, bool writing) {
  return (shared_bytes - kBeside) / spgemm_group::bytes_per_word(writing) * spgemm_group::kWordBits;
}

int most_log_slots(std::int64_t shared_bytes, std::int64_t slot_bytes) {
  int log = 0;
  while (slot_bytes << (log + 1) <= shared_bytes - kBeside) ++log;
  return log;
}

// Decides which method takes a bin. A bitmap costs a look at each of its words, a hash table costs the sorting of its entries;
// the bounds follow from those counts.
std::vector<RowClass> row_classes(const RowBins& bins, SpgemmGpuMethod method, bool writing,
                                  std::int64_t cols, std::int64_t window, int most_log_slots) {
  // Bins up to kTinyBin, of at most 64 products, are compared all with all. From kSmallBitmap on, a bitmap that one look
  // covers is cheaper than sorting a table. The last bin of hash tables is bounded by the shared memory, as half of the slots
  // are taken; a table that only counts has no sums, and may be twice as large. More threads take larger rows: few of them are
  // left idle.
  constexpr int kTinyBin = 6, kSmallBitmap = 9, kLastWritten = 12, kLastCounted = 13;
  constexpr int kLogWarps = 3;  // eight warps share a block, and each has a table
  const int last_hash = std::min(writing ? kLastWritten : kLastCounted, most_log_slots - 1);
  const auto table = [&](int wanted) { return std::min(wanted, most_log_slots); };
  const auto class_of = [&](int b) -> RowClass {
    if (b < kMergeBins)
      return {.method = RowMethod::merge,
              .lists = b < merge_bin(spgemm_merge::kMostLists, 0) ? spgemm_merge::kFewLists
                                                                  : spgemm_merge::kMostLists};
    b -= kMergeBins;
    const bool one_look = cols <= window && window / 64 <= std::int64_t(1) << b;
    if (method == SpgemmGpuMethod::automatic && b <= kTinyBin) return {.method = RowMethod::tiny};
    if (!writing && method != SpgemmGpuMethod::bitmap && b > 7 && b <= kLastRetried)
      return {.method = RowMethod::hash, .threads = 32, .log_slots = table(9)};
    if (method == SpgemmGpuMethod::bitmap || b > last_hash ||
        (method == SpgemmGpuMethod::automatic && b >= kSmallBitmap && one_look))
      return {.method = RowMethod::bitmap, .threads = b <= 12 ? 256 : 1024, .window = window};
    if (b <= 7) return {.method = RowMethod::hash, .threads = 32, .log_slots = table(8)};
    if (b <= 8 && most_log_slots >= 9 + kLogWarps)
      return {.method = RowMethod::hash, .threads = 32, .log_slots = 9};
    if (b <= 9) return {.method = RowMethod::hash, .threads = 128, .log_slots = table(10)};
    if (b <= 11) return {.method = RowMethod::hash, .threads = 256, .log_slots = table(12)};
    return {.method = RowMethod::hash, .threads = writing ? 1024 : 512, .log_slots = b + 1};
  };
  std::vector<RowClass> classes;
  std::int64_t begin = 0;
  for (int b = kBins - 1; b >= 0; --b) {
    const auto rows = bins.rows[static_cast<std::size_t>(b)];
    if (rows == 0) continue;
    auto next = class_of(b);
    next.begin = begin, next.count = rows, next.single = bins.ascends;
    if (next.method == RowMethod::hash) next.wide = rows;
    begin += rows;
    if (!classes.empty()) {
      auto& last = classes.back();
      const bool hash = next.method == RowMethod::hash;
      const bool alike =
          last.method == next.method && last.threads == next.threads && last.lists == next.lists;
      if (alike && last.log_slots == next.log_slots && (!hash || last.wide == last.count)) {
        last.count += rows, last.wide += next.wide;
        continue;
      }
      // Tables of warps in one launch: neither kind waits for the last rows of the other.
      if (alike && hash && next.threads == 32 && last.log_slots == next.log_slots + 1) {
        last.count += rows;
        continue;
      }
    }
    classes.push_back(next);
  }
  return classes;
}

}  // namespace gpu

template <Semiring S>
Csr<ProductValue<S>> spgemm_on(const CsrView<typename S::value_type>& a,
                               const CsrView<typename S::value_type>& b, Stream stream,
                               const SpgemmGpuOptions& options) {
  check_factors(pattern_of(a), pattern_of(b));
  if (!stream.where.is_gpu()) return multiply_on_cpu<S>(a, b, options);
  if constexpr (have_cuda) return multiply_on_gpu<S>(a, b, stream, options);
  else no_cuda(kOnGpu);
}

template <Semiring S>
Csr<ProductValue<S>> add_on(const CsrRows<ProductValue<S>>& x, const CsrRows<ProductValue<S>>& y,
                            Stream stream, const SpgemmGpuOptions& options) {
  using P = ProductValue<S>;
  require(x.entries.cols == y.entries.cols, "add_on: X and Y must have equally many columns");
  require(x.entries.count >= 0 && y.entries.count >= 0, "add_on: state the entries of X and Y (count)");
  const spgemm_add::Sum<P> sum(x, y);
  const bool here = !stream.where.is_gpu();
  if (!have_cuda && !here) no_cuda(kOnGpu);
  const auto items = sum.items(), pieces = sum.pieces();
  const auto scratch = allocate_scratch(8 * (pieces + 1), stream);
  auto* starts = static_cast<Offset*>(scratch.get());
  const auto indptr = result_array<Offset>(sum.rows + 1, stream, options.pooled);
  fill_async(starts + pieces, 0, sizeof(Offset), stream);
  fill_async(indptr.data, 0, sizeof(Offset), stream);
  constexpr std::int64_t kGrain = 1024;
  if (here) {
    parallel_ranges(pieces, kGrain, [&](std::int64_t p, std::int64_t last) {
      for (; p < last; ++p) starts[p] = spgemm_add::count_piece<S>(sum, p, items);
    });
    Offset before = 0;
    for (std::int64_t p = 0; p <= pieces; ++p) before += std::exchange(starts[p], before);
  } else if constexpr (have_cuda) {
    gpu::count_sum<S>(x, y, starts, stream);
    gpu::prefix_sums(starts, pieces + 1, stream);
  }
  Offset nnz = 0;
  copy_async(&nnz, starts + pieces, sizeof nnz, stream);
  synchronize(stream);
  Array<Index> indices;
  Array<P> values;
  allocate_entries(nnz, stream, options, "a sum of two sparse matrices", indices, values);
  if (here) {
    parallel_ranges(pieces, kGrain, [&](std::int64_t p, std::int64_t last) {
      for (; p < last; ++p)
        spgemm_add::write_piece<S>(sum, p, items, starts[p], indptr.data, indices.data, values.data);
    });
  } else if constexpr (have_cuda) {
    gpu::write_sum<S>(x, y, starts, indptr.data, indices.data, values.data, stream);
  }
  synchronize(stream);
  return {sum.rows, x.entries.cols, indptr, indices, values};
}

SpgemmGpuCounts spgemm_products(const CsrView<One>& a, const CsrView<One>& b, Offset* per_row,
                                Stream stream) {
  check_factors(a, b);
  SpgemmGpuCounts counts;
  if (!stream.where.is_gpu()) {
    const auto starts = product_offsets(a, b.indptr);
    for (std::int64_t r = 0; r < a.rows; ++r) {
      const auto n = starts.data[r + 1] - starts.data[r];
      counts.products += n, counts.bound += std::min<Offset>(n, b.cols);
      if (per_row) per_row[r] = n;
    }
    return counts;
  }
  if constexpr (have_cuda) {
    const auto chunk = chunk_of(a.rows, {});
    const UseDevice use(stream.where);
    const Study study(chunk, stream);
    for_chunks(a.rows, chunk, [&](std::int64_t first, std::int64_t rows) {
      auto* products = per_row ? per_row + first : study.products();
      if (first > 0) study.clear(false);
      gpu::row_products(a, b, first, rows, products, nullptr, study.list(), &study.counters()->longs, stream);
      gpu::count_bins({.products = products}, rows, b.cols, nullptr, study.counters(), stream);
      const auto bins = gpu::read_bins(study.counters(), stream);
      counts.products += bins.sizes, counts.bound += bins.bound;
    });
    return counts;
  } else {
    no_cuda(kOnGpu);
  }
}

#define X(S)                                                                                                \
  template Csr<ProductValue<S>> spgemm_on<S>(const CsrView<S::value_type>&, const CsrView<S::value_type>&,  \
                                             Stream, const SpgemmGpuOptions&);                              \
  template Csr<ProductValue<S>> add_on<S>(const CsrRows<ProductValue<S>>&, const CsrRows<ProductValue<S>>&, \
                                          Stream, const SpgemmGpuOptions&);
PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X

}  // namespace penstock
