// Pinned host memory. The runtime's own allocator pins 4 KB pages one by one: it took 9 s for 16 GB. Here all threads touch
// huge pages, which the driver then registers: 0.6 s, and the same bandwidth.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "penstock/core/array.hpp"
#include "penstock/core/check_cuda.hpp"
#include "penstock/core/device_impl.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/machine.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::cuda {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = 2 << 20;
// From this size on, the system is asked first whether it has the memory: touching pages that it does not have ends the
// process without an error.
constexpr std::int64_t kAsked = 256 << 20;
constexpr unsigned kEverywhere = cudaHostRegisterPortable | cudaHostRegisterMapped;

[[noreturn]] void refuse(std::size_t bytes, std::string_view why) {
  throw Error(Errc::out_of_memory,
              "cannot pin " + std::to_string(bytes) + " bytes of host memory (" + std::string(why) +
                  "): keep the matrix in ordinary host memory and use Streamed, or pin less");
}

/// Registers whole pages. A file that is mapped read-only needs the flag that says so, which not every driver knows.
cudaError_t enlist(void* first, std::size_t bytes) {
  auto state = cudaHostRegister(first, bytes, kEverywhere);
  if (state == cudaSuccess || state == cudaErrorHostMemoryAlreadyRegistered) return state;
  cudaGetLastError();
  return cudaHostRegister(first, bytes, kEverywhere | cudaHostRegisterReadOnly);
}

struct Range {
  std::size_t bytes = 0;
  std::weak_ptr<void> lock;
};
std::recursive_mutex ranges_lock;  // recursive: the last user of a range may free it while the lock is held
std::map<std::uintptr_t, Range>& ranges() {
  static std::map<std::uintptr_t, Range> all;
  return all;
}

}  // namespace

std::shared_ptr<void> allocate_pinned(std::int64_t n) {
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(n, 1));
  if (n >= kAsked)
    if (const auto free = probe_topology().available_bytes; free > 0 && free < n)
      refuse(wanted, std::to_string(free) + " are available");
  const auto align = wanted >= 2 * kHugePage ? kHugePage : kPage;
  const auto bytes = (wanted + align - 1) / align * align;
  // Room for one page more: huge pages begin at multiples of their size.
  auto* raw = static_cast<std::byte*>(mmap(nullptr, bytes + align, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (raw == MAP_FAILED) refuse(wanted, "the address space is full");
  const auto begin = (reinterpret_cast<std::uintptr_t>(raw) + align - 1) / align * align;
  auto* first = reinterpret_cast<std::byte*>(begin);
  const auto total = bytes + align;
  std::shared_ptr<void> pages(raw, [total](void* p) { munmap(p, total); });
  if (align == kHugePage) madvise(first, bytes, MADV_HUGEPAGE);
  parallel_ranges(static_cast<std::int64_t>(bytes), kHugePage, [&](std::int64_t from, std::int64_t to) {
    for (auto at = from; at < to; at += kPage) first[at] = std::byte{0};
  });
  if (const auto state = cudaHostRegister(first, bytes, kEverywhere); state != cudaSuccess) {
    cudaGetLastError();
    if (state == cudaErrorNoDevice || state == cudaErrorInsufficientDriver) check(state);
    refuse(wanted, cudaGetErrorString(state));
  }
  return {first, [pages = std::move(pages)](void* p) {
            if (cudaHostUnregister(p) != cudaSuccess) cudaGetLastError();
          }};
}

std::shared_ptr<void> lock_pages(const void* p, std::int64_t n) {
  if (n < kLeastLocked) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(p) / kPage * kPage;
  const auto end =
      (reinterpret_cast<std::uintptr_t>(p) + static_cast<std::uintptr_t>(n) + kPage - 1) / kPage * kPage;
  const std::lock_guard guard(ranges_lock);
  if (const auto found = ranges().find(begin); found != ranges().end())
    if (auto lock = found->second.lock.lock(); lock && found->second.bytes >= end - begin) return lock;
  if (place_of(p).memory != Memory::host) return {};  // somebody else's lock
  auto* first = reinterpret_cast<void*>(begin);
  if (const auto state = enlist(first, end - begin); state != cudaSuccess) {
    cudaGetLastError();
    // A page of the range was locked with a neighbour's memory. Copies still work.
    if (state == cudaErrorHostMemoryAlreadyRegistered) return {};
    if (state == cudaErrorNoDevice || state == cudaErrorInsufficientDriver) check(state);
    refuse(static_cast<std::size_t>(n), cudaGetErrorString(state));
  }
  std::shared_ptr<void> lock(first, [](void* q) {
    const std::lock_guard inner(ranges_lock);
    if (cudaHostUnregister(q) != cudaSuccess) cudaGetLastError();
    ranges().erase(reinterpret_cast<std::uintptr_t>(q));
  });
  ranges()[begin] = {end - begin, lock};
  return lock;
}

}  // namespace penstock::cuda
