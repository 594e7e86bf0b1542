#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "penstock/comm/threads.hpp"
#include "penstock/core/error.hpp"
#include "ranks.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kSizes[] = {0, 1, 512, 513, 40'000};  // short and long, none

TEST(ThreadsComm, BroadcastAndGathers) {
  for (const int n : kRanks)
    succeed(n, [&](Comm& c) {
      ASSERT_EQ(c.size(), n);
      EXPECT_TRUE(c.one_process());
      for (const auto size : kSizes) {
        for (int root = 0; root < n; ++root) {
          auto data = c.rank() == root ? bytes_of(root, 0, size) : Bytes(static_cast<std::size_t>(size));
          c.broadcast(data.data(), size, root);
          EXPECT_EQ(data, bytes_of(root, 0, size));
        }
        const auto mine = bytes_of(c.rank(), 1, size);
        Bytes all(static_cast<std::size_t>(size * n));
        c.all_gather(mine.data(), size, all.data());
        Bytes wanted;
        for (int r = 0; r < n; ++r) {
          const auto part = bytes_of(r, 1, size);
          wanted.insert(wanted.end(), part.begin(), part.end());
        }
        EXPECT_EQ(all, wanted);
      }
      c.barrier();
    });
}

TEST(ThreadsComm, VariableSizes) {
  for (const int n : kRanks)
    succeed(n, [&](Comm& c) {
      for (const auto base : kSizes) {
        std::vector<std::int64_t> offsets{3};  // rank r gives r * base bytes, rank 0 none; a gap before
        Bytes wanted(3);
        for (int r = 0; r < n; ++r) {
          offsets.push_back(offsets.back() + r * base);
          const auto part = bytes_of(r, 2, r * base);
          wanted.insert(wanted.end(), part.begin(), part.end());
        }
        const auto mine = bytes_of(c.rank(), 2, c.rank() * base);
        Bytes all(wanted.size());
        c.all_gather_v(mine.data(), all.data(), offsets);
        EXPECT_EQ(all, wanted);
        const int root = n - 1;
        Bytes at_root(c.rank() == root ? wanted.size() : 0);
        c.gather_v(mine.data(), at_root.data(), offsets, root);
        if (c.rank() == root) {
          EXPECT_EQ(at_root, wanted);
        }
        Bytes back(mine.size());
        c.scatter_v(at_root.data(), offsets, back.data(), root);
        EXPECT_EQ(back, mine);

        Bytes sent, expected;
        std::vector<std::int64_t> to{0}, from{0};
        const auto size = [&](int a, int b) { return (a + 2 * b) % 3 * base; };
        for (int r = 0; r < n; ++r) {
          const auto out = bytes_of(c.rank(), r, size(c.rank(), r)),
                     in = bytes_of(r, c.rank(), size(r, c.rank()));
          sent.insert(sent.end(), out.begin(), out.end());
          expected.insert(expected.end(), in.begin(), in.end());
          to.push_back(static_cast<std::int64_t>(sent.size()));
          from.push_back(static_cast<std::int64_t>(expected.size()));
        }
        Bytes received(expected.size());
        c.all_to_all_v(sent.data(), to, received.data(), from);
        EXPECT_EQ(received, expected);
      }
    });
}

/// A value whose sums round: their bits tell the order.
double value(int rank, std::size_t i) {
  return 1.0 / (3.0 + static_cast<double>(rank) + static_cast<double>(i));
}
double sum_in_order(int n, std::size_t i) {
  double s = value(0, i);
  for (int r = 1; r < n; ++r) s += value(r, i);
  return s;
}

TEST(ThreadsComm, SumsHaveTheOrderOfRanks) {
  for (const int n : kRanks)
    succeed(n, [&](Comm& c) {
      for (const std::size_t count : {0, 1, 64, 65, 7001}) {
        std::vector<double> mine(count), wanted(count), x;
        for (std::size_t i = 0; i < count; ++i) mine[i] = value(c.rank(), i), wanted[i] = sum_in_order(n, i);
        x = mine;
        c.all_reduce(std::span<double>(x), Reduce::sum);
        EXPECT_EQ(x, wanted);
        const int root = n / 2;
        x = mine;
        c.reduce_sum(x, root);
        EXPECT_EQ(x, c.rank() == root ? wanted : mine);
        x = mine;
        c.start_sum(x);
        c.barrier();  // other calls may come between
        EXPECT_EQ(x, mine);
        c.finish_sum();
        EXPECT_EQ(x, wanted);

        std::vector<std::int64_t> low(count), high(count), sum(count);
        for (std::size_t i = 0; i < count; ++i)
          low[i] = high[i] = sum[i] = c.rank() * 10 - static_cast<std::int64_t>(i);
        c.all_reduce(std::span(low), Reduce::min);
        c.all_reduce(std::span(high), Reduce::max);
        c.all_reduce(std::span(sum), Reduce::sum);
        for (std::size_t i = 0; i < count; ++i) {
          const auto k = static_cast<std::int64_t>(i);
          EXPECT_EQ(low[i], -k);
          EXPECT_EQ(high[i], (n - 1) * 10 - k);
          EXPECT_EQ(sum[i], n * (n - 1) * 5 - n * k);
        }
      }
    });
}

