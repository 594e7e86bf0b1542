// Makes a matrix on a GPU from a generator whose edges are functions of their numbers. The edges become 64-bit keys, which are
// sorted one range after the other and appended to the matrix, so that the memory beside the matrix is bounded.
// key_passes.hpp says how many ranges there are, keys_gpu.hpp has the kernels.
#include "penstock/io/generate/generate_gpu.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_code.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/key_passes.hpp"
#include "penstock/io/generate/keys_gpu.hpp"
#include "penstock/io/generate/on_gpu.hpp"
#include "penstock/io/generate/rmat_edges.hpp"
#include "penstock/io/generate/uniform_edges.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kChunk = 1ll << 31;  // edges of one launch: after about 50 ms Ctrl-C is looked for
constexpr int kMostEach = 4;  // blocks of a multiprocessor at most, with that much shared memory
constexpr std::int64_t kSharedEach = 44 << 10;
// A result of which more than 1/16 is unused is copied to an array of its size.
constexpr std::int64_t kWorthACopy = 16;

/// One generator's work on one GPU, from its tables to the matrix.
template <class V, class Edges>
class Maker {
 public:
  Maker(const OnGpu& where, std::string what, KeyShape shape, EntryValues value)
      : shape_(shape), value_(value), use_(Where{where.gpu}), stream_(Where{where.gpu}) {
    const auto info = gpu_info(where.gpu);
    const auto unused = std::max<std::int64_t>(0, info.free_bytes - kSpareOnGpu);
    // At least two blocks, because a block counts the keys of its share of a chunk in 32 bits.
    blocks_ = std::max<std::int64_t>(
        2, blocks_at_once(gpu_facts(Where{where.gpu}), gpu::kKeyThreads, kSharedEach, kMostEach));
    here_ = {Memory::device, static_cast<std::int16_t>(where.gpu)};
    needs_ = {.what = std::move(what),
              .where = "GPU " + std::to_string(where.gpu),
              .shape = shape,
              .entry_bytes = static_cast<std::int64_t>(sizeof(Index)) + value_bytes<V>,
              .free_bytes = where.memory > 0 ? std::min(where.memory, unused) : unused};
    if (where.memory > 0 && where.memory < unused) needs_.where += " (limited by the option device_memory)";
  }

  MadeOnGpu<V> make(const Edges& edges) {
    needs_.most_keys = edges.units() * (edges.mirrored() ? 2 : 1);
    counts_ = allocate<std::int64_t>(1 << kGranuleBits, here_);
    return run(edges);
  }

  /// The cells of the tables on the GPU, one table behind the other.
  const AliasCell* upload(std::initializer_list<AliasView> tables) {
    std::int64_t count = 0;
    for (const auto& t : tables) count += t.size;
    cells_ = allocate<AliasCell>(count, here_);
    auto* at = cells_.data;
    for (const auto& t : tables) {
      copy_async(at, t.cells, t.size * static_cast<std::int64_t>(sizeof(AliasCell)), stream_);
      at += t.size;
    }
    synchronize(stream_);
    return cells_.data;
  }

 private:
  MadeOnGpu<V> run(const Edges& edges) {
    const auto plan =
        plan_passes(needs_, gpu::sort_bytes, [&](KeyRange range) { return count(edges, range); });
    indptr_ = allocate<Offset>(shape_.rows + 1, here_);
    indices_ = allocate<Index>(plan.capacity, here_);
    if constexpr (!is_pattern<V>) values_ = allocate<V>(plan.capacity, here_);
    Offset filled = 0;
    {
      Sorting sorting{allocate<std::uint64_t>(plan.buffer, here_),
                      allocate<std::uint64_t>(plan.buffer, here_),
                      allocate<std::byte>(gpu::sort_bytes(plan.buffer), here_)};
      const Drained drained{stream_};
      for (const auto range : plan.passes) filled += pass(edges, range, sorting, filled);
      synchronize(stream_);
    }
    const auto copied = filled * needs_.entry_bytes;
    const bool roomy = plan.capacity - filled > plan.capacity / kWorthACopy &&
                       plan.bytes - sorting_bytes(plan) + copied <= needs_.free_bytes;
    MadeOnGpu<V> made{{shape_.rows, shape_.cols, indptr_, sized(indices_, filled, roomy), {}},
                      static_cast<std::int64_t>(plan.passes.size()),
                      plan.bytes};
    if constexpr (!is_pattern<V>) made.matrix.values = sized(values_, filled, roomy);
    synchronize(stream_);
    if (roomy) made.peak_bytes = std::max(made.peak_bytes, plan.bytes - sorting_bytes(plan) + copied);
    return made;
  }

  struct Sorting {
    Array<std::uint64_t> keys, other;
    Array<std::byte> scratch;
  };
  static std::int64_t sorting_bytes(const PassPlan& plan) {
    return plan.buffer * 16 + gpu::sort_bytes(plan.buffer);
  }

