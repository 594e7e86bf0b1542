#include "penstock/dist/link/transport_gpu.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "penstock/comm/transport_kinds.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/link/device_transport.hpp"

namespace penstock {

std::string transport_text(std::string_view kind) { return "transport=\"" + std::string(kind) + "\""; }

std::shared_ptr<Transport> make_device_transport(std::string_view kind, std::shared_ptr<Comm> comm,
                                                 std::int64_t arena_bytes, Where where, std::int64_t zeroed) {
  require(comm != nullptr, "a transport needs a Comm");
  require(kind == "auto" || kind == "peer" || kind == "nvshmem", [&] {
    return "transport '" + std::string(kind) + "' is not one of auto, peer, nvshmem, which are those of GPUs";
  });
  require(arena_bytes >= 0, [&] { return "an arena of " + std::to_string(arena_bytes) + " bytes"; });
  const std::int64_t on_gpu = where.is_gpu();
  std::array<std::int64_t, 4> least{arena_bytes, -arena_bytes, on_gpu, -on_gpu};
  comm->all_reduce(least, Reduce::min);
  require_equal_arenas(least[0], -least[1]);
  require(least[2] == -least[3],
          "some ranks have their arenas on GPUs and some on the CPU: give all of them a device=");
  const auto bytes = (arena_bytes + 7) / 8 * 8;
  zeroed = zeroed < 0 ? bytes : std::min(zeroed, bytes);
  if (kind == "peer") return make_peer_transport(std::move(comm), bytes, zeroed, where);
  if (kind == "nvshmem") return make_nvshmem_transport(std::move(comm), bytes, zeroed, where);
  std::string why;
  try {
    return make_peer_transport(comm, bytes, zeroed, where);
  } catch (const Error& e) {  // all ranks throw the same
    if (e.code() != Errc::not_accessible || comm->one_process() || !where.is_gpu()) throw;
    why = e.what();
  }
  try {
    return make_nvshmem_transport(comm, bytes, zeroed, where);
  } catch (const Error& e) {
    if (e.code() != Errc::not_accessible && e.code() != Errc::not_compiled) throw;
    throw Error(e.code(), why + "; " + e.what());
  }
}

}  // namespace penstock
