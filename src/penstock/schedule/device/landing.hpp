#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/core/reserve.hpp"

namespace penstock {

/// Host memory that copies from a device fill from its front, and of which only an upper bound of the size is known. The pages
/// are locked a piece at a time, just before copies reach them, so that these run at the link's speed beside other work; pages
/// that nothing reaches take no memory. On the CPU as the device copies are done when they are queued.
class Landing {
 public:
  /// At most `most` bytes will land, by copies on this stream. Throws Error{out_of_memory} where the system does not give so
  /// many addresses.
  Landing(std::int64_t most, Stream copies);
  /// Waits for the copies.
  ~Landing();
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

  /// Queues a copy of device memory to where the last one ends.
  void append(const void* from, std::int64_t bytes);
  std::byte* data() const { return memory_.data(); }
  std::int64_t size() const { return end_; }

  /// What has landed, exactly as large as that; waits for the copies, and ends the landing.
  template <class T>
  Array<T> keep() {
    arrive();
    return memory_.keep<T>(end_ / static_cast<std::int64_t>(sizeof(T)));
  }

 private:
  void lock(std::int64_t piece);
  void arrive();

  std::int64_t most_;
  Stream copies_;
  std::int64_t end_ = 0;
  Reservation memory_;
  std::vector<std::shared_ptr<void>> locks_;  // of the first pieces
  bool locking_;
};

}  // namespace penstock
