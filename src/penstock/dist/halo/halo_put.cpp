#include "penstock/dist/halo/halo_packed.hpp"

namespace penstock::halo {

// One-sided: owners write entries into the windows of the ranks that need them, and these look there.
std::unique_ptr<Exchange> put(std::shared_ptr<Comm> comm, std::vector<Message> sends,
                              std::vector<Message> receives) {
  return comm->put(std::move(sends), std::move(receives));
}

}  // namespace penstock::halo
