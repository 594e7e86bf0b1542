#pragma once
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// Which rank has which entries of a vector, and at what place: each rank holds its entries in ascending order of
/// their numbers. Known to all ranks. Ranges cost nothing; any other sharing takes 12 bytes an entry on every rank.
class Ownership {
 public:
  Ownership() = default;
  /// Rank r has [starts[r], starts[r+1]); ascending, from 0. Throws where they are not.
  static Ownership ranges(std::vector<GlobalIndex> starts);
  /// owners[i] in [0, ranks) has entry i; at most 2^31 - 1 entries. Becomes ranges where the owners ascend. Throws
  /// where one is out of range.
  static Ownership of(Array<const Index> owners, int ranks);

  int ranks() const { return static_cast<int>(starts_.size()) - 1; }
  std::int64_t size() const { return starts_.back(); }
  std::int64_t count(int rank) const;
  int owner(GlobalIndex i) const;  // of 0 <= i < size()
  /// Where its owner has it: an index into the owner's part.
  std::int64_t local(GlobalIndex i) const;
  /// The number of a rank's k-th entry.
  GlobalIndex global(int rank, std::int64_t k) const;
  bool is_ranges() const { return owners_.data == nullptr; }
  const std::vector<GlobalIndex>& starts() const { return starts_; }  // counts summed up; ranks() + 1

 private:
  std::vector<GlobalIndex> starts_{0};
  Array<const Index> owners_, locals_;  // empty for ranges
  Array<const Index> order_;            // entries by owner, then number; empty for ranges
};

}  // namespace penstock
