#include "penstock/dist/halo/halo_packed.hpp"

namespace penstock::halo {

// One collective among neighbours: MPI_Ineighbor_alltoallv.
std::unique_ptr<Exchange> neighborhood(std::shared_ptr<Comm> comm, std::vector<Message> sends,
                                       std::vector<Message> receives) {
  return comm->neighborhood(std::move(sends), std::move(receives));
}

}  // namespace penstock::halo
