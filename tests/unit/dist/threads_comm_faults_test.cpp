// Ranks that fail, end, are late or disagree.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "penstock/comm/reason.hpp"
#include "penstock/comm/threads.hpp"
#include "penstock/core/error.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

using Verb = void (*)(Comm&);

void messages(Comm& c) {
  static const Bytes out(100'000);
  Bytes in(100'000);
  const int next = (c.rank() + 1) % c.size(), last = (c.rank() + c.size() - 1) % c.size();
  Request both[] = {c.receive(in.data(), 100'000, last, 0), c.send(out.data(), 100'000, next, 0)};
  c.wait(both);
}
void ring(Comm& c, Way way) {
  Bytes in(100'000), out(100'000);
  const int next = (c.rank() + 1) % c.size(), last = (c.rank() + c.size() - 1) % c.size();
  const auto e = (c.*way)({{next, out.data(), 100'000}}, {{last, in.data(), 100'000}});
  for (int i = 0; i < 3; ++i) e->start(), e->finish();
}

const Verb kVerbs[] = {
    [](Comm& c) { c.barrier(); },
    [](Comm& c) {
      Bytes data(100'000);
      c.broadcast(data.data(), 100'000, 0);
    },
    [](Comm& c) {
      Bytes mine(100'000), all(100'000 * static_cast<std::size_t>(c.size()));
      c.all_gather(mine.data(), 100'000, all.data());
    },
    [](Comm& c) {
      std::vector<double> x(20'000, 1.0);
      c.all_reduce(x, Reduce::sum);
    },
    [](Comm& c) {
      std::vector<double> x(20'000, 1.0);
      c.start_sum(x);
      c.finish_sum();
    },
    [](Comm& c) { messages(c); },
    [](Comm& c) { ring(c, &Comm::persistent); },
    [](Comm& c) { ring(c, &Comm::neighborhood); },
    [](Comm& c) { ring(c, &Comm::put); },
    [](Comm& c) { c.split(0, 0); },
    [](Comm& c) { c.share(std::make_shared<int>(c.rank())); },
};

/// A rank fails in the middle of others' calls: all end, with its reason, and nobody's memory is touched afterwards (which
/// AddressSanitizer and ThreadSanitizer see).
TEST(ThreadsComm, AReasonIsWhatWasRaisedWithoutItsFrames) {
  const auto reason = [](const char* what) { return reason_of(std::runtime_error(what)); };
  const std::string frames = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n";
  EXPECT_EQ(reason("no luck\nat all"), "no luck\nat all");
  EXPECT_EQ(reason((frames + "ValueError: no luck").c_str()), "ValueError: no luck");
  EXPECT_EQ(reason((frames + "KeyError: 'a\nb'\n").c_str()), "KeyError: 'a\nb'");
  EXPECT_EQ(reason("Traceback (most recent call last):"), "Traceback (most recent call last):");
}

TEST(ThreadsComm, AFailureEndsEveryCall) {
  for (const int n : {2, 3, 8})
    for (std::size_t v = 0; v < std::size(kVerbs); ++v) {
      const auto errors = play(n, [&](Comm& c) {
        for (int k = 0;; ++k) {
          if (c.rank() == n - 1 && k == 20) throw std::runtime_error("no such file");
          kVerbs[v](c);
        }
      });
      EXPECT_EQ(errors.back(), "no such file");
      for (std::size_t r = 0; r + 1 < errors.size(); ++r)
        EXPECT_EQ(errors[r], "rank " + std::to_string(n - 1) + " failed: no such file") << "verb " << v;
    }
}

/// Some ranks have seen all objects and go on, some still wait for those when one fails: all let go.
TEST(ThreadsComm, NoSharedObjectIsLeftBehind) {
  for (int round = 0; round < 200; ++round) {
    const auto seen = std::make_shared<int>(0);
    play(8, [&](Comm& c) {
      for (const auto& object : c.share(std::make_shared<std::shared_ptr<int>>(seen)))
        EXPECT_EQ(*std::static_pointer_cast<std::shared_ptr<int>>(object), seen);
      if (c.rank() == round % 8) throw std::runtime_error("no such file");
      c.share(std::make_shared<std::shared_ptr<int>>(seen));
    });
    ASSERT_EQ(seen.use_count(), 1) << round;
  }
}

TEST(ThreadsComm, AFailureReachesSplitRanks) {
  const auto errors = play(4, [](Comm& c) {
    const auto half = c.split(c.rank() / 2, 0);
    if (c.rank() == 3) half->fail("out of memory");
    else half->barrier(), c.barrier();
  });
  for (const int r : {0, 1, 2})
    EXPECT_EQ(errors[static_cast<std::size_t>(r)], "rank 3 failed: out of memory");
}

TEST(ThreadsComm, NoCallWaitsForEver) {
  for (std::size_t v = 0; v < std::size(kVerbs); ++v) {
    const auto began = std::chrono::steady_clock::now();
    std::atomic<int> failed = 0;
    const auto errors = play(
        3,
        [&](Comm& c) {
          if (c.rank() == 1) {
            while (failed != 2) std::this_thread::yield();  // is there, but does not come
            return;
          }
          try {
            kVerbs[v](c);
          } catch (...) {
            ++failed;
            throw;
          }
        },
        0.1);
    EXPECT_EQ(errors[1], "");
    for (const int r : {0, 2}) {
      const auto& e = errors[static_cast<std::size_t>(r)];
      EXPECT_TRUE(has(e, "waited 0.1 s in ") && has(e, "PENSTOCK_COMM_TIMEOUT")) << v << ": " << e;
    }
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), 10);
  }
}

TEST(ThreadsComm, RanksThatEndAreNotWaitedFor) {
  for (std::size_t v = 0; v < std::size(kVerbs); ++v) {
    const auto errors = play(3, [&](Comm& c) {
      if (c.rank() != 1) kVerbs[v](c);
    });
    EXPECT_TRUE(has(errors[0], "for rank 1, which has ended") || has(errors[0], "rank 2 failed"))
        << errors[0];
    EXPECT_TRUE(has(errors[2], "for rank 1, which has ended") || has(errors[2], "rank 0 failed"))
        << errors[2];
  }
}

TEST(ThreadsComm, AShortMessageOutlivesItsSender) {
  succeed(2, [](Comm& c) {
    int word = c.rank();
    if (c.rank() == 0) {
      c.send(&word, sizeof word, 1, 5);
      return;  // ends before the other receives
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Request r[] = {c.receive(&word, sizeof word, 0, 5)};
    c.wait(r);
    EXPECT_EQ(word, 0);
  });
}

TEST(ThreadsComm, SplitRanksOutliveTheFirst) {
  auto comms = threads(2, {60});
  std::vector<std::thread> players;
  for (int r = 0; r < 2; ++r)
    players.emplace_back([&, r] {
      auto& mine = comms[static_cast<std::size_t>(r)];
      const auto same = mine->split(0, 0);
      const auto e = same->persistent({}, {});
      mine.reset();
      if (r == 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(120));  // the other looks who has left
      EXPECT_NO_THROW(same->barrier());
    });
  for (auto& p : players) p.join();
}

TEST(ThreadsComm, MessagesNobodyWaitsForAreTakenBack) {
  auto comms = threads(2, {60});
  {
    const Bytes out(9'000);
    Bytes in(9'000);
    comms[0]->send(out.data(), 9'000, 1, 0);
    comms[1]->receive(in.data(), 9'000, 0, 1);
    comms[0].reset();  // before its memory goes
  }
  Bytes in(9'000);
  Request r[] = {comms[1]->receive(in.data(), 9'000, 0, 0)};
  EXPECT_THROW(comms[1]->wait(r), Error);  // the other has ended
}

TEST(ThreadsComm, AnExchangeLeftInTheMiddleFailsAll) {
  const auto errors = play(2, [](Comm& c) {
    Bytes in(9'000), out(9'000);
    const int other = 1 - c.rank();
    const auto e = c.put({{other, out.data(), 9'000}}, {{other, in.data(), 9'000}});
    c.barrier();
    if (c.rank() == 1) {
      e->start();
      throw std::runtime_error("tired");
    }
    e->start();
    e->finish();
    e->start();
    e->finish();
  });
  EXPECT_EQ(errors[1], "tired");
  EXPECT_EQ(errors[0], "rank 1 failed: it left an exchange before the end");
}

TEST(ThreadsComm, DisagreementIsToldToAll) {
  auto errors = play(3, [](Comm& c) {
    int word = 0;
    if (c.rank() == 2) c.barrier();
    else c.broadcast(&word, sizeof word, 0);
  });
  for (const auto& e : errors)
    EXPECT_TRUE(has(e, "rank 0 calls broadcast (root 0, bytes 4), rank 2 calls barrier")) << e;
  errors = play(2, [](Comm& c) {
    double x = 0;
    std::int64_t k = 0;
    if (c.rank() == 0) c.all_reduce({&x, 1}, Reduce::sum);
    else c.all_reduce({&k, 1}, Reduce::sum);
  });
  for (const auto& e : errors)
    EXPECT_TRUE(has(e, "all_reduce: ranks disagree on dtype: rank 0 gives float64, rank 1 gives int64")) << e;
  errors = play(3, [](Comm& c) {  // of one topic, and none the worse for it
    double x = 1;
    try {
      const About about(c, "search\nsource\t" + std::to_string(c.rank() / 2));
      c.barrier();
    } catch (const Error&) {
      c.all_reduce({&x, 1}, Reduce::sum);
      EXPECT_EQ(x, 3);
      throw;
    }
  });
  for (const auto& e : errors)
    EXPECT_TRUE(has(e, "search: ranks disagree on source: rank 0 gives 0, rank 2 gives 1")) << e;
  errors = play(2, [](Comm& c) {
    std::vector<double> x(static_cast<std::size_t>(c.rank()) + 1);
    c.start_sum(x);
    c.finish_sum();
  });
  for (const auto& e : errors) EXPECT_TRUE(has(e, "rank 0 sums 1 values, rank 1 2")) << e;
  errors = play(2, [](Comm& c) {
    Bytes b(9);
    const int other = 1 - c.rank();
    c.persistent({{other, b.data(), 8}}, {{other, b.data(), c.rank() == 0 ? 8 : 9}});
  });
  EXPECT_TRUE(has(errors[0], "rank 1 failed: persistent: rank 1 expects 9 bytes from rank 0, which sends 8"))
      << errors[0];
  EXPECT_TRUE(has(errors[1], "rank 1 expects 9 bytes from rank 0, which sends 8")) << errors[1];
  errors = play(2, [](Comm& c) {
    Bytes b(9);
    if (c.rank() == 0) c.put({{1, b.data(), 8}}, {});
    else c.put({}, {});
  });
  EXPECT_TRUE(has(errors[1], "rank 0 sends 8 bytes to rank 1, which expects nothing")) << errors[1];
  errors = play(2, [](Comm& c) {
    Bytes b(9'000);
    Request r[] = {c.rank() == 0 ? c.send(b.data(), 9'000, 1, 0) : c.receive(b.data(), 8'000, 0, 0)};
    c.wait(r);
  });
  for (const auto& e : errors)
    EXPECT_TRUE(has(e, "rank 0 sends 9000 bytes with tag 0 to rank 1, which expects 8000")) << e;
  errors = play(2, [](Comm& c) {
    const std::vector<std::int64_t> offsets{0, c.rank() == 0 ? 4 : 6, 8};
    Bytes mine(8), all(8);
    c.all_gather_v(mine.data(), all.data(), offsets);
  });
  for (const auto& e : errors) EXPECT_TRUE(has(e, "rank 0 and rank 1 both call all_gather_v (bytes 8)")) << e;
}

template <class F>
std::string thrown(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return (e.code() == Errc::invalid_argument ? "" : "another kind: ") + std::string(e.what());
  }
  return "nothing";
}

TEST(ThreadsComm, WrongArguments) {
  EXPECT_TRUE(has(thrown([] { threads(0); }), "0 ranks"));
  EXPECT_TRUE(has(thrown([] { threads(2, {-1}); }), "negative"));
  const auto comms = threads(1);
  auto& c = *comms[0];
  int word = 0;
  Bytes b(8);
  const std::vector<std::int64_t> few{0};
  EXPECT_EQ(thrown([&] { c.broadcast(&word, 4, 1); }), "broadcast: there is no rank 1 among 1 (0 to 0)");
  EXPECT_TRUE(has(thrown([&] { c.send(&word, 4, -1, 0); }), "no rank -1"));
  EXPECT_TRUE(has(thrown([&] { c.send(&word, 4, 0, 40'000); }), "tag 40000"));
  EXPECT_TRUE(has(thrown([&] { c.all_gather_v(&word, &word, few); }), "offsets must be 2"));
  EXPECT_TRUE(has(thrown([&] { c.split(-1, 0); }), "negative"));
  EXPECT_TRUE(has(thrown([&] { c.finish_sum(); }), "no sum"));
  EXPECT_TRUE(has(thrown([&] {
                    c.put({{0, b.data(), 4}, {0, b.data(), 4}}, {});
                  }),
                  "two messages to rank 0"));
  EXPECT_TRUE(has(thrown([&] { c.broadcast(&word, -4, 0); }), "-4 bytes"));
  EXPECT_TRUE(has(thrown([&] { c.indexed(b.data(), 0, {}, {}); }), "an entry of 0 bytes"));
  EXPECT_TRUE(has(thrown([&] {
                    c.indexed(b.data(), 4, {{0, nullptr, 2}}, {});
                  }),
                  "2 entries without indices"));
  Request stale[] = {77};
  EXPECT_TRUE(has(thrown([&] { c.wait(stale); }), "request 77"));
  const auto e = c.persistent({}, {});
  EXPECT_TRUE(has(thrown([&] { e->finish(); }), "not been started"));
  e->start();
  EXPECT_TRUE(has(thrown([&] { e->start(); }), "has been started"));
  e->finish();
  double x = 1;
  c.start_sum({&x, 1});
  EXPECT_TRUE(has(thrown([&] { c.start_sum({&x, 1}); }), "a sum is under way"));
  c.finish_sum();
  EXPECT_EQ(c.timeout(), default_timeout());
}

}  // namespace
}  // namespace penstock