  template <class F>
  void in_chunks(const Edges& edges, KeyRange range, F&& launch) {
    for (std::int64_t first = 0; first < edges.units(); first += kChunk) {
      launch(gpu::KeyWindow{shape_, range, first, std::min(first + kChunk, edges.units()), blocks_});
      synchronize(stream_);
      poll_interrupt();
    }
  }

  std::vector<std::int64_t> count(const Edges& edges, KeyRange range) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(granules(range)));
    const auto bytes = granules(range) * static_cast<std::int64_t>(sizeof(std::int64_t));
    copy_async(counts_.data, counts.data(), bytes, stream_);
    in_chunks(edges, range,
              [&](const gpu::KeyWindow& window) { gpu::count_keys(edges, window, counts_.data, stream_); });
    copy_async(counts.data(), counts_.data, bytes, stream_);
    synchronize(stream_);
    return counts;
  }

  std::int64_t read_count() {
    std::int64_t count = 0;
    copy_async(&count, counts_.data, sizeof count, stream_);
    synchronize(stream_);
    return count;
  }

  /// Appends the entries of a range behind the `filled` ones, and returns how many they are.
  std::int64_t pass(const Edges& edges, KeyRange range, const Sorting& s, Offset filled) {
    const std::int64_t none = 0;
    copy_async(counts_.data, &none, sizeof none, stream_);
    in_chunks(edges, range, [&](const gpu::KeyWindow& window) {
      gpu::make_keys(edges, window, s.keys.data, s.keys.size, counts_.data, stream_);
    });
    auto count = std::min(read_count(), s.keys.size);
    const std::uint64_t* sorted = s.keys.data;
    if (count > 0) {
      sorted = gpu::sort_unique({s.keys.data, s.other.data, s.scratch.data, s.scratch.size}, count,
                                range.bits(), counts_.data, stream_);
      count = read_count();
    }
    gpu::write_entries<V>(sorted, count, shape_, range, filled, value_, indptr_.data, indices_.data,
                          values_.data, stream_);
    poll_interrupt();
    return count;
  }

  /// The first `count` entries: with `copy` in an array of their own size, otherwise in the memory that they were written to.
  template <class T>
  Array<const T> sized(const Array<T>& a, std::int64_t count, bool copy) {
    if (!copy) return a.slice(0, count);
    const auto out = allocate<T>(count, here_);
    copy_async(out.data, a.data, out.bytes(), stream_);
    return out;
  }

  KeyShape shape_;
  EntryValues value_;
  UseDevice use_;
  OwnedStream stream_;
  Place here_;
  PassNeeds needs_;
  std::int64_t blocks_ = 0;
  Array<AliasCell> cells_;
  Array<std::int64_t> counts_;  // keys of each granule; the first one also counts the keys of a pass
  Array<Offset> indptr_;
  Array<Index> indices_;
  Array<V> values_;
  Drained drained_{stream_};
};

[[noreturn]] void no_cuda(int gpu) {
  throw Error(Errc::not_compiled,
              no_cuda_for("generating on GPU " + std::to_string(gpu)) + ", or leave `device` out");
}

}  // namespace

template <class V>
MadeOnGpu<V> generate_rmat_on(const OnGpu& where, const RmatOptions& o) {
  const RmatTables tables(o);
  const RmatEdges edges(o, tables);
  const auto vertices = std::int64_t{1} << o.scale;
  if constexpr (have_cuda) {
    Maker<V, RmatEdges> maker(where, "this R-MAT", {vertices, vertices}, EntryValues(o.seed, o.undirected));
    return maker.make(edges.with_cells(maker.upload({tables.full.view(), tables.rest.view()})));
  } else {
    no_cuda(where.gpu);
  }
}

template <class V>
MadeOnGpu<V> generate_uniform_on(const OnGpu& where, const UniformOptions& o) {
  const UniformEdges edges(o);
  if constexpr (have_cuda) {
    Maker<V, UniformEdges> maker(where, "this uniform matrix", {o.rows, o.cols}, EntryValues(o.seed, false));
    return maker.make(edges);
  } else {
    no_cuda(where.gpu);
  }
}

template MadeOnGpu<One> generate_rmat_on(const OnGpu&, const RmatOptions&);
template MadeOnGpu<float> generate_rmat_on(const OnGpu&, const RmatOptions&);
template MadeOnGpu<double> generate_rmat_on(const OnGpu&, const RmatOptions&);
template MadeOnGpu<One> generate_uniform_on(const OnGpu&, const UniformOptions&);
template MadeOnGpu<float> generate_uniform_on(const OnGpu&, const UniformOptions&);
template MadeOnGpu<double> generate_uniform_on(const OnGpu&, const UniformOptions&);

}  // namespace penstock
