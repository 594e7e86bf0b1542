// Computes A^T by a counting sort on the columns, in two passes so that writes stay in the cache.
//
// The rows are cut into shares, and the columns into buckets of about 64k entries. Each share counts its entries in every
// bucket; then it appends its entries to the buckets, at the places that the counts give. So there are as many streams of
// writes as buckets, and no more. Then a bucket holds a few columns of A in the order of its rows, and one more counting sort,
// inside the L2 cache, finishes it. A bucket of one column is finished already. All passes are stable, so the result does not
// depend on the cut. If shares have hardly a column in common, as in a mesh, or if there are few columns, entries are written
// to their final place at once.
#include "penstock/kernel/structure/transpose.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/assemble.hpp"
#include "penstock/kernel/row_blocks.hpp"
#include "penstock/kernel/structure/row_offsets.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kTransposeBlockCost = 64 << 10;
constexpr std::size_t kSharesAThread = 4;
constexpr std::int64_t kMaxGranules = 1 << 14;  // a share has a count for each, which take 128 kB
constexpr std::int64_t kFewColumns = 4096;      // the cache holds the lines of so many places to write to
constexpr std::int64_t kLook = 1 << 20;         // entries between two calls of poll_interrupt()

struct Share {
  std::size_t first_block = 0, last_block = 0;
  std::int64_t first_column = 0, last_column = 0;
  // First a count for each granule, then for each bucket the place of the next entry.
  std::vector<Offset> next;
};

/// Calls f(row, k) for the entries of some blocks, in order.
template <class V, class F>
void visit(const Csr<V>& a, const std::vector<RowBlock>& blocks, const Share& share, F&& f) {
  for (auto b = share.first_block; b < share.last_block; ++b) {
    const auto& block = blocks[b];
    const auto last = block.first_nnz + block.nnz;
    for (auto r = block.first_row; r < block.first_row + block.rows; ++r)
      for (auto k = std::max(block.first_nnz, a.indptr.data[r]), end = std::min(last, a.indptr.data[r + 1]);
           k < end; ++k)
        f(r, k);
    poll_interrupt();
  }
}

template <class V>
struct Parts {
  Array<Offset> indptr;
  Array<Index> indices;
  Array<V> values;
};

/// Sorts one bucket, of a few columns, from the order of A's rows to the order of A^T's rows. `low` holds the last 16 bits of
/// columns.
template <class V>
class BucketTurner {
 public:
  void run(const detail::RowBucket& bucket, const std::uint16_t* low, const Parts<V>& out) {
    auto* const ends = out.indptr.data + bucket.first_row + 1;
    if (bucket.rows == 1) {
      *ends = bucket.begin + bucket.size;
      return;
    }
    const auto first = static_cast<std::uint16_t>(bucket.first_row);
    const auto local = [&](std::int64_t k) { return static_cast<std::uint16_t>(low[k] - first); };
    next_.assign(static_cast<std::size_t>(bucket.rows), 0);
    for (std::int64_t k = 0; k < bucket.size; ++k) ++next_[local(k)];
    for (std::int64_t c = 0, sum = bucket.begin; c < bucket.rows; ++c) {
      const auto count = next_[static_cast<std::size_t>(c)];
      next_[static_cast<std::size_t>(c)] = sum;
      ends[c] = sum += count;
    }
    const auto size = static_cast<std::size_t>(bucket.size);
    if (rows_.size() < size) rows_.resize(size);
    std::copy_n(out.indices.data + bucket.begin, bucket.size, rows_.data());
    if constexpr (!is_pattern<V>) {
      if (values_.size() < size) values_.resize(size);
      std::copy_n(out.values.data + bucket.begin, bucket.size, values_.data());
    }
    for (std::int64_t k = 0; k < bucket.size;) {
      for (const auto stop = std::min(bucket.size, k + kLook); k < stop; ++k) {
        const auto at = next_[local(k)]++;
        out.indices.data[at] = rows_[static_cast<std::size_t>(k)];
        if constexpr (!is_pattern<V>) out.values.data[at] = values_[static_cast<std::size_t>(k)];
      }
      poll_interrupt();
    }
  }

 private:
  std::vector<Offset> next_;
  std::vector<Index> rows_;
  std::vector<V> values_;
};

std::vector<Share> make_shares(std::size_t blocks) {
  std::vector<Share> shares(std::min(blocks, kSharesAThread * static_cast<std::size_t>(num_threads())));
  for (std::size_t s = 0; s < shares.size(); ++s) {
    shares[s].first_block = blocks * s / shares.size();
    shares[s].last_block = blocks * (s + 1) / shares.size();
  }
  return shares;
}

/// Replaces the counts of each granule by the places of each bucket.
void place_shares(std::vector<Share>& shares, const detail::BucketMap& map) {
  std::vector<Offset> at(map.buckets.size());
  for (std::size_t b = 0; b < at.size(); ++b) at[b] = map.buckets[b].begin;
  for (auto& share : shares) {
    auto next = at;
    for (std::size_t g = 0; g < share.next.size(); ++g) at[map.of_granule[g]] += share.next[g];
    share.next = std::move(next);
  }
}

