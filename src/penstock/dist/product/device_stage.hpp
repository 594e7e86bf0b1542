#pragma once
#include <functional>
#include <string_view>

#include "penstock/comm/comm.hpp"
#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"

namespace penstock {

/// Which vectors are copied to the device before work on them, and back after it. `always` also copies those that are in its
/// memory already: with the CPU as the device all of them are, so this is how staging is tested without a GPU.
enum class Staging { where_needed, always };

/// A stream of a rank's device for vectors that may be anywhere. Memory for copies is taken once and used again. One thread
/// at a time.
class DeviceStage {
 public:
  explicit DeviceStage(Where where, Staging staging = Staging::where_needed)
      : where_(where), staging_(staging), stream_(where), done_(where) {}

  Where where() const { return where_; }
  Stream stream() const { return stream_; }

  /// Whether work on the device can use `data` where it is.
  bool holds(const void* data) const;

  /// The vector x where the device reads it, and y where it writes it: `data` itself, or memory for a copy.
  std::byte* place_for_x(const void* data, std::int64_t bytes);
  std::byte* place_for_y(void* data, std::int64_t bytes);
  /// Queues a copy, unless both are the same memory.
  void copy(void* to, const void* from, std::int64_t bytes) const;

  /// Calls `queue`, whose work may wait for other ranks, and waits until the work is done; then calls `bring_back` and waits
  /// again. After an error, which another rank's failure is too, it calls `give_up`, waits until the stream uses nobody's
  /// memory any more, and throws. `waited_for` names the work in errors.
  void run(Comm& comm, std::string_view waited_for, const std::function<void()>& queue,
           const std::function<void()>& bring_back, const std::function<void()>& give_up) const;

 private:
  std::byte* place_for(Array<std::byte>& area, void* data, std::int64_t bytes);

  Where where_;
  Staging staging_;
  OwnedStream stream_;
  OwnedEvent done_;
  Array<std::byte> x_, y_;
};

}  // namespace penstock
