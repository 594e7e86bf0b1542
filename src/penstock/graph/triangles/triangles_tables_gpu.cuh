#pragma once
#include <bit>
#include <cstdint>

#include "penstock/format/csr.hpp"
#include "penstock/kernel/launch_gpu.cuh"

// Sets of numbers in shared memory, in which lists are looked up for triangles.
namespace penstock::gpu {

// A block's table: a bitmap where numbers are small, as those of hubs are, else a hash table.
inline constexpr int kTable = 8192;            // its words: 32 KB
inline constexpr Index kBitmap = 32 * kTable;  // numbers for which it has bits
inline constexpr Offset kHashed = kTable / 2;  // numbers for which it has slots

/// A hash table with open addressing. -1 is an empty slot, and at most half of the slots are taken.
template <int Slots>
struct Hash {
  static constexpr int kShift = 32 - std::countr_zero(unsigned(Slots));
  Index* slots;

  __device__ static int first(Index w) { return int(std::uint32_t(w) * 2654435761u >> kShift); }
  __device__ void insert(Index w) const {
    int at = first(w);
    while (atomicCAS(&slots[at], -1, w) != -1) at = (at + 1) % Slots;
  }
  __device__ bool has(Index w) const {
    for (int at = first(w);; at = (at + 1) % Slots) {
      const Index there = slots[at];
      if (there == w) return true;
      if (there < 0) return false;
    }
  }
};

/// The hash table of a warp, of which as many slots are used as the list needs: a quarter of them is taken at most. Most
/// look-ups find nothing. At one half they would take 2.5 steps on average and the slowest of 32 lanes about 10, at a quarter
/// 1.4 and 4.
class WarpHash {
 public:
  __device__ WarpHash(Index* slots, int size) : slots_(slots) {
    bits_ = max(kLeastBits, 34 - __clz(max(size, 2) - 1));
  }
  __device__ int size() const { return 1 << bits_; }
  __device__ void clear() const {
    for (int i = int(threadIdx.x & 31); i < size(); i += 32) slots_[i] = -1;
  }
  __device__ void insert(Index w) const {
    int at = first(w);
    while (atomicCAS(&slots_[at], -1, w) != -1) at = (at + 1) & (size() - 1);
  }
  __device__ bool has(Index w) const {
    for (int at = first(w);; at = (at + 1) & (size() - 1)) {
      const Index there = slots_[at];
      if (there == w) return true;
      if (there < 0) return false;
    }
  }

 private:
  static constexpr int kLeastBits = 5;  // of a position: at least 32 slots

  __device__ int first(Index w) const { return int(std::uint32_t(w) * 2654435761u >> (32 - bits_)); }

  Index* slots_;
  int bits_;
};

struct Bitmap {
  Index* words;

  __device__ void insert(Index w) const { atomicOr(&words[w >> 5], Index(1u << (w & 31))); }
  __device__ bool has(Index w) const { return std::uint32_t(words[w >> 5]) >> (w & 31) & 1; }
};

}  // namespace penstock::gpu
