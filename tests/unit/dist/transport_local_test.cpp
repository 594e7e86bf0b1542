// One-sided verbs among threads: nothing lost, nothing twice, and an end to every call.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "penstock/comm/arena.hpp"
#include "penstock/comm/measure_transport.hpp"
#include "penstock/comm/transport.hpp"
#include "penstock/core/error.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

constexpr int kClaims = 2000, kBlocks = 40, kNumbers = 9000;  // numbers: over two blocks of locks

/// f(transport) on each of n ranks. The Comm outlives the transport, as its caller's does.
template <class F>
std::vector<std::string> play_transport(int n, std::int64_t bytes, F&& f, double timeout = 60) {
  return play(
      n,
      [&](Comm& c) {
        const std::shared_ptr<Comm> borrowed(std::shared_ptr<void>(), &c);
        const auto t = make_transport("auto", borrowed, bytes);
        f(*t);
      },
      timeout);
}
template <class F>
void succeed_transport(int n, std::int64_t bytes, F&& f) {
  const auto errors = play_transport(n, bytes, std::forward<F>(f));
  for (std::size_t r = 0; r < errors.size(); ++r) EXPECT_EQ(errors[r], "") << "rank " << r << " of " << n;
}

/// Now and then a moment that differs between ranks.
class Delays {
 public:
  explicit Delays(int rank) : random_(static_cast<unsigned>(rank) + 1) {}
  void one() {
    const auto r = random_() % 64;
    if (r == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 100));
    else if (r < 8) std::this_thread::yield();
  }

 private:
  std::minstd_rand random_;
};

TEST(LocalTransport, ArenasBeginWithTheZerosAskedFor) {
  constexpr std::int64_t kBytes = 8 << 20;  // large enough to be taken over from one transport by the next
  for (const std::int64_t zeroed : {std::int64_t{-1}, std::int64_t{4096}, 2 * kBytes})
    for (const int n : {1, 2}) {
      const auto errors = play(n, [&](Comm& c) {
        const std::shared_ptr<Comm> comm(std::shared_ptr<void>(), &c);
        std::memset(make_transport("local", comm, kBytes)->arena(), 1, kBytes);
        c.barrier();
        const auto t = make_transport("local", comm, kBytes, zeroed);
        const auto end = zeroed == 4096 ? zeroed : kBytes;
        EXPECT_EQ(std::count(t->arena(), t->arena() + end, std::byte{0}), end);
        c.barrier();
      });
      for (const auto& e : errors) EXPECT_EQ(e, "");
    }
}

TEST(LocalTransport, EveryByteArrives) {
  for (const int n : kRanks)
    succeed_transport(n, 1001, [n](Transport& t) {
      EXPECT_EQ(t.name(), "local");
      EXPECT_EQ(t.arena_bytes(), 1008) << "whole words";
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.arena()) % 64, 0u);
      EXPECT_TRUE(std::all_of(t.arena(), t.arena() + 1008, [](std::byte b) { return b == std::byte{0}; }));
      t.barrier();
      const int me = t.rank(), next = (me + 1) % n, last = (me + n - 1) % n;
      const auto out = bytes_of(me, next, 400), mine = bytes_of(me, me, 500);
      std::memcpy(t.arena(), mine.data(), 500);
      t.wait(t.put(out.data(), {next, 507}, 400));  // at any byte
      t.barrier();
      EXPECT_EQ(Bytes(t.arena() + 507, t.arena() + 907), bytes_of(last, me, 400));
      for (int r = 0; r < n; ++r) {
        Bytes in(500);
        const auto ticket = t.get(in.data(), {r, 0}, 500);
        EXPECT_TRUE(t.test(ticket));
        t.wait(ticket);  // again
        EXPECT_EQ(in, bytes_of(r, r, 500));
      }
      t.wait(t.get(nullptr, {next, 1008}, 0));
      t.barrier();
    });
}

