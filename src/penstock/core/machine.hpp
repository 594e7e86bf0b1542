#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace penstock {

/// What the planner prices a schedule with. Bandwidths are measured on this machine, in bytes per second.
struct Machine {
  std::string cpu;  // model name as the operating system gives it
  int cpus = 1;     // CPUs that this process may use
  int gpus = 0;
  std::int64_t memory_bytes = 0;     // physical, or the control group's limit where that is less
  std::int64_t available_bytes = 0;  // free for a new allocation, now
  std::int64_t cache_bytes = 0;      // the last-level cache that one CPU sees
  double host_read = 0;              // all threads reading 1 GiB (or a quarter of the free memory)
  double host_copy = 0;              // all threads copying it: bytes read plus bytes written
  double cache_read = 0;             // all threads reading a quarter of their caches again and again
};

/// The topology alone, without bandwidths: it takes milliseconds.
Machine probe_topology();

/// Bytes of last-level caches, as Linux gives them: of the largest one, and of all together.
struct CacheBytes {
  std::int64_t largest = 0, all = 0;
};
/// The caches of these CPUs, each counted once. Where Linux does not say, the size is that of probe_topology().
CacheBytes last_level_caches(std::span<const int> cpus);

/// Topology and bandwidths. The first call measures for about half a second; later calls answer at once.
const Machine& machine();

}  // namespace penstock
