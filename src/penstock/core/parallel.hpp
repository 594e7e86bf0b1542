#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

// The library's threads: one pool for the process, used by every CPU kernel. Not OpenMP, for four reasons: it is
// visible to ThreadSanitizer, survives fork(), lets Ctrl-C through, and never mixes two OpenMP runtimes in one process.
namespace penstock {

/// Threads that parallel_for uses, the caller included. Starts from PENSTOCK_NUM_THREADS or the CPUs that the
/// process may use.
int num_threads();
void set_num_threads(int n);  // n >= 1; throws Error{invalid_argument}

/// While it lives, parallel_for on the thread that made it has a pool of n threads of its own, that thread included, and
/// num_threads() and set_num_threads() are about this pool. It is for several callers that work side by side. It must end on
/// the thread that made it.
class ThreadsHere {
 public:
  explicit ThreadsHere(int n);
  ~ThreadsHere();
  ThreadsHere(const ThreadsHere&) = delete;
  ThreadsHere& operator=(const ThreadsHere&) = delete;

  struct Own;

 private:
  std::unique_ptr<Own> own_;
};

/// Called by long operations on the thread that started them, every 50 ms or so; throws to stop them.
/// The Python binding installs one that looks for Ctrl-C.
using InterruptPoll = void (*)();
void set_interrupt_poll(InterruptPoll poll);
/// Cheap: looks at the clock and calls the poll when it is due. Long bodies of parallel_for call it too: it throws
/// there when another thread of the same parallel_for has failed or was interrupted.
void poll_interrupt();

/// How often this process and those that it descends from were forked, counted from the first call on.
std::uint64_t forks_so_far();

namespace detail {
void run_parallel(std::int64_t n, void* context, void (*call)(void* context, std::int64_t i));
}

/// f(i) once for every i in [0, n), on all threads; i are claimed one at a time in ascending order. Returns when all
/// are done. The first exception stops further claims and is rethrown here. A call made while the pool is busy
/// (nested, or from another thread) runs on its caller alone.
template <class F>
void parallel_for(std::int64_t n, F&& f) {
  auto* context = const_cast<void*>(static_cast<const void*>(&f));
  detail::run_parallel(n, context,
                       [](void* c, std::int64_t i) { (*static_cast<std::remove_reference_t<F>*>(c))(i); });
}

/// f(first, last) over [0, n) in ranges of about `grain`: for loops whose body is a few instructions.
template <class F>
void parallel_ranges(std::int64_t n, std::int64_t grain, F&& f) {
  parallel_for((n + grain - 1) / grain, [&](std::int64_t i) {
    const auto first = i * grain;
    f(first, first + grain < n ? first + grain : n);
  });
}

}  // namespace penstock
