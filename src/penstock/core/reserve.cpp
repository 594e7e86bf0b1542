#include "penstock/core/reserve.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
// Below this size, malloc keeps memory between calls, so that no page faults are paid.
constexpr std::int64_t kSmall = 1 << 20;

}  // namespace

struct Reservation::Pages {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
  explicit Pages(std::int64_t wanted);
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
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

Reservation::Pages::Pages(std::int64_t wanted) {
  bytes = (static_cast<std::size_t>(wanted) + kHugePage - 1) / kHugePage * kHugePage;
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

Reservation::Reservation(std::int64_t bytes) : bytes_(bytes) {
  if (bytes < kSmall) {
    owner_ = allocate_bytes(bytes, {});
    data_ = static_cast<std::byte*>(owner_.get());
    return;
  }
  auto pages = std::make_shared<Pages>(bytes);
  data_ = pages->first, pages_ = pages.get();
  owner_ = std::shared_ptr<void>(pages, data_);
}

std::shared_ptr<void> apart_bytes(std::int64_t bytes) {
  if (bytes < kSmall) return allocate_bytes(bytes, {});
  auto pages = std::make_shared<Reservation::Pages>(bytes);
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
