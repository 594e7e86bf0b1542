// C(i, j) += A(i, k) B(k, j) on a device, all sparse. As on the CPU (tile_spgemm.cpp) each product and each piece is a
// matrix of its own, and one is added to another of about its own size only; but products that follow one another in a tile
// are put together before they are computed. All of it is in the pool of one stream.
#include <algorithm>
#include <utility>
#include <vector>

#include "penstock/dist/tile/tile_gpu.hpp"
#include "penstock/dist/tile/tile_pieces.hpp"
#include "penstock/kernel/spgemm/spgemm_gpu.hpp"
#include "penstock/kernel/vectors/join_tiles.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// Bytes at the beginning of a piece: its first row, and its numbers of rows and of entries. A blob follows, aligned as the
/// blobs of an arena are.
constexpr std::int64_t kSparseHeadGpu = 64;

/// What the sums of one product share.
struct Workshop {
  explicit Workshop(Where where) : stream(where) {}
  OwnedStream stream;
  std::int64_t held = 0;  // bytes of tiles that wait for others
};

/// A tile's entries as factors of S, whose ones need no values.
template <Semiring S, class V>
CsrView<typename S::value_type> factor(const TileView& tile) {
  const auto view = csr_of<V>(tile.data, tile.tile);
  CsrView<typename S::value_type> out{.rows = view.rows,
                                      .cols = view.cols,
                                      .indptr = view.indptr,
                                      .indices = view.indices,
                                      .count = view.count};
  if constexpr (std::same_as<V, typename S::value_type>) out.values = view.values;
  return out;
}

template <Semiring S, class VA, class VB>
class SparseSumGpu final : public TileSum {
  using P = ProductValue<S>;
  struct Rows {
    Csr<P> entries;
    std::int64_t first = 0;
    std::int64_t size() const { return entries.nnz() + entries.rows; }
    CsrRows<P> view() const { return {entries.view(), first}; }
  };

 public:
  SparseSumGpu(const TileAt& tile, std::shared_ptr<Workshop> shop) : tile_(tile), shop_(std::move(shop)) {}
  ~SparseSumGpu() override {
    drain(here());
    forget();
  }
  SparseSumGpu(const SparseSumGpu&) = delete;
  SparseSumGpu& operator=(const SparseSumGpu&) = delete;

  void multiply_add(const TileView& a, const TileView& b) override {
    inner_ += a.tile.cols;
    held_.push_back({a, b});
    bytes_ += bytes_of(a) + bytes_of(b), shop_->held += bytes_of(a) + bytes_of(b);
    if (!a.kept || !b.kept || shop_->held > kJoinedBytes || std::ssize(held_) == kMostJoined) settle();
  }

  void settle() override {
    if (held_.empty()) return;
    if (held_.size() == 1 || inner_ > 2147483647 || !multiply_joined())
      for (const auto& [a, b] : held_) multiply(factor<S, VA>(a), factor<S, VB>(b));
    forget();
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    collapse();
    const auto& sum = sums_.front().entries;
    const auto nnz = sum.nnz(), rows = sum.rows;
    if (nnz == 0)
      return piece(
          kSparseHeadGpu, [&](std::byte* to) { write_head(to, 0, 0, 0); }, true);
    const auto bytes = kSparseHeadGpu + rows_bytes<P>(rows, nnz);
    if (bytes <= most) {
      const auto write = [&](std::byte* to) {
        write_entries(to, rows, 0, nnz);
        copy_async(to + kSparseHeadGpu, sum.indptr.data, sum.indptr.bytes(), here());
        write_head(to, 0, rows, nnz);
      };
      return piece(bytes, write, true);
    }
    const auto indptr = allocate<Offset>(rows + 1);
    copy_async(indptr.data, sum.indptr.data, indptr.bytes(), here());
    synchronize(here());
    cut(indptr.data, most, piece);
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    std::int64_t head[3];
    copy_async(head, piece, sizeof head, here());
    synchronize(here());
    if (head[2] == 0) return;
    const auto memory = allocate_scratch(bytes - kSparseHeadGpu, here());
    const auto* blob = static_cast<const std::byte*>(memory.get());
    copy_async(memory.get(), piece + kSparseHeadGpu, bytes - kSparseHeadGpu, here());
    synchronize(here());  // the piece's memory is the caller's
    const auto view = csr_of<P>(blob, {.rows = head[1], .cols = tile_.cols, .nnz = head[2]});
    const auto place = device_place(here().where);
    Csr<P> entries{head[1],
                   tile_.cols,
                   {view.indptr, head[1] + 1, place, memory},
                   {view.indices, head[2], place, memory},
                   {}};
    if constexpr (!is_pattern<P>) entries.values = {view.values, head[2], place, memory};
    push({std::move(entries), head[0]});
  }

