#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "penstock/core/array.hpp"
#include "penstock/core/device_impl.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::host {
namespace {

constexpr std::int64_t kHugePage = 2 << 20;
// One thread's share of a copy. Below it, threads cost more than they bring.
constexpr std::int64_t kCopyPiece = 128 << 10;

}  // namespace

void copy(void* dst, const void* src, std::int64_t bytes) {
  const auto pieces = (bytes + kCopyPiece - 1) / kCopyPiece;
  parallel_for(pieces, [&](std::int64_t i) {
    const auto first = i * kCopyPiece;
    const auto count = std::min(kCopyPiece, bytes - first);
    std::memcpy(static_cast<std::byte*>(dst) + first, static_cast<const std::byte*>(src) + first,
                static_cast<std::size_t>(count));
  });
}

std::shared_ptr<void> allocate_bytes(std::int64_t bytes) {
  const auto align = bytes >= 2 * kHugePage ? kHugePage : 64;
  const auto size = static_cast<std::size_t>((bytes + align) / align * align);
  void* p = std::aligned_alloc(static_cast<std::size_t>(align), size);
  if (!p)
    throw Error(Errc::out_of_memory, "cannot allocate " + std::to_string(bytes) +
                                         " bytes of host memory: use a memory-mapped store (penstock.open)");
  if (align == kHugePage) madvise(p, size, MADV_HUGEPAGE);  // gathers from x then have far fewer TLB misses
  return {p, std::free};
}

}  // namespace penstock::host

namespace penstock {

void forget_bytes(void* first, std::int64_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(first) + page - 1) / page * page;
  const auto end =
      (reinterpret_cast<std::uintptr_t>(first) + static_cast<std::uintptr_t>(bytes)) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

ReadsAlone::ReadsAlone(const void* first, std::int64_t bytes) noexcept {
  if (bytes <= 0) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(first) / page * page;
  first_ = reinterpret_cast<void*>(begin);
  bytes_ = reinterpret_cast<std::uintptr_t>(first) + static_cast<std::uintptr_t>(bytes) - begin;
  madvise(first_, bytes_, MADV_RANDOM);
}
void ReadsAlone::announce(const void* byte) const noexcept {
  if (bytes_ == 0) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  madvise(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(byte) / page * page), page, MADV_WILLNEED);
}
ReadsAlone::~ReadsAlone() {
  if (bytes_ > 0) madvise(first_, bytes_, MADV_NORMAL);
}

}  // namespace penstock
