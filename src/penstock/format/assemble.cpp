#include "penstock/format/assemble.hpp"

namespace penstock::detail {

int granule_shift(std::int64_t rows) {
  int shift = 0;
  while (shift < 16 && (std::max<std::int64_t>(rows, 1) - 1) >> shift >= kMaxGranules) ++shift;
  return shift;
}

BucketMap make_buckets(std::int64_t rows, int shift, const std::vector<Offset>& counts) {
  BucketMap map;
  map.shift = shift;
  map.of_granule.resize(counts.size());
  for (const auto c : counts) map.entries += c;
  const auto budget = std::max(kBucketEntries, map.entries / kMaxBuckets);
  const auto granule_rows = std::int64_t{1} << shift;
  for (std::size_t g = 0; g < counts.size(); ++g) {
    const auto first = static_cast<std::int64_t>(g) << shift;
    const auto here = std::min(granule_rows, rows - first);
    if (map.buckets.empty() || map.buckets.back().size + counts[g] > budget ||
        map.buckets.back().rows + here > std::int64_t{1} << 16) {
      const auto begin = map.buckets.empty() ? 0 : map.buckets.back().begin + map.buckets.back().size;
      map.buckets.push_back({first, 0, begin, 0});
    }
    auto& bucket = map.buckets.back();
    bucket.rows += here;
    bucket.size += counts[g];
    map.of_granule[g] = static_cast<std::uint32_t>(map.buckets.size() - 1);
  }
  return map;
}

}  // namespace penstock::detail
