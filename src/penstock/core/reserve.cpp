#include "penstock/core/reserve.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/locks.hpp"

namespace penstock {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
// Below this size, malloc keeps memory between calls, so that no page faults are paid.
constexpr std::int64_t kSmall = 1 << 20;

}  // namespace

struct Reservation::Pages {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
  bool kept;  // for a later reservation, when these are freed
  Pages(std::int64_t wanted, bool keep);
  void reserve();
  void reuse();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();
  void shrink(std::size_t to) {
    to = (to + kHugePage - 1) / kHugePage * kHugePage;
    if (to >= bytes) return;
    munmap(first + to, bytes - to);
    bytes = to;
  }
};

namespace {

/// Pages of results that were freed. A fresh page costs a fault and its zeroing, a fifth of the product of two matrices with few
/// entries a row. A later reservation has these moved to its begin; only the addresses after them are new. The system may take the
/// pages back when it needs memory. It lives until the process ends, because results may be freed by then.
struct KeptPages {
  struct Block {
    std::byte* first = nullptr;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kMost = 8;  // columns and values of four results
  static constexpr std::size_t kShare = 16;
  std::mutex lock;
  std::vector<Block> blocks;  // oldest first
  std::size_t bytes = 0;

  static KeptPages& all() {
    static auto* kept = new KeptPages;
    return *kept;
  }
  bool keep(Block block) noexcept {
    static const auto most = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / kShare;
    if (block.bytes > most) return false;
    const auto guard = lock_soon(lock);
    if (!guard) return false;
    while (!blocks.empty() && (bytes + block.bytes > most || blocks.size() >= kMost)) {
      munmap(blocks.front().first, blocks.front().bytes);
      bytes -= blocks.front().bytes;
      blocks.erase(blocks.begin());
    }
    try {
      blocks.push_back(block);
    } catch (...) {  // there is no memory for the list
      return false;
    }
    madvise(block.first, block.bytes, MADV_FREE);
    bytes += block.bytes;
    return true;
  }
  /// The largest block of at most so many bytes
  Block take(std::size_t most) {
    const auto guard = lock_soon(lock);
    auto best = blocks.end();
    if (guard)
      for (auto b = blocks.begin(); b != blocks.end(); ++b)
        if (b->bytes <= most && (best == blocks.end() || b->bytes >= best->bytes)) best = b;
    if (best == blocks.end()) return {};
    const auto found = *best;
    blocks.erase(best);
    bytes -= found.bytes;
    return found;
  }
};

}  // namespace

Reservation::Pages::Pages(std::int64_t wanted, bool keep) : kept(keep) {
  bytes = (static_cast<std::size_t>(wanted) + kHugePage - 1) / kHugePage * kHugePage;
  reserve();
  if (kept) reuse();
}

void Reservation::Pages::reserve() {
  // NORESERVE: the system does not set memory aside for the bound, so that it may exceed the memory of the machine.
  void* p = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw Error(Errc::out_of_memory, "cannot reserve " + std::to_string(bytes) +
                                         " bytes of addresses: compute the result in blocks");
  auto* begin = static_cast<std::byte*>(p);
  const auto skip = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (skip > 0) munmap(begin, skip);
  if (skip < kHugePage) munmap(begin + skip + bytes, kHugePage - skip);
  first = begin + skip;
  madvise(first, bytes, MADV_HUGEPAGE);
}

/// Moves kept pages to the begin. Linux before 6.17 moves no pages that lie in two mappings, as those that were moved before do with
/// what came behind them; fresh ones take their place.
void Reservation::Pages::reuse() {
  const auto block = KeptPages::all().take(bytes);
  if (block.bytes == 0 ||
      mremap(block.first, block.bytes, block.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first) != MAP_FAILED)
    return;
  munmap(block.first, block.bytes);
  // The system may have unmapped the begin, and another thread may have it by now: only what lies behind it is surely ours.
  munmap(first + block.bytes, bytes - block.bytes);
  reserve();
}

Reservation::Pages::~Pages() {
  if (bytes > 0 && !(kept && KeptPages::all().keep({first, bytes}))) munmap(first, bytes);
}

Reservation::Reservation(std::int64_t bytes) : bytes_(bytes) {
  if (bytes < kSmall) {
    owner_ = allocate_bytes(bytes, {});
    data_ = static_cast<std::byte*>(owner_.get());
    return;
  }
  auto pages = std::make_shared<Pages>(bytes, true);
  data_ = pages->first, pages_ = pages.get();
  owner_ = std::shared_ptr<void>(pages, data_);
}

std::shared_ptr<void> apart_bytes(std::int64_t bytes) {
  if (bytes < kSmall) return allocate_bytes(bytes, {});
  auto pages = std::make_shared<Reservation::Pages>(bytes, false);
  return std::shared_ptr<void>(pages, pages->first);
}

std::shared_ptr<void> zeroed_bytes(std::int64_t bytes) {
  auto owner = apart_bytes(bytes);  // new pages are 0
  if (bytes < kSmall) std::memset(owner.get(), 0, static_cast<std::size_t>(bytes));
  return owner;
}

void Reservation::shrink(std::int64_t bytes) {
  require(bytes <= bytes_, "Reservation: more is kept than was reserved");
  if (pages_) return pages_->shrink(static_cast<std::size_t>(bytes));
  if (bytes_ - bytes <= bytes_ / 4) return;
  auto exact = allocate_bytes(bytes, {});
  std::memcpy(exact.get(), data_, static_cast<std::size_t>(bytes));
  owner_ = std::move(exact), data_ = static_cast<std::byte*>(owner_.get());
}

}  // namespace penstock
