#include "penstock/core/gpu_facts.hpp"

#include <charconv>
#include <string>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

constexpr const char* kKeys = "sms, threads, shared, cache, capability, pools, managed";

[[noreturn]] void refuse(const std::string& why) {
  throw Error(Errc::invalid_argument,
              "PENSTOCK_EMULATE_GPU: " + why +
                  ". It reads like sms=40,threads=1024,shared=64KiB,cache=4MiB,capability=7.5; docs/gpu.md "
                  "has the rest");
}

/// Reads a number, with or without a unit of bytes: 65536, 64KiB, 4MiB.
std::int64_t number_of(std::string_view key, std::string_view text) {
  const auto shown = std::string(key) + "=" + std::string(text);
  auto digits = text;
  int shift = 0;
  if (digits.ends_with("KiB")) shift = 10;
  else if (digits.ends_with("MiB")) shift = 20;
  if (shift > 0) digits.remove_suffix(3);
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (problem != std::errc{} || end != digits.data() + digits.size() || n < 0 || n > (std::int64_t{1} << 40))
    refuse(shown + " is not a whole number, alone or with KiB or MiB");
  return n << shift;
}

std::int64_t within(std::string_view key, std::string_view text, std::int64_t least, std::int64_t most) {
  const auto n = number_of(key, text);
  if (n < least || n > most)
    refuse(std::string(key) + "=" + std::string(text) + " is not between " + std::to_string(least) +
           " and the " + std::to_string(most) + " of the GPU here");
  return n;
}

bool yes_or_no(std::string_view key, std::string_view text, bool real) {
  if (text == "0") return false;
  if (text != "1") refuse(std::string(key) + "=" + std::string(text) + " is neither 0 nor 1");
  if (!real) refuse(std::string(key) + "=1: the GPU here cannot do that");
  return true;
}

void set_capability(GpuFacts& gpu, const GpuFacts& real, std::string_view text) {
  int major = 0, minor = 0;
  const auto* const last = text.data() + text.size();
  const auto [dot, first] = std::from_chars(text.data(), last, major);
  const bool has_dot = first == std::errc{} && dot != last && *dot == '.';
  const auto [end, second] = std::from_chars(has_dot ? dot + 1 : last, last, minor);
  if (!has_dot || second != std::errc{} || end != last || minor < 0 || minor > 9)
    refuse("capability=" + std::string(text) + " does not read like 7.5");
  if (major * 10 + minor < 75 || major * 10 + minor > real.major * 10 + real.minor)
    refuse("capability=" + std::string(text) + " is not between 7.5 and the " + std::to_string(real.major) +
           "." + std::to_string(real.minor) + " of the GPU here");
  gpu.major = major, gpu.minor = minor;
}

}  // namespace

GpuFacts emulated(const GpuFacts& real, std::string_view wanted) {
  constexpr int kBlock = 1024;                // threads of the largest blocks, which have to fit
  constexpr std::int64_t kStatic = 48 << 10;  // bytes that a kernel has without asking
  GpuFacts gpu = real;
  for (std::size_t first = 0; !wanted.empty() && first <= wanted.size();) {
    const auto comma = std::min(wanted.find(',', first), wanted.size());
    const auto item = wanted.substr(first, comma - first);
    first = comma + 1;
    const auto equals = item.find('=');
    if (equals == item.npos) refuse(std::string("'").append(item) + "' does not read like name=value");
    const auto key = item.substr(0, equals);
    const auto value = item.substr(equals + 1);
    if (key == "sms") gpu.multiprocessors = static_cast<int>(within(key, value, 1, real.multiprocessors));
    else if (key == "threads") gpu.threads = static_cast<int>(within(key, value, kBlock, real.threads));
    else if (key == "shared") gpu.shared_block = gpu.shared = within(key, value, kStatic, real.shared_block);
    else if (key == "cache") gpu.cache = within(key, value, 1, real.cache);
    else if (key == "capability") set_capability(gpu, real, value);
    else if (key == "pools") gpu.pools = yes_or_no(key, value, real.pools);
    else if (key == "managed") gpu.shares_managed = yes_or_no(key, value, real.shares_managed);
    else refuse(std::string("'").append(key) + "' is none of " + kKeys);
  }
  return gpu;
}

const GpuFacts& gpu_facts([[maybe_unused]] Where gpu) {
  require(gpu.is_gpu(), "gpu_facts: the CPU is not a GPU");
  if constexpr (have_cuda) return cuda::gpu_facts(gpu.gpu);
  else no_cuda("GPU " + std::to_string(gpu.gpu));
}

}  // namespace penstock
