#pragma once
#include <algorithm>
#include <functional>
#include <span>

#include "penstock/comm/comm.hpp"
#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// How the rows of a level, or its vertices, are shared out among ranks. Columns of a matrix are then the rows here and behind
/// them the ghosts. Without `comm` this process has all rows. All functions are collective.
struct RankRows {
  std::shared_ptr<Comm> comm = {};
  Array<const GlobalIndex> numbers = {};  // of the rows here, in the whole level
  GlobalIndex all = -1;                   // rows of the whole level; negative: this process has all of them
  std::int64_t ghosts = 0;
  /// The entries of the ghosts, of a vector whose entries here are given.
  std::function<const void*(const void* own, std::int64_t entry_bytes)> exchange = {};

  GlobalIndex number(std::int64_t i) const { return comm ? numbers.data[i] : i; }
  /// Writes the ghosts behind the `own` values of this rank.
  void fill(void* values, std::int64_t own, std::int64_t entry_bytes) const;
  template <class U>
  void fill(const Array<U>& values, std::int64_t own) const {
    fill(values.data, own, sizeof(U));
  }
  /// A copy with the ghosts' values behind it.
  template <class U>
  Array<U> widened(const Array<const U>& own) const {
    const auto wide = allocate<U>(std::max<std::int64_t>(own.size + ghosts, 1));
    std::copy_n(own.data, own.size, wide.data);
    fill(wide, own.size);
    return wide.slice(0, own.size + ghosts);
  }
  void sum(std::span<double> sums) const;
  double largest(double value) const;
  bool any(bool here) const;
  /// The counts of the ranks before each rank, and of all at the end.
  std::vector<GlobalIndex> starts(std::int64_t count) const;
  /// f(), which is not collective: where it throws an Error on some ranks, all throw that of the first.
  void together(const std::function<void()>& f) const;
};

}  // namespace penstock
