#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"

namespace penstock {

/// Memory of the caller that gets a result where it was computed. Without `data` the result goes to the host. `stream` is
/// the one on which the caller queues work: all that it has been given comes before the result is written, and all that
/// it is given later comes after that.
struct ResultTo {
  void* data = nullptr;
  void* stream = nullptr;
  explicit operator bool() const { return data != nullptr; }
};

/// write(to.data) queues the writing of a result on `stream`; the host does not wait for it. Throws Error{not_accessible} if
/// the stream's device cannot reach the memory.
template <class Write>
void deliver(const ResultTo& to, Stream stream, std::string_view what, Write&& write) {
  if (!can_read(stream.where, place_of(to.data)))
    throw Error(Errc::not_accessible, std::string(what) +
                                          " cannot be written where out= is: it lies neither in host memory "
                                          "that is pinned nor on the GPU that computes");
  const Stream theirs{to.stream, stream.where};
  order(theirs, stream);
  write(to.data);
  order(stream, theirs);
}

/// Copies a result of so many bytes.
inline void deliver(const ResultTo& to, Stream stream, std::string_view what, const void* from,
                    std::int64_t bytes) {
  deliver(to, stream, what, [&](void* data) { copy_async(data, from, bytes, stream); });
}

}  // namespace penstock