/// Each number of a counter goes to one rank, whoever asks and wherever the counter is.
TEST(LocalTransport, ClaimsAreMadeOnce) {
  for (const int n : kRanks) {
    std::vector<std::vector<std::int64_t>> claimed(static_cast<std::size_t>(n));
    succeed_transport(n, 64, [&](Transport& t) {
      Delays delays(t.rank());
      const RemotePtr counter{n - 1, 8};
      auto& mine = claimed[static_cast<std::size_t>(t.rank())];
      for (;;) {
        const auto k = t.fetch_add(counter, 1);
        if (k >= kClaims) break;
        mine.push_back(k);
        delays.one();
      }
      t.barrier();
      EXPECT_EQ(t.load(counter), kClaims + n);
    });
    std::vector<std::int64_t> all;
    for (const auto& mine : claimed) {
      EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
      all.insert(all.end(), mine.begin(), mine.end());
    }
    std::sort(all.begin(), all.end());
    std::vector<std::int64_t> wanted(kClaims);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(all, wanted) << n << " ranks";
  }
}

/// A lock of compare_swap guards memory that gets and puts touch: what one rank wrote the next one reads.
TEST(LocalTransport, CompareSwapGuardsWhatLiesBetween) {
  constexpr int kTurns = 200;
  for (const int n : kRanks)
    succeed_transport(n, 4096, [n](Transport& t) {
      Delays delays(t.rank());
      const RemotePtr lock{0, 0}, data{n / 2, 64};
      std::vector<std::int64_t> sums(100);
      const auto bytes = std::ssize(sums) * 8;
      for (int turn = 0; turn < kTurns; ++turn) {
        while (t.load(lock) != 0 || t.compare_swap(lock, 0, t.rank() + 1) != 0) std::this_thread::yield();
        t.wait(t.get(sums.data(), data, bytes));
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<std::int64_t>(i);
        t.wait(t.put(sums.data(), data, bytes));
        EXPECT_EQ(t.compare_swap(lock, 0, 9), t.rank() + 1) << "taken: nothing is written";
        EXPECT_EQ(t.compare_swap(lock, t.rank() + 1, 0), t.rank() + 1);
        delays.one();
      }
      t.barrier();
      t.wait(t.get(sums.data(), data, bytes));
      for (std::size_t i = 0; i < sums.size(); ++i)
        EXPECT_EQ(sums[i], static_cast<std::int64_t>(i) * kTurns * n) << i;
    });
}

template <class T>
void add_from_all(int n) {
  succeed_transport(n, 8 + kNumbers * sizeof(T), [n](Transport& t) {
    Delays delays(t.rank());
    std::vector<T> ones(kNumbers);
    for (int k = 0; k < kBlocks; ++k) {  // block k: numbers k * 100 and on, to every rank
      const int to = (t.rank() + k) % n;
      std::fill(ones.begin(), ones.end(), static_cast<T>(t.rank() + 1));
      t.accumulate({to, 8 + k * 100 * static_cast<std::int64_t>(sizeof(T))}, ones.data(), kNumbers - k * 100);
      delays.one();
    }
    t.barrier();
    const auto* sums = reinterpret_cast<const T*>(t.arena() + 8);
    for (int i = 0; i < kNumbers; ++i) {
      std::int64_t wanted = 0;
      for (int r = 0; r < n; ++r)
        for (int k = 0; k < kBlocks; ++k)
          if ((r + k) % n == t.rank() && i >= k * 100) wanted += r + 1;
      ASSERT_EQ(sums[i], static_cast<T>(wanted)) << i << " of rank " << t.rank() << " of " << n;
    }
    EXPECT_EQ(t.load({t.rank(), 0}), 0) << "what lies before stays";
    t.barrier();
  });
}

TEST(LocalTransport, NoSumIsLostOrDoubled) {
  for (const int n : kRanks) {
    add_from_all<double>(n);
    add_from_all<float>(n);
  }
}

