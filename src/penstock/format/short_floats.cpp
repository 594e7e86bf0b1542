// Rounding to 16 bits: the value in units of its last place there, to the nearest whole number.
#include "penstock/format/short_floats.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr Offset kNoEntry = std::numeric_limits<Offset>::max();
constexpr std::int64_t kRoundedAtOnce = 1 << 16;

std::string digits(double v) {
  std::ostringstream out;
  out.precision(6);
  out << v;
  return out.str();
}

[[noreturn]] void throw_out_of_range(double v, std::int64_t row, const ShortFloat& to) {
  const std::string type(to.name);
  const auto entry = "an entry of row " + std::to_string(row) + " is " + digits(v) + ", ";
  if (!std::isfinite(v))
    throw Error(Errc::invalid_argument, entry + "and a matrix is stored as " + type +
                                            " where its entries are finite: repair the matrix");
  const auto scaled = " or scale the matrix, such as by its diagonal (A.scale)";
  const auto& wide = kShortFloats[0];
  const bool held = to.name != wide.name && std::abs(v) <= wide.most && rounded(v, wide) != 0;
  const auto other = held ? std::string("take bfloat16,") : std::string("keep A as it is,");
  if (std::abs(v) > 1)
    throw Error(Errc::invalid_argument, entry + "which " + type + " does not hold (" + digits(to.most) +
                                            " at most): " + other + scaled);
  throw Error(Errc::invalid_argument, entry + "which " + type + " takes for zero (" + digits(to.smallest) +
                                          " at least): " + other + scaled);
}

}  // namespace

double rounded(double v, const ShortFloat& to) {
  if (v == 0 || !std::isfinite(v)) return v;
  const int exponent = std::max(std::ilogb(v), to.least);
  const double unit = std::ldexp(1.0, exponent - to.precision + 1);
  const double r = std::nearbyint(v / unit) * unit;
  return std::abs(r) > to.most ? std::copysign(std::numeric_limits<double>::infinity(), v) : r;
}

template <class V>
Csr<V> rounded(const Csr<V>& a, const ShortFloat& to) {
  const bool pinned = a.values.place.memory == Memory::pinned;
  const auto values = allocate<V>(std::max<Offset>(a.nnz(), 1), pinned ? Place{Memory::pinned} : Place{});
  std::atomic<Offset> wrong = kNoEntry;
  parallel_ranges(a.nnz(), kRoundedAtOnce, [&](std::int64_t k, std::int64_t last) {
    for (; k < last; ++k) {
      const auto v = static_cast<double>(a.values.data[k]);
      const auto r = rounded(v, to);
      values.data[k] = static_cast<V>(r);
      if (std::isfinite(r) && (r != 0 || v == 0)) continue;
      for (auto known = wrong.load(); k < known && !wrong.compare_exchange_weak(known, k);) {}
    }
  });
  if (const auto k = wrong.load(); k != kNoEntry) {
    const auto* end = std::upper_bound(a.indptr.data, a.indptr.data + a.rows + 1, k);
    throw_out_of_range(static_cast<double>(a.values.data[k]), end - a.indptr.data - 1, to);
  }
  return {a.rows, a.cols, a.indptr, a.indices, values.slice(0, a.nnz())};
}

template Csr<float> rounded(const Csr<float>&, const ShortFloat&);
template Csr<double> rounded(const Csr<double>&, const ShortFloat&);

}  // namespace penstock