template <class V>
void fill(const Csr<V>& a, const std::vector<RowBlock>& blocks, std::vector<Share>& shares,
          const Parts<V>& out) {
  int shift = 0;
  while (shift < 16 && (std::max<std::int64_t>(a.cols, 1) - 1) >> shift >= kMaxGranules) ++shift;
  const auto granules = static_cast<std::size_t>(a.cols == 0 ? 0 : ((a.cols - 1) >> shift) + 1);
  const auto each_share = [&](auto&& f) {
    parallel_for(std::ssize(shares), [&](std::int64_t s) { f(shares[static_cast<std::size_t>(s)]); });
  };
  each_share([&](Share& share) {
    share.next.assign(granules, 0);
    auto* const next = share.next.data();
    visit(a, blocks, share, [&](std::int64_t, Offset k) { ++next[a.indices.data[k] >> shift]; });
  });
  std::vector<Offset> counts(granules);
  for (const auto& share : shares)
    for (std::size_t g = 0; g < granules; ++g) counts[g] += share.next[g];
  const auto map = detail::make_buckets(a.cols, shift, counts);
  place_shares(shares, map);
  const auto low = allocate<std::uint16_t>(a.nnz());
  each_share([&](Share& share) {
    auto* const next = share.next.data();
    const auto* const bucket = map.of_granule.data();
    visit(a, blocks, share, [&](std::int64_t r, Offset k) {
      const auto column = a.indices.data[k];
      const auto at = next[bucket[column >> shift]]++;
      low.data[at] = static_cast<std::uint16_t>(column);
      out.indices.data[at] = static_cast<Index>(r);
      if constexpr (!is_pattern<V>) out.values.data[at] = a.values.data[k];
    });
  });
  detail::Lent<BucketTurner<V>> turners;
  parallel_for(std::ssize(map.buckets), [&](std::int64_t b) {
    const auto& bucket = map.buckets[static_cast<std::size_t>(b)];
    turners.with([&](BucketTurner<V>& turner) { turner.run(bucket, low.data + bucket.begin, out); });
  });
}

/// Writes entries to their final place at once. Each share has counts for the range of columns that it meets.
template <class V>
void fill_directly(const Csr<V>& a, const std::vector<RowBlock>& blocks, std::vector<Share>& shares,
                   const Parts<V>& out) {
  parallel_for(std::ssize(shares), [&](std::int64_t s) {
    auto& share = shares[static_cast<std::size_t>(s)];
    share.next.assign(static_cast<std::size_t>(share.last_column - share.first_column), 0);
    auto* const next = share.next.data() - share.first_column;
    visit(a, blocks, share, [&](std::int64_t, Offset k) { ++next[a.indices.data[k]]; });
  });
  auto* const lengths = out.indptr.data + 1;
  parallel_ranges(a.cols, 1 << 15, [&](std::int64_t first, std::int64_t last) {
    std::fill(lengths + first, lengths + last, 0);
    for (auto& share : shares) {  // the entries of a share follow those of the shares before it
      auto* const next = share.next.data() - share.first_column;
      for (auto c = std::max(first, share.first_column); c < std::min(last, share.last_column); ++c)
        lengths[c] += std::exchange(next[c], lengths[c]);
    }
  });
  lengths_to_offsets(out.indptr);
  parallel_for(std::ssize(shares), [&](std::int64_t s) {
    auto& share = shares[static_cast<std::size_t>(s)];
    auto* const next = share.next.data() - share.first_column;
    for (auto c = share.first_column; c < share.last_column; ++c) next[c] += out.indptr.data[c];
    visit(a, blocks, share, [&](std::int64_t r, Offset k) {
      const auto at = next[a.indices.data[k]]++;
      out.indices.data[at] = static_cast<Index>(r);
      if constexpr (!is_pattern<V>) out.values.data[at] = a.values.data[k];
    });
  });
}

/// Whether the columns of the shares hardly overlap, as in a mesh or a band, or are few. Then the places to which a share
/// writes fit the cache without buckets. It also finds the range of columns of each share.
template <class V>
bool is_local(const Csr<V>& a, const std::vector<RowBlock>& blocks, std::vector<Share>& shares) {
  parallel_for(std::ssize(shares), [&](std::int64_t s) {
    auto& share = shares[static_cast<std::size_t>(s)];
    Index low = std::numeric_limits<Index>::max(), high = -1;
    for (auto b = share.first_block; b < share.last_block; ++b) {
      const auto* const first = a.indices.data + blocks[b].first_nnz;
      for (Offset k = 0; k < blocks[b].nnz; ++k)
        low = std::min(low, first[k]), high = std::max(high, first[k]);
      poll_interrupt();
    }
    if (high >= 0) share.first_column = low, share.last_column = std::int64_t{high} + 1;
  });
  std::int64_t columns = 0;
  for (const auto& share : shares) columns += share.last_column - share.first_column;
  return columns <= 2 * a.cols + kFewColumns * std::ssize(shares);
}

}  // namespace

template <class V>
Csr<V> transpose(const Csr<V>& a) {
  require(a.rows <= std::numeric_limits<Index>::max(),
          "transpose: " + std::to_string(a.rows) +
              " rows exceed 2^31 - 1, the columns that a matrix may have: split the matrix by rows first");
  Parts<V> out{allocate<Offset>(a.cols + 1), allocate<Index>(a.nnz()), {}};
  if constexpr (!is_pattern<V>) out.values = allocate<V>(a.nnz());
  out.indptr.data[0] = 0;
  const auto blocks = row_blocks(a.indptr.span(), {.budget = kTransposeBlockCost});
  auto shares = make_shares(blocks.size());
  if (is_local(a, blocks, shares)) fill_directly(a, blocks, shares, out);
  else fill(a, blocks, shares, out);
  return {a.cols, a.rows, out.indptr, out.indices, out.values};
}

template Csr<One> transpose(const Csr<One>&);
template Csr<float> transpose(const Csr<float>&);
template Csr<double> transpose(const Csr<double>&);
template Csr<Complex64> transpose(const Csr<Complex64>&);
template Csr<Complex128> transpose(const Csr<Complex128>&);

}  // namespace penstock
