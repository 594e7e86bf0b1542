#pragma once
#include <span>
#include <vector>

#include "penstock/comm/comm.hpp"

// What messages between ranks cost, and memory with so many ranks at work: the figures of a LogGP model. All ranks make
// the same calls; ranks that take no part wait at the end. Results are the same on every rank.
namespace penstock {

/// Seconds of a message from rank a to rank b, one way, for each size in bytes: half the median of round trips for about
/// `seconds`, at least 3 of them. a != b.
std::vector<double> ping_pong(Comm& comm, int a, int b, std::span<const std::int64_t> sizes, double seconds);

/// Seconds that one more 8-byte message takes in a burst from a to b: the overhead of LogGP, sender or receiver,
/// whichever is slower. Median of several bursts.
double message_gap(Comm& comm, int a, int b);

/// Seconds of a round in which every rank r that has partners[r] >= 0 sends `bytes` there and receives as many from
/// there, by persistent exchanges; the slowest rank's, median of `rounds`. Partners of partners are the ranks themselves.
/// Between the start and the end of an exchange its ranks do what takes `work` seconds without it, which count.
double exchange_round(Comm& comm, std::span<const int> partners, std::int64_t bytes, int rounds,
                      double work = 0);

/// Bytes a second, all together, of ranks 0 .. ranks - 1 that run a[i] = b[i] + s c[i] at once with this library's
/// threads, each over three arrays of `bytes` in all: counted as 24 an element. Best of `rounds`.
double triad(Comm& comm, int ranks, std::int64_t bytes, int rounds);

}  // namespace penstock
