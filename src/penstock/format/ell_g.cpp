// CSR to ELL-G and back (format/ell_g.hpp). Blocks are planned first, with the size of the whole, and refused where padding
// takes too much; then all threads convert strips of rows. A strip's rows are read one after the other, and its column-major
// lines stay in the cache until they are full.
#include "penstock/format/ell_g.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kRowsAlign = 256;  // rows of a block are a multiple of it: whole thread blocks
constexpr std::int64_t kStrip = 1024;     // rows that a thread converts at once

std::int64_t widest_row(std::span<const Offset> indptr, std::int64_t first, std::int64_t last) {
  Offset widest = 0;
  for (auto r = first; r < last; ++r)
    widest = std::max(widest, indptr[std::size_t(r + 1)] - indptr[std::size_t(r)]);
  return widest;
}

template <class V>
void cut(EllG<V>& out, std::span<const Offset> indptr, const EllOptions& options) {
  const auto strips = (out.rows + kRowsAlign - 1) / kRowsAlign;
  std::vector<std::int64_t> widths(static_cast<std::size_t>(strips));
  parallel_ranges(strips, 64, [&](std::int64_t first, std::int64_t last) {
    for (auto s = first; s < last; ++s)
      widths[std::size_t(s)] = widest_row(indptr, s * kRowsAlign, std::min(out.rows, (s + 1) * kRowsAlign));
  });
  const auto widest = widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end());
  const auto row_bytes = std::int64_t(sizeof(Index)) * (widest + 1) + widest * value_bytes<V>;
  out.block_rows = std::max<std::int64_t>(options.block_bytes / row_bytes / kRowsAlign, 1) * kRowsAlign;
  std::int64_t bytes = 0;
  for (std::int64_t r = 0; r < out.rows; r += out.block_rows) {
    EllBlock b{.first_row = r, .rows = std::min(out.block_rows, out.rows - r), .offset = bytes};
    const auto first = r / kRowsAlign, last = (r + b.rows + kRowsAlign - 1) / kRowsAlign;
    b.width = *std::max_element(widths.begin() + first, widths.begin() + last);
    b.first_nnz = indptr[std::size_t(r)];
    b.nnz = indptr[std::size_t(r + b.rows)] - b.first_nnz;
    bytes += EllLayout<V>(b.rows, b.width).bytes;
    out.blocks.push_back(b);
  }
}

template <class V>
void check_size(const EllG<V>& out, std::int64_t csr_bytes, double most) {
  double bytes = 0;  // the exact sum may pass 2^63
  std::int64_t widest = 0;
  for (const auto& b : out.blocks) {
    bytes += static_cast<double>(b.width) * double(b.rows) * double(sizeof(Index) + value_bytes<V>);
    widest = std::max(widest, b.width);
  }
  constexpr double kSmall = 1 << 20;  // bytes below which padding to whole warps and lines does not matter
  if (bytes <= std::max(most * double(csr_bytes), kSmall)) return;
  const auto mib = [](double n) {
    auto text = std::to_string(n / (1 << 20));
    return text.substr(0, text.find('.') + 2) + " MiB";
  };
  throw Error(Errc::invalid_argument,
              "ELL-G: the longest row has " + std::to_string(widest) + " entries where the mean is " +
                  std::to_string(out.nnz / std::max<std::int64_t>(out.rows, 1)) + ", so that it would take " +
                  mib(bytes) + " for " + mib(double(csr_bytes)) +
                  " as CSR: use the packed format, or kernel=\"merge_path\", which mind no long rows");
}

template <class V>
void fill(const Csr<V>& a, const EllG<V>& out, std::byte* to) {
  const auto strips = (out.block_rows + kStrip - 1) / kStrip;
  parallel_for(std::ssize(out.blocks) * strips, [&](std::int64_t task) {
    poll_interrupt();
    const auto block = task / strips, strip = task % strips;
    const auto& b = out.blocks[std::size_t(block)];
    const auto at = out.layout(block);
    auto* lengths = reinterpret_cast<Index*>(to + b.offset);
    auto* columns = reinterpret_cast<Index*>(to + b.offset + at.columns);
    auto* values = reinterpret_cast<V*>(to + b.offset + at.values);
    const auto first = strip * kStrip, last = std::min(at.stride, first + kStrip);
    for (auto i = first; i < last; ++i) {
      const bool real = i < b.rows;
      const auto begin = real ? a.indptr.data[b.first_row + i] : 0;
      const auto length = real ? a.indptr.data[b.first_row + i + 1] - begin : 0;
      lengths[i] = static_cast<Index>(length);
      for (std::int64_t j = 0; j < b.width; ++j) {
        columns[j * at.stride + i] = j < length ? a.indices.data[begin + j] : 0;
        if constexpr (!is_pattern<V>) values[j * at.stride + i] = j < length ? a.values.data[begin + j] : V();
      }
    }
  });
}

}  // namespace

