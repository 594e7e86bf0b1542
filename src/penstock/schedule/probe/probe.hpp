#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/core/machine.hpp"

// What the links and memories of this machine give, measured: the planner's figures. Bandwidths are bytes per
// second, latencies seconds; each is the median of at least five turns (three where the time runs out).
namespace penstock {

/// seconds(n) = latency + n / bytes_per_second.
struct LinkFit {
  double latency = 0, bytes_per_second = 0;
};
struct RatePoint {
  std::int64_t bytes = 0;
  double rate = 0;
};

/// The line through measured transfers, by least squares on their times. Residuals are taken relative to the
/// time, so that a gigabyte does not drown the latency, and those far from the rest (Huber, 10 %) count less.
/// Needs one point; with one, the latency is 0.
LinkFit fit_link(std::span<const RatePoint> points);

struct CopyCurve {
  std::vector<RatePoint> points;  // ascending sizes; empty where the time did not suffice
  LinkFit fit;
};
struct DuplexPoint {
  std::int64_t bytes = 0;  // in each direction
  double h2d = 0, d2h = 0;
};
struct PeerRates {
  Where next;  // the GPU that is copied to and read from
  double copy = 0;
  std::optional<double> load;  // by a kernel; none where this GPU cannot reach the other
};

/// What calls cost that move next to nothing.
struct CallCosts {
  double launch = 0, copy = 0;  // an empty kernel, 8 pinned bytes: from the call to the end of synchronize
  double launch_call = 0, copy_call = 0;  // the calling thread's time, many in a row
  double event = 0;                       // record and wait
  double synchronize = 0;                 // of an idle stream
};

struct GpuRates {
  Where where;
  GpuInfo info;
  CopyCurve h2d, d2h, h2d_2_streams, d2h_2_streams;  // pinned host memory
  CopyCurve pageable_h2d, pageable_d2h;
  std::vector<DuplexPoint> duplex;
  double zero_copy[4] = {};                 // by ReadPattern, useful bytes
  double device_read = 0, device_copy = 0;  // the copy counts bytes read and written
  std::optional<PeerRates> peer;
  CallCosts calls;
};

/// Sums over `gpus` GPUs that work at once.
struct TogetherRates {
  int gpus = 0;
  double h2d = 0, d2h = 0, duplex = 0, zero_copy = 0;
  std::optional<double> peer_copy, peer_load;  // a ring: each to the next
};

struct Probe {
  Machine host;
  std::vector<GpuRates> gpus;
  std::vector<TogetherRates> together;  // 1, 2, 4, ... and all of them
  double seconds = 0;                   // that it took
};

/// Measures the host, the GPUs one by one and then together, in about `seconds` at most (plus what the driver
/// takes to start): what does not fit into the time is left out from the large sizes down, pageable copies
/// first. Takes up to 1 GB of pinned memory and 2 GB of device memory a GPU for that time, and 1 GB of host
/// memory. A negative Where measures the host as a device, with copies that are the CPU's. Throws Error for a
/// GPU that does not exist or is named twice, and where memory is too short; Ctrl-C ends it.
Probe probe(double seconds, std::span<const Where> devices);

}  // namespace penstock
