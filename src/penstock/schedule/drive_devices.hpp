#pragma once
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock {

/// Calls work(i) once for each of several devices, at least one, each on a host thread of its own; the caller's thread works
/// for the first device. Returns when all calls have ended. A call that throws ends its device's work: `stop()` is then
/// called on that thread, so that it can tell the other devices to end early, and the first exception is rethrown here.
template <class Work, class Stop>
void drive_devices(std::size_t devices, Work&& work, Stop&& stop) {
  std::mutex lock;
  std::exception_ptr first;
  const auto drive = [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      stop();
      const std::lock_guard guard(lock);
      if (!first) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < devices; ++i) others.emplace_back(drive, i);
    drive(0);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace penstock