  Offset finish() override {
    collapse();
    return sums_.front().entries.nnz();
  }

  void take(std::byte* blob) override {
    collapse();
    if (sums_.front().entries.rows != tile_.rows) {  // a sum of pieces only, which are not of all rows
      push(no_entries(tile_.rows));
      collapse();
    }
    const auto& sum = sums_.front().entries;
    const auto to = csr_of<P>(blob, {.rows = tile_.rows, .cols = tile_.cols, .nnz = sum.nnz()});
    copy_async(blob, sum.indptr.data, sum.indptr.bytes(), here());
    copy_async(const_cast<Index*>(to.indices), sum.indices.data, sum.indices.bytes(), here());
    if constexpr (!is_pattern<P>)
      copy_async(const_cast<P*>(to.values), sum.values.data, sum.values.bytes(), here());
    synchronize(here());
    sums_.clear();
  }

 private:
  using T = typename S::value_type;
  struct Pair {
    TileView a, b;
  };

  Stream here() const { return shop_->stream; }
  static std::int64_t bytes_of(const TileView& t) {
    return blob_bytes(true, tile_value<P>(), t.tile.rows, 0, t.tile.nnz);
  }
  void forget() {
    held_.clear();
    shop_->held -= std::exchange(bytes_, 0), inner_ = 0;
  }

  void multiply(const CsrView<T>& a, const CsrView<T>& b) {
    push({spgemm_on<S>(a, b, here(), {.pooled = true}), 0});  // complete when it returns
  }
  /// [A(i, k1) A(i, k2) ...] times B(k1, j) above B(k2, j) ...: one product, whose sums need no merging. Copies of tiles cost
  /// a fraction of that. False where there is no memory for them.
  bool multiply_joined() {
    std::shared_ptr<void> memory;
    CsrView<T> a, b;
    try {
      a = joined<VA>(&Pair::a, true, memory);
      std::shared_ptr<void> more;
      b = joined<VB>(&Pair::b, false, more);
      memory = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(memory, more);
    } catch (const Error& e) {
      if (e.code() != Errc::out_of_memory) throw;
      synchronize(here());
      return false;
    }
    multiply(a, b);
    return true;
  }
  template <class V>
  CsrView<T> joined(TileView Pair::*which, bool beside, std::shared_ptr<void>& memory) const {
    constexpr bool has_values = std::same_as<V, T>;  // else they are ones
    constexpr int kValue = has_values ? static_cast<int>(sizeof(T)) : 0;
    std::vector<JoinPart> parts;
    CsrView<T> out;
    for (const auto& pair : held_) {
      const auto tile = factor<S, V>(pair.*which);
      parts.push_back({tile.rows, tile.cols, tile.count, tile.indptr, tile.indices, tile.values});
      out.rows = beside ? tile.rows : out.rows + tile.rows;
      out.cols = beside ? out.cols + tile.cols : tile.cols;
      out.count = std::max<Offset>(out.count, 0) + tile.count;
    }
    const auto offsets = (out.rows + 1) * 8, columns = (out.count * 4 + 63) / 64 * 64,
               values = (offsets + 63) / 64 * 64 + columns;
    memory = allocate_scratch(values + out.count * kValue, here());
    auto* at = static_cast<std::byte*>(memory.get());
    Joined to{reinterpret_cast<Offset*>(at), reinterpret_cast<Index*>(at + values - columns),
              kValue > 0 ? at + values : nullptr};
    (beside ? join_beside : join_below)(parts, kValue, to, here());
    out.indptr = to.indptr, out.indices = to.indices;
    if constexpr (has_values) out.values = reinterpret_cast<const T*>(to.values);
    return out;
  }

