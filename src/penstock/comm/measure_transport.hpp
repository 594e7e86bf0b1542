#pragma once
#include <span>
#include <vector>

#include "penstock/comm/transport.hpp"

// What one-sided verbs cost. All ranks make the same calls; results are the same on every rank.
namespace penstock {

/// Seconds from get() to the end of its wait(), by rank a from the start of rank b's arena, for each size in bytes:
/// the median of gets for about `seconds`, at least 3. No other rank works meanwhile. Sizes are 1 to t.arena_bytes(). With several
/// under way, one more begins whenever the oldest is done, and the time of each is its part of the time of all.
std::vector<double> get_times(Transport& t, int a, int b, std::span<const std::int64_t> sizes, double seconds,
                              int under_way = 1);

/// Seconds of a fetch_add to a counter of rank `home`: by rank `alone`, or by all ranks at once (-1; the slowest rank's
/// mean). Median of 9 rounds of 256. Adds to the 8 bytes at the start of that arena.
double claim_time(Transport& t, int home, int alone);

}  // namespace penstock
