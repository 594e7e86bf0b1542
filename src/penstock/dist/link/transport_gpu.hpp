#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "penstock/comm/transport.hpp"

// Arenas in the memory of GPUs. Gets and puts are copies on streams of their own, so that kernels run meanwhile; wait()
// makes the calling thread wait for its copy alone. They follow no other stream: what a kernel writes must be complete
// before it is got or put. Words are not in the memory of GPUs: they are in a shadow of the arena in host memory, under
// the same offsets, and an address that is used for words is used for nothing else.
namespace penstock {

/// Words of a GPU's transport lie in the first so many bytes of an arena.
inline constexpr std::int64_t kWordBytes = 2 << 20;

/// Collective: the same kind and size on all ranks, and for each rank its own GPU; two ranks may share one. The first
/// `zeroed` bytes of each arena, and the words there, begin as zeros (below 0: all of them). `kind`: "peer"
/// (GPUs that reach one another's memory: ranks are threads of one process, or processes of one machine), "nvshmem" (one
/// process a GPU) or "auto" (peer where it can be, else nvshmem). With `where` the CPU on all ranks, "peer" keeps the
/// arenas in host memory: that is how what uses GPUs is tested without one; ranks are threads then. Throws
/// Error{invalid_argument} for other kinds and sizes, Error{not_accessible} or Error{not_compiled} where the ranks cannot do
/// the kind, Error{out_of_memory}. Between processes the memory of a transport that is gone goes when the next one is made,
/// or at the end.
std::shared_ptr<Transport> make_device_transport(std::string_view kind, std::shared_ptr<Comm> comm,
                                                 std::int64_t arena_bytes, Where where,
                                                 std::int64_t zeroed = -1);

}  // namespace penstock
