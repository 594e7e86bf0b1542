#pragma once
#include <cstdint>

// Rows of C with few products: each is a key, its column above its number, and the keys are sorted in vector registers.
namespace penstock {

inline constexpr int kFew = 64;
inline constexpr int kFewBits = 6;  // of a product's number
/// Columns of a row, counted from its lowest, that a key has room for; the largest key is not one.
inline constexpr std::int64_t kFewColumns = (std::int64_t{1} << (32 - kFewBits)) - 1;

/// Sorts n <= kFew keys. There is room for kFew.
using FewSort = void (*)(std::uint32_t* keys, int n);
/// The sort for this CPU, or null where the other ways are as fast.
FewSort few_sort();

namespace avx2 {
void sort_few(std::uint32_t* keys, int n);
}

}  // namespace penstock
