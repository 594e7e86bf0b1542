#pragma once
#include "penstock/kernel/spmm/push_rows.hpp"

// The loops of a step of pushed changes, in vectors of the compiler: it makes of them what the instruction set has. The text is
// compiled once for each; `Own` is a type of the including file's own, so that the linker keeps all versions.
namespace penstock::push_loops {

template <class Own>
struct Lanes {
  using Floats = float __attribute__((vector_size(32)));
  using Words = std::uint32_t __attribute__((vector_size(32)));
  static constexpr std::int64_t kGroup = 16, kHalf = 8;
  static constexpr Offset kTogether =
      64;  // entries in a sum of their own: float32 rounds the sums of hubs less
  // Entries ahead to prefetch.
  static constexpr Offset kAhead = 12;

  template <class T, class U>
  static inline __attribute__((always_inline)) void load(T& to, const U* from) {
    __builtin_memcpy(&to, from, sizeof(T));
  }
  template <class T, class U>
  static inline __attribute__((always_inline)) void store(U* to, const T& from) {
    __builtin_memcpy(to, &from, sizeof(T));
  }

  /// What a row does once all has come in.
  template <int kGroups>
  static inline __attribute__((always_inline)) void finish(const PushArgs& p, std::int64_t row,
                                                           const Floats* in, Floats* size, Floats* all,
                                                           Floats* idle) {
    const bool ends = p.out[row] == 0;
    const float weight = ends ? 1.0F : static_cast<float>(p.out[row]), inverse = 1 / weight;
    const auto at = row * kGroups * kGroup;
    const Words upper = Words{} + 0xffff0000U, half = Words{} + 0x8000U, positive = Words{} + 0x7fffffffU;
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      Words sent, bits[2];
      load(sent, p.pushed + (at + g * kGroup) / 2);
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        const auto column = at + g * kGroup + h * kHalf;
        const Floats pushed = (Floats)(h == 0 ? sent << 16 : sent & upper) * weight;
        Floats left, ranks;
        load(left, p.left + column);
        load(ranks, p.ranks + column);
        left = left - pushed + p.alpha * in[2 * g + h];
        store(p.ranks + column, ranks + pushed);
        store(p.left + column, left);
        size[2 * g + h] += (Floats)((Words)left & positive);
        all[2 * g + h] += left;
        bits[h] = ((Words)(left * inverse) + half) & upper;
        if (ends) idle[2 * g + h] += (Floats)bits[h];
      }
      store(p.next + (at + g * kGroup) / 2, bits[0] >> 16 | bits[1]);
    }
  }

  template <int kGroups>
  static void rows(const PushArgs& p) {
    constexpr int kVectors = 2 * kGroups;
    constexpr std::int64_t kWords = kGroups * kGroup / 2;
    const Words upper = Words{} + 0xffff0000U;
    Floats size[kVectors] = {}, all[kVectors] = {}, idle[kVectors] = {};
    for (auto row = p.first; row < p.last; ++row) {
      Floats in[kVectors] = {};
      if (p.sum)
        for (int i = 0; i < kVectors; ++i) load(in[i], p.sum + i * kHalf);
      for (auto k = p.indptr[row - p.first], end = p.indptr[row - p.first + 1]; k < end;) {
        Floats some[kVectors] = {};
        for (const auto stop = end - k < kTogether ? end : k + kTogether; k < stop; ++k) {
          if (k + kAhead < p.known) {
            const auto* ahead = p.pushed + p.indices[k + kAhead] * kWords;
            __builtin_prefetch(ahead, 0, 3);
            if constexpr (kGroups > 2) __builtin_prefetch(ahead + 16, 0, 3);
          }
          const auto* from = p.pushed + p.indices[k] * kWords;
#pragma GCC unroll 4
          for (int g = 0; g < kGroups; ++g) {
            Words sent;
            load(sent, from + g * kHalf);
            some[2 * g] += (Floats)(sent << 16);
            some[2 * g + 1] += (Floats)(sent & upper);
          }
        }
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) in[i] += some[i];
      }
      if (p.cell)
        for (int i = 0; i < kVectors; ++i) store(p.cell + i * kHalf, in[i]);
      else finish<kGroups>(p, row, in, size, all, idle);
    }
    if (p.cell) return;
    const Floats* const both[] = {size, all, idle};
    for (int s = 0; s < 3; ++s)
      for (int i = 0; i < kVectors; ++i) {
        float* const to = p.sums + (s * kVectors + i) * kHalf;
        Floats sum;
        load(sum, to);
        store(to, sum + both[s][i]);
      }
  }

  static void push(const PushArgs& p) {
    if (p.groups == 1) rows<1>(p);
    if (p.groups == 2) rows<2>(p);
    if (p.groups == 3) rows<3>(p);
    if (p.groups == 4) rows<4>(p);
  }
};

}  // namespace penstock::push_loops
