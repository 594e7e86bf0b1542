#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/comm/comm.hpp"
#include "penstock/core/device.hpp"
#include "penstock/dist/link/library.hpp"

// NCCL, opened when first asked for. What of nccl.h is used here, as version 2 has it.
namespace penstock {

struct Nccl {
  struct UniqueId {
    char internal[128];
  };
  static constexpr int kSuccess = 0, kInProgress = 7, kBytes = 0;  // kBytes: ncclInt8

  Nccl();
  /// Throws Error{cuda} that says what failed and why.
  void check(int status, std::string_view what) const;

  Library library;
  int (*unique_id)(UniqueId*) = nullptr;
  int (*init_rank)(void**, int, UniqueId, int) = nullptr;
  int (*abort)(void*) = nullptr;
  int (*async_error)(void*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*receive)(void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
};

/// Throws Error{not_compiled} or Error{not_accessible} with the remedy on all ranks where one cannot have NCCL. Collective.
void require_nccl(Comm& comm, std::string_view what);
/// After require_nccl().
const Nccl& nccl();

/// NCCL's communicator beside ours.
struct NcclTeam {
  void* handle = nullptr;  // null: given up
  /// Throws Error{cuda} where something that was queued has failed.
  void require_well() const;
};

/// For these processes and GPUs in this order (peer.hpp's gpu_owners), whatever Comm they speak through. Making one takes
/// a second, and ending one needs all ranks at once, which users that end when they like cannot promise: it is kept. Throws
/// Error{not_accessible} on all ranks alike. Collective.
std::shared_ptr<NcclTeam> nccl_team(Comm& comm, Where where, const std::string& members,
                                    std::string_view what);

/// Kernels that wait for a rank that has failed end only with the communicator. Waits a second for what was queued on
/// `stream`, then gives the communicator up.
void end_or_abort(NcclTeam& team, Stream stream) noexcept;

}  // namespace penstock
