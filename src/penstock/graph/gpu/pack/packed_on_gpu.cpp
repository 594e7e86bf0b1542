// Packed lists in the memory of a device (pack_gpu.hpp): how kernels see them, and a copy in host memory.
#include <algorithm>
#include <vector>

#include "penstock/graph/gpu/pack_gpu.hpp"

namespace penstock {

PackedListsView PackedOnGpu::view() const {
  const auto* const behind =
      lists.data - long_words;  // where word 0 is, if long lists are in front of the others
  PackedListsView out{.vertices = vertices,
                      .first = std::uint32_t(first),
                      .bases = bases.data,
                      .heads = heads.data,
                      .near = far ? behind : longs.data,
                      .far = far ? far->data - near_words : behind,
                      .near_words = far ? near_words : long_words,
                      .table_bits = table_bits,
                      .step = repeats ? 0u : 1u,
                      .all_near = !far,
                      .length_bits = length_bits,
                      .length_least = length_least};
  std::copy_n(tables, kPackedTables, out.tables);
  return out;
}

PackedLists to_host(const PackedOnGpu& there, Stream stream) {
  PackedLists out;
  out.vertices = there.vertices, out.first = there.first, out.edges = there.edges;
  const auto bases = allocate<std::uint64_t>(there.bases.size);
  const auto heads = allocate<std::uint32_t>(there.heads.size);
  const auto words = allocate<std::uint32_t>(there.words() + kPackedPad);
  copy_async(bases.data, there.bases.data, bases.bytes(), stream);
  copy_async(heads.data, there.heads.data, heads.bytes(), stream);
  const auto parts = there.view();
  copy_async(words.data, parts.near, 4 * parts.near_words, stream);
  copy_async(words.data + parts.near_words, parts.far + parts.near_words, 4 * (words.size - parts.near_words),
             stream);
  synchronize(stream);
  out.bases = bases, out.heads = heads, out.words = words;
  std::copy_n(there.tables, kPackedTables, out.tables);
  out.table_bits = there.table_bits, out.repeats = there.repeats, out.seconds = there.seconds;
  out.lengths = there.lengths, out.length_bits = there.length_bits, out.length_least = there.length_least;
  // A long list ends where the next one begins.
  const auto view = out.view();
  std::vector<std::int64_t> begins;
  for (std::int64_t v = 0; v < out.vertices; ++v)
    if (heads.data[v] >> kAtBits == kInPieces) begins.push_back(packed_list(view, Index(v)).at / 32);
  const auto ends = allocate<std::int64_t>(std::ssize(begins));
  for (std::size_t i = 0; i < begins.size(); ++i)
    ends.data[i] = i + 1 < begins.size() ? begins[i + 1] : there.long_words;
  out.long_ends = ends;
  return out;
}

}  // namespace penstock
