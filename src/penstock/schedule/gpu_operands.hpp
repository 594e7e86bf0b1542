#pragma once
#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/trace.hpp"

namespace penstock {

/// x and y of a product in host memory, row after row without gaps: `width` entries a row, 1 for vectors.
template <class T>
struct HostOperands {
  const T* x = nullptr;
  std::int64_t x_rows = 0;
  T* y = nullptr;
  std::int64_t y_rows = 0;
  std::int64_t width = 1;
};

/// Copies of x and y on one GPU. x is sent when this is made; rows of y go up and come back as the caller says, because other
/// rows of the host's y may be changing under another device's results. The row after y's last is the cell of a
/// piece: it takes the sum of a part of a row. All copies are ordered on the stream, and the trace counts their bytes.
template <class T>
class GpuOperands {
 public:
  GpuOperands(const HostOperands<T>& host, Stream stream, Trace& trace)
      : host_(host),
        stream_(stream),
        trace_(trace),
        x_(allocate<T>(host.x_rows * host.width, device_place(stream.where))),
        y_(allocate<T>((host.y_rows + 1) * host.width, device_place(stream.where))) {
    copy(x_.data, host.x, host.x_rows);
  }
  /// Results on their way to host memory land before the memory here is freed, whatever has failed.
  ~GpuOperands() { drain(stream_); }
  GpuOperands(const GpuOperands&) = delete;
  GpuOperands& operator=(const GpuOperands&) = delete;

  const T* x() const { return x_.data; }
  T* y(std::int64_t row) const { return y_.data + row * host_.width; }
  T* cell() const { return y(host_.y_rows); }

  void take_rows(std::int64_t first, std::int64_t rows) { copy(y(first), host_y(first), rows); }
  void bring_back_rows(std::int64_t first, std::int64_t rows) { copy(host_y(first), y(first), rows); }
  void bring_back_cell(T* to) { copy(to, cell(), 1); }

 private:
  T* host_y(std::int64_t row) const { return host_.y + row * host_.width; }
  void copy(T* to, const T* from, std::int64_t rows) {
    const auto bytes = rows * host_.width * static_cast<std::int64_t>(sizeof(T));
    copy_async(to, from, bytes, stream_);
    trace_.link_bytes += bytes;
  }
  HostOperands<T> host_;
  Stream stream_;
  Trace& trace_;
  Array<T> x_, y_;
};

}  // namespace penstock
