#pragma once
#include <cstdint>

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
Event make_event(Where);
void destroy(Event) noexcept;
void record(Event, Stream);
void wait(Stream, Event);
void synchronize(Stream);
void copy_async(void* dst, const void* src, std::int64_t bytes, Stream);

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
  explicit OwnedEvent(Where where) : event_(make_event(where)) {}
  ~OwnedEvent() { destroy(event_); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  operator Event() const { return event_; }

 private:
  Event event_;
};

}  // namespace penstock
