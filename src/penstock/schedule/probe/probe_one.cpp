// The measurements of one device: how fast bytes go up and down its link, one way and both ways, by one stream and by two,
// from pinned and from pageable memory; how fast kernels read its own memory, pinned host memory and its neighbour's
// memory; and what a call costs that moves next to nothing. The figures that most plans need come first. Each measurement
// has a part of the time, and what it leaves over the next ones have. Pageable copies take the longest and come last.
#include "penstock/kernel/read_probe.hpp"
#include "penstock/schedule/probe/probe_bench.hpp"

namespace penstock::probing {
namespace {

constexpr std::int64_t kSmallest = 64 << 10, kLargest = 1 << 30;  // bytes of a transfer; sizes go up fourfold
constexpr std::int64_t kSmall = 1 << 20;  // transfers up to here come in pairs, as the blocks of a ring do
constexpr int kSweeps = 4;                // of device memory in one interval: a launch is then 1 % of it
constexpr int kCalls = 64;                // in a row, for the cost of each
// Zero-copy reads take turns in so many pieces of memory, so that no piece is still in a cache.
constexpr int kPieces = 4;
// Each group of measurements ends when this part of a device's time is over, at the latest.
constexpr double kUntilUp = 0.15, kUntilDown = 0.25, kUntilKernels = 0.4, kUntilDuplex = 0.55;
constexpr double kUntilUpTwice = 0.65, kUntilDownTwice = 0.75, kUntilPageableUp = 0.88;

std::vector<std::int64_t> transfer_sizes(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (auto bytes = kSmallest; bytes <= std::min(most, kLargest); bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

double rate(std::int64_t bytes, double seconds) { return static_cast<double>(bytes) / seconds; }

/// The time of one interval on the first stream.
template <class F>
double timed(Bench& b, F&& work) {
  b.start();
  work();
  b.stop(0);
  return b.after(0);
}

/// copy(offset, bytes, stream) for transfers of all sizes, cut among the streams.
template <class F>
CopyCurve curve(Bench& b, int streams, Clock::time_point deadline, F&& copy) {
  CopyCurve found;
  for_sizes(transfer_sizes(b.bytes), deadline, [&](std::int64_t bytes) {
    const auto part = bytes / streams;
    const int copies = bytes > kSmall ? 1 : 2;
    const double took = median_turn(deadline, [&] {
      b.start(streams);
      for (int s = 0; s < streams; ++s) {
        for (int i = 0; i < copies; ++i) copy(s * part, part, s == 0 ? Stream(b.first) : Stream(b.second));
        b.stop(s);
      }
      double last = 0;
      for (int s = 0; s < streams; ++s) last = std::max(last, b.after(s));
      return last / copies;
    });
    found.points.push_back({bytes, rate(bytes, took)});
    return took;
  });
  found.fit = fit_link(found.points);
  return found;
}

std::vector<DuplexPoint> duplex(Bench& b, Clock::time_point deadline) {
  std::vector<DuplexPoint> found;
  for_sizes(transfer_sizes(b.bytes), deadline, [&](std::int64_t bytes) {
    std::vector<double> up, down;
    const double took = median_turn(deadline, [&] {
      b.start(2);
      copy_both(b, bytes);
      b.stop(0), b.stop(1);
      up.push_back(b.after(0)), down.push_back(b.after(1));
      return std::max(up.back(), down.back());
    });
    up.erase(up.begin()), down.erase(down.begin());  // the turn that is not counted
    found.push_back({bytes, rate(bytes, median_time(up)), rate(bytes, median_time(down))});
    return took;
  });
  return found;
}

double zero_copy(Bench& b, ReadPattern pattern, Clock::time_point deadline) {
  const auto words = b.bytes / kPieces / 4;
  const auto* data = reinterpret_cast<const std::uint32_t*>(b.pinned.data);
  int turn = 0;
  const double took = median_turn(deadline, [&] {
    const auto* piece = data + (turn++ % kPieces) * words;
    return timed(b, [&] { read_lists(piece, words, pattern, b.sum.data, b.first); });
  });
  return rate(list_bytes(words, pattern), took);
}

/// Runs `work` kSweeps times in a row in each turn; returns the seconds of one run.
template <class F>
double sweep(Bench& b, Clock::time_point deadline, F&& work) {
  return median_turn(deadline, [&] {
    return timed(b,
                 [&] {
                   for (int i = 0; i < kSweeps; ++i) work();
                 }) /
           kSweeps;
  });
}

std::uint32_t* words(const Array<std::byte>& a) { return reinterpret_cast<std::uint32_t*>(a.data); }

PeerRates peer(Bench& b, Bench& next, Clock::time_point deadline) {
  PeerRates found{next.where, 0, {}};
  const bool direct = enable_peer(b.where, next.where);
  found.copy = rate(
      b.bytes, sweep(b, deadline, [&] { copy_async(next.target.data, b.target.data, b.bytes, b.first); }));
  if (direct)
    found.load =
        rate(b.bytes,
             sweep(b, deadline, [&] { read_stream(words(next.target), b.bytes / 4, b.sum.data, b.first); }));
  return found;
}

CallCosts calls(Bench& b, Clock::time_point deadline) {
  const auto each = [&](int times, auto&& call, auto&& finish) {
    return median_turn(deadline, [&] {
      const auto begin = Clock::now();
      for (int i = 0; i < times; ++i) call();
      const double took = since(begin) / times;
      finish();
      return took;
    });
  };
  const auto launch = [&] { launch_nothing(b.first); };
  const auto copy = [&] { copy_async(b.target.data, b.pinned.data, 8, b.first); };
  const auto finish = [&] { synchronize(b.first), synchronize(b.second); };
  const auto done = [] {};
  const OwnedEvent event(b.where);
  CallCosts c;
  c.launch = each(
      1, [&] { launch(), synchronize(b.first); }, done);
  c.copy = each(
      1, [&] { copy(), synchronize(b.first); }, done);
  c.launch_call = each(kCalls, launch, finish);
  c.copy_call = each(kCalls, copy, finish);
  c.event = each(
      kCalls, [&] { record(event, b.first), wait(b.second, event); }, finish);
  c.synchronize = each(
      kCalls, [&] { synchronize(b.first); }, done);
  return c;
}

}  // namespace

GpuRates measure_one(Bench& b, const Array<std::byte>& pageable, Bench* next, Clock::time_point deadline) {
  GpuRates r;
  r.where = b.where;
  const auto begin = Clock::now();
  const auto share = [&](double part) {
    return begin + std::chrono::duration_cast<Clock::duration>((deadline - begin) * part);
  };
  const auto up = [&](std::int64_t at, std::int64_t n, Stream s) { copy_up(b, at, n, s); };
  const auto down = [&](std::int64_t at, std::int64_t n, Stream s) { copy_down(b, at, n, s); };
  r.h2d = curve(b, 1, share(kUntilUp), up);
  r.d2h = curve(b, 1, share(kUntilDown), down);
  for (const auto pattern : kReadPatterns)
    r.zero_copy[static_cast<int>(pattern)] = zero_copy(b, pattern, share(kUntilKernels));
  r.calls = calls(b, share(kUntilKernels));
  r.device_read = rate(b.bytes, sweep(b, share(kUntilKernels), [&] {
                         read_stream(words(b.target), b.bytes / 4, b.sum.data, b.first);
                       }));
  const double by_kernel = sweep(
      b, share(kUntilKernels), [&] { copy_stream(words(b.target), words(b.source), b.bytes / 4, b.first); });
  const double by_runtime =
      sweep(b, share(kUntilKernels), [&] { copy_async(b.target.data, b.source.data, b.bytes, b.first); });
  r.device_copy = rate(2 * b.bytes, std::min(by_kernel, by_runtime));
  if (next) r.peer = peer(b, *next, share(kUntilKernels));
  r.duplex = duplex(b, share(kUntilDuplex));
  r.h2d_2_streams = curve(b, 2, share(kUntilUpTwice), up);
  r.d2h_2_streams = curve(b, 2, share(kUntilDownTwice), down);
  r.pageable_h2d = curve(b, 1, share(kUntilPageableUp), [&](std::int64_t at, std::int64_t n, Stream s) {
    copy_async(b.target.data + at, pageable.data + at, n, s);
  });
  r.pageable_d2h = curve(b, 1, deadline, [&](std::int64_t at, std::int64_t n, Stream s) {
    copy_async(pageable.data + at, b.source.data + at, n, s);
  });
  return r;
}

}  // namespace penstock::probing
