// One pass over all weights answers what is asked of them (weights_look.hpp). In which type whole numbers are kept is guessed by some
// weights, so that they are written in the same pass; the rare wrong guess costs a second one.
#include "penstock/graph/sssp/weights.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <sstream>
#include <vector>

#include "penstock/core/config.hpp"
#include "penstock/core/cpu_features.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reserve.hpp"
#include "penstock/graph/sssp/weights_look.hpp"

namespace penstock {
namespace {

using graph::LookArgs;
using graph::WeightsFound;

constexpr std::int64_t kWeightsOfATask = 64 << 10;
constexpr std::int64_t kAtOnce = 2 << 10;  // entries, the numbers of whose rows stay in the first cache
constexpr std::int64_t kShortRow = 8;      // entries
constexpr std::int64_t kGuessedBy = 1024;  // weights
constexpr std::int64_t kMirrorsLookedUp = 256;
constexpr Offset kMostToLookThrough = 4096;  // entries of a row that is searched for a mirror, at most

template <class V>
std::int64_t row_of(const Csr<V>& a, Offset k) {
  return std::upper_bound(a.indptr.data, a.indptr.data + a.rows + 1, k) - a.indptr.data - 1;
}

template <class V>
[[noreturn]] void refuse(const Csr<V>& a, Offset k, const char* remedy) {
  std::ostringstream text;
  text.precision(std::numeric_limits<V>::max_digits10);
  text << "the edge " << row_of(a, k) << " -> " << a.indices.data[k] << " has weight " << a.values.data[k]
       << ": weights must be " << remedy;
  throw Error(Errc::invalid_argument, text.str());
}

template <class V>
WeightsFound look_at(const LookArgs<V>& p) {
  if constexpr (kSimdFamily == SimdFamily::x86)
    if (simd_level() == Simd::avx512) return graph::avx512::look_at_weights(p);
  return graph::look_at_weights(p);
}

/// The k-th of `count` entries that are spread over all.
template <class V>
Offset spread(const Csr<V>& a, std::int64_t k, std::int64_t count) {
  return k * (a.nnz() / count) + k * (a.nnz() % count) / count;
}

/// Whether one of some entries has no mirror.
template <class V>
bool one_is_alone(const Csr<V>& a) {
  const auto bits = [&](Offset k) -> std::uint64_t {
    if constexpr (is_pattern<V>) return 0;
    else return graph::bits_of_weight(a.values.data[k]);
  };
  const auto count = std::min(kMirrorsLookedUp, a.nnz());
  for (std::int64_t s = 0; s < count; ++s) {
    const auto k = spread(a, s, count);
    const auto row = row_of(a, k);
    const auto column = a.indices.data[k];
    auto at = a.indptr.data[column];
    const auto end = a.indptr.data[column + 1];
    if (end - at > kMostToLookThrough) continue;
    while (at < end && !(a.indices.data[at] == row && bits(at) == bits(k))) ++at;
    if (at == end) return true;
  }
  return false;
}

/// Writes the row of each of the entries [first, last); `row` is the first one's, and then that of the entry `last`. Up to kShortRow
/// numbers more are overwritten.
template <class V>
void write_rows(const Csr<V>& a, Offset first, Offset last, std::int64_t& row, std::uint32_t* to) {
  while (first < last) {
    const auto ends = a.indptr.data[row + 1], next = std::min(last, ends);
    std::fill_n(to, kShortRow,
                std::uint32_t(row));  // most rows are no longer, so few branches are guessed wrong
    if (next - first > kShortRow) std::fill_n(to + kShortRow, next - first - kShortRow, std::uint32_t(row));
    to += next - first;
    first = next;
    if (first == ends) ++row;
  }
}

/// Looks at the entries [first, last), a few at a time.
template <class V>
WeightsFound look_at_range(const Csr<V>& a, Offset first, Offset last, bool mirrors, std::byte* narrow,
                           int narrow_bytes) {
  std::uint32_t rows[kAtOnce + kShortRow];
  std::int64_t row = mirrors ? row_of(a, first) : 0;
  WeightsFound all;
  for (auto at = first; at < last; at += kAtOnce) {
    const auto end = std::min(last, at + kAtOnce);
    if (mirrors) write_rows(a, at, end, row, rows);
    LookArgs<V> p{.columns = a.indices.data + at,
                  .rows = mirrors ? rows : nullptr,
                  .count = end - at,
                  .narrow = narrow ? narrow + at * narrow_bytes : nullptr,
                  .narrow_bytes = narrow ? narrow_bytes : 0};
    if constexpr (!is_pattern<V>) p.weights = a.values.data + at;
    all.add(look_at(p));
  }
  return all;
}

int bytes_of_whole(double largest) { return largest <= 0xff ? 1 : largest <= 0xffff ? 2 : 4; }

/// The bytes of whole numbers as large as some of the weights are, 0 if one is not whole.
template <class V>
int guess_bytes(const Csr<V>& a) {
  double largest = 0;
  const auto count = std::min(kGuessedBy, a.nnz());
  for (std::int64_t s = 0; s < count; ++s) {
    const auto w = static_cast<double>(a.values.data[spread(a, s, count)]);
    if (!(w >= 0 && w <= graph::kLargestWhole) || w != static_cast<std::int32_t>(w)) return 0;
    largest = std::max(largest, w);
  }
  return bytes_of_whole(largest);
}

/// Room for whole numbers on huge pages, which are locked faster on their way to a GPU.
PathWeights::Whole room_for(std::int64_t count, int bytes) {
  if (bytes == 1) return allocate_apart<std::uint8_t>(count);
  if (bytes == 2) return allocate_apart<std::uint16_t>(count);
  if (bytes == 4) return allocate_apart<std::uint32_t>(count);
  return {};
}
std::byte* bytes_in(const PathWeights::Whole& whole) {
  return std::visit(
      []<class A>(const A& a) -> std::byte* {
        if constexpr (std::is_same_v<A, std::monostate>) return nullptr;
        else return reinterpret_cast<std::byte*>(a.data);
      },
      whole);
}

/// look(first, last) for ranges of all entries, with all threads.
template <class V, class F>
std::vector<WeightsFound> each_range(const Csr<V>& a, F&& look) {
  std::vector<WeightsFound> found(
      static_cast<std::size_t>((a.nnz() + kWeightsOfATask - 1) / kWeightsOfATask));
  parallel_ranges(a.nnz(), kWeightsOfATask, [&](std::int64_t first, std::int64_t last) {
    found[static_cast<std::size_t>(first / kWeightsOfATask)] = look(first, last);
    poll_interrupt();
  });
  return found;
}

/// Looks at all entries, and writes whole numbers of `bytes` each to p.whole, if there are any such bytes.
template <class V>
std::vector<WeightsFound> look_at_all(const Csr<V>& a, bool mirrors, int bytes, PathWeights& p) {
  p.whole = room_for(a.nnz(), bytes);
  auto* const narrow = bytes_in(p.whole);  // null, too, of a graph without edges
  const double most = bytes == 1 ? 0xff : bytes == 2 ? 0xffff : graph::kLargestWhole;
  std::atomic<bool> wrong = false;
  auto found = each_range(a, [&](Offset first, Offset last) {
    const bool writes = !wrong.load(std::memory_order_relaxed);
    const auto f = look_at_range(a, first, last, mirrors, writes ? narrow : nullptr, bytes);
    if (!f.whole || f.largest > most) wrong.store(true, std::memory_order_relaxed);
    return f;
  });
  if (wrong) p.whole = {};
  return found;
}

}  // namespace

template <class V>
PathWeights path_weights(const Csr<V>& a, const LookAtWeights& how) {
  if constexpr (is_pattern<V>) {
    PathWeights p{.smallest = 1.0, .largest = a.nnz() ? 1.0 : 0.0, .mean = 1.0};
    if (how.symmetric) p.symmetric = symmetric_weights(a);
    return p;
  } else {
    PathWeights p;
    const bool mirrors = how.symmetric && a.rows == a.cols && !one_is_alone(a);
    const int guess = how.narrow ? guess_bytes(a) : 0;
    const auto found = look_at_all(a, mirrors, guess, p);
    WeightsFound all;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i].good) {
        auto k = static_cast<Offset>(i) * kWeightsOfATask;
        while (a.values.data[k] >= V(0)) ++k;
        refuse(a, k, "zero or more (bellman_ford and johnson take negative ones)");
      }
      all.add(found[i]);
    }
    p.smallest = all.smallest, p.largest = all.largest, p.finite = all.finite;
    if (!(p.smallest <= p.largest)) p.smallest = 0;  // no weight is finite
    p.mean = a.nnz() ? all.sum / static_cast<double>(a.nnz()) : 0;
    if (how.symmetric) p.symmetric = mirrors && all.mirror == 0;
    if (how.narrow && all.whole && std::holds_alternative<std::monostate>(p.whole))
      look_at_all(a, false, bytes_of_whole(p.largest), p);
    return p;
  }
}

template <class V>
bool symmetric_weights(const Csr<V>& a) {
  if (a.rows != a.cols || one_is_alone(a)) return false;
  WeightsFound all;
  for (const auto& found : each_range(
           a, [&](Offset first, Offset last) { return look_at_range(a, first, last, true, nullptr, 0); }))
    all.add(found);
  return all.mirror == 0;
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

#define X(V)                                                              \
  template PathWeights path_weights(const Csr<V>&, const LookAtWeights&); \
  template bool symmetric_weights(const Csr<V>&);                         \
  template double least_weight(const Csr<V>&);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
