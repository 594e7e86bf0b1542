#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "penstock/comm/transport.hpp"

namespace penstock {

/// Which parts of a rank's arena are taken. It knows offsets only, and has no memory itself. Blocks start at multiples of 64.
/// A new block is cut from the smallest free one that is large enough; free neighbours become one block. Used by the one thread that owns the arena.
class Arena {
 public:
  static constexpr std::int64_t kAlignment = 64;

  explicit Arena(std::int64_t bytes, int rank = 0);
  explicit Arena(const Transport& transport) : Arena(transport.arena_bytes(), transport.rank()) {}

  /// The offset of a new block. Throws Error{out_of_memory} with the numbers where no free block is large enough.
  std::int64_t allocate(std::int64_t bytes);
  RemotePtr allocate_here(std::int64_t bytes) { return {rank_, allocate(bytes)}; }
  /// Throws Error{invalid_argument} for an offset that allocate() did not return, or that is free.
  void free(std::int64_t offset);

  std::int64_t bytes() const { return bytes_; }
  std::int64_t used() const { return used_; }            // bytes of the blocks that are taken
  std::int64_t most_used() const { return most_used_; }  // the largest value of used() so far
  std::int64_t largest_free() const { return sizes_.empty() ? 0 : sizes_.rbegin()->first; }

 private:
  void add_free(std::int64_t offset, std::int64_t bytes);
  void drop_free(std::map<std::int64_t, std::int64_t>::iterator block);

  std::int64_t bytes_, used_ = 0, most_used_ = 0;
  int rank_;
  std::map<std::int64_t, std::int64_t> taken_, free_;      // bytes of each block, by its offset
  std::set<std::pair<std::int64_t, std::int64_t>> sizes_;  // bytes and offset of each free block
};

}  // namespace penstock
