#include "penstock/dist/share/ownership.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/reserve.hpp"

namespace penstock {
namespace {

constexpr int kLeastShift = 6;  // a block has at least 2^6 owners: of one byte each they are a cache line

}  // namespace

Ownership Ownership::ranges(std::vector<GlobalIndex> starts) {
  require(starts.size() >= 2 && starts.front() == 0 && std::ranges::is_sorted(starts),
          "ownership: ranges begin at 0 and ascend, with one more start than there are ranks");
  Ownership o;
  o.starts_ = std::move(starts);
  return o;
}

Ownership Ownership::of(Array<const Index> owners, int ranks) {
  require(ranks >= 1, "ownership: " + std::to_string(ranks) + " ranks: at least one");
  require(owners.size <= std::numeric_limits<Index>::max(),
          "ownership: " + std::to_string(owners.size) +
              " entries with an owner each: at most 2^31 - 1; ranges may have more");
  std::vector<GlobalIndex> starts(at(ranks) + 1);
  bool ascending = true;
  for (std::int64_t i = 0; i < owners.size; ++i) {
    const auto r = owners.data[i];
    require(r >= 0 && r < ranks, "ownership: entry " + std::to_string(i) + " has owner " + std::to_string(r) +
                                     ": owners are 0 to " + std::to_string(ranks - 1));
    ++starts[at(r) + 1];
    ascending = ascending && (i == 0 || owners.data[i - 1] <= r);
  }
  for (std::size_t r = 0; r < at(ranks); ++r) starts[r + 1] += starts[r];
  if (ascending) return ranges(std::move(starts));
  if (ranks <= 1 << 8) return narrowed<std::uint8_t>(owners, std::move(starts));
  if (ranks <= 1 << 16) return narrowed<std::uint16_t>(owners, std::move(starts));
  return narrowed<Index>(owners, std::move(starts));
}

Ownership Ownership::listed(std::vector<GlobalIndex> cuts, const std::vector<std::int64_t>& counts, int me,
                            Array<const GlobalIndex> mine) {
  require(cuts.size() >= 2 && cuts.front() == 0 && std::ranges::is_sorted(cuts) &&
              counts.size() + 1 == cuts.size() && me >= 0 && at(me) < counts.size(),
          "ownership: ranges begin at 0 and ascend, with one more cut than there are counts");
  const auto numbers = mine.span();
  require(std::ssize(numbers) == counts[at(me)] &&
              std::ranges::adjacent_find(numbers, std::greater_equal()) == numbers.end() &&
              (numbers.empty() || (numbers.front() >= cuts[at(me)] && numbers.back() < cuts[at(me) + 1])),
          "ownership: the numbers of rank " + std::to_string(me) + " do not ascend within its range");
  Ownership o;
  o.starts_.assign(counts.size() + 1, 0);
  std::inclusive_scan(counts.begin(), counts.end(), o.starts_.begin() + 1);
  o.cuts_ = std::move(cuts), o.listed_ = std::move(mine), o.me_ = me;
  return o;
}

void Ownership::require_known(int rank) const {
  require(!is_listed() || rank == me_, [&] {
    return "ownership: the numbers that rank " + std::to_string(rank) +
           " lists are known to itself alone, not to rank " + std::to_string(me_);
  });
}

template <class Owner>
Ownership Ownership::narrowed(const Array<const Index>& owners, std::vector<GlobalIndex> starts) {
  Ownership o;
  o.starts_ = std::move(starts);
  o.width_ = sizeof(Owner);
  const auto ranks = std::int64_t{o.ranks()};
  // Blocks are so long that their counts take at most one byte an entry.
  o.shift_ =
      std::max(kLeastShift, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(4 * ranks - 1))));
  const auto narrow = allocate_apart<Owner>(owners.size);
  const auto before = allocate_apart<Index>((((owners.size - 1) >> o.shift_) + 1) * ranks);
  std::vector<Index> seen(at(ranks));
  auto* next = before.data;
  for (std::int64_t i = 0; i < owners.size; ++i) {
    if ((i & ((std::int64_t{1} << o.shift_) - 1)) == 0) next = std::ranges::copy(seen, next).out;
    narrow.data[i] = static_cast<Owner>(owners.data[i]);
    ++seen[at(owners.data[i])];
  }
  o.owners_ = {reinterpret_cast<const std::byte*>(narrow.data), narrow.bytes(), {}, narrow.owner};
  o.before_ = before;
  return o;
}

