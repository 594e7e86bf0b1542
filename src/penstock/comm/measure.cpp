// The figures of a LogGP model, measured. One rank holds the clock, medians leave out what disturbs a round, and the result is
// broadcast, so that all ranks have the same. Before what is timed comes one round that is not, for buffers and pages.
#include "penstock/comm/measure.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "penstock/core/clock.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr int kTag = 7, kBurst = 256, kBursts = 9, kMostTrips = 400;
constexpr std::int64_t kGrain = 1 << 14;
constexpr double kMostWork = 10;  // seconds
/// Bytes that an element of a triad moves: it reads two numbers and writes one.
constexpr std::int64_t kTriadBytes = 24;
/// Least bytes that a rank moves in a round of triads: beside them a barrier costs nothing.
constexpr std::int64_t kRoundBytes = 32 << 20;
constexpr int kTries = 3;

void send(Comm& comm, const void* data, std::int64_t bytes, int to) {
  Request r = comm.send(data, bytes, to, kTag);
  comm.wait({&r, 1});
}

void receive(Comm& comm, void* data, std::int64_t bytes, int from) {
  Request r = comm.receive(data, bytes, from, kTag);
  comm.wait({&r, 1});
}

void require_pair(const Comm& comm, int a, int b) {
  require(a != b && std::min(a, b) >= 0 && std::max(a, b) < comm.size(),
          "ranks " + std::to_string(a) + " and " + std::to_string(b) + " of " + std::to_string(comm.size()) +
              ": a message needs two different ones");
}

/// Seconds of a round trip by the clock of rank a.
double trip(Comm& comm, bool first, int other, std::byte* data, std::int64_t bytes) {
  const double begin = now();
  if (first) send(comm, data, bytes, other), receive(comm, data, bytes, other);
  else receive(comm, data, bytes, other), send(comm, data, bytes, other);
  return now() - begin;
}

}  // namespace

std::vector<double> ping_pong(Comm& comm, int a, int b, std::span<const std::int64_t> sizes, double seconds) {
  require_pair(comm, a, b);
  std::vector<double> out(sizes.size());
  const bool first = comm.rank() == a;
  if (first || comm.rank() == b) {
    const int other = first ? b : a;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(sizes[i] >= 1, "a message of " + std::to_string(sizes[i]) + " bytes: at least 1");
      const auto data = allocate<std::byte>(sizes[i]);
      std::fill_n(data.data, sizes[i], std::byte{1});
      // A first trip, which is not counted: buffers and pages are made.
      trip(comm, first, other, data.data, sizes[i]);
      const double once = trip(comm, first, other, data.data, sizes[i]);
      std::int64_t trips = std::clamp(static_cast<int>(seconds / std::max(once, 1e-9)), 3, kMostTrips);
      if (first) send(comm, &trips, sizeof(trips), other);
      else receive(comm, &trips, sizeof(trips), other);
      std::vector<double> times;
      for (std::int64_t t = 0; t < trips; ++t) times.push_back(trip(comm, first, other, data.data, sizes[i]));
      out[i] = median(std::move(times)) / 2;
      poll_interrupt();
    }
  }
  comm.broadcast(out.data(), static_cast<std::int64_t>(out.size() * sizeof(double)), a);
  return out;
}

double message_gap(Comm& comm, int a, int b) {
  require_pair(comm, a, b);
  std::vector<double> times;
  std::int64_t values[kBurst] = {}, done = 0;
  std::vector<Request> requests(kBurst);
  const bool first = comm.rank() == a;
  if (first || comm.rank() == b) {
    for (int k = 0; k <= kBursts; ++k) {                 // the first is not counted
      if (first) receive(comm, &done, sizeof(done), b);  // b is ready
      else {
        for (int i = 0; i < kBurst; ++i)
          requests[static_cast<std::size_t>(i)] = comm.receive(&values[i], sizeof(values[i]), a, kTag);
        send(comm, &done, sizeof(done), a);
      }
      const double begin = now();
      if (first) {
        for (int i = 0; i < kBurst; ++i)
          requests[static_cast<std::size_t>(i)] = comm.send(&values[i], sizeof(values[i]), b, kTag);
      }
      comm.wait(requests);
      if (first) {
        receive(comm, &done, sizeof(done), b);
        if (k > 0) times.push_back((now() - begin) / kBurst);
      } else send(comm, &done, sizeof(done), a);
    }
  }
  double out = times.empty() ? 0 : median(std::move(times));
  comm.broadcast(&out, sizeof(out), a);
  return out;
}