  void push(Rows sum) {
    sums_.push_back(std::move(sum));
    while (sums_.size() > 1 && sums_[sums_.size() - 2].size() < 2 * sums_.back().size()) merge_last();
  }
  void merge_last() {
    const auto last = std::move(sums_.back());
    sums_.pop_back();
    auto& before = sums_.back();
    const auto first = std::min(before.first, last.first);
    before = {add_on<S>(before.view(), last.view(), here(), {.pooled = true}), first};
  }
  void collapse() {
    settle();
    while (sums_.size() > 1) merge_last();
    if (sums_.empty()) sums_.push_back(no_entries(0));
  }
  Rows no_entries(std::int64_t rows) const {
    const auto bytes = (rows + 1) * static_cast<std::int64_t>(sizeof(Offset));
    const auto memory = allocate_scratch(bytes, here());
    fill_async(memory.get(), 0, bytes, here());
    return {{rows,
             tile_.cols,
             {static_cast<const Offset*>(memory.get()), rows + 1, device_place(here().where), memory},
             {},
             {}},
            0};
  }

  /// Pieces of at most `most` bytes: as many rows as fit, or a part of a long one. `indptr`: the sum's, on the host.
  void cut(const Offset* indptr, std::int64_t most, const Piece& piece) {
    const auto nnz = sums_.front().entries.nnz(), rows = sums_.front().entries.rows;
    cut_rows<P>(indptr, rows, nnz, most - kSparseHeadGpu,
                [&](std::int64_t row, std::int64_t count, Offset e, Offset n) {
                  const auto write = [&](std::byte* to) {
                    std::vector<Offset> own(static_cast<std::size_t>(count) + 1);
                    for (std::int64_t r = 0; r <= count; ++r)
                      own[static_cast<std::size_t>(r)] = std::clamp(indptr[row + r], e, e + n) - e;
                    write_entries(to, count, e, n);
                    copy_async(to + kSparseHeadGpu, own.data(), (count + 1) * 8, here());
                    write_head(to, row, count, n);
                  };
                  piece(kSparseHeadGpu + rows_bytes<P>(count, n), write, e + n == nnz);
                });
  }

  /// Waits: what it copies ends with the call, and the piece is sent next.
  void write_head(std::byte* to, std::int64_t row, std::int64_t count, Offset n) const {
    const std::int64_t head[kSparseHeadGpu / 8] = {sums_.front().first + row, count, n};  // all of it is sent
    copy_async(to, head, sizeof head, here());
    synchronize(here());
  }
  void write_entries(std::byte* to, std::int64_t count, Offset e, Offset n) const {
    const auto& sum = sums_.front().entries;
    const auto at = csr_of<P>(to + kSparseHeadGpu, {.rows = count, .cols = tile_.cols, .nnz = n});
    copy_async(const_cast<Index*>(at.indices), sum.indices.data + e, n * 4, here());
    if constexpr (!is_pattern<P>)
      copy_async(const_cast<P*>(at.values), sum.values.data + e, n * value_bytes<P>, here());
    if (n % 2 != 0) fill_async(const_cast<Index*>(at.indices) + n, 0, sizeof(Index), here());  // sent too
  }

  TileAt tile_;
  std::shared_ptr<Workshop> shop_;  // before the sums, whose memory is in its stream's pool
  std::vector<Pair> held_;          // products that are put off
  std::int64_t bytes_ = 0, inner_ = 0;
  std::vector<Rows> sums_;  // each at least twice as large as the next
};

template <Semiring S, class VA, class VB>
class SpgemmGpu final : public LocalProduct {
 public:
  explicit SpgemmGpu(Where where) : shop_(std::make_shared<Workshop>(where)) {}
  bool joins() const override { return true; }
  TileValue result() const override { return tile_value<ProductValue<S>>(); }
  std::unique_ptr<TileSum> start(const TileAt& tile, std::byte*) const override {
    return std::make_unique<SparseSumGpu<S, VA, VB>>(tile, shop_);
  }

 private:
  std::shared_ptr<Workshop> shop_;
};

}  // namespace

std::unique_ptr<LocalProduct> local_spgemm_gpu(std::string_view semiring, TileValue a, TileValue b,
                                               Where where) {
#define X(S, VA, VB)                                                                    \
  if (semiring == semiring_name<S>() && a == tile_value<VA>() && b == tile_value<VB>()) \
    return std::make_unique<SpgemmGpu<S, VA, VB>>(where);
  X(PlusTimes<double>, One, One)
  X(PlusTimes<double>, double, double)
  X(PlusTimes<double>, One, double)
  X(PlusTimes<double>, double, One)
  X(PlusTimes<float>, float, float)
  X(PlusTimes<float>, One, float)
  X(PlusTimes<float>, float, One)
  X(OrAnd, One, One)
#undef X
  return nullptr;
}

}  // namespace penstock
