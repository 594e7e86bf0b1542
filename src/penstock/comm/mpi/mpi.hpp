#pragma once
#include <memory>

#include "penstock/comm/comm.hpp"
#include "penstock/comm/mpi/mpi_library.hpp"

namespace penstock {

struct MpiOptions {
  double timeout = 300;  // seconds without news until a call gives up
  /// Messages beyond this many bytes travel as one element of a derived type, and collectives beyond it as messages: MPI
  /// counts in ints. Smaller only in tests.
  std::int64_t largest = 0x7fffffff;
  /// Ranks of a node that share memory, at most; 0: all of them. Positive only in tests, which so have nodes on one host.
  int node_ranks = 0;
};

/// The ranks of an MPI communicator. `address` points to an MPI_Comm (as mpi4py's MPI._addressof gives), which is
/// duplicated; null: MPI_COMM_WORLD. Collective. The library has been started.
std::unique_ptr<Comm> mpi_comm(const MpiLibrary& library, const void* address = nullptr,
                               MpiOptions options = {});

/// The rank whose failure has reached a Comm of mpi_comm(); -1 where none has, and for other Comms.
int failed_rank(const Comm& comm);

}  // namespace penstock
