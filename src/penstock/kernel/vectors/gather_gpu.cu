#include "penstock/kernel/launch_gpu.cuh"
#include "penstock/kernel/vectors/gather.hpp"

// A thread takes a word, so that neighbouring threads write words that lie side by side, and also read such words if indices
// ascend: over a link only whole lines are fast.
namespace penstock::gpu {
namespace {

/// An entry has `per_entry` words. Counts have 32 bits if that is enough, because their division is some twenty times cheaper.
template <class Word, class Count>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const Word* __restrict__ x, const Index* indices, Count words, Count per_entry, Word* out) {
  const auto w = Count(blockIdx.x) * kThreads + threadIdx.x;
  if (w >= words) return;
  if (!indices) {
    out[w] = x[w];
  } else if (per_entry == 1) {
    out[w] = x[indices[w]];
  } else {
    const auto entry = w / per_entry, part = w - entry * per_entry;
    out[w] = x[std::int64_t(indices[entry]) * std::int64_t(per_entry) + std::int64_t(part)];
  }
}

template <class S, class Count, class T = typename S::value_type>
__global__ void __launch_bounds__(kThreads)
    scatter_add_kernel(const T* __restrict__ in, const Index* indices, Count values, Count columns, T* y) {
  const auto v = Count(blockIdx.x) * kThreads + threadIdx.x;
  if (v >= values) return;
  const auto entry = columns == 1 ? v : v / columns;
  const auto at = std::int64_t(indices[entry]) * std::int64_t(columns) + std::int64_t(v - entry * columns);
  y[at] = S::add(y[at], in[v]);
}

// The last block of a grid may count past the end by less than a block, which must not overflow.
constexpr std::int64_t kNarrow = (std::int64_t(1) << 32) - 2 * kThreads;

template <class Word>
void gather_words(const void* x, const Index* indices, std::int64_t words, std::int64_t per_entry, void* out,
                  Stream stream) {
  const auto* from = static_cast<const Word*>(x);
  auto* to = static_cast<Word*>(out);
  if (words < kNarrow)
    launch(gather_kernel<Word, std::uint32_t>, blocks_for(words), stream, from, indices, words, per_entry,
           to);
  else
    launch(gather_kernel<Word, std::uint64_t>, blocks_for(words), stream, from, indices, words, per_entry,
           to);
}

}  // namespace

void gather(const void* x, const Index* indices, std::int64_t count, std::int64_t entry_bytes, void* out,
            Stream stream) {
  const UseDevice use(stream.where);
  const auto together = reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(out) |
                        static_cast<std::uintptr_t>(entry_bytes);
  const auto words_of = [&](std::int64_t bytes) { return entry_bytes / bytes; };
  const auto run = [&]<class Word>(Word) {
    const auto per = words_of(sizeof(Word));
    gather_words<Word>(x, indices, count * per, per, out, stream);
  };
  if (together % 16 == 0) run(uint4{});
  else if (together % 8 == 0) run(std::uint64_t{});
  else if (together % 4 == 0) run(std::uint32_t{});
  else run(std::uint8_t{});
}

template <Semiring S>
void scatter_add(const typename S::value_type* in, const Index* indices, std::int64_t count,
                 std::int64_t columns, typename S::value_type* y, Stream stream) {
  const UseDevice use(stream.where);
  const auto values = count * columns;
  if (values < kNarrow)
    launch(scatter_add_kernel<S, std::uint32_t>, blocks_for(values), stream, in, indices, values, columns, y);
  else
    launch(scatter_add_kernel<S, std::uint64_t>, blocks_for(values), stream, in, indices, values, columns, y);
}

#define X(S)                                                                                   \
  template void scatter_add<S>(const S::value_type*, const Index*, std::int64_t, std::int64_t, \
                               S::value_type*, Stream);
PENSTOCK_FOR_EACH_SCATTER_ADD(X)
#undef X

}  // namespace penstock::gpu
