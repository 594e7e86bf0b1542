#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "penstock/core/device.hpp"
#include "penstock/graph/triangles/triangles.hpp"
#include "penstock/graph/triangles/triangles_incoming_gpu.hpp"

// Orients the edges of a graph on a GPU, as orient_edges() and oriented_lists() do. Vertices are renumbered by degree on more
// graphs, since a count at middle vertices gains more by it. The driver is compiled with CUDA alone; orient_bytes() needs no GPU.
namespace penstock {

struct OrientGpuOptions {
  int gpu = 0;
  std::int64_t memory = 0;  // bytes of the GPU that may be used
  bool symmetric = false;   // it is known that every entry (i, j) has as many (j, i)
};

struct OrientedOnGpu {
  Csr<One>
      lists;  // row u has the ends of number u, ascending, in the GPU's memory, or out of packed lists in pinned memory
  Array<const Index> number;  // the number of each vertex, there; empty if numbers are the vertices
  IncomingEdges incoming;     // where they are less work, and options.memory suffices
  bool simple = false;        // whether the matrix was simple and symmetric as it came
  std::int64_t bytes = 0;     // of the GPU, at most, while it was made
  double upload_seconds = 0, seconds = 0;
};

/// Takes any square pattern, in host memory or in that of the GPU. Self loops and duplicates are dropped and missing
/// directions are added there. Nothing is returned where options.memory does not suffice; the CPU can orient such a graph.
std::optional<OrientedOnGpu> orient_edges_gpu(const Csr<One>& a, const OrientGpuOptions& options);

/// Bytes of the GPU that it takes at most to orient a simple, symmetric pattern with so many entries, beside its own;
/// `sort_bytes(keys)` is the scratch memory of a sort.
std::int64_t orient_bytes(std::int64_t vertices, Offset entries,
                          const std::function<std::int64_t(std::int64_t)>& sort_bytes);
/// The same for dropping self loops and duplicates and adding missing directions.
std::int64_t clean_bytes(std::int64_t vertices, Offset entries,
                         const std::function<std::int64_t(std::int64_t)>& sort_bytes);

/// What a range of oriented lists takes while it is made out of packed ones, and how many entries it has where `left` bytes may be
/// used: at most 2^25, and at least kRangeLeast or all `edges`, for which there must be room.
std::int64_t orient_range_bytes(Offset entries, const std::function<std::int64_t(std::int64_t)>& sort_bytes);
Offset orient_range(std::int64_t left, Offset edges,
                    const std::function<std::int64_t(std::int64_t)>& sort_bytes);
inline constexpr Offset kRangeLeast = 1 << 20;
/// Where the range of rows ends that begins with row `first` and has at most so many entries. `offsets` are those of all rows, and
/// none of these has more.
std::int64_t orient_range_end(std::span<const Offset> offsets, std::int64_t first, Offset entries);

namespace gpu {

/// A pattern in the GPU's memory.
struct Pattern {
  std::int64_t vertices = 0;
  Offset entries = 0;
  const Offset* offsets = nullptr;
  const Index* ends = nullptr;
};

/// What has been found out about a pattern.
struct PatternFacts {
  unsigned long long below = 0;      // entries below the diagonal
  unsigned long long connected = 0;  // vertices with entries
  unsigned long long most = 0;       // entries of the longest row
  unsigned long long held = 0;       // keys that have been appended
  double lookups = 0;                // that a count over the entries below the diagonal would take,
  double pairs = 0;                  // and that a count at middle vertices would take
  unsigned faults = 0;  // not 0: rows do not ascend, or there are self loops or entries without mirror
};

// All pointers are to the memory of the stream's GPU, which must be current.

/// Adds to facts->faults if any of entries [first, last) is on the diagonal, not greater than the one before it in its row,
/// or, with `mirrors`, below the diagonal without its mirror. Reads no entry from `last` on.
void check_entries(const Pattern& a, Offset first, Offset last, bool mirrors, PatternFacts* facts,
                   Stream stream);
/// below[u] = how many entries of row u are below the diagonal; rows must ascend. Adds to the facts.
void measure_rows(const Pattern& a, Index* below, PatternFacts* facts, Stream stream);

/// keys[v] = (most - degree of v) << bits | v
void degree_keys(const Pattern& a, unsigned long long most, int bits, std::uint64_t* keys, Stream stream);
/// number[v] = the position of v among the sorted keys
void write_numbers(const std::uint64_t* keys, std::int64_t vertices, int bits, Index* number, Stream stream);

/// Which entries (u, v) become keys, row << bits | end.
enum class KeysOf {
  lower,
  along,
  against
};  // number[v] < number[u]; (u, v); (v, u), both without self loops
/// Appends keys in any order from keys[facts->held] on. Keys beyond `limit` are counted but not written.
void append_keys(const Pattern& a, KeysOf what, const Index* number, int bits, std::uint64_t* keys,
                 std::int64_t limit, PatternFacts* facts, Stream stream);
/// Makes the rows and ends of a pattern out of `count` sorted keys.
void write_lists(const std::uint64_t* keys, std::int64_t count, int bits, std::int64_t rows, Offset* offsets,
                 Index* ends, Stream stream);

/// offsets = where the lists begin that have so many entries of each row as `below` says.
void offsets_below(const Index* below, std::int64_t rows, Offset* offsets, Stream stream);
/// Copies these entries.
void copy_below(const Pattern& a, const Index* below, const Offset* offsets, Index* ends, Stream stream);

}  // namespace gpu
}  // namespace penstock
