#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"

namespace penstock {

template <class T>
Array<const std::byte> as_bytes(const Array<const T>& a) {
  return {reinterpret_cast<const std::byte*>(a.data), a.bytes(), a.place, a.owner};
}

/// Copies parts of an array, in ascending order, to memory of the stream's device. Large arrays in ordinary host memory come at the
/// speed of the link: pages are locked just before they are copied, while the copies before them go on; all are unlocked at the end,
/// which waits for the stream.
class PartUpload {
 public:
  /// `inside`: the array is a part of another one, whose other parts may be uploaded at the same time. The one before may lock the page that
  /// both share, and unlock it: what this part has there is copied first.
  PartUpload(const Array<const std::byte>& from, Stream stream, bool inside = false);
  ~PartUpload() { drain(stream_); }  // before the locks go
  PartUpload(const PartUpload&) = delete;
  PartUpload& operator=(const PartUpload&) = delete;

  /// Queues the copy of `bytes` bytes from byte `first` on.
  void copy(void* to, std::int64_t first, std::int64_t bytes);

 private:
  void lock_next();

  Array<const std::byte> from_;
  Stream stream_;
  std::vector<std::shared_ptr<void>> locks_;
  std::vector<std::byte> shared_;  // a copy of what lies in such a page
  bool locking_;
  std::int64_t ready_ = 0;  // bytes whose pages are locked, or need not be
};

/// Copies an array to memory of the stream's device, in pieces, as PartUpload does. `queued(bytes)` is called when the copies of the
/// first `bytes` are on the stream, the last time for all bytes. Waits for the stream.
void upload(void* to, const Array<const std::byte>& from, Stream stream,
            const std::function<void(std::int64_t)>& queued = {});

}  // namespace penstock
