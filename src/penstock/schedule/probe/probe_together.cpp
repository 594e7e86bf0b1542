// Several devices at once, each driven by a thread of its own. All wait for one another before a turn begins;
// its time is from the first that starts to the last that ends.
#include <algorithm>
#include <exception>
#include <latch>
#include <thread>

#include "penstock/kernel/read_probe.hpp"
#include "penstock/schedule/probe/probe_bench.hpp"

namespace penstock::probing {
namespace {

using Benches = std::span<const std::unique_ptr<Bench>>;

/// Seconds of work(i) for every bench at once, each to the end of what it put on its streams.
template <class F>
double at_once(Benches benches, F&& work) {
  struct Turn {
    Clock::time_point begin, end;
    std::exception_ptr failed;
  };
  const auto n = benches.size();
  std::vector<Turn> turns(n);
  std::latch ready(static_cast<std::ptrdiff_t>(n));
  {
    std::vector<std::jthread> threads;
    threads.reserve(n);
    try {
      for (std::size_t i = 0; i < n; ++i)
        threads.emplace_back([&, i] {
          auto& turn = turns[i];
          auto& b = *benches[i];
          try {
            synchronize(b.first);  // a thread's first call of the runtime takes longer
          } catch (...) {
            turn.failed = std::current_exception();
          }
          ready.arrive_and_wait();
          turn.begin = Clock::now();
          try {
            if (!turn.failed) work(i);
            synchronize(b.first);
            synchronize(b.second);
          } catch (...) {
            turn.failed = std::current_exception();
          }
          turn.end = Clock::now();
        });
    } catch (...) {  // no thread to be had: let those that wait go on, they end with this scope
      ready.count_down(static_cast<std::ptrdiff_t>(n - threads.size()));
      throw;
    }
  }
  auto begin = turns[0].begin, end = turns[0].end;
  for (const auto& turn : turns) {
    if (turn.failed) std::rethrow_exception(turn.failed);
    begin = std::min(begin, turn.begin), end = std::max(end, turn.end);
  }
  return std::max(std::chrono::duration<double>(end - begin).count(), kLeastTime);
}

}  // namespace

TogetherRates measure_together(Benches benches, Clock::time_point deadline) {
  const auto n = benches.size();
  const auto bytes = benches[0]->bytes;
  const auto rate = [&](std::int64_t each, auto&& work) {
    const double took = median_turn(deadline, [&] { return at_once(benches, work); });
    return static_cast<double>(each) * static_cast<double>(n) / took;
  };
  const auto words = [](const Array<std::byte>& a) { return reinterpret_cast<std::uint32_t*>(a.data); };
  TogetherRates r;
  r.gpus = static_cast<int>(n);
  r.h2d = rate(bytes, [&](std::size_t i) { copy_up(*benches[i], 0, bytes, benches[i]->first); });
  r.d2h = rate(bytes, [&](std::size_t i) { copy_down(*benches[i], 0, bytes, benches[i]->second); });
  r.zero_copy = rate(list_bytes(bytes / 4, ReadPattern::aligned), [&](std::size_t i) {
    auto& b = *benches[i];
    read_lists(words(b.pinned), bytes / 4, ReadPattern::aligned, b.sum.data, b.first);
  });
  r.duplex = rate(2 * bytes, [&](std::size_t i) { copy_both(*benches[i], bytes); });
  if (n < 2) return r;
  bool direct = true;
  for (std::size_t i = 0; i < n; ++i) direct &= enable_peer(benches[i]->where, benches[(i + 1) % n]->where);
  r.peer_copy = rate(bytes, [&](std::size_t i) {
    copy_async(benches[(i + 1) % n]->target.data, benches[i]->source.data, bytes, benches[i]->first);
  });
  if (direct)
    r.peer_load = rate(bytes, [&](std::size_t i) {
      auto& b = *benches[i];
      read_stream(words(benches[(i + 1) % n]->source), bytes / 4, b.sum.data, b.first);
    });
  return r;
}

}  // namespace penstock::probing
