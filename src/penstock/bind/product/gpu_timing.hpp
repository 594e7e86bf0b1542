#pragma once
#include <deque>
#include <string>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

// What the timings of GPU kernels share.
namespace penstock::bind {

/// Seconds of each of `repeats` runs of `work`, which follow one another on the stream, after one that is not counted. The
/// host waits at the end alone, so that what it needs for a launch does not count where the GPU needs longer.
template <class F>
std::vector<double> time_runs(Stream stream, int repeats, F&& work) {
  require(stream.where.is_gpu() && repeats >= 1, "timing on a GPU: give gpu >= 0 and repeats >= 1");
  std::deque<OwnedEvent> ends;
  for (int i = 0; i <= repeats; ++i) ends.emplace_back(stream.where, true);
  for (const auto& end : ends) {
    work();
    record(end, stream);
    poll_interrupt();
  }
  synchronize(ends.back());
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) seconds.push_back(penstock::seconds(ends[i], ends[i + 1]));
  return seconds;
}

/// Throws Error{not_accessible} unless the GPU can read every array of the matrix.
template <class V>
void readable_by(int gpu, const Csr<V>& a, const std::string& who) {
  require(gpu >= 0, who + ": gpu = " + std::to_string(gpu) + "; give a number from 0");
  for (const Place place :
       {a.indptr.place, a.indices.place, is_pattern<V> ? a.indices.place : a.values.place})
    if (!can_read(Where{gpu}, place))
      throw Error(Errc::not_accessible, who + ": the matrix is in " + std::string(name(place.memory)) +
                                            " memory, which GPU " + std::to_string(gpu) +
                                            " cannot read: use to_place");
}

}  // namespace penstock::bind
