#pragma once
#include <cstdint>
#include <functional>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"

namespace penstock {

/// Copies an array to memory of the stream's GPU, in pieces. Large arrays in ordinary host memory come at the speed of the link:
/// while a piece is copied, the pages of the next one are locked; all are unlocked at the end. `queued(bytes)` is called when
/// the copies of the first `bytes` are on the stream, the last time for all bytes. Waits for the stream.
void upload(void* to, const Array<const std::byte>& from, Stream stream,
            const std::function<void(std::int64_t)>& queued = {});

template <class T>
Array<const std::byte> as_bytes(const Array<const T>& a) {
  return {reinterpret_cast<const std::byte*>(a.data), a.bytes(), a.place, a.owner};
}

}  // namespace penstock