TEST(ThreadsComm, ManyRoundsInARow) {
  for (const int n : kRanks)
    succeed(n, [&](Comm& c) {
      for (int k = 0; k < 300; ++k) {
        double started = c.rank() + k, x = c.rank() * k;
        c.start_sum({&started, 1});
        c.all_reduce({&x, 1}, Reduce::sum);
        EXPECT_EQ(x, n * (n - 1) / 2 * k);
        int word = c.rank() == k % n ? k : -1;
        c.broadcast(&word, sizeof word, k % n);
        EXPECT_EQ(word, k);
        c.finish_sum();
        EXPECT_EQ(started, n * (n - 1) / 2 + n * k);
      }
    });
}

TEST(ThreadsComm, MessagesArriveInOrder) {
  for (const int n : kRanks)
    succeed(n, [&](Comm& c) {
      constexpr std::int64_t sizes[] = {8, 100'000, 0, 4096, 4097, 16};
      std::vector<Bytes> out, in;
      std::vector<Request> requests;
      for (int r = 0; r < n; ++r)
        for (const auto size : sizes) {
          out.push_back(bytes_of(c.rank(), r, size));
          in.emplace_back(static_cast<std::size_t>(size));
        }
      // half of the ranks receive first, the others send first; tag 1 before tag 0 on one side only
      for (const bool sending : {c.rank() % 2 == 0, c.rank() % 2 != 0})
        for (int r = 0; r < n; ++r)
          for (const int tag : {sending ? 0 : 1, sending ? 1 : 0})
            for (std::size_t k = static_cast<std::size_t>(tag); k < std::size(sizes); k += 2) {
              const auto at = static_cast<std::size_t>(r) * std::size(sizes) + k;
              requests.push_back(sending ? c.send(out[at].data(), sizes[k], r, tag)
                                         : c.receive(in[at].data(), sizes[k], r, tag));
            }
      c.wait(requests);
      for (const auto request : requests) EXPECT_EQ(request, kNoRequest);
      for (int r = 0; r < n; ++r)
        for (std::size_t k = 0; k < std::size(sizes); ++k)
          EXPECT_EQ(in[static_cast<std::size_t>(r) * std::size(sizes) + k], bytes_of(r, c.rank(), sizes[k]));
    });
}

/// Rank a sends to b unless (a + b) % 3 == 0: some pairs and (with few ranks) whole ranks have nothing to say.
bool talks(int a, int b) { return (a + b) % 3 != 0; }
std::int64_t entries(int a, int b) { return a % 4 == 1 ? 0 : 1 + 700 * b + a; }

template <class Make>
void exchange_rounds(int n, Make&& make) {
  succeed(n, [&](Comm& c) {
    const int me = c.rank();
    std::vector<double> x(10'000);
    std::vector<std::vector<double>> in(static_cast<std::size_t>(n));
    std::vector<Message> receives;
    for (int r = 0; r < n; ++r)
      if (talks(r, me)) {
        in[static_cast<std::size_t>(r)].resize(static_cast<std::size_t>(entries(r, me)));
        auto& to = in[static_cast<std::size_t>(r)];
        receives.push_back({r, reinterpret_cast<std::byte*>(to.data()), entries(r, me) * 8});
      }
    const auto exchange = make(c, x, receives);
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = me * 1e6 + round * 1e4 + static_cast<double>(i);
      exchange->start();
      if (round % 5 == me % 5) std::this_thread::sleep_for(std::chrono::microseconds(200));
      exchange->finish();
      for (int r = 0; r < n; ++r)
        for (std::size_t i = 0; i < in[static_cast<std::size_t>(r)].size(); ++i)
          ASSERT_EQ(in[static_cast<std::size_t>(r)][i],
                    r * 1e6 + round * 1e4 + static_cast<double>((i * 3) % x.size()))
              << "round " << round << ", from " << r << " to " << me << ", entry " << i;
    }
  });
}

/// An exchange that packs entries 0, 3, 6, ... itself.
class Packed final : public Exchange {
 public:
  Packed(Comm& c, Way way, const std::vector<double>& x, std::vector<Message> receives) : x_(x) {
    std::vector<Message> sends;
    for (int r = 0; r < c.size(); ++r) {
      if (!talks(c.rank(), r)) continue;
      out_.emplace_back(static_cast<std::size_t>(entries(c.rank(), r)));
      sends.push_back({r, reinterpret_cast<std::byte*>(out_.back().data()), entries(c.rank(), r) * 8});
    }
    inner_ = (c.*way)(std::move(sends), std::move(receives));
  }
  void start() override {
    for (auto& out : out_)
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = x_[(i * 3) % x_.size()];
    inner_->start();
  }
  void finish() override { inner_->finish(); }
  void rebase(const std::byte*) override {}

 private:
  const std::vector<double>& x_;
  std::vector<std::vector<double>> out_;
  std::unique_ptr<Exchange> inner_;
};

TEST(ThreadsComm, ExchangesOfPackedBuffers) {
  for (const int n : kRanks)
    for (const Way way : {&Comm::persistent, &Comm::neighborhood, &Comm::put})
      exchange_rounds(n, [&](Comm& c, const std::vector<double>& x, std::vector<Message> receives) {
        return std::make_unique<Packed>(c, way, x, std::move(receives));
      });
}

TEST(ThreadsComm, ExchangesOfScatteredEntries) {
  std::vector<std::int32_t> indices(10'000);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int32_t>((i * 3) % 10'000);
  for (const int n : kRanks)
    exchange_rounds(n, [&](Comm& c, const std::vector<double>& x, std::vector<Message> receives) {
      std::vector<IndexedMessage> sends;
      for (int r = 0; r < n; ++r)
        if (talks(c.rank(), r)) sends.push_back({r, indices.data(), entries(c.rank(), r)});
      return c.indexed(reinterpret_cast<const std::byte*>(x.data()), 8, sends, std::move(receives));
    });
}

TEST(ThreadsComm, ExchangesOutOfWhatMoves) {
  for (const int n : {2, 3})
    for (const Way way : {&Comm::persistent, &Comm::neighborhood, &Comm::put})
      succeed(n, [&](Comm& c) {
        const int to = (c.rank() + 1) % n, from = (c.rank() + n - 1) % n;
        Bytes in(100), fixed(to == from ? 0 : 40, std::byte{7}), other(fixed.size());
        std::vector<Message> sends{{to, nullptr, 100, 20}}, receives{{from, in.data(), 100}};
        if (n > 2) sends.push_back({from, fixed.data(), 40}), receives.push_back({to, other.data(), 40});
        const auto exchange = (c.*way)(std::move(sends), std::move(receives));
        for (int round = 0; round < 4; ++round) {
          const auto base = bytes_of(c.rank(), round, 120);
          exchange->rebase(base.data());
          exchange->start();
          exchange->finish();
          const auto theirs = bytes_of(from, round, 120);
          EXPECT_TRUE(std::equal(in.begin(), in.end(), theirs.begin() + 20)) << "round " << round;
          EXPECT_EQ(other, fixed);
        }
      });
}

TEST(ThreadsComm, IndexedEntriesOfAnySize) {
  for (const std::int64_t size : {1, 4, 8, 12})
    succeed(2, [&](Comm& c) {
      const auto base = bytes_of(c.rank(), 0, size * 50);
      const std::vector<std::int32_t> indices{49, 0, 7, 7};
      Bytes in(static_cast<std::size_t>(size * 4));
      const int other = 1 - c.rank();
      const auto e =
          c.indexed(base.data(), size, {{other, indices.data(), 4}}, {{other, in.data(), size * 4}});
      e->start();
      e->finish();
      for (std::size_t i = 0; i < 4; ++i)
        for (std::int64_t k = 0; k < size; ++k)
          EXPECT_EQ(in[i * static_cast<std::size_t>(size) + static_cast<std::size_t>(k)],
                    byte_of(other, 0, indices[i] * size + k));
    });
}

TEST(ThreadsComm, Share) {
  for (const int n : kRanks)
    succeed(n, [&](Comm& c) {
      const auto all = c.share(c.rank() == 2 ? nullptr : std::make_shared<int>(c.rank()));
      ASSERT_EQ(std::ssize(all), n);
      for (int r = 0; r < n; ++r)
        if (const auto object = std::static_pointer_cast<int>(all[static_cast<std::size_t>(r)]))
          EXPECT_EQ(*object, r);
        else EXPECT_EQ(r, 2);
    });
}

TEST(ThreadsComm, Split) {
  for (const int n : kRanks)
    succeed(n, [&](Comm& c) {
      const auto half = c.split(c.rank() % 2, -c.rank());  // descending
      EXPECT_EQ(half->size(), (n + 1 - c.rank() % 2) / 2);
      std::vector<int> ranks(static_cast<std::size_t>(half->size()));
      const int mine = c.rank();
      half->all_gather(&mine, sizeof mine, ranks.data());
      EXPECT_TRUE(std::is_sorted(ranks.rbegin(), ranks.rend()));
      for (const int r : ranks) EXPECT_EQ(r % 2, c.rank() % 2);
      EXPECT_EQ(ranks[static_cast<std::size_t>(half->rank())], c.rank());
      const auto alone = half->split(half->rank(), 0);
      EXPECT_EQ(alone->size(), 1);
      double x = 2;
      alone->all_reduce({&x, 1}, Reduce::sum);
      EXPECT_EQ(x, 2);
      c.barrier();
    });
}

}  // namespace
}  // namespace penstock
