#pragma once
#include "penstock/graph/sample/atomics.hpp"

namespace penstock::graph {

struct DeviceAtomics {
  using Word = unsigned long long;
  __device__ static std::int64_t load(std::int64_t& x) { return *static_cast<volatile std::int64_t*>(&x); }
  __device__ static std::int64_t exchange(std::int64_t& x, std::int64_t expected, std::int64_t wanted) {
    return std::int64_t(atomicCAS(reinterpret_cast<Word*>(&x), Word(expected), Word(wanted)));
  }
  __device__ static void least(std::int64_t& x, std::int64_t value) {
    // Most vertices that are found many times have a smaller number by then.
    if (value < load(x)) atomicMin(reinterpret_cast<long long*>(&x), static_cast<long long>(value));
  }
  __device__ static void add(std::int64_t& x, std::int64_t value) {
    atomicAdd(reinterpret_cast<Word*>(&x), Word(value));
  }
  __device__ static void set_bits(std::uint32_t& x, std::uint32_t bits) { atomicOr(&x, bits); }
};

}  // namespace penstock::graph
