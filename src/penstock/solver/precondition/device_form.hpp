#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/kernel/vectors/sweep.hpp"
#include "penstock/solver/linear_op.hpp"

namespace penstock {

/// What an operator keeps on a device. It is made when it is first asked for, and made again for another device.
template <class Kept>
class KeptOnDevice {
 public:
  template <class Make>
  std::shared_ptr<const Kept> get(Where where, Make&& make) {
    const std::lock_guard lock(mutex_);
    if (!kept_ || where_ != where) {
      kept_ = nullptr;  // is freed before the next one takes memory
      kept_ = std::make_shared<const Kept>(make()), where_ = where;
    }
    return kept_;
  }

 private:
  std::mutex mutex_;
  Where where_;
  std::shared_ptr<const Kept> kept_;
};

/// Throws Error{out_of_memory} where a GPU has no room for `bytes` of M and `spare` for the solver's vectors.
inline void require_room(std::int64_t bytes, std::int64_t spare, Where where) {
  if (!where.is_gpu()) return;
  const auto free = device_memory(where).free;
  const auto megabytes = [](std::int64_t n) { return std::to_string((n + 999'999) / 1'000'000) + " MB"; };
  if (bytes > free || spare > free - bytes)
    throw Error(Errc::out_of_memory, "GPU " + std::to_string(where.gpu) + " has " + megabytes(free) +
                                         " free; M takes " + megabytes(bytes) + " and the vectors " +
                                         megabytes(spare) + ": more ranks have smaller parts");
}

/// An array in host memory, copied to the stream's device; complete when the stream has come there.
template <class T>
Array<T> copy_to_device(std::span<const T> from, Stream stream) {
  const auto size = std::ssize(from);
  auto to = allocate<T>(std::max<std::int64_t>(1, size), device_place(stream.where)).slice(0, size);
  copy_async(to.data, from.data(), to.bytes(), stream);
  return to;
}

}  // namespace penstock
