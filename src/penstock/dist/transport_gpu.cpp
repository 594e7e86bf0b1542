#include "penstock/dist/transport_gpu.hpp"

#include <array>
#include <string>
#include <utility>

#include "penstock/comm/transport_kinds.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/device_transport.hpp"

namespace penstock {

std::string transport_text(std::string_view kind) { return "transport=\"" + std::string(kind) + "\""; }

std::shared_ptr<Transport> make_device_transport(std::string_view kind, std::shared_ptr<Comm> comm,
                                                 std::int64_t arena_bytes, Where where) {
  require(comm != nullptr, "a transport needs a Comm");
  require(kind == "auto" || kind == "peer" || kind == "nvshmem", [&] {
    return "transport '" + std::string(kind) + "' is not one of auto, peer, nvshmem, which are those of GPUs";
  });
  const auto bytes = require_arena_bytes(*comm, arena_bytes);
  std::array<std::int64_t, 2> on_gpu{where.is_gpu(), -std::int64_t{where.is_gpu()}};
  comm->all_reduce(on_gpu, Reduce::min);
  require(on_gpu[0] == -on_gpu[1],
          "some ranks have their arenas on GPUs and some on the CPU: give all of them a device=");
  if (kind == "peer") return make_peer_transport(std::move(comm), bytes, where);
  if (kind == "nvshmem") return make_nvshmem_transport(std::move(comm), bytes, where);
  std::string why;
  try {
    return make_peer_transport(comm, bytes, where);
  } catch (const Error& e) {  // the same on all ranks
    if (e.code() != Errc::not_accessible || comm->one_process() || !where.is_gpu()) throw;
    why = e.what();
  }
  try {
    return make_nvshmem_transport(comm, bytes, where);
  } catch (const Error& e) {
    if (e.code() != Errc::not_accessible && e.code() != Errc::not_compiled) throw;
    throw Error(e.code(), why + "; " + e.what());
  }
}

}  // namespace penstock
