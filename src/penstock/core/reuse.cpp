// A cache of freed blocks, because fresh memory is slow. A fresh page costs a fault and its zeroing: the pages of a result of
// 256 MB took 0.55 s where its product took 0.98 s (R-MAT 18 times 128 columns of float64, one thread of a virtual machine
// with 4 KiB pages). Device memory is mapped when it is allocated, and freeing it waits for all of the GPU's work:
// milliseconds for the gigabytes of a product.
#include "penstock/core/reuse.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/core/device_impl.hpp"
#include "penstock/core/gpu_allocator.hpp"
#include "penstock/core/locks.hpp"

namespace penstock {
namespace {

// Bytes of a block that is kept; below, malloc keeps pages itself.
constexpr std::int64_t kSmallest = 4 << 20;
constexpr std::size_t kMostBlocks = 32;  // blocks that are kept: several for each rank that is a thread
constexpr std::size_t kMostGpus = 64;
constexpr std::int64_t kShareKept = 8;  // an eighth of a place's memory at most is kept
constexpr std::int64_t kUsedFifths = 4, kFifths = 5;

// Blocks have whole pages of these sizes, so that madvise takes none of a neighbour's: huge pages for large blocks.
constexpr std::int64_t kSmallPage = 64 << 10, kLargePage = 2 << 20;

struct Block {
  std::shared_ptr<void> memory;
  std::int64_t bytes = 0;
  Place place = {};
};

/// The kept blocks of the host, or of one GPU. It lives until the process ends, because blocks may come back while other
/// objects are destroyed. A caller that finds it locked for long does without it, so that a child that was forked while it
/// was locked never waits.
struct Cache {
  std::mutex lock;
  std::vector<Block> blocks;  // oldest first
  std::int64_t bytes = 0;
  std::atomic<std::int64_t> most = 0;  // 0: not asked yet
};

/// The cache of a place; null where blocks are not kept.
Cache* cache_of(Place place) {
  static auto* host = new Cache;
  static auto* gpus = new std::array<Cache, kMostGpus>;
  if (place.memory != Memory::device) return host;
  const auto gpu = static_cast<std::size_t>(place.ordinal);
  return gpu < kMostGpus ? &(*gpus)[gpu] : nullptr;
}

/// How many bytes of a place are kept at most.
std::int64_t most_bytes(Place place) {
  static const auto host = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / kShareKept;
  return place.memory == Memory::device ? device_memory(Where{place.ordinal}).total / kShareKept : host;
}

/// The allocator that keeps freed blocks of this place itself; null where that is done here.
const GpuAllocator* other_keeper(Place place) {
  return place.memory == Memory::device ? gpu_allocator() : nullptr;
}

void keep(Block block) noexcept {
  auto* const cache = cache_of(block.place);
  if (!cache || other_keeper(block.place)) return;
  if (block.place.memory == Memory::host)
    madvise(block.memory.get(), static_cast<std::size_t>(block.bytes), MADV_FREE);
  std::vector<Block> gone;  // blocks that are freed after the lock has been released
  try {
    auto& c = *cache;
    if (c.most == 0) c.most = most_bytes(block.place);  // without the lock, which it may take
    if (block.bytes > c.most) return;
    const auto guard = lock_soon(c.lock);
    if (!guard) return;
    while (!c.blocks.empty() && (c.bytes + block.bytes > c.most || c.blocks.size() >= kMostBlocks)) {
      c.bytes -= c.blocks.front().bytes;
      gone.push_back(std::move(c.blocks.front()));
      c.blocks.erase(c.blocks.begin());
    }
    c.blocks.push_back(block);
    c.bytes += block.bytes;
  } catch (...) {}  // there is no memory for the list: the block is freed instead of kept
}

/// The newest kept block that holds `bytes` and is not much larger: four fifths of it are used at least. A lower share would
/// reuse more blocks and waste more memory.
Block take(std::int64_t bytes, Place place) {
  auto* const cache = cache_of(place);
  if (!cache) return {};
  const auto guard = lock_soon(cache->lock);
  if (!guard) return {};
  auto& c = *cache;
  for (auto i = c.blocks.size(); i-- > 0;)
    if (c.blocks[i].place == place && c.blocks[i].bytes >= bytes &&
        c.blocks[i].bytes / kFifths * kUsedFifths <= bytes) {
      auto found = std::move(c.blocks[i]);
      c.blocks.erase(c.blocks.begin() + static_cast<std::ptrdiff_t>(i));
      c.bytes -= found.bytes;
      return found;
    }
  return {};
}

}  // namespace

std::shared_ptr<void> reuse_bytes(std::int64_t bytes, Place place) {
  if (const auto* const other = other_keeper(place))
    return allocate_by(*other, bytes, Where{place.ordinal}, std::nullopt, kStreamInstead, Idle::already);
  return reuse_shared(bytes, place);
}

std::shared_ptr<void> reuse_shared(std::int64_t bytes, Place place) {
  if (bytes < kSmallest && place.memory == Memory::host) return allocate_shared(bytes, place);
  const std::int64_t page = bytes < kSmallest ? kSmallPage : kLargePage;
  const auto size = (bytes + page - 1) / page * page;
  auto block = take(size, place);
  if (!block.memory) block = {allocate_shared(size, place), size, place};
  void* p = block.memory.get();
  return {p, [block = std::move(block)](void*) mutable { keep(std::move(block)); }};
}

std::int64_t kept_bytes(Place place) {
  auto* const cache = cache_of(place);
  if (!cache) return 0;
  const auto guard = lock_soon(cache->lock);
  return guard ? cache->bytes : 0;
}

bool free_kept(Place place) noexcept {
  auto* const cache = cache_of(place);
  if (!cache) return false;
  std::vector<Block> gone;
  const auto guard = lock_soon(cache->lock);
  if (!guard) return false;
  gone.swap(cache->blocks);
  cache->bytes = 0;
  return !gone.empty();
}

}  // namespace penstock
