#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"

// Passes over vectors in the memory of a stream's device. A pass reads kIn vectors and writes kOut vectors, entry by entry,
// and takes kSums sums. At its end one thread calls finish(sums), when everything is added up. So scalars that follow from
// sums stay with the vectors, and the next pass finds them there without the host. Everything in a pass is constexpr: the CPU
// runs the same text that nvcc compiles.
//
// Sums are taken in parts, in a fixed order that depends on n alone, so the bits are the same in every run.
//
//   using In, Out                        types of what is read and written (a vector of another type is another pass)
//   static constexpr int kIn, kOut, kSums
//   const In* in[kIn]; Out* out[max(1, kOut)];   an output may be one of the inputs
//   bool wanted() const                  false: the pass does nothing, finish included
//   auto scalars() const                 what operator() needs, read once a thread
//   void operator()(scalars, const In* v, Out* o, double* sums) const     one entry
//   void finish(const double* sums) const                                 where kSums > 0
namespace penstock {

inline constexpr int kMostSums = 8;
/// The blocks of a pass on a GPU. The number does not depend on the chip, so that sums have the same bits on every GPU. It is
/// about one wave on large GPUs, and several on small ones.
inline constexpr int kSweepBlocks = 1056;

struct NoScalars {};

/// The memory to which a GPU's blocks write their parts of sums. Each stream of passes needs one, and has ended those that
/// take sums before it goes.
class SumParts {
 public:
  explicit SumParts(Stream stream) {
    if (!stream.where.is_gpu()) return;
    const auto place = device_place(stream.where);
    const std::int64_t count = kMostSums * kSweepBlocks + 1;
    const auto owner = reuse_bytes(count * std::int64_t{sizeof(double)}, place);
    memory_ = {static_cast<double*>(owner.get()), count, place, owner};
    const double zero = 0;
    copy_async(memory_.data + kMostSums * kSweepBlocks, &zero, sizeof zero, stream);
    synchronize(stream);  // `zero` is destroyed after this
  }
  double* parts() const { return memory_.data; }
  /// The number of blocks that have arrived. It is zero between passes.
  unsigned* arrived() const { return reinterpret_cast<unsigned*>(memory_.data + kMostSums * kSweepBlocks); }

 private:
  Array<double> memory_;
};

namespace gpu {
template <class P>
void sweep(std::int64_t n, const P& pass, double* parts, unsigned* arrived, Stream stream);
}

namespace cpu {
template <class P>
void sweep(std::int64_t n, const P& pass) {
  if (!pass.wanted()) return;
  constexpr std::int64_t kBlock = 16 << 10;
  constexpr auto kSums = static_cast<std::size_t>(std::max(P::kSums, 1));
  const auto scalars = pass.scalars();
  std::vector<double> parts(static_cast<std::size_t>((n + kBlock - 1) / kBlock) * kSums);
  parallel_ranges(n, kBlock, [&](std::int64_t first, std::int64_t last) {
    double sums[kSums] = {};
    for (auto i = first; i < last; ++i) {
      typename P::In v[P::kIn];
      typename P::Out o[std::max(P::kOut, 1)];
      for (int a = 0; a < P::kIn; ++a) v[a] = pass.in[a][i];
      pass(scalars, v, o, sums);
      for (int a = 0; a < P::kOut; ++a) pass.out[a][i] = o[a];
    }
    std::copy_n(sums, kSums, parts.data() + static_cast<std::size_t>(first / kBlock) * kSums);
  });
  double sums[kSums] = {};
  for (std::size_t i = 0; i < parts.size(); ++i) sums[i % kSums] += parts[i];
  if constexpr (P::kSums > 0) pass.finish(sums);
}
}  // namespace cpu

/// Does one pass over vectors of n entries, in the order of the stream. Vectors begin at multiples of 16 bytes.
template <class P>
void sweep(std::int64_t n, const P& pass, const SumParts& sums, Stream stream) {
  static_assert(P::kSums <= kMostSums);
  if (!stream.where.is_gpu()) return cpu::sweep(n, pass);
  if constexpr (have_cuda) gpu::sweep<P>(n, pass, sums.parts(), sums.arrived(), stream);
  else no_cuda("vectors on a GPU");
}

/// Vectors of n entries in the memory of a device, which begin at multiples of 256 bytes.
template <class T>
class DeviceVectors {
 public:
  DeviceVectors() = default;
  DeviceVectors(std::int64_t n, int vectors, Where where)
      : stride_((n + 63) / 64 * 64),
        memory_(allocate<T>(std::max<std::int64_t>(1, stride_ * vectors), device_place(where))) {}
  T* operator[](int i) const { return memory_.data + i * stride_; }

 private:
  std::int64_t stride_ = 0;
  Array<T> memory_;
};

}  // namespace penstock
