#include "penstock/schedule/probe/probe.hpp"

#include <cmath>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/schedule/probe/probe_bench.hpp"

namespace penstock {
namespace {

using probing::Bench;

// The bytes of a bench's arrays: as many as the time allows, within these limits.
constexpr std::int64_t kMost = 1 << 30;      // pinned memory of a device
constexpr std::int64_t kLeast = 1 << 20;     // however short the time
constexpr std::int64_t kPartOfFree = 8;      // an array takes one part in so many of what is free
constexpr std::int64_t kGranule = 64 << 10;  // they are multiples of the smallest transfer
// Bytes for each second of a device's part of the time: filling memory takes some of it.
constexpr double kBytesPerSecond = 5e8;

// How the time is spent. Of all of it, kMargin is planned, as turns end later than foreseen; but the start may take so long that
// less is left, and then measurements have kLeastLeft of it all the same. kAlone of what is planned is for the devices one by
// one, the rest for several at once.
constexpr double kMargin = 0.9, kLeastLeft = 0.5, kAlone = 0.8;

void check(std::span<const Where> devices) {
  const int n = device_count();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto d = devices[i];
    if (d.gpu >= n)
      throw Error(Errc::not_accessible, "probe: GPU " + std::to_string(d.gpu) +
                                            " does not exist: this process can use " + std::to_string(n) +
                                            (n == 1 ? " GPU" : " GPUs") + ", numbered from 0");
    for (std::size_t j = 0; d.is_gpu() && j < i; ++j)
      require(devices[j] != d, "probe: GPU " + std::to_string(d.gpu) + " is named twice: name each once");
  }
}

/// Bytes of each array of each bench, all of which are there at once.
std::int64_t bench_bytes(double seconds, std::span<const GpuInfo> infos) {
  const auto n = static_cast<std::int64_t>(infos.size());
  const double timely = seconds / static_cast<double>(n) * kBytesPerSecond;
  auto free = probe_topology().available_bytes / n;
  for (const auto& info : infos) free = std::min(free, info.free_bytes);
  if (free < kPartOfFree * kLeast)
    throw Error(Errc::out_of_memory,
                "probe: " + std::to_string(free) +
                    " bytes of host or device memory are free for each device, and it takes " +
                    std::to_string(kPartOfFree * kLeast) + ": free some, or name fewer GPUs");
  const auto most = std::min(kMost, free / kPartOfFree);
  const auto bytes = timely < double(most) ? std::max(kLeast, static_cast<std::int64_t>(timely)) : most;
  return bytes / kGranule * kGranule;
}

GpuInfo info_of(Where where, const Machine& host) {
  if (where.is_gpu()) return gpu_info(where.gpu);
  GpuInfo info;
  info.name = host.cpu;
  info.memory_bytes = host.memory_bytes, info.free_bytes = probe_topology().available_bytes;
  info.cache_bytes = host.cache_bytes;
  return info;
}

}  // namespace

Probe probe(double seconds, std::span<const Where> devices) {
  require(std::isfinite(seconds) && seconds > 0,
          "probe: seconds = " + std::to_string(seconds) + ": give a positive time");
  check(devices);
  const auto begin = Clock::now();
  const auto after = [](Clock::time_point from, double s) {
    return from + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
  };
  Probe p;
  p.host = machine();
  if (!devices.empty()) {
    std::vector<GpuInfo> infos;
    for (const auto d : devices) infos.push_back(info_of(d, p.host));
    const auto bytes = bench_bytes(seconds, infos);
    const auto pageable = allocate<std::byte>(bytes);
    std::vector<std::unique_ptr<Bench>> benches;
    for (const auto d : devices) {
      benches.push_back(std::make_unique<Bench>(d, bytes));
      poll_interrupt();
    }
    copy_async(pageable.data, benches[0]->pinned.data, bytes, {});  // touches it

    const auto n = benches.size();
    const double left = std::max(seconds * kLeastLeft, seconds * kMargin - since(begin));
    const auto start = Clock::now();
    for (std::size_t i = 0; i < n; ++i) {
      const auto deadline = after(start, left * kAlone * double(i + 1) / double(n));
      p.gpus.push_back(
          measure_one(*benches[i], pageable, n > 1 ? benches[(i + 1) % n].get() : nullptr, deadline));
      p.gpus.back().info = infos[i];
    }
    for (std::size_t k = 1; k < 2 * n; k *= 2)
      p.together.push_back(measure_together(std::span(benches).first(std::min(k, n)), after(start, left)));
  }
  p.seconds = since(begin);
  return p;
}

}  // namespace penstock
