// Writes the entries of C, row by row, when their places are known.
#include "penstock/kernel/spgemm/spgemm_group_gpu.cuh"

namespace penstock::gpu {
namespace {

template <class S, class P = ProductValue<S>>
__global__ void __launch_bounds__(kThreads)
    write_tiny_kernel(group::FactorsOf<S> f, RowList list, Target<P> c) {
  using G = DeviceGroup<32>;
  __shared__ group::TinySpace<P> spaces[G::kPerBlock];
  const auto row = row_of<32>(list);
  if (row < 0) return;
  group::write_tiny<S>(G{}, f, f.begin(row), f.begin(row + 1), spaces[threadIdx.x / 32], c.columns_of(row),
                       c.values_of(row));
}

template <class S, int threads, class P = ProductValue<S>>
__global__ void __launch_bounds__(DeviceGroup<threads>::kBlock)
    write_hash_kernel(group::FactorsOf<S> f, RowList list, TableSize size, bool single, Target<P> c) {
  using G = DeviceGroup<threads>;
  __shared__ group::LongRows longs[G::kWarp ? 1 : G::kPerBlock];
  const auto row = row_of<threads>(list);
  if (row < 0) return;
  const int log_slots = log_slots_of<threads>(size);
  const bool words = group::sorts_words(f.b.cols, size.log_slots);
  auto* order =
      reinterpret_cast<std::uint64_t*>(space_of<threads>(group::slot_bytes<P>(words) << size.log_slots));
  auto* sums = reinterpret_cast<P*>(order + (1 << log_slots) / (words ? 4 : 2));
  auto* keys = reinterpret_cast<Index*>(sums + (is_pattern<P> ? 0 : 1 << log_slots));
  group::write_hash<S>(G{}, f, f.begin(row), f.begin(row + 1), G::kWarp ? nullptr : longs,
                       group::Table{keys, log_slots}, single, sums, order, c.columns_of(row),
                       c.values_of(row));
}

template <class S, int threads, class P = ProductValue<S>>
__global__ void __launch_bounds__(threads)
    write_bitmap_kernel(group::FactorsOf<S> f, RowList list, std::int64_t window, Target<P> c) {
  __shared__ group::LongRows longs;
  const auto row = row_of<threads>(list);
  if (row < 0) return;
  auto* words = reinterpret_cast<group::Word*>(space_of<threads>(0));
  auto* before = reinterpret_cast<std::uint32_t*>(words + window / group::kWordBits);
  group::write_bitmap<S>(DeviceGroup<threads>{}, f, f.begin(row), f.begin(row + 1), longs,
                         group::Bitmap{words, before, window}, c.columns_of(row), c.values_of(row));
}

}  // namespace

template <Semiring S>
void write_rows(const RowClass& which, const CsrView<typename S::value_type>& a,
                const CsrView<typename S::value_type>& b, std::int64_t first, const Index* list,
                const Offset* indptr, Index* indices, ProductValue<S>* values, Stream stream) {
  using P = ProductValue<S>;
  const UseDevice use(stream.where);
  const group::FactorsOf<S> f{a, b};
  const RowList rows{list + which.begin, which.count, first};
  const Target<P> c{indptr, indices, values};
  if (which.method == RowMethod::merge)
    return write_merged<S>(which, a, b, first, list, indptr, indices, values, stream);
  if (which.method == RowMethod::tiny)
    return launch_groups<32>(write_tiny_kernel<S>, rows.count, 0, stream, f, rows, c);
  if (which.method == RowMethod::hash)
    return with_threads<32, 128, 256, 1024>(which.threads, [&]<int threads>() {
      const auto slot = group::slot_bytes<P>(group::sorts_words(b.cols, which.log_slots));
      launch_groups<threads>(write_hash_kernel<S, threads>, rows.count, slot << which.log_slots, stream, f,
                             rows, table_size(which), which.single, c);
    });
  const auto bytes = which.window / group::kWordBits * group::bytes_per_word(true);
  with_threads<256, 1024>(which.threads, [&]<int threads>() {
    launch_groups<threads>(write_bitmap_kernel<S, threads>, rows.count, bytes, stream, f, rows, which.window,
                           c);
  });
}

#define X(S)                                                                                                 \
  template void write_rows<S>(const RowClass&, const CsrView<S::value_type>&, const CsrView<S::value_type>&, \
                              std::int64_t, const Index*, const Offset*, Index*, ProductValue<S>*, Stream);
PENSTOCK_FOR_EACH_SPGEMM_GPU(X)
#undef X

}  // namespace penstock::gpu
