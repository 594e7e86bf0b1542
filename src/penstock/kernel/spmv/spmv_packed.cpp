#include "penstock/kernel/spmv/spmv_packed.hpp"

#include <string>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"

namespace penstock {
namespace {

template <Semiring S>
void join(const typename S::value_type* cells, std::int64_t count, typename S::value_type* y, Scale<S> scale,
          Stream stream) {
  using T = typename S::value_type;
  if (!stream.where.is_gpu()) {
    T sum = cells[0];
    for (std::int64_t i = 1; i < count; ++i) sum = S::add(sum, cells[i]);
    *y = scale(sum, *y);
    return;
  }
  if constexpr (have_cuda) gpu::join_cells<S>(cells, count, y, scale, stream);
}

/// The end of the blocks that can be multiplied together with the first one: blocks of whole rows, or the pieces of one row.
std::size_t end_of_run(std::span<const PackedBlock> blocks) {
  std::size_t n = 1;
  while (n < blocks.size() && blocks[n].piece == blocks[0].piece &&
         (!blocks[0].piece || blocks[n].first_row == blocks[0].first_row))
    ++n;
  return n;
}

}  // namespace

template <Semiring S, class V>
void spmv_packed(const PackedRun& run, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale, Stream stream) {
  if (run.blocks.empty()) return;
  require(run.blocks.size() == 1 || !run.blocks[0].piece,
          "spmv_packed: a piece of a row is a run of its own");
  if (!stream.where.is_gpu()) return cpu::spmv_packed<S, V>(run, x, y, scale);
  if constexpr (have_cuda) gpu::spmv_packed<S, V>(run, x, y, scale, stream);
  else no_cuda("spmv_packed on a GPU");
}

template <Semiring S, class V>
void spmv_packed(const Packed<V>& a, const typename S::value_type* x, typename S::value_type* y,
                 Scale<S> scale, Stream stream) {
  using T = typename S::value_type;
  if (!can_read(stream.where, a.bytes.place))
    throw Error(Errc::not_accessible,
                "the packed matrix is in " + std::string(name(a.bytes.place.memory)) + " memory, which " +
                    (stream.where.is_gpu() ? "this GPU" : "the CPU") + " cannot read: move it, or stream it");
  const std::span<const PackedBlock> all(*a.blocks);
  for (std::size_t first = 0; first < all.size();) {
    const auto run = all.subspan(first, end_of_run(all.subspan(first)));
    if (!run[0].piece) {
      spmv_packed<S, V>(PackedRun{run, a.bytes.data + run[0].at}, x, y + run[0].first_row, scale, stream);
    } else {
      const auto bytes = static_cast<std::int64_t>(run.size() * sizeof(T));
      const auto memory = stream.where.is_gpu() ? allocate_scratch(bytes, stream) : allocate_bytes(bytes, {});
      auto* cells = static_cast<T*>(memory.get());
      for (std::size_t i = 0; i < run.size(); ++i)
        spmv_packed<S, V>(PackedRun{run.subspan(i, 1), a.bytes.data + run[i].at}, x, cells + i, {}, stream);
      join<S>(cells, static_cast<std::int64_t>(run.size()), y + run[0].first_row, scale, stream);
    }
    first += run.size();
  }
}

#define X(S, V)                                                                                              \
  template void spmv_packed<S, V>(const PackedRun&, const S::value_type*, S::value_type*, Scale<S>, Stream); \
  template void spmv_packed<S, V>(const Packed<V>&, const S::value_type*, S::value_type*, Scale<S>, Stream);
PENSTOCK_FOR_EACH_SPMV(X)
#undef X

}  // namespace penstock
