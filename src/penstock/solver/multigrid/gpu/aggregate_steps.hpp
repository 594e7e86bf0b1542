#pragma once
#include <cstdint>

#include "penstock/kernel/structure/steps.hpp"
#include "penstock/solver/multigrid/shared_steps.hpp"

// The steps of aggregation in a device's memory; a call has one vertex of the strong graph. What a vertex writes in a step, no other
// one reads there.
namespace penstock {

/// Vertices with edges are open, with any priority.
struct OpenVertices {
  const Offset* indptr;
  std::uint64_t *own, *best;
  constexpr void operator()(std::int64_t i) const {
    own[i] = indptr[i + 1] > indptr[i] ? 1 : kOutside;
    best[i] = kOutside;
  }
};

struct SetPriority {
  std::uint64_t key;
  std::uint64_t* own;
  constexpr void operator()(std::int64_t i) const {
    if (own[i] != kOutside && own[i] != kInside) own[i] = priority_of(key, std::uint64_t(i));
  }
};

/// The largest of v and in[j] over the neighbours j of i.
constexpr std::uint64_t largest_beside(const Offset* indptr, const Index* indices, const std::uint64_t* in,
                                       std::int64_t i, std::uint64_t v) {
  for (auto k = indptr[i]; k < indptr[i + 1]; ++k) {
    const auto other = in[indices[k]];
    v = other > v ? other : v;
  }
  return v;
}

/// best[i]: the largest of i and its neighbours.
struct BestOfNeighbours {
  const Offset* indptr;
  const Index* indices;
  const std::uint64_t* own;
  std::uint64_t* best;
  constexpr void operator()(std::int64_t i) const {
    if (indptr[i + 1] > indptr[i] && best[i] != kInside)
      best[i] = largest_beside(indptr, indices, own, i, own[i]);
  }
};

/// An open vertex that is the largest within two edges is inside; one with an inside vertex there is outside.
struct DecideVertex {
  const Offset* indptr;
  const Index* indices;
  const std::uint64_t* best;
  std::uint64_t* own;
  constexpr void operator()(std::int64_t i) const {
    if (own[i] == kOutside || own[i] == kInside) return;
    const auto most = largest_beside(indptr, indices, best, i, best[i]);
    if (most == kInside) own[i] = kOutside;
    else if (most == own[i]) own[i] = kInside;
  }
};

struct IsOpen {
  const std::uint64_t* own;
  constexpr bool operator()(std::int64_t i) const { return own[i] != kOutside && own[i] != kInside; }
};

/// 1 for each vertex inside; called once more with i = vertices.
struct CountInside {
  const std::uint64_t* own;
  std::int64_t vertices;
  Offset* out;
  constexpr void operator()(std::int64_t i) const { out[i] = i < vertices && own[i] == kInside ? 1 : 0; }
};

/// The aggregate of each vertex inside, -1 of others; number[i] is how many are before i.
struct NumberInside {
  const std::uint64_t* own;
  const Offset* number;
  Index* out;
  constexpr void operator()(std::int64_t i) const { out[i] = own[i] == kInside ? Index(number[i]) : -1; }
};

/// The neighbours of vertices inside take their aggregate.
struct FirstRing {
  const Offset* indptr;
  const Index *indices, *inside;
  Index* out;
  constexpr void operator()(std::int64_t i) const {
    auto a = inside[i];
    for (auto k = indptr[i]; a < 0 && k < indptr[i + 1]; ++k) {
      const auto other = inside[indices[k]];
      a = other > a ? other : a;
    }
    out[i] = a;
  }
};

/// Others take the aggregate that most neighbours are in; of several the one with the smallest number.
struct SecondRing {
  const Offset* indptr;
  const Index *indices, *ring;
  Index* out;
  constexpr void operator()(std::int64_t i) const {
    out[i] = ring[i];
    if (ring[i] >= 0) return;
    Offset most = 0;
    for (Index before = -1;;) {  // the aggregates beside i, ascending
      Index next = -1;
      Offset count = 0;
      for (auto k = indptr[i]; k < indptr[i + 1]; ++k) {
        const auto a = ring[indices[k]];
        if (a <= before || (next >= 0 && a > next)) continue;
        count = a == next ? count + 1 : 1;
        next = a;
      }
      if (next < 0) return;
      if (count > most) most = count, out[i] = next;
      before = next;
    }
  }
};

}  // namespace penstock

#define PENSTOCK_FOR_EACH_AGGREGATE_STEP(X) \
  X(OpenVertices)                           \
  X(SetPriority)                            \
  X(BestOfNeighbours)                       \
  X(DecideVertex)                           \
  X(CountInside)                            \
  X(NumberInside)                           \
  X(FirstRing)                              \
  X(SecondRing)
