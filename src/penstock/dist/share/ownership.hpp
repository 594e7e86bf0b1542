#pragma once
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// Which rank owns which entries of a vector, and at what place: each rank holds its entries in ascending order of
/// their numbers. All ranks know it. Ranges cost nothing; any other sharing takes one to two bytes an entry on every rank
/// (among more than 256 ranks one more, from 65537 on three).
class Ownership {
 public:
  Ownership() = default;
  /// Rank r has [starts[r], starts[r+1]); ascending, from 0. Throws where they are not.
  static Ownership ranges(std::vector<GlobalIndex> starts);
  /// Rank owners[i] has entry i; at most 2^31 - 1 entries. Where the owners ascend, it becomes ranges. Throws where an owner
  /// is not in [0, ranks).
  static Ownership of(Array<const Index> owners, int ranks);

  int ranks() const { return static_cast<int>(starts_.size()) - 1; }
  std::int64_t size() const { return starts_.back(); }
  std::int64_t count(int rank) const;
  int owner(GlobalIndex i) const;  // of 0 <= i < size()
  /// The place of entry i in its owner's part. It looks at a block of owners: some ten nanoseconds among few ranks.
  std::int64_t local(GlobalIndex i) const;
  /// The number of a rank's k-th entry. It searches for it; for many entries use numbers().
  GlobalIndex global(int rank, std::int64_t k) const;
  /// The numbers of a rank's entries, ascending.
  Array<GlobalIndex> numbers(int rank) const;
  /// The numbers of all ranks' entries, one rank after the other.
  Array<GlobalIndex> all_numbers() const;
  /// Whether both give this rank the same entries.
  bool same_on(int rank, const Ownership& other) const;
  bool is_ranges() const { return width_ == 0; }
  const std::vector<GlobalIndex>& starts() const {
    return starts_;
  }  // sums of the counts; ranks() + 1 numbers

 private:
  template <class F>
  decltype(auto) with_owners(F&& f) const;
  template <class Owner>
  static Ownership narrowed(const Array<const Index>& owners, std::vector<GlobalIndex> starts);
  const Index* before(std::int64_t block) const { return before_.data + block * ranks(); }

  std::vector<GlobalIndex> starts_{0};
  int width_ = 0;                  // bytes of an owner; 0 for ranges
  int shift_ = 0;                  // a block has 2^shift_ entries
  Array<const std::byte> owners_;  // of each entry
  Array<const Index> before_;      // of each block and rank: the rank's entries in the blocks before
};

}  // namespace penstock
