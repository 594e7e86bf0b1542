#pragma once
#include <algorithm>
#include <utility>

#include "penstock/kernel/spmv/spmv_packed.hpp"
#include "penstock/schedule/block_source.hpp"

namespace penstock {

/// A packed matrix as blocks that travel. A block here is a run of the encoder's blocks, which lie one behind the other, so that
/// one copy brings as much as a slot holds; a piece of a long row travels alone.
template <class V>
class PackedBlocks {
 public:
  /// A block that travels takes `slot_bytes` at most, unless one of the encoder's blocks alone is larger. `kept` says for each
  /// device how many bytes of blocks it keeps. Those blocks come first, and each takes kLargest bytes at most.
  PackedBlocks(Packed<V> a, std::int64_t slot_bytes, std::span<const std::int64_t> kept = {})
      : a_(std::move(a)) {
    const std::span<const PackedBlock> all(*a_.blocks);
    std::size_t next = 0;
    for (auto left : kept)
      while (next < all.size() && all[next].bytes <= left) {
        const auto run = run_from(next, std::min(left, kLargest));
        next += run.second;
        left -= bytes_of(run);
        runs_.push_back(run);
      }
    while (next < all.size()) {
      runs_.push_back(run_from(next, slot_bytes));
      next += runs_.back().second;
    }
  }

  std::int64_t rows() const { return a_.rows; }
  std::int64_t cols() const { return a_.cols; }
  std::int64_t nnz() const { return a_.nnz; }
  std::int64_t count() const { return std::ssize(runs_); }
  RowBlock block(std::int64_t i) const {
    const auto run = blocks(i);
    const auto &first = run.front(), &last = run.back();
    return {first.first_row, last.first_row + last.rows - first.first_row, first.first_nnz,
            last.first_nnz + last.nnz - first.first_nnz, first.piece};
  }
  std::int64_t bytes(std::int64_t i) const { return bytes_of(runs_[static_cast<std::size_t>(i)]); }
  CopyParts copies(std::int64_t i) const {
    CopyParts parts;
    parts[0] = {a_.bytes.data + blocks(i).front().at, 0, bytes(i)};
    return parts;
  }
  const Packed<V>& packed() const { return a_; }

  template <Semiring S>
  void multiply(std::int64_t i, const std::byte* slot, const typename S::value_type* x,
                typename S::value_type* y, Scale<S> scale, Stream stream) const {
    spmv_packed<S, V>(PackedRun{blocks(i), slot}, x, y, scale, stream);
  }

 private:
  /// A block of this source: the number of its first encoder's block, and how many it has.
  using Run = std::pair<std::size_t, std::size_t>;
  static constexpr std::int64_t kLargest = 1 << 30;  // of a kept run: few launches

  std::span<const PackedBlock> blocks(std::int64_t i) const {
    const auto [first, count] = runs_[static_cast<std::size_t>(i)];
    return std::span<const PackedBlock>(*a_.blocks).subspan(first, count);
  }
  std::int64_t bytes_of(const Run& run) const {
    const auto &first = (*a_.blocks)[run.first], &last = (*a_.blocks)[run.first + run.second - 1];
    return last.at + last.bytes - first.at;
  }
  Run run_from(std::size_t first, std::int64_t most) const {
    const auto& all = *a_.blocks;
    std::size_t count = 1;
    while (!all[first].piece && first + count < all.size() && !all[first + count].piece &&
           bytes_of({first, count + 1}) <= most)
      ++count;
    return {first, count};
  }

  Packed<V> a_;
  std::vector<Run> runs_;
};
static_assert(BlockSource<PackedBlocks<double>>);

}  // namespace penstock
