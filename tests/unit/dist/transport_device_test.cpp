// Transports of GPUs with the CPU in the place of GPUs: the same verbs, words beside the arena.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/comm/measure_transport.hpp"
#include "penstock/core/error.hpp"
#include "penstock/dist/link/transport_gpu.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

constexpr int kFew[] = {1, 2, 3, 4};

std::shared_ptr<Comm> borrowed(Comm& c) { return {std::shared_ptr<void>(), &c}; }

/// f(transport) on each of n ranks.
template <class F>
void succeed_device(int n, std::int64_t bytes, F&& f) {
  succeed(n, [&](Comm& c) {
    const auto t = make_device_transport("auto", borrowed(c), bytes, {});
    f(*t);
  });
}

template <class F>
void refused(F&& f, const std::string& part, Errc code = Errc::invalid_argument) {
  try {
    f();
    ADD_FAILURE() << "nothing was refused: " << part;
  } catch (const Error& e) {
    EXPECT_TRUE(has(e.what(), part)) << e.what();
    EXPECT_EQ(e.code(), code) << e.what();
  }
}

TEST(DeviceTransport, EveryByteArrives) {
  for (const int n : kFew)
    succeed_device(n, 200'001, [n](Transport& t) {
      EXPECT_EQ(t.name(), "peer");
      EXPECT_FALSE(t.where().is_gpu());
      EXPECT_EQ(t.size(), n);
      EXPECT_EQ(t.arena_bytes(), 200'008) << "whole words";
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.arena()) % 64, 0u);
      EXPECT_TRUE(std::all_of(t.arena(), t.arena() + 200'008, [](std::byte b) { return b == std::byte{0}; }));
      t.barrier();
      const int me = t.rank(), next = (me + 1) % n, last = (me + n - 1) % n;
      for (const std::int64_t size : {1, 400, 90'000}) {  // copies of both streams
        const auto out = bytes_of(me, next, size), mine = bytes_of(me, me, size);
        std::memcpy(t.arena() + 3, mine.data(), mine.size());
        t.wait(t.put(out.data(), {next, 100'007}, size));  // at any byte
        t.barrier();
        EXPECT_EQ(Bytes(t.arena() + 100'007, t.arena() + 100'007 + size), bytes_of(last, me, size));
        for (int r = 0; r < n; ++r) {
          Bytes in(static_cast<std::size_t>(size));
          const auto ticket = t.get(in.data(), {r, 3}, size);
          EXPECT_TRUE(t.test(ticket));
          t.wait(ticket);  // again
          EXPECT_EQ(in, bytes_of(r, r, size));
        }
        t.barrier();
      }
      t.wait(t.get(nullptr, {next, 200'008}, 0));
      t.wait(t.put(t.arena() + 3, {next, 150'000}, 400));  // arena to arena
      t.barrier();
      EXPECT_EQ(Bytes(t.arena() + 150'000, t.arena() + 150'400), bytes_of(last, last, 400));
      t.barrier();
    });
}

TEST(DeviceTransport, OnlyWhatIsAskedForBeginsAsZeros) {
  succeed(2, [](Comm& c) {
    constexpr std::int64_t kBytes = 8 << 20;  // kept and used again
    for (int turn = 0; turn < 3; ++turn) {
      const auto t = make_device_transport("peer", borrowed(c), kBytes, {}, 4096);
      EXPECT_TRUE(std::all_of(t->arena(), t->arena() + 4096, [](std::byte b) { return b == std::byte{0}; }));
      EXPECT_EQ(t->load({1 - c.rank(), 4088}), 0);
      t->barrier();
      std::memset(t->arena(), 1, kBytes);
      t->store({1 - c.rank(), 8}, 5);
      t->barrier();
      t->clear(1024);
      t->barrier();
      EXPECT_EQ(t->load({1 - c.rank(), 8}), 0);
      EXPECT_EQ(t->arena()[1023], std::byte{0});
      EXPECT_EQ(t->arena()[1024], std::byte{1});
      t->barrier();
    }
  });
}

TEST(DeviceTransport, WordsAreBesideTheArena) {
  constexpr int kClaims = 500;
  for (const int n : kFew) {
    std::vector<std::atomic<int>> claimed(static_cast<std::size_t>(kClaims));
    succeed_device(n, kWordBytes + 64, [&](Transport& t) {
      while (true) {
        const auto k = t.fetch_add({n - 1, 16}, 1);
        if (k >= kClaims) break;
        ++claimed[static_cast<std::size_t>(k)];
      }
      t.barrier();
      EXPECT_EQ(t.load({n - 1, 16}), kClaims + n);
      EXPECT_EQ(t.compare_swap({t.rank(), 24}, 0, 7), 0);
      EXPECT_EQ(t.compare_swap({t.rank(), 24}, 0, 9), 7);
      t.store({t.rank(), kWordBytes - 8}, -5);
      t.barrier();
      EXPECT_EQ(t.load({(t.rank() + 1) % n, kWordBytes - 8}), -5);
      EXPECT_EQ(t.load({(t.rank() + 1) % n, 24}), 7);
      EXPECT_TRUE(std::all_of(t.arena(), t.arena() + 64, [](std::byte b) { return b == std::byte{0}; }))
          << "words are no bytes of the arena";
      refused([&] { t.load({0, kWordBytes}); }, "words of a GPU's transport lie in the first 2097152 bytes");
      t.barrier();
    });
    for (const auto& c : claimed) EXPECT_EQ(c, 1);
  }
}

TEST(DeviceTransport, BytesPutBeforeAStoreAreSeenAfterItsLoad) {
  for (const int n : {2, 3})
    succeed_device(n, 4096, [n](Transport& t) {
      const int me = t.rank(), next = (me + 1) % n, last = (me + n - 1) % n;
      for (std::int64_t turn = 1; turn <= 200; ++turn) {
        const std::vector<std::int64_t> out(100, me + turn);
        t.wait(t.put(out.data(), {next, 1024}, 800));
        t.store({next, 8}, turn);
        while (t.load({me, 8}) != turn) std::this_thread::yield();
        std::vector<std::int64_t> in(100);
        std::memcpy(in.data(), t.arena() + 1024, 800);
        EXPECT_EQ(in, std::vector<std::int64_t>(100, last + turn));
        t.barrier();
      }
    });
}

template <class T>
void accumulate_from_all(Transport& t) {
  constexpr std::int64_t kNumbers = 3000;
  const int n = t.size();
  std::vector<T> mine(kNumbers);
  std::iota(mine.begin(), mine.end(), T(t.rank()));
  for (int r = 0; r < n; ++r)
    for (int k = 0; k < 20; ++k) t.accumulate({r, 64}, mine.data(), kNumbers);
  t.accumulate({0, 64}, mine.data(), 0);
  t.barrier();
  const auto* sums = reinterpret_cast<const T*>(t.arena() + 64);
  for (std::int64_t i = 0; i < kNumbers; ++i) ASSERT_EQ(sums[i], T(20 * (n * i + n * (n - 1) / 2))) << i;
  t.barrier();
  std::memset(t.arena(), 0, static_cast<std::size_t>(t.arena_bytes()));
  t.barrier();
}

TEST(DeviceTransport, NoSumIsLost) {
  for (const int n : kFew)
    succeed_device(n, 64 + 3000 * 8, [](Transport& t) {
      accumulate_from_all<double>(t);
      accumulate_from_all<float>(t);
    });
}

TEST(DeviceTransport, WrongCallsAreNamed) {
  succeed_device(2, 64, [](Transport& t) {
    std::byte some[128];
    const double numbers[9] = {};
    refused([&] { t.get(some, {0, 0}, 72); }, "get: 72 bytes at 0 of rank 0 lie outside its arena of 64");
    refused([&] { t.put(some, {2, 0}, 8); }, "put: there is no rank 2 among 2");
    refused([&] { t.get(some, {0, 8}, -1); }, "lie outside");
    refused([&] { t.fetch_add({1, 4}, 1); }, "must start at a multiple of 8");
    refused([&] { t.load({1, 64}); }, "lie outside");
    refused([&] { t.accumulate({0, 0}, numbers, 9); }, "9 numbers of 8 bytes do not fit");
    refused([&] { t.accumulate({0, 4}, numbers, 1); }, "must start at a multiple of 8");
    refused([&] { t.wait(1); }, "ticket 1 is none of this transport");
    t.barrier();
  });
}

TEST(DeviceTransport, WhatCannotBeMadeSaysSo) {
  succeed(2, [](Comm& c) {
    const auto comm = borrowed(c);
    refused([&] { make_device_transport("local", comm, 64, {}); },
            "'local' is not one of auto, peer, nvshmem");
    refused([&] { make_device_transport("peer", comm, -8, {}); }, "an arena of -8 bytes");
    refused([&] { make_device_transport("peer", nullptr, 8, {}); }, "needs a Comm");
    refused([&] { make_device_transport("peer", comm, 64 * (c.rank() + 1), {}); }, "64 to 128 bytes");
    refused([&] { make_device_transport("peer", comm, 64, Where{c.rank() - 1}); }, "some on the CPU");
    refused([&] { make_device_transport("nvshmem", comm, 64, {}); },
            "transport=\"nvshmem\": rank 0: ", Errc::not_accessible);
    make_device_transport("peer", comm, 0, {})->barrier();
  });
}

TEST(DeviceTransport, GpusThatAreNotThereAreNamed) {
  succeed(2, [](Comm& c) {
    const Where none{63};
    try {
      make_device_transport("auto", borrowed(c), 64, none);
      ADD_FAILURE() << "GPU 63 was found";
    } catch (const Error& e) {
      EXPECT_TRUE(has(e.what(), "transport=\"peer\": rank 0: ")) << e.what();
      EXPECT_NE(e.code(), Errc::invalid_argument);
    }
    make_device_transport("auto", borrowed(c), 64, {})->barrier();  // and all goes on
  });
}

TEST(DeviceTransport, ARankThatFailsEndsTheOthers) {
  const auto errors = play(3, [](Comm& c) {
    const auto t = make_device_transport("peer", borrowed(c), 1024, {});
    if (c.rank() == 1) throw std::runtime_error("mine");
    std::byte some[64];
    while (true) t->wait(t->get(some, {1, 0}, 64));
  });
  EXPECT_EQ(errors[1], "mine");
  for (const int r : {0, 2}) EXPECT_TRUE(has(errors[static_cast<std::size_t>(r)], "mine")) << errors[0];
}

TEST(DeviceTransport, ArenasOutliveARankThatHasGone) {
  succeed(2, [](Comm& c) {
    auto t = make_device_transport("peer", borrowed(c), 64, {});
    if (c.rank() == 1) t.reset();
    c.barrier();
    if (!t) return;
    const double one = 1;
    t->wait(t->put(&one, {1, 8}, 8));
    double back = 0;
    t->wait(t->get(&back, {1, 8}, 8));
    EXPECT_EQ(back, 1);
  });
}

TEST(DeviceTransport, IsMeasuredAsTheOthersAre) {
  const std::vector<std::int64_t> sizes{8, 4096};
  succeed_device(2, 4096, [&](Transport& t) {
    const auto times = get_times(t, 0, 1, sizes, 1e-3);
    EXPECT_GT(times[0], 0);
    EXPECT_GT(times[1], 0);
    EXPECT_GT(get_times(t, 0, 1, sizes, 1e-3, 3)[1], 0);
    refused([&] { get_times(t, 0, 1, sizes, 1e-3, 0); }, "0 gets at once");
    EXPECT_GT(claim_time(t, 1, 0), 0);
  });
}

}  // namespace
}  // namespace penstock
