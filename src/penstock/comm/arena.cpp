#include "penstock/comm/arena.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {

Arena::Arena(std::int64_t bytes, int rank) : bytes_(bytes), rank_(rank) {
  require(bytes >= 0, [&] { return "an arena of " + std::to_string(bytes) + " bytes"; });
  if (const auto whole = bytes / kAlignment * kAlignment; whole > 0) add_free(0, whole);
}

std::int64_t Arena::allocate(std::int64_t bytes) {
  require(bytes >= 0, [&] { return "a block of " + std::to_string(bytes) + " bytes"; });
  const auto most = std::numeric_limits<std::int64_t>::max() / kAlignment * kAlignment;
  const auto wanted =
      bytes > most ? bytes : (std::max<std::int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const auto found = sizes_.lower_bound({wanted, 0});
  if (found == sizes_.end())
    throw Error(Errc::out_of_memory,
                "rank " + std::to_string(rank_) + ": no room for " + std::to_string(bytes) +
                    " bytes in its arena of " + std::to_string(bytes_) + ": " + std::to_string(used_) +
                    " are taken and " + std::to_string(largest_free()) +
                    " are free in one piece: make the arena larger, or the tiles smaller");
  const auto [had, offset] = *found;
  drop_free(free_.find(offset));
  if (had > wanted) add_free(offset + wanted, had - wanted);
  taken_.emplace(offset, wanted);
  used_ += wanted;
  most_used_ = std::max(most_used_, used_);
  return offset;
}

void Arena::free(std::int64_t offset) {
  const auto block = taken_.find(offset);
  require(block != taken_.end(), [&] {
    return "rank " + std::to_string(rank_) + ": no block of its arena starts at " + std::to_string(offset) +
           ", or it was freed before";
  });
  auto bytes = block->second;
  taken_.erase(block);
  used_ -= bytes;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    drop_free(next++);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first, bytes += before->second;
      drop_free(before);
    }
  }
  add_free(offset, bytes);
}

void Arena::add_free(std::int64_t offset, std::int64_t bytes) {
  free_.emplace(offset, bytes);
  sizes_.emplace(bytes, offset);
}

void Arena::drop_free(std::map<std::int64_t, std::int64_t>::iterator block) {
  sizes_.erase({block->second, block->first});
  free_.erase(block);
}

}  // namespace penstock
