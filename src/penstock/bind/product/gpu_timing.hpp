#pragma once
#include <string>
#include <vector>

#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/format/csr.hpp"

// What the timings of GPU kernels share.
namespace penstock::bind {

/// Seconds of each of `repeats` runs of `work`, after one that is not counted.
template <class F>
std::vector<double> time_runs(Stream stream, int repeats, F&& work) {
  require(stream.where.is_gpu() && repeats >= 1, "timing on a GPU: give gpu >= 0 and repeats >= 1");
  const OwnedEvent begin(stream.where, true), end(stream.where, true);
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    record(begin, stream);
    work();
    record(end, stream);
    synchronize(end);
    if (i > 0) seconds.push_back(penstock::seconds(begin, end));
    poll_interrupt();
  }
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
