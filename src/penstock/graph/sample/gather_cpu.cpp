// Rows of a feature matrix.
#include "penstock/graph/sample/gather.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/core/array.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock::graph {
namespace {

constexpr std::int64_t kGatheredBytes = 1 << 18;  // that a thread copies at once
constexpr std::int64_t kGatherAhead = 8;          // rows between a prefetch and its use
constexpr std::int64_t kLineBytes = 64, kMostPrefetched = 1 << 9;

}  // namespace

void gather_rows(const std::byte* features, std::int64_t rows, std::int64_t row_bytes, std::int64_t stride,
                 std::span<const std::int64_t> ids, std::byte* out, bool in_order) {
  const auto n = std::ssize(ids);
  for (std::int64_t i = 0; i < n; ++i)
    require(ids[at(i)] >= 0 && ids[at(i)] < rows, [&] {
      return "ids[" + std::to_string(i) + "]=" + std::to_string(ids[at(i)]) + " is outside " +
             std::to_string(rows) + " rows of features";
    });
  std::vector<std::int64_t> order;
  if (in_order && !std::ranges::is_sorted(ids)) {
    order.resize(at(n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return ids[at(i)]; });
  }
  const auto place = [&](std::int64_t i) { return order.empty() ? i : order[at(i)]; };
  const auto range = std::max<std::int64_t>(1, kGatheredBytes / std::max<std::int64_t>(row_bytes, 1));
  parallel_ranges(n, range, [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i) {
      if (i + kGatherAhead < last) {
        const auto* next = features + ids[at(place(i + kGatherAhead))] * stride;
        for (std::int64_t b = 0; b < std::min(row_bytes, kMostPrefetched); b += kLineBytes)
          __builtin_prefetch(next + b);
      }
      const auto to = place(i);
      std::memcpy(out + to * row_bytes, features + ids[at(to)] * stride, at(row_bytes));
    }
    poll_interrupt();
  });
}

}  // namespace penstock::graph
