#include "penstock/graph/sssp/weights.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <sstream>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kWeightsOfATask = 64 << 10;
constexpr double kLargestWhole = 2147483647.0;

struct Found {
  double smallest = std::numeric_limits<double>::infinity(), largest = 0, sum = 0;
  bool whole = true, finite = true, good = true;
};

/// Looks at all weights of a range, without an early exit: so the compiler can use vectors, and bad weights are rare.
template <class V>
Found look(const V* w, std::int64_t count) {
  double smallest = std::numeric_limits<double>::infinity(), largest = 0, sum = 0;
  int fractions = 0, endless = 0, bad = 0;
  constexpr V kEndless = std::numeric_limits<V>::infinity();
  for (std::int64_t k = 0; k < count; ++k) {
    const bool ends = w[k] < kEndless;
    const double x = ends ? static_cast<double>(w[k]) : 0.0;
    bad |= !(w[k] >= V(0));
    endless |= !ends;
    fractions |= x >= 0.0 && x <= kLargestWhole ? static_cast<double>(static_cast<std::int32_t>(x)) != x : 1;
    smallest = std::min(smallest, ends ? x : std::numeric_limits<double>::infinity());
    largest = std::max(largest, x);
    sum += x;
  }
  return {smallest, largest, sum, !(fractions | endless), !endless, !bad};
}

template <class V>
[[noreturn]] void refuse(const Csr<V>& a, Offset k, const char* remedy) {
  const auto row = std::upper_bound(a.indptr.data, a.indptr.data + a.rows + 1, k) - a.indptr.data - 1;
  std::ostringstream text;
  text.precision(std::numeric_limits<V>::max_digits10);
  text << "the edge " << row << " -> " << a.indices.data[k] << " has weight " << a.values.data[k]
       << ": weights must be " << remedy;
  throw Error(Errc::invalid_argument, text.str());
}

template <class N, class V>
Array<N> narrow(const Array<const V>& values) {
  const auto out =
      allocate_apart<N>(values.size);  // huge pages, which are locked faster on their way to a GPU
  parallel_ranges(values.size, kWeightsOfATask, [&](std::int64_t first, std::int64_t last) {
    for (auto k = first; k < last; ++k)
      out.data[k] = static_cast<N>(static_cast<std::int32_t>(values.data[k]));
  });
  return out;
}

}  // namespace

template <class V>
PathWeights path_weights(const Csr<V>& a) {
  if constexpr (is_pattern<V>) {
    return {.smallest = 1.0, .largest = a.nnz() ? 1.0 : 0.0, .mean = 1.0};
  } else {
    std::vector<Found> found(static_cast<std::size_t>((a.nnz() + kWeightsOfATask - 1) / kWeightsOfATask));
    parallel_ranges(a.nnz(), kWeightsOfATask, [&](std::int64_t first, std::int64_t last) {
      found[static_cast<std::size_t>(first / kWeightsOfATask)] = look(a.values.data + first, last - first);
    });
    PathWeights p{.smallest = std::numeric_limits<double>::infinity()};
    bool whole = true;
    double sum = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].good) {
        auto k = static_cast<Offset>(i) * kWeightsOfATask;
        while (a.values.data[k] >= V(0)) ++k;
        refuse(a, k, "zero or more (bellman_ford and johnson take negative ones)");
      }
      p.smallest = std::min(p.smallest, found[i].smallest);
      p.largest = std::max(p.largest, found[i].largest);
      p.finite &= found[i].finite;
      whole &= found[i].whole;
      sum += found[i].sum;
    }
    if (!(p.smallest <= p.largest)) p.smallest = 0;  // no weight is finite
    p.mean = a.nnz() ? sum / static_cast<double>(a.nnz()) : 0;
    if (!whole) return p;
    if (p.largest <= 0xff) p.whole = narrow<std::uint8_t>(a.values);
    else if (p.largest <= 0xffff) p.whole = narrow<std::uint16_t>(a.values);
    else p.whole = narrow<std::uint32_t>(a.values);
    return p;
  }
}

template <class V>
double least_weight(const Csr<V>& a) {
  if constexpr (is_pattern<V>) {
    return 1;
  } else {
    constexpr V kEndless = std::numeric_limits<V>::infinity();
    std::vector<V> found(static_cast<std::size_t>((a.nnz() + kWeightsOfATask - 1) / kWeightsOfATask));
    std::atomic<Offset> bad = a.nnz();
    parallel_ranges(a.nnz(), kWeightsOfATask, [&](std::int64_t first, std::int64_t last) {
      V least = kEndless;
      int faults = 0;
      for (auto k = first; k < last; ++k) {
        faults |= !(a.values.data[k] > -kEndless);
        least = std::min(least, a.values.data[k]);
      }
      found[static_cast<std::size_t>(first / kWeightsOfATask)] = least;
      if (!faults) return;
      auto k = first;
      while (a.values.data[k] > -kEndless) ++k;
      auto now = bad.load(std::memory_order_relaxed);
      while (k < now && !bad.compare_exchange_weak(now, k, std::memory_order_relaxed)) {}
    });
    if (bad < a.nnz()) refuse(a, bad, "numbers, and more than minus infinity");
    return found.empty() ? static_cast<double>(kEndless)
                         : static_cast<double>(*std::min_element(found.begin(), found.end()));
  }
}

std::int64_t PathWeights::bytes() const {
  return std::visit(
      []<class A>(const A& a) -> std::int64_t {
        if constexpr (std::is_same_v<A, std::monostate>) return 0;
        else return a.bytes();
      },
      whole);
}

template PathWeights path_weights(const Csr<One>&);
template PathWeights path_weights(const Csr<float>&);
template PathWeights path_weights(const Csr<double>&);
template double least_weight(const Csr<One>&);
template double least_weight(const Csr<float>&);
template double least_weight(const Csr<double>&);

}  // namespace penstock
