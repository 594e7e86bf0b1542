// Personalised PageRank of many sources on a device: the method of personalized_cpu.cpp. A step is a product with all vectors, which
// reads each entry of the matrix once.
#include "penstock/graph/pagerank/personalized_gpu.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/graph/pagerank/personalized_steps.hpp"
#include "penstock/schedule/device/device_product.hpp"

namespace penstock {
namespace {

constexpr double kSingleResolves = 1e-5;  // what steps in float32 resolve
constexpr double kRoundingOnDevice = 1.02;
constexpr std::int64_t kBytesOfARank =
    24;  // two vectors of float64, or one of them and two of float32, while they are changed

template <class T>
Array<T> device_array(std::int64_t count, Stream stream) {
  auto owner =
      allocate_scratch(std::max<std::int64_t>(count, 1) * static_cast<std::int64_t>(sizeof(T)), stream);
  return {static_cast<T*>(owner.get()), count, device_place(stream.where), owner};
}
template <class T>
Array<T> sent(std::span<const T> some, Stream stream) {
  const auto there = device_array<T>(std::ssize(some), stream);
  copy_async(there.data, some.data(), there.bytes(), stream);
  synchronize(stream);
  return there;
}

template <class V>
class ManyRanksThere {
 public:
  ManyRanksThere(DeviceProduct<V>& product, const Array<double>& out, std::span<const double> on_host,
                 std::span<const Index> sources, const PageRankOptions& options, Stream stream)
      : product_(product),
        out_(out),
        sources_(sent(sources, stream)),
        options_(options),
        stream_(stream),
        n_(out.size),
        k_(std::ssize(sources)),
        tasks_((n_ + many_ranks::kRowsOfASum - 1) / many_ranks::kRowsOfASum),
        parts_{device_array<double>(tasks_ * 2 * k_, stream),
               device_array<double>((tasks_ / many_ranks::kSumsOfASum + 1) * 2 * k_, stream)} {
    std::vector<double> dangling;
    for (const auto s : sources) dangling.push_back(on_host[at(s)] == 0);
    dangling_ = sent(std::span<const double>(dangling), stream);
  }

  /// The ranks of each source, on the device.
  Array<double> run(PageRankResult& r) {
    Array<double> x;
    if constexpr (is_pattern<V>) {
      auto single = begun<float>();
      steps<float>(single, std::max(options_.tol, kSingleResolves), r);
      x = device_array<double>(n_ * k_, stream_);
      each(n_ * k_, many_ranks::WidenRanks{single.data, x.data}, stream_);
      const auto* const sums = sums_of(x);
      each(k_, many_ranks::DivideDangling{sums, dangling_.data}, stream_);
      each(n_ * k_, many_ranks::DivideRanks{sums, out_.data, k_, false, x.data}, stream_);
    } else {
      x = begun<double>();
    }
    steps<double>(x, options_.tol, r);
    each(n_ * k_, many_ranks::DivideRanks{sums_of(x), out_.data, k_, true, x.data}, stream_);
    return x;
  }

 private:
  template <class T>
  Array<T> begun() {
    const auto x = device_array<T>(n_ * k_, stream_);
    fill_async(x.data, 0, x.bytes(), stream_);
    each(k_, many_ranks::BeginAtSources<T>{sources_.data, out_.data, k_, x.data}, stream_);
    return x;
  }

  template <class T>
  void steps(const Array<T>& x, double until, PageRankResult& r) {
    using S = PlusTimes<T>;
    const auto y = device_array<T>(n_ * k_, stream_);
    std::vector<double> changes(at(k_));
    while (r.iterations < options_.max_iter) {
      poll_interrupt();
      const double last = r.iterations ? r.change : INFINITY;
      product_.template multiply<S>(DenseView<const T>{x.data, n_, k_, k_, 1},
                                    DenseView<T>{y.data, n_, k_, k_, 1},
                                    Scale<S>{static_cast<T>(options_.alpha), T(0)}, stream_);
      each(k_, many_ranks::AddJumps<T>{sources_.data, dangling_.data, options_.alpha, k_, y.data}, stream_);
      each(tasks_ * k_, many_ranks::RenewRanks<T>{out_.data, n_, k_, x.data, y.data, parts_[0].data},
           stream_);
      const auto* const sums = folded(tasks_, 2 * k_);
      copy_async(dangling_.data, sums + k_, dangling_.bytes(), stream_);
      copy_async(changes.data(), sums, dangling_.bytes(), stream_);
      synchronize(stream_);
      r.change = *std::ranges::max_element(changes);
      ++r.iterations;
      if (r.change < until) return;
      if (sizeof(T) < sizeof(double) && r.change < 1e-2 &&
          r.change > kRoundingOnDevice * options_.alpha * last)
        return;
    }
  }

