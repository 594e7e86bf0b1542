#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/comm/comm.hpp"
#include "penstock/core/device.hpp"
#include "penstock/dist/link/library.hpp"

// NCCL, which is opened when it is first needed, and the part of nccl.h that is used here, as version 2 has it.
namespace penstock {

struct Nccl {
  struct UniqueId {
    char internal[128];
  };
  static constexpr int kSuccess = 0, kInProgress = 7, kBytes = 0;  // kBytes: ncclInt8

  Nccl();
  /// Throws Error{cuda} that says what failed and why.
  void check(int status, std::string_view task) const;

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
void require_nccl(Comm& comm, std::string_view task);
/// NCCL's functions; call require_nccl() before.
const Nccl& nccl();

/// NCCL's communicator for the ranks of a Comm.
struct NcclTeam {
  void* handle = nullptr;  // null: it has been given up
  /// Throws Error{cuda} where work that was queued has failed.
  void require_well() const;
};

/// The communicator of these processes and GPUs in this order (gpu_owners in peer.hpp), whichever Comm they use. It is kept to
/// the end: making one takes a second, and all ranks must end one together, while its users end at different times. Throws
/// Error{not_accessible} on all ranks alike. Collective.
std::shared_ptr<NcclTeam> nccl_team(Comm& comm, Where where, const std::string& members,
                                    std::string_view task);

/// Waits a second for the work that was queued on `stream`, then gives the communicator up: kernels that wait for a rank that
/// has failed end only with it.
void end_or_abort(NcclTeam& team, Stream stream) noexcept;

}  // namespace penstock
