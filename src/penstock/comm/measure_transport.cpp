#include "penstock/comm/measure_transport.hpp"

#include <algorithm>
#include <string>

#include "penstock/core/array.hpp"
#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

constexpr int kClaims = 256, kRounds = 9, kMostSamples = 400;
constexpr std::int64_t kQueued = 256 << 20;  // bytes
constexpr double kSample = 2e-6;             // at least: the clock itself takes 25 ns

void require_rank(const Transport& t, int rank) {
  require(rank >= 0 && rank < t.size(),
          [&] { return "there is no rank " + std::to_string(rank) + " among " + std::to_string(t.size()); });
}

}  // namespace

std::vector<double> get_times(Transport& t, int a, int b, std::span<const std::int64_t> sizes, double seconds,
                              int under_way) {
  require_rank(t, a), require_rank(t, b);
  require(under_way >= 1, [&] { return std::to_string(under_way) + " gets at once: at least 1"; });
  for (const auto n : sizes)
    require(n >= 1 && n <= t.arena_bytes(), [&] {
      return "a get of " + std::to_string(n) + " bytes: 1 to " + std::to_string(t.arena_bytes()) +
             " are there";
    });
  std::vector<double> out(sizes.size());
  for (std::size_t i = 0; t.rank() == a && i < sizes.size(); ++i) {
    const auto data = allocate<std::byte>(sizes[i] * under_way, device_place(t.where()));
    std::vector<Transport::Ticket> tickets(static_cast<std::size_t>(under_way));
    const auto sample = [&](int gets) {
      const double begin = now();
      for (int k = 0; k < gets; ++k) {
        auto* to = data.data;
        for (auto& ticket : tickets) {  // the next get begins as soon as the oldest one is done
          if (k > 0) t.wait(ticket);
          ticket = t.get(to, {b, 0}, sizes[i]), to += sizes[i];
        }
      }
      for (const auto ticket : tickets) t.wait(ticket);
      return (now() - begin) / gets / under_way;
    };
    sample(1);  // a first get, which is not counted: pages are made
    const double once = std::max(sample(1), 1e-9);
    // Of several under way there are so many that the first and the last one, whose time nothing hides, do not count.
    const int least =
        under_way > 1 ? static_cast<int>(std::clamp<std::int64_t>(kQueued / sizes[i] / under_way, 1, 16)) : 1;
    const int gets = std::clamp(static_cast<int>(kSample / once / under_way), least, 64);
    const int samples = std::clamp(static_cast<int>(seconds / (once * gets * under_way)), 3, kMostSamples);
    std::vector<double> times;
    for (int k = 0; k < samples; ++k) times.push_back(sample(gets));
    out[i] = median(std::move(times));
    poll_interrupt();
  }
  t.comm().broadcast(out.data(), static_cast<std::int64_t>(out.size() * sizeof(double)), a);
  return out;
}

double claim_time(Transport& t, int home, int alone) {
  require_rank(t, home);
  if (alone >= 0) require_rank(t, alone);
  std::vector<double> times;
  for (int k = 0; k <= kRounds; ++k) {  // the first is not counted
    t.comm().barrier();
    double spent = 0;
    if (alone < 0 || t.rank() == alone) {
      const double begin = now();
      for (int i = 0; i < kClaims; ++i) t.fetch_add({home, 0}, 1);
      spent = (now() - begin) / kClaims;
    }
    t.comm().all_reduce(std::span<double>(&spent, 1), Reduce::max);
    if (k > 0) times.push_back(spent);
  }
  return median(std::move(times));
}

}  // namespace penstock
