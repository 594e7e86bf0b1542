#include <algorithm>
#include <atomic>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/gpu/neighbour_sample.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSampledAtOnce = 4096;
// Vertices that a cheap check looks at; each may read pages of a mapped file.
constexpr std::int64_t kLooks = 24;

std::span<const Index> list_of(const CsrView<One>& g, std::int64_t v) {
  const auto begin = g.indptr[v];
  return {g.indices + (begin - g.first_nnz), static_cast<std::size_t>(g.indptr[v + 1] - begin)};
}

template <int K>
void choose(const CsrView<One>& g, std::int64_t v, SampleOf kind, std::uint32_t* slots) {
  const auto list = list_of(g, v);
  const bool whole = list.size() <= K;
  if (whole || kind == SampleOf::first) {
    for (std::size_t i = 0; i < K; ++i) slots[i] = i < list.size() ? std::uint32_t(list[i]) : kNoVertex;
    if (whole) slots[K - 1] |= kWholeList;
    return;
  }
  gpu::SampleKey best[K] = {};
  for (const auto u : list.first(std::min<std::size_t>(list.size(), kSampleLook)))
    gpu::insert_key(best, gpu::sample_key(g.indptr[u + 1] - g.indptr[u], u));
  for (int i = 0; i < K; ++i) slots[i] = best[i] != 0 ? gpu::vertex_of(best[i]) : kNoVertex;
}

/// Calls f.operator()<K>().
template <class F>
void with_size(int size, F&& f) {
  if (size == 4) f.template operator()<4>();
  else if (size == 8) f.template operator()<8>();
  else if (size == 16) f.template operator()<16>();
  else
    throw Error(Errc::invalid_argument,
                "a sample holds 4, 8 or 16 neighbours of every vertex, not " + std::to_string(size));
}

[[noreturn]] void refuse(std::int64_t v) {
  throw Error(Errc::invalid_argument,
              "the sample of neighbours of vertex " + std::to_string(v) + " is not that of its list");
}

/// Whether the slots of v may be right by v's list alone, without the degrees of its neighbours.
template <int K>
bool is_plausible(const CsrView<One>& g, std::int64_t v, SampleOf kind, const std::uint32_t* slots) {
  const auto list = list_of(g, v);
  if (list.size() <= K || kind == SampleOf::first) {
    std::uint32_t wanted[K];
    choose<K>(g, v, kind, wanted);
    return std::equal(wanted, wanted + K, slots);
  }
  const auto looked = list.first(std::min<std::size_t>(list.size(), kSampleLook));
  const auto* filled = std::find(slots, slots + K, kNoVertex);
  for (const auto* slot = slots; slot != filled; ++slot)
    if (std::find(slots, slot, *slot) != slot ||
        std::find(looked.begin(), looked.end(), *slot) == looked.end())
      return false;
  return filled != slots && std::all_of(filled, slots + K, [](auto slot) { return slot == kNoVertex; });
}

}  // namespace

NeighbourSample sample_neighbours(const CsrView<One>& g, int size, SampleOf kind) {
  require(
      g.rows == g.cols && g.rows <= 0x7fffffff,
      "a sample of neighbours needs the square adjacency matrix of at most 2^31 - 1 vertices, this one is " +
          std::to_string(g.rows) + " x " + std::to_string(g.cols));
  NeighbourSample out{size, kind, {}};
  with_size(size, [&]<int K>() {
    const auto slots = allocate<std::uint32_t>(g.rows * K);
    parallel_ranges(g.rows, kSampledAtOnce, [&](std::int64_t first, std::int64_t last) {
      for (auto v = first; v < last; ++v) choose<K>(g, v, kind, slots.data + v * K);
      poll_interrupt();
    });
    out.slots = slots;
  });
  return out;
}

void check_sample(const CsrView<One>& g, const NeighbourSample& sample, bool every) {
  const auto n = g.rows;
  require(g.cols == n && sample.slots.size == n * sample.size,
          "a sample of " + std::to_string(sample.slots.size) + " slots, " + std::to_string(sample.size) +
              " a vertex, is not of a matrix of " + std::to_string(n) + " x " + std::to_string(g.cols));
  with_size(sample.size, [&]<int K>() {
    if (!every) {
      const auto looks = std::min(n, kLooks);
      for (std::int64_t i = 0; i < looks; ++i) {
        const auto v = i * n / looks;
        // The offsets may not have been checked yet: the list must lie within the entries.
        const bool list =
            g.count < 0 || (0 <= g.indptr[v] && g.indptr[v] <= g.indptr[v + 1] && g.indptr[v + 1] <= g.count);
        if (!list || !is_plausible<K>(g, v, sample.kind, sample.slots.data + v * K)) refuse(v);
      }
      return;
    }
    std::atomic<std::int64_t> bad = n;
    parallel_ranges(n, kSampledAtOnce, [&](std::int64_t first, std::int64_t last) {
      std::uint32_t wanted[K];
      for (auto v = first; v < last; ++v) {
        choose<K>(g, v, sample.kind, wanted);
        if (std::equal(wanted, wanted + K, sample.slots.data + v * K)) continue;
        for (auto known = bad.load(); v < known && !bad.compare_exchange_weak(known, v);) {}
        break;
      }
      poll_interrupt();
    });
    if (bad < n) refuse(bad);
  });
}

}  // namespace penstock
