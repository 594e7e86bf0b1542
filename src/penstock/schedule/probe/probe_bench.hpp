#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/clock.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/schedule/probe/probe.hpp"

// What the files of the probe share: memory, streams and a clock for each device, and how many turns are
// timed.
namespace penstock::probing {

/// Seconds that are left; negative after the deadline.
inline double seconds_until(Clock::time_point deadline) { return -since(deadline); }

/// A clock may not have moved on between two readings: a time is never taken to be shorter than this, in seconds.
inline constexpr double kLeastTime = 1e-9;

/// One device under test. Pinned memory and device memory are full of numbers, not of zeros, because zeros can travel
/// faster.
struct Bench {
  Bench(Where where, std::int64_t bytes);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Times work on the device's own clock where it has one. start() opens an interval on the first stream, or in front
  /// of both. stop() notes the end of what a stream has been given so far. after() waits for that end and says how long
  /// after the start it came, in seconds.
  void start(int streams = 1);
  void stop(int stream);
  double after(int stream);

  Where where;
  std::int64_t bytes;                       // of each array; a multiple of 64 KB
  Array<std::byte> pinned, target, source;  // source and target are in device memory
  Array<std::uint32_t> sum;                 // in device memory, too: what kernels that read leave
  OwnedStream first, second;

 private:
  OwnedEvent begin_, first_end_, second_end_;
  Clock::time_point host_begin_;
  std::array<double, 2> host_took_{};
};

/// The median; of an even number of times the mean of the two in the middle (core/clock.hpp's is the upper one).
inline double median_time(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  if (v.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(v.begin(), middle)) / 2;
}

// How often a measurement is repeated. Each has kTurns turns, or kFewTurns where the time runs out; more of them, up to
// kMostTurns, until they have taken kEnough seconds together.
inline constexpr int kTurns = 5, kFewTurns = 3, kMostTurns = 21;
inline constexpr double kEnough = 0.02;

/// The median of what `once` returns, a time, over several turns after one that is not counted: fewer of them
/// after the deadline.
template <class F>
double median_turn(Clock::time_point deadline, F&& once) {
  once();
  std::vector<double> took;
  for (double total = 0;;) {
    poll_interrupt();
    took.push_back(once());
    total += took.back();
    const auto n = static_cast<int>(took.size());
    if (n >= kMostTurns || (n >= kTurns && total > kEnough) || (n >= kFewTurns && Clock::now() > deadline))
      return median_time(std::move(took));
  }
}

/// Calls f(bytes), which returns the time of one turn, for ascending sizes as long as the next one, judged by
/// the last, ends by the deadline. The smallest is always measured.
template <class F>
void for_sizes(std::span<const std::int64_t> sizes, Clock::time_point deadline, F&& f) {
  double per_byte = 0;
  for (const auto bytes : sizes) {
    const double expected = (kFewTurns + 1) * per_byte * static_cast<double>(bytes);
    if (expected > 0 && expected > seconds_until(deadline)) return;
    per_byte = f(bytes) / static_cast<double>(bytes);
  }
}

/// A copy between the same offsets of pinned memory and of a device array, so that both keep their contents.
void copy_up(Bench& bench, std::int64_t offset, std::int64_t bytes, Stream stream);
void copy_down(Bench& bench, std::int64_t offset, std::int64_t bytes, Stream stream);
/// `bytes` up on the first stream and down on the second, in different halves of pinned memory.
void copy_both(Bench& bench, std::int64_t bytes);

/// All that concerns one device. `pageable` is ordinary host memory as large as the bench's arrays; `next` is
/// the device that peer copies go to, or null.
GpuRates measure_one(Bench& bench, const Array<std::byte>& pageable, Bench* next, Clock::time_point deadline);
TogetherRates measure_together(std::span<const std::unique_ptr<Bench>> benches, Clock::time_point deadline);

}  // namespace penstock::probing
