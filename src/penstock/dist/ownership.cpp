#include "penstock/dist/ownership.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

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
  Ownership o;
  auto locals = allocate<Index>(owners.size), order = allocate<Index>(owners.size);
  auto next = starts;
  for (std::int64_t i = 0; i < owners.size; ++i) {
    const auto r = at(owners.data[i]);
    locals.data[i] = static_cast<Index>(next[r] - starts[r]);
    order.data[next[r]++] = static_cast<Index>(i);
  }
  o.starts_ = std::move(starts);
  o.owners_ = std::move(owners), o.locals_ = locals, o.order_ = order;
  return o;
}

std::int64_t Ownership::count(int rank) const { return starts_[at(rank) + 1] - starts_[at(rank)]; }

int Ownership::owner(GlobalIndex i) const {
  if (owners_.data) return owners_.data[i];
  return static_cast<int>(std::ranges::upper_bound(starts_, i) - starts_.begin()) - 1;
}

std::int64_t Ownership::local(GlobalIndex i) const {
  return owners_.data ? locals_.data[i] : i - starts_[at(owner(i))];
}

GlobalIndex Ownership::global(int rank, std::int64_t k) const {
  const auto place = starts_[at(rank)] + k;
  return order_.data ? order_.data[place] : place;
}

}  // namespace penstock
