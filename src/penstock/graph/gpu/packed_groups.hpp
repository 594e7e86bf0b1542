#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/packed_encode.hpp"

// How the CPU walks the lists that it packs: sorted, group by group of 64 vertices.
namespace penstock {

class ListGroups {
 public:
  /// The rows are [first, first + rows). `stride`: one group in so many alone.
  ListGroups(const CsrView<One>& graph, std::int64_t first, std::int64_t rows, std::int64_t stride = 1)
      : g_(graph), first_(first), rows_(rows), stride_(stride) {
    require(g_.rows == g_.cols, "pack_lists: a graph is a square matrix, not " + std::to_string(g_.rows) +
                                    " x " + std::to_string(g_.cols));
    require(first >= 0 && rows >= 0 && first + rows <= g_.rows,
            "pack_lists: rows " + std::to_string(first) + " to " + std::to_string(first + rows) +
                " reach beyond a graph of " + std::to_string(g_.rows));
  }

  std::int64_t first() const { return first_; }
  std::int64_t rows() const { return rows_; }
  Offset entries() const {
    return rows_ == g_.rows ? g_.count : g_.indptr[first_ + rows_] - g_.indptr[first_];
  }

  std::int64_t count() const { return (rows_ + kPackedGroup - 1) / kPackedGroup; }
  std::int64_t walked() const { return (count() + stride_ - 1) / stride_; }
  std::int64_t number(std::int64_t walked) const { return walked * stride_; }

  /// f(group, scratch) for all groups, of threads with memory for a list of their own.
  template <class F>
  void each(F&& f) const {
    parallel_ranges(walked(), kAtOnce, [&](std::int64_t first, std::int64_t last) {
      std::vector<Index> scratch;
      for (auto i = first; i < last; ++i) f(number(i), scratch);
      poll_interrupt();
    });
  }
  /// f(v, v's list in ascending order) for the vertices of a group.
  template <class F>
  void each_list(std::int64_t group, std::vector<Index>& scratch, F&& f) const {
    const auto last = first_ + std::min<std::int64_t>(rows_, (group + 1) * kPackedGroup);
    for (auto v = first_ + group * kPackedGroup; v < last; ++v) {
      if (g_.indptr[v] > g_.indptr[v + 1])
        refuse(v, "has offsets that descend: build the matrix with ps.csr_array");
      std::span<const Index> list(g_.indices + g_.indptr[v], std::size_t(g_.indptr[v + 1] - g_.indptr[v]));
      if (!std::is_sorted(list.begin(), list.end())) {
        scratch.assign(list.begin(), list.end());
        std::sort(scratch.begin(), scratch.end());
        list = scratch;
      }
      if (!list.empty() && (list.front() < 0 || list.back() >= g_.cols))
        refuse(v, "has a column outside the " + std::to_string(g_.cols) + " of the graph");
      f(Index(v), list);
    }
  }
  template <class F>
  static void each_piece(std::span<const Index> list, F&& f) {
    for (std::size_t at = 0; at < list.size(); at += kPackedPiece)
      f(list.subspan(at, std::min<std::size_t>(kPackedPiece, list.size() - at)));
  }
  [[noreturn]] static void refuse(std::int64_t v, const std::string& why) {
    throw Error(Errc::invalid_argument, "pack_lists: row " + std::to_string(v) + " " + why);
  }

 private:
  static constexpr std::int64_t kAtOnce = 64;  // groups that a thread takes

  CsrView<One> g_;
  std::int64_t first_, rows_, stride_;
};

/// The gaps of a piece, and what they take.
struct PieceGaps {
  int count = 0, level = 0, most = 0;
  std::uint32_t gap[kPackedPiece];
  std::uint8_t bits[kPackedPiece];

  void measure(std::span<const Index> piece, std::uint32_t step) {
    count = std::max(0, int(piece.size()) - 1);
    for (int i = 0; i < count; ++i)
      gap[i] = std::uint32_t(piece[std::size_t(i) + 1]) - std::uint32_t(piece[std::size_t(i)]) - step;
    std::int64_t sum = 0;
    most = 0;
    for (int i = 0; i < count; ++i) {
      const int width = int(std::bit_width(gap[i]));
      bits[i] = std::uint8_t(width);
      sum += width;
      most = std::max(most, width);
    }
    level = level_of(sum, count);
  }
};

}  // namespace penstock
