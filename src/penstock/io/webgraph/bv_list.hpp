#pragma once
#include <algorithm>
#include <vector>

#include "penstock/format/csr.hpp"
#include "penstock/io/webgraph/bv_codes.hpp"

namespace penstock {

/// Reads the list of one vertex after the other. A list is: how many vertices it has; a reference to a list before it,
/// of which runs are copied; intervals; and the residuals, all ascending.
template <class Codes>
class BvLists {
 public:
  struct Head {
    std::int64_t degree = 0, reference = 0;  // reference: the list so many vertices before; 0: none
  };

  BvLists(const Array<const std::uint8_t>& bytes, const BvParameters& p) : in(bytes), p_(p), codes_(p) {}

  BvReader in;

  Head head(std::int64_t vertex) {
    Head h;
    const auto degree = codes_.outdegree(in);
    if (degree > static_cast<std::uint64_t>(p_.nodes))
      throw BvFault{"its list has " + std::to_string(degree) + " vertices, the graph " +
                    std::to_string(p_.nodes)};
    h.degree = static_cast<std::int64_t>(degree);
    if (degree == 0 || p_.window == 0) return h;
    const auto back = codes_.reference(in);
    if (back > static_cast<std::uint64_t>(std::min(p_.window, vertex)))
      throw BvFault{"its list refers to the one " + std::to_string(back) + " before, which is " +
                    (back > std::uint64_t(p_.window) ? "more than windowsize" : "before the first")};
    h.reference = static_cast<std::int64_t>(back);
    return h;
  }

  /// Goes past what follows the head. `referred`: the length of the list that it refers to.
  void skip(const Head& h, std::int64_t referred) {
    auto left = h.degree;
    if (h.reference > 0) left -= walk_blocks(referred, left, [](std::int64_t, std::int64_t) {});
    if (left > 0) left -= walk_intervals(0, left, false, [](std::int64_t, std::int64_t) {});
    for (; left > 0; --left) codes_.residual(in);
  }

  /// Writes what follows the head to `out`, which has room for the list.
  void read(std::int64_t vertex, const Head& h, const Index* from, std::int64_t referred, Index* out) {
    std::int64_t copied = 0;
    if (h.reference > 0)
      copied = walk_blocks(referred, h.degree, [&](std::int64_t first, std::int64_t count) {
        out = std::copy_n(from + first, count, out);
      });
    out -= copied;
    const auto extra = h.degree - copied;
    if (extra == 0) return;
    // What is not copied is put together first, and then merged from behind with what is.
    auto* const own = copied == 0 ? out : room(own_, extra);
    auto* end = own;
    const auto inside = walk_intervals(vertex, extra, true, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t k = 0; k < count; ++k) *end++ = static_cast<Index>(first + k);
    });
    if (inside == 0) {
      residuals(vertex, extra, own);
    } else if (inside < extra) {
      auto* const rest = room(rest_, extra - inside);
      residuals(vertex, extra - inside, rest);
      merge(own, inside, rest, extra - inside);
    }
    if (copied > 0) merge(out, copied, own, extra);
  }

 private:
  static Index* room(std::vector<Index>& v, std::int64_t count) {
    if (std::ssize(v) < count) v.resize(static_cast<std::size_t>(count));
    return v.data();
  }

  /// take(first, count) for the runs of the list of `referred` that are copied; returns how many vertices they have.
  template <class Take>
  std::int64_t walk_blocks(std::int64_t referred, std::int64_t most, Take&& take) {
    const auto count = codes_.block_count(in);
    std::int64_t at = 0, copied = 0;
    const auto copy = [&](std::int64_t n) {
      if (n > most - copied) throw BvFault{"its list copies more vertices than it has"};
      take(at, n);
      copied += n;
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto length = codes_.block(in) + (i > 0);
      if (length > static_cast<std::uint64_t>(referred - at))
        throw BvFault{"its list copies more vertices than the list has to which it refers"};
      if (i % 2 == 0) copy(static_cast<std::int64_t>(length));
      at += static_cast<std::int64_t>(length);
    }
    if (count % 2 == 0) copy(referred - at);
    return copied;
  }

  /// take(first, count) for the intervals; returns how many vertices they have.
  template <class Take>
  std::int64_t walk_intervals(std::int64_t vertex, std::int64_t most, bool check, Take&& take) {
    if (p_.min_interval == 0) return 0;
    const auto count = in.gamma();
    std::int64_t next = vertex, inside = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto gap = in.gamma();
      const auto first = next + (i == 0 ? bv_signed(gap) : static_cast<std::int64_t>(gap) + 1);
      const auto length = static_cast<std::int64_t>(in.gamma()) + p_.min_interval;
      if (length > most - inside) throw BvFault{"its intervals have more vertices than its list"};
      if (check && (first < 0 || first + length > p_.nodes)) outside(first < 0 ? first : first + length - 1);
      take(first, length);
      next = first + length, inside += length;
      if (!check) next = 0;  // only lengths matter, and sums of gaps might overflow
    }
    return inside;
  }

  void residuals(std::int64_t vertex, std::int64_t count, Index* out) {
    auto last = vertex + bv_signed(codes_.residual(in));
    if (last < 0) outside(last);
    *out++ = static_cast<Index>(last);
    for (std::int64_t k = 1; k < count; ++k) {
      last += static_cast<std::int64_t>(codes_.residual(in)) + 1;
      if (last >= p_.nodes) break;
      *out++ = static_cast<Index>(last);
    }
    if (last >= p_.nodes) outside(last);
  }

  /// Merges b into a, which has room behind it.
  static void merge(Index* a, std::int64_t a_count, const Index* b, std::int64_t b_count) {
    auto i = a_count - 1, k = a_count + b_count - 1;
    for (auto j = b_count - 1; j >= 0; --j) {
      const auto here = b[j];
      while (i >= 0 && a[i] > here) a[k--] = a[i--];
      if (i >= 0 && a[i] == here) throw BvFault{"its list has vertex " + std::to_string(here) + " twice"};
      a[k--] = here;
    }
  }

  [[noreturn]] void outside(std::int64_t vertex) const {
    throw BvFault{"its list has vertex " + std::to_string(vertex) + ", which is outside 0 .. " +
                  std::to_string(p_.nodes - 1)};
  }

  const BvParameters& p_;
  Codes codes_;
  std::vector<Index> own_, rest_;
};

}  // namespace penstock
