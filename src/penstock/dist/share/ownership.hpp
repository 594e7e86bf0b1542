#pragma once
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/format/csr.hpp"

namespace penstock {

/// Which rank owns which entries of a vector, and at what place: each rank holds its entries in ascending order of
/// their numbers. All ranks know it. Ranges cost nothing; any other sharing takes one to two bytes an entry on every rank
/// (among more than 256 ranks one more, from 65537 on three). Where entries are listed, a rank holds those of its range of
/// numbers that it lists, 8 bytes each, and nobody knows the lists of others: numbers may be far more than entries.
class Ownership {
 public:
  Ownership() = default;
  /// Rank r has [starts[r], starts[r+1]); ascending, from 0. Throws where they are not.
  static Ownership ranges(std::vector<GlobalIndex> starts);
  /// Rank owners[i] has entry i; at most 2^31 - 1 entries. Where the owners ascend, it becomes ranges. Throws where an owner
  /// is not in [0, ranks).
  static Ownership of(Array<const Index> owners, int ranks);
  /// Rank r has some of the numbers [cuts[r], cuts[r+1]): counts[r] of them. `mine`: those of rank `me`, which ascend.
  static Ownership listed(std::vector<GlobalIndex> cuts, const std::vector<std::int64_t>& counts, int me,
                          Array<const GlobalIndex> mine);

  int ranks() const { return static_cast<int>(starts_.size()) - 1; }
  /// One more than the largest number may be.
  std::int64_t size() const { return is_listed() ? cuts_.back() : starts_.back(); }
  /// How many entries there are: size(), or fewer where they are listed.
  std::int64_t present() const { return starts_.back(); }
  std::int64_t count(int rank) const;
  int owner(GlobalIndex i) const;  // of 0 <= i < size()
  /// The place of entry i in its owner's part. It looks at a block of owners: some ten nanoseconds among few ranks. Where
  /// entries are listed, the owner alone may ask; -1: it does not list i.
  std::int64_t local(GlobalIndex i) const;
  /// The number of a rank's k-th entry. It searches for it; for many entries use numbers(). Where entries are listed, this
  /// and what follows throw unless the rank is the one that lists them.
  GlobalIndex global(int rank, std::int64_t k) const;
  /// The numbers of a rank's entries, ascending.
  Array<GlobalIndex> numbers(int rank) const;
  /// The numbers of all ranks' entries, one rank after the other.
  Array<GlobalIndex> all_numbers() const;
  /// Whether both give this rank the same entries.
  bool same_on(int rank, const Ownership& other) const;
  bool is_ranges() const { return width_ == 0 && !is_listed(); }
  bool is_listed() const { return !cuts_.empty(); }
  const std::vector<GlobalIndex>& starts() const {
    return starts_;
  }  // sums of the counts; ranks() + 1 numbers
  /// Where the ranges of numbers begin, if entries are listed; ranks() + 1 numbers.
  const std::vector<GlobalIndex>& cuts() const { return cuts_; }
  /// What the rank lists that this was made for.
  const Array<const GlobalIndex>& list() const { return listed_; }

 private:
  template <class F>
  decltype(auto) with_owners(F&& f) const;
  template <class Owner>
  static Ownership narrowed(const Array<const Index>& owners, std::vector<GlobalIndex> starts);
  const Index* before(std::int64_t block) const { return before_.data + block * ranks(); }
  void require_known(int rank) const;

  std::vector<GlobalIndex> starts_{0};
  int width_ = 0;                  // bytes of an owner; 0 for ranges
  int shift_ = 0;                  // a block has 2^shift_ entries
  Array<const std::byte> owners_;  // of each entry
  Array<const Index> before_;      // of each block and rank: the rank's entries in the blocks before
  std::vector<GlobalIndex> cuts_;  // of numbers, where entries are listed
  Array<const GlobalIndex> listed_;
  int me_ = -1;  // whose list it is
};

}  // namespace penstock
