#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "penstock/comm/comm.hpp"
#include "penstock/dist/link/library.hpp"

// NVSHMEM's host library, opened when it is first asked for, and its symmetric memory: one process a GPU.
namespace penstock {

/// What of its version 3 is used here.
struct Nvshmem {
  Nvshmem();
  Library library;
  void (*version)(int*, int*, int*) = nullptr;
  int (*unique_id)(void*) = nullptr;
  int (*set_args)(int, int, const void*, void*) = nullptr;
  int (*init)(unsigned, void*) = nullptr;
  void* (*allocate)(std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  void* (*pointer)(const void*, int) = nullptr;
  void (*get)(void*, const void*, std::size_t, int, void*) = nullptr;
  void (*put)(void*, const void*, std::size_t, int, void*) = nullptr;
  void (*quiet)(void*) = nullptr;
  void (*put_signal)(void*, const void*, std::size_t, std::uint64_t*, std::uint64_t, int, int,
                     void*) = nullptr;
  void (*signal)(std::uint64_t*, std::uint64_t, int, int, void*) = nullptr;
  void (*wait_signal)(std::uint64_t*, int, std::uint64_t, void*) = nullptr;
};
const Nvshmem& nvshmem();

/// Opens and starts it for these ranks, each with the GPU `where`; nothing where that has been done. `what` begins the
/// messages of Error{not_accessible}. Collective.
void start_nvshmem(Comm& comm, Where where, std::string_view what);

/// Who uses symmetric memory: signals of a halo's block lie at its end for good, arenas have none.
enum class SymmetricUse { halo, arena };

/// Symmetric memory that someone has, or had. Numbers of exchanges go on where a halo's last user stopped: signals are
/// late, not lost, when a halo ends.
struct SymmetricBlock {
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;
  std::uint64_t number = 0;
  SymmetricUse use = SymmetricUse::halo;
  std::atomic<bool> taken = false;  // its user clears it
};

/// A block of at least this size on all ranks, after start_nvshmem(): one that all have done with, or a new one, which is
/// zero. Of arenas that nobody uses those that do not fit are freed here, which is collective, as freeing must be. `bytes`
/// is the same everywhere. Throws Error{out_of_memory}. Collective.
SymmetricBlock& take_symmetric(Comm& comm, std::int64_t bytes, SymmetricUse use, Stream stream,
                               std::string_view what);

}  // namespace penstock
