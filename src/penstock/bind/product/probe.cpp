// The probe as Python sees it: dictionaries whose layout penstock/_plan/probe.py documents.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/read_probe.hpp"
#include "penstock/schedule/probe/probe.hpp"

namespace penstock::bind {
namespace {

constexpr const char* kPatternNames[] = {"strided", "merged", "misaligned", "aligned"};

nb::object optional_rate(const std::optional<double>& rate) { return rate ? nb::cast(*rate) : nb::none(); }

void put_curve(nb::dict& d, const std::string& name, const CopyCurve& curve) {
  nb::list points;
  for (const auto& p : curve.points) points.append(nb::make_tuple(p.bytes, p.rate));
  nb::dict fit;
  fit["latency_s"] = curve.fit.latency;
  fit["bytes_per_s"] = curve.fit.bytes_per_second;
  d[nb::str(name.c_str())] = fit;
  d[nb::str((name + "_curve").c_str())] = points;
}

nb::dict as_dict(const GpuRates& r) {
  nb::dict d;
  d["gpu"] = r.where.gpu;
  d["name"] = r.info.name;
  d["bus"] = r.info.bus;
  d["driver"] = r.info.driver;
  d["memory_bytes"] = r.info.memory_bytes;
  d["cache_bytes"] = r.info.cache_bytes;
  d["multiprocessors"] = r.info.multiprocessors;
  put_curve(d, "h2d", r.h2d);
  put_curve(d, "d2h", r.d2h);
  put_curve(d, "h2d_2_streams", r.h2d_2_streams);
  put_curve(d, "d2h_2_streams", r.d2h_2_streams);
  put_curve(d, "pageable_h2d", r.pageable_h2d);
  put_curve(d, "pageable_d2h", r.pageable_d2h);
  nb::list both;
  for (const auto& p : r.duplex) both.append(nb::make_tuple(p.bytes, p.h2d, p.d2h));
  d["duplex_curve"] = both;
  nb::dict duplex, zero_copy;
  duplex["h2d_bytes_per_s"] = r.duplex.back().h2d;
  duplex["d2h_bytes_per_s"] = r.duplex.back().d2h;
  d["duplex"] = duplex;
  for (int i = 0; i < 4; ++i) zero_copy[kPatternNames[i]] = r.zero_copy[i];
  d["zero_copy"] = zero_copy;
  d["device_read"] = r.device_read;
  d["device_copy"] = r.device_copy;
  d["peer"] = nb::none();
  if (r.peer) {
    nb::dict peer;
    peer["gpu"] = r.peer->next.gpu;
    peer["copy"] = r.peer->copy;
    peer["load"] = optional_rate(r.peer->load);
    d["peer"] = peer;
  }
  d["launch_s"] = r.calls.launch;
  d["launch_call_s"] = r.calls.launch_call;
  d["copy_s"] = r.calls.copy;
  d["copy_call_s"] = r.calls.copy_call;
  d["event_s"] = r.calls.event;
  d["synchronize_s"] = r.calls.synchronize;
  return d;
}

nb::dict as_dict(const Probe& p) {
  nb::list gpus;
  for (const auto& g : p.gpus) gpus.append(as_dict(g));
  nb::dict together, host, d;
  for (const auto& t : p.together) {
    nb::dict sum;
    sum["h2d"] = t.h2d;
    sum["d2h"] = t.d2h;
    sum["duplex"] = t.duplex;
    sum["zero_copy"] = t.zero_copy;
    sum["peer_copy"] = optional_rate(t.peer_copy);
    sum["peer_load"] = optional_rate(t.peer_load);
    together[nb::str(std::to_string(t.gpus).c_str())] = sum;
  }
  host["read"] = p.host.host_read;
  host["copy"] = p.host.host_copy;
  host["cache_read"] = p.host.cache_read;
  d["gpus"] = gpus;
  d["together"] = together;
  d["host"] = host;
  d["seconds"] = p.seconds;
  return d;
}

nb::dict run_probe(double seconds, const std::optional<std::vector<int>>& gpus) {
  std::vector<Where> devices;
  if (gpus)
    for (const int g : *gpus) devices.push_back({g});
  else
    for (int g = 0; g < device_count(); ++g) devices.push_back({g});
  Probe p;
  {
    const nb::gil_scoped_release release;
    p = penstock::probe(seconds, devices);
  }
  return as_dict(p);
}

std::pair<double, double> fit(const std::vector<std::pair<std::int64_t, double>>& curve) {
  std::vector<RatePoint> points;
  for (const auto& [bytes, rate] : curve) points.push_back({bytes, rate});
  const auto line = fit_link(points);
  return {line.latency, line.bytes_per_second};
}

/// (seconds of each run, bytes of a run, sum modulo 2^32 of what one run read)
std::tuple<std::vector<double>, std::int64_t, std::uint32_t> time_reads(std::int64_t words,
                                                                        const std::string& pattern,
                                                                        const std::string& memory,
                                                                        int repeats, int gpu) {
  require(words >= 0 && repeats >= 1, "time_reads: give words >= 0 and repeats >= 1");
  const Where where{gpu};
  const Place here = where.is_gpu() ? Place{Memory::device, static_cast<std::int16_t>(gpu)} : Place{};
  require(memory == "pinned" || memory == "device",
          "time_reads: \"" + memory + "\" is not one of pinned, device");
  const auto* end = std::end(kPatternNames);
  const auto* found = std::find(std::begin(kPatternNames), end, pattern);
  require(found != end || pattern == "stream" || pattern == "copy",
          "time_reads: \"" + pattern + "\" is not one of strided, merged, misaligned, aligned, stream, copy");
  const nb::gil_scoped_release release;
  const auto numbers = allocate<std::uint32_t>(words);
  for (std::int64_t i = 0; i < words; ++i) numbers.data[i] = static_cast<std::uint32_t>(i) * 2654435761u;
  const auto data =
      allocate<std::uint32_t>(words, memory == "pinned" && where.is_gpu() ? Place{Memory::pinned} : here);
  const auto target = allocate<std::uint32_t>(words, here);
  const auto sum = allocate<std::uint32_t>(1, here);
  std::uint32_t result = 0;
  const OwnedStream stream(where);
  const OwnedEvent begin(where, true), done(where, true);
  copy_async(data.data, numbers.data, data.bytes(), stream);
  std::vector<double> took;
  try {
    for (int i = 0; i <= repeats; ++i) {
      result = 0;
      copy_async(sum.data, &result, 4, stream);
      synchronize(stream);
      const auto start = std::chrono::steady_clock::now();
      record(begin, stream);
      if (pattern == "stream") read_stream(data.data, words, sum.data, stream);
      else if (pattern == "copy") copy_stream(target.data, data.data, words, stream);
      else
        read_lists(data.data, words, static_cast<ReadPattern>(found - std::begin(kPatternNames)), sum.data,
                   stream);
      record(done, stream);
      synchronize(stream);
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
      if (i > 0) took.push_back(where.is_gpu() ? seconds(begin, done) : wall.count());
      poll_interrupt();
    }
    if (pattern == "copy") copy_async(numbers.data, target.data, target.bytes(), stream);
    copy_async(&result, sum.data, 4, stream);
    synchronize(stream);
  } catch (...) {
    drain(stream);
    throw;
  }
  if (pattern == "copy")
    for (std::int64_t i = 0; i < words; ++i) result += numbers.data[i];
  const auto bytes = found != end
                         ? list_bytes(words, static_cast<ReadPattern>(found - std::begin(kPatternNames)))
                         : words * (pattern == "copy" ? 8 : 4);
  return {took, bytes, result};
}

}  // namespace

void probe(nb::module_& m) {
  m.def("probe", run_probe, nb::arg("seconds") = 30.0, nb::arg("gpus") = nb::none(),
        "Measures links and memories within `seconds`: those of all GPUs, or of the ones given (-1: the host "
        "in the place of "
        "one). The layout is that of penstock._plan.probe.measure, without \"key\", \"measured_at\" and "
        "\"version\".");
  m.def(
      "gpu_identities",
      [] {
        std::vector<std::string> all;
        for (int g = 0; g < device_count(); ++g) all.push_back(gpu_identity(g));
        return all;
      },
      "Name and bus of every GPU, without starting work on them.");
  m.def("fit_link", fit, nb::arg("curve"),
        "(latency in seconds, bytes per second) of the line through [(bytes, bytes per second), ...], robust "
        "to stray points.");
  m.def("time_reads", time_reads, nb::arg("words"), nb::arg("pattern"), nb::arg("memory") = "pinned",
        nb::arg("repeats") = 7, nb::arg("gpu") = 0,
        "(seconds of each run, bytes that a run reads, their sum modulo 2^32 as 4-byte words) for word i = i "
        "* 2654435761: "
        "\"strided\", \"merged\", \"misaligned\" and \"aligned\" lists, \"stream\" from end to end, or "
        "\"copy\" to device memory, "
        "which counts bytes read and written and sums the copy.");
}

}  // namespace penstock::bind
