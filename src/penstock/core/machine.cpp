// What the machine has (CPUs, memory, caches, as Linux gives them) and how fast its memory is, measured by all threads: sums
// of a block that is larger than every cache, copies of it, and sums of a block that the caches hold.
#include "penstock/core/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "penstock/core/array.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCacheUnknown = 8 << 20;  // in a container without /sys: assume little

// What machine() measures with. More bytes and more passes give steadier figures and take longer; everything together takes
// about half a second. The block read from memory is a quarter of what is free, within limits; it must be larger than every
// cache.
constexpr std::int64_t kShareMeasured = 4, kLeastMeasured = 32 << 20, kMostMeasured = 1 << 30;
constexpr std::int64_t kPiece = 1 << 20;  // a thread's share of a pass
constexpr int kReads = 3, kCopies = 2;    // passes, of which the best counts
// The cache is read in the same way, a quarter of it, so that other data do not push it out.
constexpr std::int64_t kShareOfCache = 4, kPieceOfCache = kPiece / 4;
constexpr int kCacheReads = 8;

/// The first line of `path` that begins with `key`, after its colon; "" where there is none.
std::string field(const char* path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key))
      if (const auto colon = line.find(':'); colon != std::string::npos) {
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? "" : line.substr(begin);
      }
  return "";
}

std::int64_t number_in(const char* path) {
  std::ifstream in(path);
  std::int64_t n = 0;
  return in >> n ? n : 0;
}

/// The least memory that control groups leave to this process, in all and now; 0 where none sets a limit.
struct GroupMemory {
  std::int64_t limit = 0, free = 0;
};

/// Pages of files that have not been read for a while count as used, and are given up on demand.
std::int64_t inactive_file(const std::string& stat, const std::string& name) {
  std::ifstream in(stat);
  std::string key;
  for (std::int64_t n = 0; in >> key >> n;)
    if (key == name) return n;
  return 0;
}

GroupMemory memory_of_groups() {
  GroupMemory least;
  const auto lower = [](std::int64_t& of, std::int64_t n) { of = of == 0 ? n : std::min(of, n); };
  const auto look = [&](const std::string& folder, bool old) {
    const auto limit = number_in((folder + (old ? "/memory.limit_in_bytes" : "/memory.max")).c_str());
    if (limit <= 0) return;
    const auto used = number_in((folder + (old ? "/memory.usage_in_bytes" : "/memory.current")).c_str()) -
                      inactive_file(folder + "/memory.stat", old ? "total_inactive_file" : "inactive_file");
    lower(least.limit, limit);
    lower(least.free, std::max<std::int64_t>(limit - std::max<std::int64_t>(used, 0), 1));
  };
  // Within a container the paths below are those of the host, and its own group is the root of what is mounted.
  look("/sys/fs/cgroup", false);
  look("/sys/fs/cgroup/memory", true);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line;
       std::getline(groups, line);) {  // number:controllers:path, no controllers in version 2
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const bool old = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!controllers.empty() && !old) continue;
    for (auto path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/'))) {
      look((old ? std::string("/sys/fs/cgroup/memory") : std::string("/sys/fs/cgroup")) + path, old);
    }
  }
  return least;
}

struct CpuCache {
  std::int64_t level = 0, bytes = 0;
  std::string shared;  // the list of the CPUs that share this cache
};

/// The last-level cache that a CPU has; level 0 where Linux does not say. sysconf is not used: it asks the processor,
/// which under some hypervisors answers for the whole host (384 MB where two cores had 32).
CpuCache last_level_cache(int cpu) {
  CpuCache found;
  for (int k = 0; k < 16; ++k) {
    const auto folder =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(k) + "/";
    const auto level = number_in((folder + "level").c_str());
    std::ifstream in(folder + "size");
    std::int64_t size = 0;
    char unit = ' ';
    if (level <= found.level || !(in >> size)) continue;
    in >> unit;
    found = {level, size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0), {}};
    std::ifstream(folder + "shared_cpu_list") >> found.shared;
  }
  return found;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Bytes per second of the best of `repeats` passes over `bytes` bytes cut among the threads.
template <class F>
double best_rate(std::int64_t bytes, std::int64_t piece, int repeats, F&& pass) {
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = Clock::now();
    parallel_ranges(bytes, piece, pass);
    best = std::max(best, static_cast<double>(bytes) / seconds_since(begin));
  }
  return best;
}

/// Sums 64-byte lines with independent adds, so that loads and not the sum decide.
std::uint64_t sum_lines(const std::uint64_t* p, std::int64_t words) {
  std::uint64_t s[8] = {};
  for (std::int64_t i = 0; i + 8 <= words; i += 8)
    for (int j = 0; j < 8; ++j) s[j] += p[i + j];
  return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

}  // namespace

Machine probe_topology() {
  Machine m;
  m.cpu = field("/proc/cpuinfo", "model name");
  if (m.cpu.empty()) m.cpu = field("/proc/cpuinfo", "CPU implementer");
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) m.cpus = CPU_COUNT(&set);
  m.gpus = device_count();
  m.memory_bytes = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGE_SIZE);
  const auto groups = memory_of_groups();
  if (groups.limit > 0) m.memory_bytes = std::min(m.memory_bytes, groups.limit);
  std::istringstream(field("/proc/meminfo", "MemAvailable")) >> m.available_bytes;
  m.available_bytes = std::min(m.available_bytes * 1024, m.memory_bytes);
  if (groups.free > 0) m.available_bytes = std::min(m.available_bytes, groups.free);
  m.cache_bytes = last_level_cache(std::max(sched_getcpu(), 0)).bytes;
  if (m.cache_bytes <= 0)
    m.cache_bytes = std::max<std::int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  if (m.cache_bytes <= 0) m.cache_bytes = kCacheUnknown;
  return m;
}

CacheBytes last_level_caches(std::span<const int> cpus) {
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> found;
  for (const int cpu : cpus)
    if (const auto cache = last_level_cache(cpu); cache.level > 0)
      found[{cache.level, cache.shared}] = cache.bytes;
  CacheBytes out;
  for (const auto& [which, bytes] : found) out.largest = std::max(out.largest, bytes), out.all += bytes;
  if (found.empty()) out.largest = out.all = probe_topology().cache_bytes;
  return out;
}

const Machine& machine() {
  static const Machine measured = [] {
    Machine m = probe_topology();
    const auto bytes =
        std::clamp<std::int64_t>(m.available_bytes / kShareMeasured, kLeastMeasured, kMostMeasured);
    const auto a = allocate<std::uint64_t>(bytes / 8);
    std::atomic<std::uint64_t> sink = 0;
    auto* base = reinterpret_cast<std::byte*>(a.data);
    parallel_ranges(bytes, kPiece, [&](std::int64_t f, std::int64_t l) {
      std::memset(base + f, 1, static_cast<std::size_t>(l - f));
    });
    const auto read = [&](std::int64_t first, std::int64_t last) {
      sink += sum_lines(a.data + first / 8, (last - first) / 8);
    };
    m.host_read = best_rate(bytes, kPiece, kReads, read);
    m.host_copy =
        2 * best_rate(bytes / 2, kPiece, kCopies, [&](std::int64_t first, std::int64_t last) {
          std::memcpy(base + bytes / 2 + first, base + first, static_cast<std::size_t>(last - first));
        });
    const auto small = std::min<std::int64_t>(m.cache_bytes / kShareOfCache, bytes);
    m.cache_read = best_rate(small, std::min(small, kPieceOfCache), kCacheReads, read);
    return m;
  }();
  return measured;
}

}  // namespace penstock
