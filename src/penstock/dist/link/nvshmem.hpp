#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "penstock/comm/comm.hpp"
#include "penstock/dist/link/library.hpp"

// NVSHMEM's host library, which is opened when it is first needed, and its symmetric memory. Each GPU has one process.
namespace penstock {

/// The functions of version 3 that are used here.
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

/// Opens NVSHMEM and starts it for these ranks, each with its GPU `where`, unless that has been done. The messages of
/// Error{not_accessible} begin with `task`. Collective.
void start_nvshmem(Comm& comm, Where where, std::string_view task);

/// What a block of symmetric memory is used for. Blocks of halos have signals at their end, for ever; arenas have none.
enum class SymmetricUse { halo, arena };

/// A block of symmetric memory that is used, or was. A halo numbers its exchanges from where the halo before it on this block
/// stopped, because signals of that one may still arrive after it has ended.
struct SymmetricBlock {
  std::byte* memory = nullptr;
  std::int64_t bytes = 0;
  std::uint64_t number = 0;
  SymmetricUse use = SymmetricUse::halo;
  std::atomic<bool> taken = false;  // whether it is used now; its user clears this
};

/// A block of at least this size on all ranks: one that no rank uses any more, or a new one, which is zero. Unused arenas that
/// do not fit are freed here, because freeing must be collective. Call start_nvshmem() before. `bytes` is the same on all
/// ranks. Throws Error{out_of_memory}. Collective.
SymmetricBlock& take_symmetric(Comm& comm, std::int64_t bytes, SymmetricUse use, Stream stream,
                               std::string_view task);

}  // namespace penstock
