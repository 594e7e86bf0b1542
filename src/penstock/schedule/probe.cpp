#include "penstock/schedule/probe.hpp"

#include <cmath>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/schedule/probe_bench.hpp"

namespace penstock {
namespace {

using probing::Bench;
using probing::Clock;

constexpr std::int64_t kMost = 1 << 30;      // of pinned memory a device
constexpr std::int64_t kGranule = 64 << 10;  // the smallest transfer
constexpr std::int64_t kLeast = 1 << 20;     // however short the time
constexpr double kBytesPerSecond = 5e8;  // of a device's share of the time: filling memory takes some of it
constexpr double kMargin = 0.9;          // of the time is planned: turns end later than foreseen
constexpr double kAlone = 0.8;           // of it is for the devices one by one

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
  if (free < 8 * kLeast)
    throw Error(Errc::out_of_memory,
                "probe: " + std::to_string(free) +
                    " bytes of host or device memory are free for each device, and it takes " +
                    std::to_string(8 * kLeast) + ": free some, or name fewer GPUs");
  const auto most = std::min(kMost, free / 8);
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
    const double left = std::max(seconds / 2, seconds * kMargin + probing::seconds_until(begin));
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
  p.seconds = -probing::seconds_until(begin);
  return p;
}

}  // namespace penstock