  const double* sums_of(const Array<double>& x) {
    each(tasks_ * k_, many_ranks::SumRanks{out_.data, n_, k_, x.data, parts_[0].data}, stream_);
    return folded(tasks_, k_);
  }
  /// The sum of so many rows of parts_[0].
  const double* folded(std::int64_t rows, std::int64_t width) {
    const auto *from = &parts_[0], *to = &parts_[1];
    while (rows > 1) {
      const auto fewer = (rows + many_ranks::kSumsOfASum - 1) / many_ranks::kSumsOfASum;
      each(fewer * width, many_ranks::FoldSums{from->data, rows, width, to->data}, stream_);
      rows = fewer;
      std::swap(from, to);
    }
    return from->data;
  }

  DeviceProduct<V>& product_;
  const Array<double>& out_;
  Array<Index> sources_;
  PageRankOptions options_;
  Stream stream_;
  std::int64_t n_, k_, tasks_;
  Array<double> parts_[2], dangling_;
};

/// Puts `some` columns, side by side, into columns of a wider array from `first` on.
void place_columns(const double* some, std::int64_t columns, double* to, std::int64_t first,
                   std::int64_t width, std::int64_t n) {
  parallel_ranges(n, 1 << 10, [&](std::int64_t v, std::int64_t last) {
    for (; v < last; ++v) std::copy_n(some + v * columns, columns, to + v * width + first);
  });
}

}  // namespace

template <class V>
PageRankResult personalized_pagerank_on(const Csr<V>& in, std::span<const double> out,
                                        std::span<const Index> sources, const PageRankOptions& options,
                                        Where where, std::int64_t room) {
  require(in.rows == in.cols && std::ssize(out) == in.rows,
          "personalized_pagerank: a square matrix and one weight a vertex, please");
  for (const auto s : sources)
    require(s >= 0 && s < in.rows,
            [&] { return "personalized_pagerank: there is no vertex " + std::to_string(s); });
  const auto n = in.rows, k = std::ssize(sources);
  const Place place{where.is_gpu() ? Memory::pinned : Memory::host, 0};
  PageRankResult all;
  all.converged = true;
  if (n * k == 0) {
    all.ranks = allocate<double>(0);
    return all;
  }
  const auto together =
      std::max<std::int64_t>(room - n * std::int64_t(sizeof(double)), 0) / (kBytesOfARank * n);
  if (together == 0)
    throw Error(Errc::out_of_memory, "PageRank of one source takes " + std::to_string(kBytesOfARank * n) +
                                         " bytes of a GPU for " + std::to_string(n) + " vertices, and " +
                                         std::to_string(room) +
                                         " are there for it: compute on the CPU, with device=\"cpu\"");
  const UseDevice use(where);
  const OwnedStream stream(where);
  DeviceProduct<V> product(in, where, true);
  const auto out_there = sent(out, stream);
  const auto pinned = [&](std::int64_t count) -> Array<double> {
    auto owner = reuse_bytes(count * static_cast<std::int64_t>(sizeof(double)), place);
    return {static_cast<double*>(owner.get()), count, place, owner};
  };
  all.ranks = pinned(n * k);
  for (std::int64_t first = 0; first < k; first += together) {
    const auto columns = std::min(together, k - first);
    PageRankResult r;
    ManyRanksThere<V> ranks(product, out_there, out, sources.subspan(at(first), at(columns)), options,
                            stream);
    const auto found = ranks.run(r);
    const auto part = columns == k ? all.ranks : pinned(n * columns);
    copy_async(part.data, found.data, found.bytes(), stream);
    synchronize(stream);
    if (columns < k) place_columns(part.data, columns, all.ranks.data, first, k, n);
    all.iterations = std::max(all.iterations, r.iterations);
    all.change = std::max(all.change, r.change);
    all.converged = all.converged && r.iterations > 0 && r.change < options.tol;
  }
  return all;
}

#define X(V)                                                                                              \
  template PageRankResult personalized_pagerank_on(const Csr<V>&, std::span<const double>,                \
                                                   std::span<const Index>, const PageRankOptions&, Where, \
                                                   std::int64_t);
X(One)
X(float)
X(double)
#undef X

}  // namespace penstock
