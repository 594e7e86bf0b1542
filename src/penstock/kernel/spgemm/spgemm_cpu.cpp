// The parts of SpGEMM on the CPU that do not depend on types: which rows repeat the row above, blocks of rows with about
// equally many products, and how much memory C may take. spgemm_cpu.hpp has the driver, spgemm_row.hpp computes a row.
#include "penstock/kernel/spgemm/spgemm_cpu.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <string>

#include "penstock/core/machine.hpp"

namespace penstock {
namespace {

constexpr Offset kBlockProducts = 32 << 10;  // their results fit a second-level cache of 1 MB
constexpr std::int64_t kBlockRows = 8 << 10;
constexpr std::int64_t kProductRowsOfATask = 4 << 10;
constexpr std::int64_t kUnasked = 64 << 20;  // bytes that are taken without asking what is available
// An estimate may be wrong by this factor. A product that seems to exceed the memory by less is tried, and stopped if it does.
constexpr double kTrust = 1.05;

/// Is row r the row above, moved by one?
bool repeats_row(const CsrView<One>& a, std::int64_t r) {
  const auto n = a.indptr[r + 1] - a.indptr[r];
  if (n != a.indptr[r] - a.indptr[r - 1]) return false;
  const auto* row = a.indices - a.first_nnz + a.indptr[r];
  bool same = true;
  for (Offset k = 0; k < n; ++k) same &= row[k] == row[k - n] + 1;
  return same;
}

/// More than `share` eighths of the rows, by a sample
bool mostly_repeats(const CsrView<One>& a, std::int64_t share) {
  constexpr std::int64_t kSampled = 256;
  if (a.rows < 2) return false;
  const auto step = std::max<std::int64_t>(1, (a.rows - 1) / kSampled);
  std::int64_t yes = 0, all = 0;
  for (std::int64_t r = 1; r < a.rows; r += step) yes += repeats_row(a, r), ++all;
  return yes * 8 > all * share;
}

Array<std::uint8_t> repeating_rows(const CsrView<One>& a) {
  const auto out = allocate<std::uint8_t>(a.rows);
  parallel_ranges(a.rows, kProductRowsOfATask, [&](std::int64_t r, std::int64_t last) {
    for (; r < last; ++r) out.data[r] = r > 0 && repeats_row(a, r);
  });
  return out;
}

}  // namespace

Repeats find_repeats(const CsrView<One>& a, const CsrView<One>& b, bool few) {
  // Rows of few products that are sorted many at a time take about twice as long as those that repeat the row above, and a third
  // of what rows between such take (2-D Laplacian, luxembourg_osm).
  const std::int64_t share = few ? 7 : 4;
  const bool same = a.indices == b.indices && a.indptr == b.indptr && a.rows == b.rows;
  if (!mostly_repeats(b, share) || (!same && !mostly_repeats(a, share))) return {};
  auto of_b = repeating_rows(b);
  return {same ? of_b : repeating_rows(a), of_b};
}

Accumulator accumulator(std::string_view name) {
  constexpr std::array<std::string_view, 4> names{"auto", "merge", "hash", "dense"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return static_cast<Accumulator>(i);
  throw Error(Errc::invalid_argument,
              "accumulator '" + std::string(name) + "' is unknown: choose one of auto, merge, hash, dense");
}

bool ascending_rows(const CsrView<One>& a) {
  std::atomic<bool> yes = true;
  parallel_ranges(a.rows, kProductRowsOfATask, [&](std::int64_t first, std::int64_t last) {
    if (!yes.load(std::memory_order_relaxed)) return;
    bool good = true;
    for (auto r = first; r < last; ++r) {
      const auto* j = a.indices - a.first_nnz;
      bool row = true;
      for (auto k = a.indptr[r] + 1; k < a.indptr[r + 1]; ++k) row &= j[k - 1] < j[k];
      good &= row;
    }
    if (!good) yes.store(false, std::memory_order_relaxed);
  });
  return yes.load();
}

Array<Offset> product_offsets(const CsrView<One>& a, const Offset* b_indptr) {
  const auto offsets = allocate<Offset>(a.rows + 1);
  auto* out = offsets.data;
  out[0] = 0;
  const auto ranges = (a.rows + kProductRowsOfATask - 1) / kProductRowsOfATask;
  std::vector<Offset> sums(static_cast<std::size_t>(ranges));
  parallel_for(ranges, [&](std::int64_t i) {
    Offset sum = 0;
    const auto last = std::min((i + 1) * kProductRowsOfATask, a.rows);
    for (auto r = i * kProductRowsOfATask; r < last; ++r) {
      for (auto e = a.indptr[r] - a.first_nnz, end = a.indptr[r + 1] - a.first_nnz; e < end; ++e)
        sum += b_indptr[a.indices[e] + 1] - b_indptr[a.indices[e]];
      out[r + 1] = sum;
    }
    sums[static_cast<std::size_t>(i)] = sum;
  });
  Offset before = 0;
  for (auto& s : sums) before += std::exchange(s, before);
  parallel_for(ranges, [&](std::int64_t i) {
    const auto add = sums[static_cast<std::size_t>(i)];
    const auto last = std::min((i + 1) * kProductRowsOfATask, a.rows);
    for (auto r = i * kProductRowsOfATask; r < last; ++r) out[r + 1] += add;
  });
  return offsets;
}

std::vector<ProductBlock> product_blocks(const Array<Offset>& offsets, std::int64_t cols) {
  const auto rows = offsets.size - 1;
  const auto* at = offsets.data;
  std::vector<ProductBlock> blocks;
  for (std::int64_t r = 0; r < rows;) {
    const auto* most = at + std::min(rows, r + kBlockRows);
    const auto* fits = std::upper_bound(at + r + 1, most + 1, at[r] + kBlockProducts) - 1;
    const auto last = std::max(r + 1, static_cast<std::int64_t>(fits - at));
    const auto products = at[last] - at[r];
    blocks.push_back({r, last, last - r == 1 ? std::min(products, cols) : products, at[r]});
    r = last;
  }
  return blocks;
}

Offset allowed_entries(const CsrView<One>& a, const CsrView<One>& b, Offset bound, std::int64_t entry_bytes,
                       const SpgemmOptions& options) {
  if (options.memory < 0 && bound * entry_bytes <= kUnasked) return bound;
  const auto memory = options.memory < 0 ? probe_topology().available_bytes : options.memory;
  const auto rest = memory - (a.rows + 1) * static_cast<std::int64_t>(sizeof(Offset));
  const auto allowed = std::max<Offset>(0, rest / entry_bytes);
  if (bound <= allowed) return bound;
  if (options.mask) return allowed;
  const auto e = estimate_spgemm(a, b, false);
  if (static_cast<double>(e.nnz) <= kTrust * static_cast<double>(allowed)) return allowed;
  const auto size = [](std::int64_t bytes) {
    const char* unit = bytes >= 1'000'000'000 ? "GB" : bytes >= 1'000'000 ? "MB" : "KB";
    const double scale = bytes >= 1'000'000'000 ? 1e9 : bytes >= 1'000'000 ? 1e6 : 1e3;
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g %s", static_cast<double>(bytes) / scale, unit);
    return std::string(text.data());
  };
  throw Error(Errc::out_of_memory,
              "the product would have about " + std::to_string(e.nnz) + " entries of " +
                  std::to_string(entry_bytes) + " bytes, " + size(e.nnz * entry_bytes) + " (from " +
                  std::to_string(e.products) + " products), and " + size(memory) +
                  (options.memory < 0 ? " are available" : " are allowed") +
                  ": compute it in blocks of rows (spgemm_blocks), or write it to a store (out=)");
}

#define X(S, V)                                                                                \
  template Csr<ProductValue<S>> spgemm<S, V>(const CsrView<S::value_type>&, const CsrView<V>&, \
                                             const SpgemmOptions&);
PENSTOCK_FOR_EACH_SPGEMM_PLUS(X)
#undef X

}  // namespace penstock
