#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/comm/threads.hpp"

// Programs of several ranks in one test.
namespace penstock {

using Bytes = std::vector<std::byte>;
using Way = std::unique_ptr<Exchange> (Comm::*)(std::vector<Message>, std::vector<Message>);
inline constexpr int kRanks[] = {1, 2, 3, 4, 8};

/// f(comm) on one thread a rank. A rank that throws fails the others; returns what each rank threw, "" for nothing.
template <class F>
std::vector<std::string> play(int ranks, F&& f, double timeout = 60) {
  auto comms = threads(ranks, {timeout});
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> players;
  for (int r = 0; r < ranks; ++r)
    players.emplace_back([&, r] {
      const auto i = static_cast<std::size_t>(r);
      try {
        f(*comms[i]);
      } catch (const std::exception& e) {
        errors[i] = e.what();
        comms[i]->fail(e.what());
      }
      comms[i].reset();
    });
  for (auto& p : players) p.join();
  return errors;
}

template <class F>
void succeed(int ranks, F&& f) {
  const auto errors = play(ranks, std::forward<F>(f));
  for (std::size_t r = 0; r < errors.size(); ++r) EXPECT_EQ(errors[r], "") << "rank " << r << " of " << ranks;
}

/// f(comm) on each of n threads, with a Comm that objects of the rank may share; the first exception is thrown again.
template <class F>
void on_ranks(int n, F&& f) {
  std::vector<std::shared_ptr<Comm>> comms;
  for (auto& c : threads(n, {.timeout = 60})) comms.push_back(std::move(c));
  std::vector<std::exception_ptr> failed(static_cast<std::size_t>(n));
  std::vector<std::thread> team;
  for (int r = 0; r < n; ++r)
    team.emplace_back([&, r] {
      const auto i = static_cast<std::size_t>(r);
      try {
        f(comms[i]);
      } catch (const std::exception& e) {
        failed[i] = std::current_exception();
        comms[i]->fail(e.what());
      }
      comms[i].reset();
    });
  for (auto& t : team) t.join();
  for (const auto& e : failed)
    if (e) std::rethrow_exception(e);
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The k-th byte that rank r has for rank to.
inline std::byte byte_of(int r, int to, std::int64_t k) {
  return static_cast<std::byte>((r * 31 + to * 7 + k * 3 + k / 251) & 255);
}
inline Bytes bytes_of(int r, int to, std::int64_t n) {
  Bytes out(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) out[static_cast<std::size_t>(k)] = byte_of(r, to, k);
  return out;
}

}  // namespace penstock
