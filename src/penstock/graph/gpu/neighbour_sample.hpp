#pragma once
#include <span>

#include "penstock/core/array.hpp"
#include "penstock/graph/gpu/gpu_lists.hpp"

// A sample of a few neighbours of every vertex, which traversals on a GPU ask before they read lists. It is made by a GPU
// (GpuGraph) or by the CPU, bit for bit the same, and can be kept in a store.
namespace penstock {

/// Which neighbours a sample holds: those of highest degree, which a search finds visited first, or those stored first.
enum class SampleOf : std::uint8_t { highest_degree, first };
inline constexpr std::string_view kSamplesOf[] = {"highest_degree", "first"};
inline constexpr std::string_view name(SampleOf of) { return kSamplesOf[static_cast<int>(of)]; }

/// `size` (4, 8 or 16) slots for each vertex, as ListView::sample says. Neighbours of highest degree are distinct, in
/// descending order of the degree, the smaller vertex first, and taken from the first kSampleLook entries of the list.
struct NeighbourSample {
  int size = 0;  // 0: there is none
  SampleOf kind = SampleOf::highest_degree;
  Array<const std::uint32_t> slots;
};

inline constexpr Offset kSampleLook = 1 << 15;  // entries that a sample is chosen from: one warp reads them

/// The sample of a graph whose arrays the CPU reads, on all threads. Throws Error{invalid_argument} for another size.
NeighbourSample sample_neighbours(const CsrView<One>& g, int size, SampleOf kind);

/// Throws Error{invalid_argument}, with the first vertex that differs, unless this is the sample of g. Without `every` it
/// looks at a few vertices only, and if their lists are long, only whether the slots are in them.
void check_sample(const CsrView<One>& g, const NeighbourSample& sample, bool every);

namespace gpu {

using SampleKey = unsigned long long;  // degree above, vertex below (smaller ones first); 0: none

constexpr SampleKey sample_key(Offset degree, Index v) {
  return SampleKey(degree < 0x7fffffff ? degree : 0x7fffffff) << 32 | (kNoVertex - std::uint32_t(v));
}
constexpr std::uint32_t vertex_of(SampleKey key) { return kNoVertex - std::uint32_t(key); }

/// Inserts a key into best[], the largest keys so far in descending order, each once.
template <int K>
constexpr void insert_key(SampleKey (&best)[K], SampleKey key) {
  if (key <= best[K - 1]) return;
  bool known = false;
  for (int i = 0; i + 1 < K; ++i) known |= best[i] == key;
  if (known) return;
  best[K - 1] = key;
  for (int i = K - 1; i > 0; --i)
    if (best[i] > best[i - 1]) {
      const SampleKey other = best[i];
      best[i] = best[i - 1], best[i - 1] = other;
    }
}

}  // namespace gpu
}  // namespace penstock
