#include "penstock/core/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "penstock/core/error.hpp"
#include "support.hpp"
#include "threads.hpp"

namespace penstock {
namespace {

using test::Threads;

void expect_every_index_once(std::int64_t n) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
  parallel_for(n, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
  for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], 1) << i;
}

TEST(Parallel, CallersWithThreadsOfTheirOwn) {
  const Threads set(3);
  std::vector<std::thread> callers;
  for (int c = 1; c <= 4; ++c)
    callers.emplace_back([c] {
      EXPECT_EQ(num_threads(), 3);
      {
        const ThreadsHere here(c);
        EXPECT_EQ(num_threads(), c);
        std::mutex lock;
        std::set<std::thread::id> seen;
        for (int k = 0; k < 50; ++k) {
          expect_every_index_once(100);
          parallel_for(100, [&](std::int64_t) {
            const std::lock_guard guard(lock);
            seen.insert(std::this_thread::get_id());
            std::this_thread::yield();
          });
        }
        EXPECT_LE(static_cast<int>(seen.size()), c);
        set_num_threads(c + 1);
        EXPECT_EQ(num_threads(), c + 1);
        expect_every_index_once(100);
        {
          const ThreadsHere inner(1);
          EXPECT_EQ(num_threads(), 1);
        }
        EXPECT_EQ(num_threads(), c + 1);
      }
      EXPECT_EQ(num_threads(), 3);
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(num_threads(), 3);
  EXPECT_THROW(ThreadsHere(0), Error);
}

TEST(Parallel, EveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    const Threads set(threads);
    EXPECT_EQ(num_threads(), threads);
    for (const std::int64_t n : {0, 1, 2, 3, 1000}) expect_every_index_once(n);
  }
}

TEST(Parallel, RangesCoverOnce) {
  const Threads set(3);
  for (const std::int64_t n : {0, 1, 9, 10, 11, 1003})
    for (const std::int64_t grain : {1, 10, 5000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      parallel_ranges(n, grain, [&](std::int64_t first, std::int64_t last) {
        EXPECT_LE(last - first, grain);
        for (auto i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      for (const auto& s : seen) EXPECT_EQ(s, 1);
    }
}

TEST(Parallel, UsesSeveralThreads) {
  const Threads set(2);
  std::mutex lock;
  std::set<std::thread::id> ids;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  parallel_for(2, [&](std::int64_t) {  // each waits for the other
    {
      const std::lock_guard guard(lock);
      ids.insert(std::this_thread::get_id());
    }
    for (bool both = false; !both && std::chrono::steady_clock::now() < give_up;) {
      std::this_thread::yield();
      const std::lock_guard guard(lock);
      both = ids.size() == 2;
    }
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST(Parallel, TheFirstExceptionStopsAndIsRethrown) {
  for (const int threads : {1, 4}) {
    const Threads set(threads);
    std::atomic<std::int64_t> calls = 0;
    const auto work = [&](std::int64_t i) {
      ++calls;
      if (i == 7) throw Error(Errc::invalid_argument, "seven");
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    };
    std::string what;
    EXPECT_EQ(test::code_of([&] { parallel_for(1'000'000, work); }, &what), Errc::invalid_argument);
    EXPECT_EQ(what, "seven");
    EXPECT_LT(calls, 500'000);
    expect_every_index_once(100);  // the pool is in order
  }
}

TEST(Parallel, NestedCallsRunOnTheirCaller) {
  const Threads set(3);
  std::atomic<int> calls = 0;
  parallel_for(20, [&](std::int64_t) {
    const auto me = std::this_thread::get_id();
    parallel_for(30, [&](std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), me);
      ++calls;
    });
  });
  EXPECT_EQ(calls, 600);
}

TEST(Parallel, ConcurrentCallersEachFinish) {
  const Threads set(2);
  std::vector<std::int64_t> sums(4);
  {
    std::vector<std::jthread> callers;
    for (std::size_t c = 0; c < sums.size(); ++c)
      callers.emplace_back([&sums, c] {
        for (int round = 0; round < 100; ++round) {
          std::atomic<std::int64_t> sum = 0;
          parallel_for(50, [&](std::int64_t i) { sum += i; });
          sums[c] += sum;
        }
      });
  }
  for (const auto s : sums) EXPECT_EQ(s, 100 * 1225);
}

TEST(Parallel, ThreadCountMayChangeWhileOthersCompute) {
  const Threads set(2);
  std::atomic<bool> stop = false;
  std::jthread other([&] {
    while (!stop) expect_every_index_once(64);
  });
  for (int i = 0; i < 20; ++i) {
    set_num_threads(1 + i % 4);
    expect_every_index_once(64);
  }
  stop = true;
}

TEST(Parallel, RefusesFewerThanOneThread) {
  for (const int n : {0, -3, 1 << 20}) {
    std::string what;
    EXPECT_EQ(test::code_of([&] { set_num_threads(n); }, &what), Errc::invalid_argument);
    EXPECT_NE(what.find(std::to_string(n)), std::string::npos);
  }
}

void fork_and_loop() {
  expect_every_index_once(100);  // the pool exists before the fork
  const auto child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // no gtest in here: report by the exit status alone
    alarm(30);
    std::atomic<std::int64_t> sum = 0;
    for (int round = 0; round < 10; ++round) parallel_for(1000, [&](std::int64_t i) { sum += i; });
    _exit(sum == 10 * 499'500 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "the child hung or crashed: status " << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_every_index_once(100);
}

TEST(Parallel, AForkedChildHasThreadsOfItsOwn) {
  const Threads set(3);
  fork_and_loop();
  const ThreadsHere here(2);
  fork_and_loop();
}

std::atomic<int> polls = 0;

TEST(Parallel, AnInterruptPollStopsALongLoop) {
  const auto begin = std::chrono::steady_clock::now();
  for (const int threads : {1, 2}) {
    const Threads set(threads);
    polls = 0;
    set_interrupt_poll([] {
      if (++polls == 2) throw Error(Errc::interrupted, "stop");
    });
    const auto wait = [](std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    EXPECT_EQ(test::code_of([&] { parallel_for(60'000, wait); }), Errc::interrupted);
    set_interrupt_poll(nullptr);
    EXPECT_EQ(polls, 2);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  expect_every_index_once(10);
}

TEST(Parallel, PollsAreSeldom) {
  polls = 0;
  set_interrupt_poll([] { ++polls; });
  for (int i = 0; i < 100'000; ++i) poll_interrupt();
  set_interrupt_poll(nullptr);
  EXPECT_LT(polls, 1000);
}

}  // namespace
}  // namespace penstock
