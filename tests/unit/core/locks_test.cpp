// Locks in a child that was forked while another thread held them.
#include "penstock/core/locks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "penstock/core/check_once.hpp"
#include "penstock/kernel/spmv/spmv_plan.hpp"
#include "support.hpp"

namespace penstock {
namespace {

/// A thread that stops in the middle of what it does, until it may end.
class Stopped {
 public:
  void here() {
    reached_ = true;
    while (!may_end_) std::this_thread::yield();
  }
  template <class F>
  void start(F&& work) {
    thread_ = std::thread(std::forward<F>(work));
    while (!reached_) std::this_thread::yield();
  }
  void end() {
    may_end_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> reached_ = false, may_end_ = false;
  std::thread thread_;
};

/// Whether `work`, in a forked child, returns true; a child that waits for ever is ended by its alarm.
template <class F>
bool in_child(F&& work) {
  const auto child = fork();
  if (child == 0) {  // no gtest in here: report by the exit status alone
    alarm(20);
    _exit(work() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ForkLock, AChildTakesOverWhatItsParentHolds) {
  ForkLock lock;
  Stopped holder;
  holder.start([&] {
    const auto held = lock.lock();
    holder.here();
  });
  EXPECT_TRUE(in_child([&] {
    const bool first = lock.lock().orphaned(), second = lock.lock().orphaned();
    return first && !second && in_child([&] { return !lock.lock().orphaned(); });
  }));
  holder.end();
  EXPECT_FALSE(lock.lock().orphaned());
}

TEST(ForkLock, AGrandchildTakesItOver) {
  ForkLock lock;
  Stopped holder;
  holder.start([&] {
    const auto held = lock.lock();
    holder.here();
  });
  EXPECT_TRUE(in_child([&] { return in_child([&] { return lock.lock().orphaned(); }); }));
  holder.end();
}

TEST(ForkLock, ThreadsOfOneProcessWaitForEachOther) {
  ForkLock lock;
  int sum = 0;  // a race would be seen
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) {
        const auto held = lock.lock();
        if (!held.orphaned()) ++sum;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(sum, 4000);
}

TEST(CheckOnce, AChildForkedDuringTheCheckMakesItsOwn) {
  Stopped checks;
  bool child = false;
  CheckOnce check([&] {
    if (!child) checks.here();
  });
  checks.start([&] { check.require(); });
  EXPECT_TRUE(in_child([&] {
    child = true;
    check.require();
    return check.done();
  }));
  EXPECT_FALSE(check.done());
  checks.end();
  EXPECT_TRUE(check.done());
}

TEST(SpmvPlans, AChildForkedWhileAPlanIsMadeMultiplies) {
  constexpr std::int64_t kRows = 4000;
  std::vector<Offset> indptr(kRows + 1);
  for (std::int64_t r = 0; r <= kRows; ++r) indptr[r] = 10 * r;
  const auto a = test::matrix_of<double>(kRows, indptr);
  const auto x = test::vector_of<double>(kRows, 3);
  std::vector<double> expected(kRows), y(kRows);
  SpmvPlans<double> plans;
  const auto product = [&](SpmvAlgorithm how, std::vector<double>& out) {
    return plans.multiply<PlusTimes<double>>(how, a.view(), x.data(), out.data(), {});
  };
  plans.prepare(a.view(), SpmvAlgorithm::blocked);
  ASSERT_EQ(product(SpmvAlgorithm::automatic, expected), SpmvAlgorithm::blocked);
  Stopped maker;
  maker.start([&] {
    plans.kept(0, [&] {
      maker.here();
      return std::make_shared<int>(1);
    });
  });
  EXPECT_TRUE(in_child([&] {
    for (const auto how : {SpmvAlgorithm::automatic, SpmvAlgorithm::binned}) {
      y.assign(kRows, -1.0);
      if (product(how, y) != (how == SpmvAlgorithm::automatic ? SpmvAlgorithm::blocked : how)) return false;
      if (!std::ranges::equal(y, expected, [](double p, double q) { return std::abs(p - q) < 1e-9; }))
        return false;
    }
    return plans.bytes() > 0 && plans.chosen() == SpmvAlgorithm::blocked;
  }));
  maker.end();
  EXPECT_EQ(product(SpmvAlgorithm::automatic, y), SpmvAlgorithm::blocked);
}

}  // namespace
}  // namespace penstock
