#include "penstock/core/reserve.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
constexpr std::int64_t kSmall = 1 << 20;  // below, malloc keeps memory between calls and no page faults are paid

}  // namespace

struct Reservation::Pages {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
  ~Pages() {
    if (bytes > 0) munmap(first, bytes);
  }
  void shrink(std::size_t to) {
    to = (to + kHugePage - 1) / kHugePage * kHugePage;
    if (to >= bytes) return;
    munmap(first + to, bytes - to);
    bytes = to;
  }
};

Reservation::Reservation(std::int64_t bytes) : bytes_(bytes) {
  if (bytes < kSmall) {
    owner_ = allocate_bytes(bytes, {});
    data_ = static_cast<std::byte*>(owner_.get());
    return;
  }
  const auto size = (static_cast<std::size_t>(bytes) + kHugePage - 1) / kHugePage * kHugePage;
  auto pages = std::make_shared<Pages>();
  // NORESERVE: the bound is not promised to anybody, so that it may exceed the memory of the machine.
  void* p = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw Error(Errc::out_of_memory,
                "cannot reserve " + std::to_string(bytes) + " bytes of addresses: compute the result in blocks");
  auto* begin = static_cast<std::byte*>(p);
  const auto skip = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (skip > 0) munmap(begin, skip);
  if (skip < kHugePage) munmap(begin + skip + size, kHugePage - skip);
  pages->first = begin + skip, pages->bytes = size;
  madvise(pages->first, size, MADV_HUGEPAGE);
  data_ = pages->first, pages_ = pages.get();
  owner_ = std::shared_ptr<void>(pages, data_);
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
