#pragma once
#include <chrono>

#include "penstock/core/device.hpp"

namespace penstock {

/// A point in a stream's work, and when it was reached: by the GPU's clock, or the CPU's where that is the device.
class StreamMark {
 public:
  explicit StreamMark(Where where) : event_(where, true) {}
  void set(Stream stream) {
    if (stream.where.is_gpu()) record(event_, stream);
    else time_ = std::chrono::steady_clock::now();
    set_ = true;
  }
  bool is_set() const { return set_; }
  operator Event() const { return event_; }
  /// Seconds since an earlier mark. Both have been set, and this one has been reached.
  double since(const StreamMark& earlier) const {
    if (Event(event_).where.is_gpu()) return seconds(earlier.event_, event_);
    return std::chrono::duration<double>(time_ - earlier.time_).count();
  }

 private:
  OwnedEvent event_;
  std::chrono::steady_clock::time_point time_;
  bool set_ = false;
};

/// Seconds since it was made, by the clock of the CPU.
class HostClock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace penstock