template <class V>
double EllG<V>::padding() const {
  double stored = 0;
  for (const auto& b : blocks)
    stored += double(EllLayout<V>(b.rows, b.width).stride) * static_cast<double>(b.width);
  return stored > 0 ? 1 - static_cast<double>(nnz) / stored : 0;
}

template <class V>
EllG<V> to_ell_g(const Csr<V>& a, const EllOptions& options) {
  require(options.block_bytes > 0 && options.most_bytes > 0, "to_ell_g: give a block and a limit above 0");
  EllG<V> out{
      .rows = a.rows, .cols = a.cols, .nnz = a.nnz(), .block_rows = kRowsAlign, .blocks = {}, .bytes = {}};
  cut(out, a.indptr.span(), options);
  check_size(out, a.bytes(), options.most_bytes);
  const auto total =
      out.blocks.empty()
          ? 0
          : out.blocks.back().offset + EllLayout<V>(out.blocks.back().rows, out.blocks.back().width).bytes;
  // allocate() promises an alignment of 64 bytes only, and the blocks have to begin at a multiple of 128.
  auto room = allocate<std::byte>(total + 128);
  auto* first = room.data + (128 - reinterpret_cast<std::uintptr_t>(room.data) % 128) % 128;
  fill(a, out, first);
  out.bytes = {first, total, room.place, room.owner};
  return out;
}

template <class V>
Csr<V> to_csr(const EllG<V>& a) {
  const auto indptr = allocate<Offset>(a.rows + 1);
  const auto indices = allocate<Index>(a.nnz);
  const auto values = allocate<V>(is_pattern<V> ? 0 : a.nnz);
  indptr.data[0] = 0;
  parallel_for(std::ssize(a.blocks), [&](std::int64_t block) {
    const auto& b = a.blocks[std::size_t(block)];
    const auto at = a.layout(block);
    const auto* lengths = reinterpret_cast<const Index*>(a.bytes.data + b.offset);
    const auto* columns = reinterpret_cast<const Index*>(a.bytes.data + b.offset + at.columns);
    [[maybe_unused]] const auto* from = reinterpret_cast<const V*>(a.bytes.data + b.offset + at.values);
    auto k = b.first_nnz;
    for (std::int64_t i = 0; i < b.rows; ++i) {
      for (std::int64_t j = 0; j < lengths[i]; ++j, ++k) {
        indices.data[k] = columns[j * at.stride + i];
        if constexpr (!is_pattern<V>) values.data[k] = from[j * at.stride + i];
      }
      indptr.data[b.first_row + i + 1] = k;
    }
  });
  Csr<V> out{a.rows, a.cols, indptr, indices, {}};
  if constexpr (!is_pattern<V>) out.values = values;
  return out;
}

template <class V>
EllG<V> copy_to(const EllG<V>& a, Place place) {
  const bool gpu = place.memory == Memory::device || a.bytes.place.memory == Memory::device;
  const auto ordinal = place.memory == Memory::device ? place.ordinal : a.bytes.place.ordinal;
  const OwnedStream stream(gpu ? Where{ordinal} : Where{});
  const auto to = allocate<std::byte>(a.bytes.size, place);
  copy_async(to.data, a.bytes.data, a.bytes.size, stream);
  synchronize(stream);
  auto out = a;
  out.bytes = to;
  return out;
}

#define X(V)                                                   \
  template struct EllG<V>;                                     \
  template EllG<V> to_ell_g(const Csr<V>&, const EllOptions&); \
  template Csr<V> to_csr(const EllG<V>&);                      \
  template EllG<V> copy_to(const EllG<V>&, Place);
X(One)
X(float)
X(double)
X(Complex64)
X(Complex128)
#undef X

}  // namespace penstock