double exchange_round(Comm& comm, std::span<const int> partners, std::int64_t bytes, int rounds,
                      double work) {
  require(std::ssize(partners) == comm.size(), std::to_string(partners.size()) + " partners for " +
                                                   std::to_string(comm.size()) + " ranks: one each");
  require(bytes >= 1 && rounds >= 1, "a round moves at least 1 byte, and there is at least 1");
  require(work >= 0 && work <= kMostWork,
          "an exchange beside " + std::to_string(work) + " s of work: 0 to " + std::to_string(kMostWork));
  for (int r = 0; r < comm.size(); ++r) {
    const int other = partners[static_cast<std::size_t>(r)];
    require(
        other < comm.size() && other != r && (other < 0 || partners[static_cast<std::size_t>(other)] == r),
        "rank " + std::to_string(r) + " has partner " + std::to_string(other) + ", who has another");
  }
  const int other = partners[static_cast<std::size_t>(comm.rank())];
  const auto mine = allocate<std::byte>(bytes), theirs = allocate<std::byte>(bytes);
  std::fill_n(mine.data, bytes, std::byte{1});
  std::vector<Message> sends, receives;
  if (other >= 0) sends.push_back({other, mine.data, bytes}), receives.push_back({other, theirs.data, bytes});
  const auto exchange = comm.persistent(sends, receives);
  std::vector<double> times;
  // The work is a number of looks at the clock that takes `work` seconds alone: what an adapter's driver takes
  // of this core makes them longer.
  volatile double look = 0;
  std::int64_t turns = 0;
  for (int k = 0; other >= 0 && work > 0 && k < kTries; ++k) {
    std::int64_t n = 0;
    for (const double begin = now(); look = now(), look - begin < work;) ++n;
    turns = std::max(turns, n);
  }
  for (int k = 0; k <= rounds; ++k) {
    comm.barrier();
    const double begin = now();
    exchange->start();
    for (std::int64_t i = 0; i < turns; ++i) look = now();
    exchange->finish();
    double spent = other >= 0 ? now() - begin : 0;
    comm.all_reduce(std::span<double>(&spent, 1), Reduce::max);
    if (k > 0) times.push_back(spent);
  }
  return median(std::move(times));
}

double triad(Comm& comm, int ranks, std::int64_t bytes, int rounds) {
  require(ranks >= 1 && ranks <= comm.size(),
          "a triad on " + std::to_string(ranks) + " of " + std::to_string(comm.size()) + " ranks");
  require(rounds >= 1, "a triad of 0 rounds");
  const std::int64_t n = std::max<std::int64_t>(bytes / kTriadBytes, 1);
  const bool mine = comm.rank() < ranks;
  const auto a = allocate<double>(mine ? n : 0), b = allocate<double>(mine ? n : 0),
             c = allocate<double>(mine ? n : 0);
  const auto run = [&](double s) {
    parallel_ranges(a.size, kGrain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) a.data[i] = b.data[i] + s * c.data[i];
    });
  };
  std::fill_n(b.data, b.size, 1.0), std::fill_n(c.data, c.size, 2.0);
  run(0.5);
  // Small arrays: many sweeps in a round, so that the barrier costs nothing beside them.
  const std::int64_t sweeps = std::max<std::int64_t>(1, kRoundBytes / (kTriadBytes * n));
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < rounds; ++k) {
    comm.barrier();
    const double begin = now();
    for (std::int64_t i = 0; mine && i < sweeps; ++i) run(0.5 + static_cast<double>(i));
    comm.barrier();  // ranks that take turns on a core are not counted as if each had one
    double spent = now() - begin;
    comm.all_reduce(std::span<double>(&spent, 1), Reduce::max);
    best = std::min(best, spent);
  }
  return static_cast<double>(kTriadBytes * n * sweeps * ranks) / best;
}

}  // namespace penstock
