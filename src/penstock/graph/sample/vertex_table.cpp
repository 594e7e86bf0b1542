// A table of open addresses. Every insertion leaves the smallest position at which its key was found, whichever thread came
// first; what stands at its key's smallest position is new, and is numbered by a count of those before it.
#include "penstock/graph/sample/vertex_table.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/random.hpp"

namespace penstock::graph {
namespace {

constexpr std::int64_t kFreeSlot = -1;
constexpr std::int64_t kFoundRange = 1 << 12;  // what a thread claims at once
constexpr std::int64_t kSlotAhead = 16;        // insertions between a prefetch and its use
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

std::int64_t VertexTable::home(std::int64_t key) const {
  if (direct_) return key;
  return static_cast<std::int64_t>(mix64(static_cast<std::uint64_t>(key))) & (capacity_ - 1);
}

std::int64_t VertexTable::insert(std::int64_t key, std::int64_t value) {
  auto at = home(key);
  for (;; at = (at + 1) & (capacity_ - 1)) {
    auto& slot = slots_.data[at];
    auto there = slot.key.load(kRelaxed);
    if (there == kFreeSlot && slot.key.compare_exchange_strong(there, key, kRelaxed)) there = key;
    if (there != key) continue;
    auto least = slot.value.load(kRelaxed);
    while (value < least && !slot.value.compare_exchange_weak(least, value, kRelaxed)) continue;
    return at;
  }
}

void VertexTable::reserve(std::int64_t more) {
  auto most = size() + more;
  if (!disjoint_) most = std::min(most, universe_);
  // Slots are taken to two thirds at most, so that the searches are short.
  auto capacity = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most + most / 2 + 64)));
  if (capacity <= capacity_ || direct_) return;
  direct_ = !disjoint_ && universe_ <= capacity;
  if (direct_) capacity = universe_;
  slots_ = allocate<Slot>(capacity);
  capacity_ = capacity;
  parallel_ranges(capacity, 1 << 16, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i)
      new (slots_.data + i) Slot{kFreeSlot, std::numeric_limits<std::int64_t>::max()};
  });
  parallel_ranges(size(), kFoundRange, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) insert(key(vertices_[at(i)], disjoint_ ? seeds_[at(i)] : 0), i);
  });
}

void VertexTable::add_seeds(std::span<const std::int64_t> some, std::int64_t first_seed) {
  for (std::int64_t i = 0; i < std::ssize(some); ++i)
    require(some[at(i)] >= 0 && some[at(i)] < universe_, [&] {
      return "seeds[" + std::to_string(i) + "]=" + std::to_string(some[at(i)]) + " is outside a graph of " +
             std::to_string(universe_) + " vertices";
    });
  reserve(std::ssize(some));
  const auto base = size();
  vertices_.insert(vertices_.end(), some.begin(), some.end());
  for (std::int64_t i = 0; i < std::ssize(some); ++i) {
    if (disjoint_) seeds_.push_back(first_seed + i);
    insert(key(some[at(i)], disjoint_ ? first_seed + i : 0), base + i);
  }
}

void VertexTable::number(std::span<const Index> found, std::span<const std::int64_t> of,
                         std::span<std::int64_t> numbers) {
  const auto n = std::ssize(found), base = size();
  reserve(n);
  const auto key_of = [&](std::int64_t k) { return key(found[at(k)], disjoint_ ? of[at(k)] : 0); };
  // Meanwhile `numbers` holds the slots.
  parallel_ranges(n, kFoundRange, [&](std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k) {
      if (k + kSlotAhead < last) __builtin_prefetch(slots_.data + home(key_of(k + kSlotAhead)), 1);
      numbers[at(k)] = insert(key_of(k), base + k);
    }
    poll_interrupt();
  });
  const auto value = [&](std::int64_t k) -> auto& { return slots_.data[numbers[at(k)]].value; };
  const auto ranges = (n + kFoundRange - 1) / kFoundRange;
  std::vector<std::int64_t> before(at(ranges + 1));
  parallel_for(ranges, [&](std::int64_t r) {
    std::int64_t fresh = 0;
    for (auto k = r * kFoundRange; k < std::min(n, (r + 1) * kFoundRange); ++k)
      fresh += value(k).load(kRelaxed) == base + k;
    before[at(r + 1)] = fresh;
  });
  for (std::int64_t r = 0; r < ranges; ++r) before[at(r + 1)] += before[at(r)];
  vertices_.resize(at(base + before.back()));
  if (disjoint_) seeds_.resize(vertices_.size());
  // A new number is never above the position that it replaces, so no later position of the same vertex can equal it.
  parallel_for(ranges, [&](std::int64_t r) {
    auto next = base + before[at(r)];
    for (auto k = r * kFoundRange; k < std::min(n, (r + 1) * kFoundRange); ++k) {
      if (value(k).load(kRelaxed) != base + k) continue;
      vertices_[at(next)] = found[at(k)];
      if (disjoint_) seeds_[at(next)] = of[at(k)];
      value(k).store(next++, kRelaxed);
    }
  });
  parallel_ranges(n, kFoundRange, [&](std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k) numbers[at(k)] = value(k).load(kRelaxed);
  });
}

}  // namespace penstock::graph
