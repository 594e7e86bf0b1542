#pragma once
#include <cstdint>
#include <memory>

#include "penstock/core/place.hpp"

// The whole seam between the library and a GPU runtime. device.cpp sends each call to device_host.cpp (the CPU,
// synchronous: it runs every schedule where there is no GPU) or to device_cuda.cpp, by `Where`.
namespace penstock {

struct Stream {
  void* handle = nullptr;
  Where where;
};
struct Event {
  void* handle = nullptr;
  Where where;
};

int device_count();  // GPUs that can be used: 0 without CUDA, without a driver, without a card
Stream make_stream(Where);
void destroy(Stream) noexcept;
Event make_event(Where, bool timed = false);
void destroy(Event) noexcept;
void record(Event, Stream);
void wait(Stream, Event);
void synchronize(Stream);
void synchronize(Event);  // the calling thread waits for the work recorded
void drain(
    Stream) noexcept;  // waits and forgets errors: before memory that the stream may still use is freed
double seconds(Event from, Event to);  // both timed and done, on one GPU
void copy_async(void* dst, const void* src, std::int64_t bytes, Stream);

/// Device memory for one kernel call: taken and given back in the order of the stream, without stopping it. The
/// stream must outlive the pointer.
std::shared_ptr<void> allocate_scratch(std::int64_t bytes, Stream);

/// Makes a GPU the calling thread's current one, which launches need, and restores the caller's own choice after.
class UseDevice {
 public:
  explicit UseDevice(Where);
  ~UseDevice();
  UseDevice(const UseDevice&) = delete;
  UseDevice& operator=(const UseDevice&) = delete;

 private:
  int before_ = -1;  // -1: nothing to restore
};

/// Streams and events that end with their scope.
class OwnedStream {
 public:
  explicit OwnedStream(Where where) : stream_(make_stream(where)) {}
  ~OwnedStream() { destroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  operator Stream() const { return stream_; }

 private:
  Stream stream_;
};
class OwnedEvent {
 public:
  explicit OwnedEvent(Where where, bool timed = false) : event_(make_event(where, timed)) {}
  ~OwnedEvent() { destroy(event_); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  operator Event() const { return event_; }

 private:
  Event event_;
};

}  // namespace penstock
