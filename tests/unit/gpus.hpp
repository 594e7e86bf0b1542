#pragma once
#include <array>

#include "penstock/core/gpu_facts.hpp"

// GPUs that need not be here, as their drivers would describe them.
namespace penstock::test {

inline constexpr GpuFacts kT4{.major = 7,
                              .minor = 5,
                              .multiprocessors = 40,
                              .threads = 1024,
                              .shared_block = 64 << 10,
                              .shared = 64 << 10,
                              .cache = 4 << 20,
                              .memory_rate = 320e9};
inline constexpr GpuFacts kA100{.major = 8,
                                .minor = 0,
                                .multiprocessors = 108,
                                .threads = 2048,
                                .shared_block = 163 << 10,
                                .shared = 164 << 10,
                                .cache = 40 << 20,
                                .memory_rate = 1.555e12};
inline constexpr GpuFacts kA40{.major = 8,
                               .minor = 6,
                               .multiprocessors = 84,
                               .threads = 1536,
                               .shared_block = 99 << 10,
                               .shared = 100 << 10,
                               .cache = 6 << 20,
                               .memory_rate = 696e9};
inline constexpr GpuFacts k4090{.major = 8,
                                .minor = 9,
                                .multiprocessors = 128,
                                .threads = 1536,
                                .shared_block = 99 << 10,
                                .shared = 100 << 10,
                                .cache = 72 << 20,
                                .memory_rate = 1.008e12};
inline constexpr GpuFacts kH200{.major = 9,
                                .minor = 0,
                                .multiprocessors = 132,
                                .threads = 2048,
                                .shared_block = 227 << 10,
                                .shared = 228 << 10,
                                .cache = 60 << 20,
                                .memory_rate = 4.9e12};
inline constexpr GpuFacts kB200{.major = 10,
                                .minor = 0,
                                .multiprocessors = 148,
                                .threads = 2048,
                                .shared_block = 227 << 10,
                                .shared = 228 << 10,
                                .cache = 126 << 20,
                                .memory_rate = 8e12};
inline constexpr GpuFacts k5090{.major = 12,
                                .minor = 0,
                                .multiprocessors = 170,
                                .threads = 1536,
                                .shared_block = 99 << 10,
                                .shared = 100 << 10,
                                .cache = 96 << 20,
                                .memory_rate = 1.792e12};
/// Half a GPU's share: what a small slice of a large one looks like.
inline constexpr GpuFacts kSlice{.major = 9,
                                 .minor = 0,
                                 .multiprocessors = 16,
                                 .threads = 2048,
                                 .shared_block = 227 << 10,
                                 .shared = 228 << 10,
                                 .cache = 6 << 20};
inline constexpr std::array kGpus{kT4, kA100, kA40, k4090, kH200, kB200, k5090, kSlice, GpuFacts{}};

}  // namespace penstock::test