/// f(owners) with the type that their width asks for; not for ranges.
template <class F>
decltype(auto) Ownership::with_owners(F&& f) const {
  if (width_ == 1) return f(reinterpret_cast<const std::uint8_t*>(owners_.data));
  if (width_ == 2) return f(reinterpret_cast<const std::uint16_t*>(owners_.data));
  return f(reinterpret_cast<const Index*>(owners_.data));
}

std::int64_t Ownership::count(int rank) const { return starts_[at(rank) + 1] - starts_[at(rank)]; }

int Ownership::owner(GlobalIndex i) const {
  if (width_ > 0) return with_owners([&](const auto* owners) { return static_cast<int>(owners[i]); });
  const auto& starts = is_listed() ? cuts_ : starts_;
  return static_cast<int>(std::ranges::upper_bound(starts, i) - starts.begin()) - 1;
}

std::int64_t Ownership::local(GlobalIndex i) const {
  if (is_ranges()) return i - starts_[at(owner(i))];
  if (is_listed()) {
    require_known(owner(i));
    const auto numbers = listed_.span();
    const auto found = std::ranges::lower_bound(numbers, i);
    return found != numbers.end() && *found == i ? found - numbers.begin() : -1;
  }
  const auto block = i >> shift_;
  return with_owners([&](const auto* owners) {
    const auto mine = owners[i];
    return std::int64_t{before(block)[mine]} + std::count(owners + (block << shift_), owners + i, mine);
  });
}

GlobalIndex Ownership::global(int rank, std::int64_t k) const {
  if (is_ranges()) return starts_[at(rank)] + k;
  require_known(rank);
  if (is_listed()) return listed_.data[k];
  std::int64_t block = 0, end = before_.size / ranks();  // the last block that begins with at most k
  while (end - block > 1) {
    const auto middle = (block + end) / 2;
    (before(middle)[rank] <= k ? block : end) = middle;
  }
  return with_owners([&](const auto* owners) {
    auto i = block << shift_;
    for (auto left = k - before(block)[rank];; ++i)
      if (static_cast<int>(owners[i]) == rank && left-- == 0) return i;
  });
}

Array<GlobalIndex> Ownership::numbers(int rank) const {
  require_known(rank);
  const auto out = allocate_apart<GlobalIndex>(count(rank));
  if (is_listed()) std::ranges::copy(listed_.span(), out.data);
  else if (is_ranges()) std::iota(out.data, out.data + out.size, starts_[at(rank)]);
  else
    with_owners([&, next = out.data](const auto* owners) mutable {
      for (std::int64_t i = 0; i < size(); ++i)
        if (static_cast<int>(owners[i]) == rank) *next++ = i;
    });
  return out;
}

Array<GlobalIndex> Ownership::all_numbers() const {
  require(!is_listed(),
          "ownership: each rank lists its own numbers, and knows those of no other: collect what each "
          "lists (D.rows, D.cols)");
  const auto out = allocate_apart<GlobalIndex>(size());
  if (is_ranges()) std::iota(out.data, out.data + out.size, GlobalIndex{0});
  else
    with_owners([&, next = starts_](const auto* owners) mutable {
      for (std::int64_t i = 0; i < size(); ++i) out.data[next[at(owners[i])]++] = i;
    });
  return out;
}

bool Ownership::same_on(int rank, const Ownership& other) const {
  if (this == &other) return true;
  if (starts_ != other.starts_ || cuts_ != other.cuts_) return false;
  if (is_ranges() && other.is_ranges()) return true;
  const auto mine = numbers(rank), theirs = other.numbers(rank);
  return std::ranges::equal(mine.span(), theirs.span());
}

}  // namespace penstock
