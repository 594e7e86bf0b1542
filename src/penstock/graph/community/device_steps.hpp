#pragma once
#include <cstdint>

#include "penstock/graph/community/device_level.hpp"

// Steps (kernel/structure/steps.hpp) of moving and joining vertices on a device.
namespace penstock::community {

/// Each vertex is alone, and waits.
struct BeginAlone {
  const std::int64_t* degree;
  Index* labels;
  std::int64_t *total, *members;
  std::uint8_t* waiting;
  constexpr void operator()(std::int64_t v) const {
    labels[v] = static_cast<Index>(v);
    total[v] = degree[v];
    members[v] = 1;
    waiting[v] = 1;
  }
};

/// Each vertex moves to where it is wanted.
struct MoveAll {
  const Index* to;
  Index *moved, *wanted;
  constexpr void operator()(std::int64_t v) const { moved[v] = static_cast<Index>(v), wanted[v] = to[v]; }
};

/// Vertices with keys to sort them by: the size of their lists, or their labels.
struct KeyByClass {
  DeviceLists lists;
  std::uint32_t* keys;
  Index* vertices;
  constexpr void operator()(std::int64_t v) const {
    keys[v] = static_cast<std::uint32_t>(class_of(lists.size_of(static_cast<Index>(v))));
    vertices[v] = static_cast<Index>(v);
  }
};
struct KeyByLabel {
  const Index* labels;
  std::uint32_t* keys;
  Index* vertices;
  constexpr void operator()(std::int64_t v) const {
    keys[v] = static_cast<std::uint32_t>(labels[v]);
    vertices[v] = static_cast<Index>(v);
  }
};
/// Where each class begins among n sorted keys; i goes to kClasses.
struct FindClass {
  const std::uint32_t* keys;
  std::int64_t n;
  std::int64_t* first;
  constexpr void operator()(std::int64_t i) const {
    std::int64_t low = 0, high = n;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (keys[middle] < static_cast<std::uint32_t>(i)) low = middle + 1;
      else high = middle;
    }
    first[i] = low;
  }
};
struct SizesOf {
  DeviceLists lists;
  const Index* vertices;
  Offset* sizes;
  constexpr void operator()(std::int64_t i) const { sizes[i] = lists.size_of(vertices[i]); }
};

/// Whether a key is the first of its kind; behind the last one, no.
template <class K>
struct IsHead {
  const K* keys;
  std::int64_t n;
  K none;  // keys that are nothing, and come last
  Offset* heads;
  constexpr void operator()(std::int64_t i) const {
    heads[i] = i < n && keys[i] != none && (i == 0 || keys[i - 1] != keys[i]);
  }
};
/// Numbers communities in the order of their labels, of which the vertices at hand are sorted.
struct NumberCommunities {
  const std::uint32_t* keys;
  const Index* vertices;
  const Offset* heads;  // before each position
  const std::int64_t* total;
  Index* labels;
  std::int64_t* degree;  // of the communities
  constexpr void operator()(std::int64_t i) const {
    const auto number = static_cast<Index>(heads[i + 1] - 1);
    labels[vertices[i]] = number;
    if (heads[i + 1] != heads[i]) degree[number] = total[keys[i]];
  }
};

/// How many vertices from `first` on have at most `most` entries; at least one.
struct CutChunk {
  const Offset* before;
  std::int64_t first, vertices;
  Offset most;
  std::int64_t* found;  // the last vertex, entries before the first and before the last
  constexpr void operator()(std::int64_t) const {
    std::int64_t low = first + 1, high = vertices;
    while (low < high) {
      const auto middle = low + (high - low + 1) / 2;
      if (before[middle] - before[first] <= most) low = middle;
      else high = middle - 1;
    }
    found[0] = low, found[1] = before[first], found[2] = before[low];
  }
};

/// Where the sorted keys of each pair of communities begin, and where the last ones end.
struct PlaceHeads {
  const std::uint64_t* keys;
  std::int64_t n;
  std::uint64_t none;
  const Offset* heads;
  Offset* at;
  constexpr void operator()(std::int64_t i) const {
    if (heads[i + 1] != heads[i]) at[heads[i]] = i;
    const bool is_some = keys[i] != none;
    if (!is_some && (i == 0 || keys[i - 1] != none)) at[heads[n]] = i;
    if (is_some && i + 1 == n) at[heads[n]] = n;
  }
};
struct JoinEntries {
  const std::uint64_t* keys;
  const Offset* at;
  const std::int64_t* before;  // weights
  int bits;
  Index* indices;
  std::int64_t* weights;
  constexpr void operator()(std::int64_t k) const {
    indices[k] = static_cast<Index>(keys[at[k]] & ((std::uint64_t{1} << bits) - 1));
    weights[k] = before[at[k + 1]] - before[at[k]];
  }
};
/// Adds the entries of community first + i to its count.
struct CountRows {
  const std::uint64_t* keys;
  const Offset* at;
  std::int64_t entries;
  int bits;
  Index first;
  Offset* counts;
  constexpr std::int64_t begin_of(std::int64_t row) const {
    std::int64_t low = 0, high = entries;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (static_cast<std::int64_t>(keys[at[middle]] >> bits) < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  constexpr void operator()(std::int64_t i) const {
    counts[first + i] += begin_of(first + i + 1) - begin_of(first + i);
  }
};

/// Marks the first vertex of each community; vertices are sorted by their labels, and ascend within each.
struct MarkFirst {
  const std::uint32_t* keys;
  const Index* vertices;
  Offset* marks;
  constexpr void operator()(std::int64_t i) const {
    if (i == 0 || keys[i - 1] != keys[i]) marks[vertices[i]] = 1;
  }
};
/// The numbers of communities in the order of these.
struct NumberByFirst {
  const std::uint32_t* keys;
  const Index* vertices;
  const Offset* ranks;
  Index* numbers;
  constexpr void operator()(std::int64_t i) const {
    if (i == 0 || keys[i - 1] != keys[i]) numbers[keys[i]] = static_cast<Index>(ranks[vertices[i]]);
  }
};

/// Names communities after the first of their vertices, by which these are sorted, or after its part. Each is named once.
struct NameByFirst {
  const std::uint32_t* keys;
  const Index* vertices;
  const Index* parts;  // none: the vertices themselves
  Index* names;
  constexpr void operator()(std::int64_t i) const {
    if (i == 0 || keys[i - 1] != keys[i]) names[keys[i]] = parts ? parts[vertices[i]] : vertices[i];
  }
};
/// The communities of parts; all vertices of a part say the same.
struct NameParts {
  const Index* labels;
  const Index* names;
  const Index* parts;  // none: the vertices themselves
  Index* of_parts;
  constexpr void operator()(std::int64_t v) const { of_parts[parts ? parts[v] : v] = names[labels[v]]; }
};

/// labels = next(labels)
struct Compose {
  const Index* next;
  Index* labels;
  constexpr void operator()(std::int64_t v) const { labels[v] = next[labels[v]]; }
};

}  // namespace penstock::community
