// The pool of threads behind parallel_for: helpers that sleep between jobs. A job is a function and a counter, from which the
// caller and the helpers claim numbers until none is left. A helper that has nothing to do first looks for the next job for
// some microseconds, then sleeps. Each thread may have a pool of its own (ThreadsHere); all others share one.
#include "penstock/core/parallel.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/core/error.hpp"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollInterval = std::chrono::milliseconds(50);
constexpr int kMaxThreads = 4096;
// How often an idle helper looks for the next job before it sleeps. About 50 us: longer than the gap between two products of
// an iteration.
constexpr int kSpins = 20'000;

std::atomic<InterruptPoll> installed_poll = nullptr;
thread_local Clock::time_point next_poll{};

struct Job;
thread_local const Job* current_job = nullptr;
thread_local bool is_helper = false;  // helpers never poll: only the thread that was called can hear Ctrl-C

struct Job {
  std::int64_t n = 0;
  void* context = nullptr;
  void (*call)(void*, std::int64_t) = nullptr;
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex error_lock;
  std::exception_ptr error;

  void fail(std::exception_ptr e) {
    const std::lock_guard guard(error_lock);
    if (!error) error = std::move(e);
    stop.store(true, std::memory_order_relaxed);
  }
  void work(bool caller) {
    const auto outer = std::exchange(current_job, this);
    try {
      while (!stop.load(std::memory_order_relaxed)) {
        const auto i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= n) break;
        call(context, i);
        if (caller) poll_interrupt();
      }
    } catch (...) {
      fail(std::current_exception());
    }
    current_job = outer;
  }
};

/// Helpers wait for `epoch` to change, spinning first. The caller waits until every helper has left the job.
class Pool {
 public:
  /// Fewer threads where the system refuses more: results do not depend on their number.
  explicit Pool(int threads) : wanted_(threads) {
    try {
      helpers_.reserve(static_cast<std::size_t>(threads));
      for (int i = 1; i < threads; ++i) helpers_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {}
  }
  ~Pool() {
    publish(nullptr);
    for (auto& t : helpers_) t.join();
  }
  int wanted() const { return wanted_; }

  void run(Job& job) {
    busy_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
    publish(&job);
    job.work(true);
    for (int spin = 0; busy_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin <= kSpins) continue;
      std::this_thread::yield();
      try {
        poll_interrupt(job);
      } catch (...) {
        job.fail(std::current_exception());  // the helpers' own polls see it
      }
    }
  }
  bool try_claim() { return !claimed_.exchange(true, std::memory_order_acquire); }
  void unclaim() { claimed_.store(false, std::memory_order_release); }

 private:
  void publish(Job* job) {
    {
      const std::lock_guard guard(lock_);
      job_ = job;
      epoch_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
  }
  void help() {
    is_helper = true;
    for (std::uint64_t seen = 0;;) {
      for (int spin = 0; spin < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++spin) {}
      Job* job;
      {
        std::unique_lock guard(lock_);
        wake_.wait(guard, [&] { return epoch_.load(std::memory_order_relaxed) != seen; });
        seen = epoch_.load(std::memory_order_relaxed);
        job = job_;
      }
      if (!job) return;
      job->work(false);
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  /// Looks for Ctrl-C while helpers finish a job of which nothing is left for this thread.
  static void poll_interrupt(const Job& job) {
    if (!job.stop.load(std::memory_order_relaxed)) penstock::poll_interrupt();
  }

  int wanted_;
  std::vector<std::thread> helpers_;
  std::mutex lock_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> epoch_ = 0;
  std::atomic<int> busy_ = 0;
  std::atomic<bool> claimed_ = false;
  Job* job_ = nullptr;
};

int default_threads() {
  if (const char* s = std::getenv("PENSTOCK_NUM_THREADS"); s && *s) {
    char* end = nullptr;
    const long n = std::strtol(s, &end, 10);
    require(*end == '\0' && n >= 1 && n <= kMaxThreads, "PENSTOCK_NUM_THREADS=" + std::string(s) +
                                                            " is not a number between 1 and " +
                                                            std::to_string(kMaxThreads));
    return static_cast<int>(n);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::atomic<int> wanted_threads = 0;
std::mutex pool_lock;
std::shared_ptr<Pool>* pool_slot = nullptr;  // never destroyed: helpers may outlive static destructors

}  // namespace

struct ThreadsHere::Own {
  int threads;
  std::shared_ptr<Pool> pool;  // made when first used
  Own* outer = nullptr;
};

namespace {

thread_local ThreadsHere::Own* own = nullptr;

std::atomic<std::uint64_t> forks = 0;

/// A forked child has no helpers, so it forgets the pools. Their memory stays allocated.
void prepare_fork() {
  static const bool once [[maybe_unused]] = [] {
    pthread_atfork([] { pool_lock.lock(); }, [] { pool_lock.unlock(); },
                   [] {
                     ++forks;
                     pool_slot = new std::shared_ptr<Pool>;
                     for (auto* o = own; o; o = o->outer) new (&o->pool) std::shared_ptr<Pool>;
                     new (&pool_lock) std::mutex;
                   });
    return true;
  }();
}

std::shared_ptr<Pool> pool() {
  if (own && !own->pool) own->pool = std::make_shared<Pool>(own->threads);
  if (own) return own->pool;
  prepare_fork();
  const std::lock_guard guard(pool_lock);
  if (!pool_slot) pool_slot = new std::shared_ptr<Pool>;
  if (!*pool_slot || (*pool_slot)->wanted() != num_threads())
    *pool_slot = std::make_shared<Pool>(num_threads());
  return *pool_slot;
}

}  // namespace

std::uint64_t forks_so_far() {
  prepare_fork();
  return forks.load(std::memory_order_relaxed);
}

int num_threads() {
  if (own) return own->threads;
  if (wanted_threads.load() == 0) wanted_threads = default_threads();
  return wanted_threads.load();
}
void set_num_threads(int n) {
  require(n >= 1 && n <= kMaxThreads,
          "set_num_threads: " + std::to_string(n) + " is not between 1 and " + std::to_string(kMaxThreads));
  if (!own) wanted_threads = n;
  else if (own->threads != n) own->threads = n, own->pool = nullptr;
}

ThreadsHere::ThreadsHere(int n) : own_(std::make_unique<Own>()) {
  require(n >= 1 && n <= kMaxThreads,
          "ThreadsHere: " + std::to_string(n) + " is not between 1 and " + std::to_string(kMaxThreads));
  prepare_fork();
  own_->threads = n;
  own_->outer = std::exchange(own, own_.get());
}
ThreadsHere::~ThreadsHere() { own = own_->outer; }

void set_interrupt_poll(InterruptPoll poll) { installed_poll = poll; }
void poll_interrupt() {
  if (current_job && current_job->stop.load(std::memory_order_relaxed))
    throw Error(Errc::interrupted, "stopped: another thread of this operation failed or was interrupted");
  const auto poll = installed_poll.load(std::memory_order_relaxed);
  if (!poll || is_helper) return;
  const auto now = Clock::now();
  if (now < next_poll) return;
  next_poll = now + kPollInterval;
  poll();
}

void detail::run_parallel(std::int64_t n, void* context, void (*call)(void*, std::int64_t)) {
  Job job;
  job.n = n, job.context = context, job.call = call;
  if (n > 1 && !is_helper && num_threads() > 1) {
    const auto shared = pool();
    if (shared->try_claim()) {
      shared->run(job);
      shared->unclaim();
    } else {
      job.work(true);
    }
  } else {
    job.work(true);
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace penstock