/// Tiles that come and go: each rank puts what the next one asks for into its own arena, and says by store() where it
/// lies: who loads that sees the tile.
TEST(LocalTransport, ArenasServeTilesOfAllSizes) {
  constexpr int kTiles = 60;
  for (const int n : kRanks)
    succeed_transport(n, 1 << 16, [n](Transport& t) {
      std::minstd_rand random(static_cast<unsigned>(t.rank()));
      Arena arena(t);
      const auto words = arena.allocate(16);  // offset + 1 of the tile, and its size
      const int me = t.rank(), last = (me + n - 1) % n;
      for (int k = 0; k < kTiles; ++k) {
        const auto bytes = static_cast<std::int64_t>(random() % 20'000);
        const auto tile = arena.allocate(bytes);
        const auto content = bytes_of(me, k, bytes);
        t.wait(t.put(content.data(), {me, tile}, bytes));
        t.store({me, words + 8}, bytes);
        t.store({me, words}, tile + 1);
        std::int64_t there = 0;
        while ((there = t.load({last, words})) == 0) std::this_thread::yield();
        Bytes in(static_cast<std::size_t>(t.load({last, words + 8})));
        t.wait(t.get(in.data(), {last, there - 1}, std::ssize(in)));
        EXPECT_EQ(in, bytes_of(last, k, std::ssize(in)));
        t.barrier();
        t.store({me, words}, 0);
        arena.free(tile);
        t.barrier();
      }
      EXPECT_EQ(arena.used(), 64);
    });
}

TEST(LocalTransport, AnExhaustedArenaEndsAllRanksWithItsNumbers) {
  for (const int n : {1, 3, 8}) {
    const auto errors = play_transport(n, 4096, [n](Transport& t) {
      Arena arena(t);
      for (;;) {
        if (t.rank() == n - 1) arena.allocate(1000);
        t.barrier();
      }
    });
    const std::string what = "rank " + std::to_string(n - 1) +
                             ": no room for 1000 bytes in its arena of 4096: 4096 are taken and 0 are free";
    EXPECT_TRUE(has(errors.back(), what)) << errors.back();
    for (std::size_t r = 0; r + 1 < errors.size(); ++r)
      EXPECT_TRUE(has(errors[r], "failed: " + what)) << errors[r];
  }
}

/// A rank fails while others ask for its memory, in every verb: all end, and its memory stays for those within.
TEST(LocalTransport, AFailureEndsEveryVerb) {
  using Verb = void (*)(Transport&, RemotePtr);
  static constexpr double kOnes[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const Verb verbs[] = {
      [](Transport& t, RemotePtr p) {
        Bytes in(400);
        t.wait(t.get(in.data(), p, 400));
      },
      [](Transport& t, RemotePtr p) { t.fetch_add(p, 1); },
      [](Transport& t, RemotePtr p) { t.compare_swap(p, 0, 1); },
      [](Transport& t, RemotePtr p) { t.load(p); },
      [](Transport& t, RemotePtr p) { t.store(p, t.rank()); },
      [](Transport& t, RemotePtr p) { t.accumulate(p, kOnes, 8); },
      [](Transport& t, RemotePtr p) {
        t.put(kOnes, {p.rank, p.offset + 64 * t.rank()}, 64);
      },
      [](Transport& t, RemotePtr) { t.barrier(); },
  };
  for (const int n : {2, 4})
    for (std::size_t v = 0; v < std::size(verbs); ++v) {
      const auto errors = play_transport(n, 4096, [&](Transport& t) {
        for (int k = 0;; ++k) {
          if (t.rank() == n - 1 && k == 30) throw std::runtime_error("no such tile");
          verbs[v](t, {n - 1, 512});
        }
      });
      EXPECT_EQ(errors.back(), "no such tile");
      for (std::size_t r = 0; r + 1 < errors.size(); ++r)
        EXPECT_EQ(errors[r], "rank " + std::to_string(n - 1) + " failed: no such tile") << "verb " << v;
    }
}

TEST(LocalTransport, RanksMustAgreeOnTheirArenas) {
  for (const int n : {2, 3}) {
    const auto errors = play(n, [](Comm& c) {
      make_transport("local", std::shared_ptr<Comm>(std::shared_ptr<void>(), &c), 64 * (c.rank() + 1));
    });
    for (const auto& e : errors)
      EXPECT_TRUE(has(e, "arenas of 64 to " + std::to_string(64 * n) + " bytes: they must be equal")) << e;
  }
  const auto late = play(
      2,
      [](Comm& c) {
        const auto t = make_transport("auto", std::shared_ptr<Comm>(std::shared_ptr<void>(), &c), 64);
        if (c.rank() == 0) t->barrier();
        else std::this_thread::sleep_for(std::chrono::milliseconds(600));
      },
      0.2);
  EXPECT_TRUE(has(late[0], "waited 0.2 s in barrier for rank 1")) << late[0];
}

TEST(LocalTransport, CostsAreTheSameOnAllRanks) {
  for (const int n : {1, 2, 3}) {
    std::vector<std::vector<double>> found(static_cast<std::size_t>(n));
    succeed_transport(n, 1 << 22, [&](Transport& t) {
      const std::int64_t sizes[] = {8, 1 << 22};
      auto& mine = found[static_cast<std::size_t>(t.rank())];
      mine = get_times(t, 0, n - 1, sizes, 1e-3);
      mine.push_back(claim_time(t, n - 1, 0));
      mine.push_back(claim_time(t, 0, -1));
      const std::int64_t more[] = {(1 << 22) + 8};
      EXPECT_THROW(get_times(t, 0, n - 1, more, 1e-3), Error);
      EXPECT_THROW(claim_time(t, n, 0), Error);
      t.barrier();
      EXPECT_EQ(t.load({0, 0}), (n == 1 ? 2560 : 0) + 2560 * n) << "ten rounds of 256, by each rank at once";
    });
    for (const auto& times : found) EXPECT_EQ(times, found[0]);
    EXPECT_GT(*std::min_element(found[0].begin(), found[0].end()), 0);
    EXPECT_GT(found[0][1], found[0][0]) << "4 MB take longer than 8 bytes";
  }
}

TEST(LocalTransport, RefusesWhatLiesOutside) {
  succeed_transport(1, 128, [](Transport& t) {
    const auto refused = [](auto&& call, const std::string& why) {
      try {
        call();
        ADD_FAILURE() << "not refused: " << why;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Errc::invalid_argument);
        EXPECT_TRUE(has(e.what(), why)) << e.what();
      }
    };
    Bytes b(256);
    const double x = 1;
    constexpr auto kFar = std::numeric_limits<std::int64_t>::max();
    refused(
        [&] {
          t.get(b.data(), {0, 100}, 29);
        },
        "get: 29 bytes at 100 of rank 0 lie outside its arena of 128 bytes");
    refused([&] { t.put(b.data(), {1, 0}, 1); }, "put: there is no rank 1 among 1");
    refused([&] { t.put(b.data(), {-1, 0}, 1); }, "put: there is no rank -1 among 1");
    refused([&] { t.get(b.data(), {0, -8}, 8); }, "lie outside");
    refused([&] { t.get(b.data(), {0, 8}, -8); }, "lie outside");
    refused([&] { t.get(b.data(), {0, 8}, kFar); }, "lie outside");
    refused([&] { t.get(b.data(), {0, kFar}, 8); }, "lie outside");
    refused(
        [&] {
          t.fetch_add({0, 12}, 1);
        },
        "fetch_add: 8 bytes at 12 of rank 0 must start at a multiple of 8");
    refused([&] { t.load({0, 128}); }, "load: 8 bytes at 128");
    refused([&] { t.accumulate({0, 4}, &x, 1); }, "multiple of 8");
    refused([&] { t.accumulate({0, 0}, &x, kFar); }, "do not fit an arena of 128");
    refused([&] { t.accumulate({0, 0}, &x, -1); }, "do not fit an arena of 128");
    refused([&] { t.wait(1); }, "ticket 1 is none of this transport: it gave 1 to 0");
    const auto ticket = t.put(&x, {0, 0}, 8);
    refused([&] { t.test(ticket + 1); }, "ticket 2");
    refused([&] { t.wait(0); }, "ticket 0");
    const std::shared_ptr<Comm> comm(std::shared_ptr<void>(), &t.comm());
    refused([&] { make_transport("nvlink", comm, 8); }, "transport 'nvlink' is not one of auto, local");
    refused([&] { make_transport("local", comm, -8); }, "an arena of -8 bytes");
    refused([&] { make_transport("local", nullptr, 8); }, "needs a Comm");
    make_transport("local", comm, 0)->barrier();
  });
}

}  // namespace
}  // namespace penstock
