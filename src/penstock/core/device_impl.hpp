#pragma once
#include <memory>

#include "penstock/core/device.hpp"

// The two implementations behind device.hpp. Only device*.cpp includes this.
namespace penstock::host {
void copy(void* dst, const void* src, std::int64_t bytes);
std::shared_ptr<void> allocate_bytes(std::int64_t bytes);
}  // namespace penstock::host

namespace penstock::cuda {
int device_count();
Stream make_stream(Where);
void destroy(Stream) noexcept;
Event make_event(Where);
void destroy(Event) noexcept;
void record(Event, Stream);
void wait(Stream, Event);
void synchronize(Stream);
void copy_async(void* dst, const void* src, std::int64_t bytes, Stream);
std::shared_ptr<void> allocate_bytes(std::int64_t bytes, Place place);
}  // namespace penstock::cuda
