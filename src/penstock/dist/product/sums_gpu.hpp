#pragma once
#include <memory>

#include "penstock/dist/halo/halo.hpp"
#include "penstock/dist/link/gpu_clock.hpp"
#include "penstock/kernel/vectors/gather.hpp"

namespace penstock {

/// The way back for vectors on a GPU: sums that were computed for ghosts travel to their owners through pinned host memory, and
/// are added there, those of one rank after the other in ascending order: the same bits as HaloBack.
class SumsGpu {
 public:
  explicit SumsGpu(const HaloContext& context);
  ~SumsGpu();
  SumsGpu(const SumsGpu&) = delete;
  SumsGpu& operator=(const SumsGpu&) = delete;

  void* values() {
    return ghosts_.data;
  }  // plan.ghosts() entries on the GPU, by owner: written before begin()
  /// Sends the values that are there when the stream has done what is queued now.
  void begin(Stream stream);
  /// owned[i] = S::add(owned[i], value) for each value that comes, ordered on the stream; entries are `columns` numbers.
  template <Semiring S>
  void end(typename S::value_type* owned, std::int64_t columns, Stream stream) {
    using T = typename S::value_type;
    receive(stream);
    const auto& offsets = context_.plan->send_offsets;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      scatter_add<S>(reinterpret_cast<const T*>(received_.data) + offsets[i] * columns,
                     indices_.data + offsets[i], offsets[i + 1] - offsets[i], columns, owned, stream);
    record(added_, stream);
  }
  const HaloTimes& times() const { return times_; }
  void clear_times() { times_ = {}; }

 private:
  void receive(Stream stream);
  HaloContext context_;
  OwnedStream mine_;
  OwnedEvent ready_, down_, up_, added_;
  Array<std::byte> ghosts_, received_;            // on the GPU
  Array<std::byte> ghosts_here_, received_here_;  // in host memory
  Array<Index> indices_;
  std::unique_ptr<Exchange> exchange_;
  HaloTimes times_;
};

}  // namespace penstock
