#include "penstock/dist/halo/halo_packed.hpp"

namespace penstock::halo {

// Requests described once and started again and again: MPI_Send_init, MPI_Startall.
std::unique_ptr<Exchange> persistent(std::shared_ptr<Comm> comm, std::vector<Message> sends,
                                     std::vector<Message> receives) {
  return comm->persistent(std::move(sends), std::move(receives));
}

}  // namespace penstock::halo
