// C(i, j) += A(i, k) B(k, j) on a device, A sparse, B and C dense; the device's form of tile_spmm.cpp. A sum for another rank marks
// the rows with products, and only these travel, packed by a kernel, each with its number.
#include <algorithm>
#include <utility>

#include "penstock/core/reuse.hpp"
#include "penstock/dist/tile/tile_gpu.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/kernel/spmv/add_part.hpp"
#include "penstock/kernel/structure/named_rows.hpp"
#include "penstock/kernel/vectors/gather.hpp"
#include "penstock/kernel/vectors/sweep.hpp"

namespace penstock {
namespace {

/// Bytes at the beginning of a piece, of which the first 8 are the number of its first entry, counted row by row. Entries
/// follow, aligned as the blocks of an arena are. Or, below 0, they say how many rows follow: their numbers, padded to so many
/// bytes again, and then their entries.
constexpr std::int64_t kDenseHeadGpu = 64;

std::int64_t names_bytes(std::int64_t rows) { return padded_to(rows * kRowName, kDenseHeadGpu); }

/// What the sums of one product share. Memory of sums that are gone serves the next ones: freeing it would wait for all
/// that the device does, copies of tiles included.
struct DenseWorkshop {
  explicit DenseWorkshop(Where where) : stream(where) {}
  Array<std::byte> take(std::int64_t bytes) {
    if (free.size >= bytes) return std::exchange(free, {});
    const auto place = device_place(Stream(stream).where);
    auto memory = reuse_bytes(bytes, place);
    return {static_cast<std::byte*>(memory.get()), bytes, place, memory};
  }
  void give(Array<std::byte> memory) {
    if (memory.size > free.size) free = std::move(memory);
  }
  OwnedStream stream;
  Array<std::byte> free;  // the largest that was given back
};

/// The rows of a tile with entries, and where their entries end: the same matrix without its empty rows.
struct RowsMet {
  RowsMet(const CsrView<One>& a, Stream stream)
      : names(named_rows(a.indptr, a.rows, stream)),
        ends(allocate<Offset>(names.size + 1, device_place(stream.where))) {
    gather(a.indptr, names.data, names.size, sizeof(Offset), ends.data, stream);
    copy_async(ends.data + names.size, a.indptr + a.rows, sizeof(Offset), stream);
  }
  Array<const Index> names;
  Array<Offset> ends;
};
/// Sums of few rows are made apart and added: they are written, read, and added to rows of C, where else all rows of C are read
/// and written.
constexpr bool few_rows(std::int64_t met, std::int64_t all) {
  return met >= 0 && static_cast<double>(met) < kFewRows * static_cast<double>(all);
}

template <Semiring S, class V>
class DenseSumGpu final : public TileSum {
  using T = typename S::value_type;

 public:
  DenseSumGpu(const TileAt& tile, std::byte* place, std::shared_ptr<DenseWorkshop> shop)
      : tile_(tile), shop_(std::move(shop)) {
    if (!place && tile.nnz > 0) {
      own_ = shop_->take(tile.nnz * kWord);
      place = own_.data;
      const auto bytes = mark_words(tile.rows) * static_cast<std::int64_t>(sizeof(std::uint32_t));
      marks_ = reuse_bytes(bytes, device_place(here().where));
      fill_async(marks_.get(), 0, bytes, here());
    }
    data_ = reinterpret_cast<T*>(place);
  }
  ~DenseSumGpu() override {
    drain(here());
    if (own_.data) shop_->give(std::move(own_));
  }
  DenseSumGpu(const DenseSumGpu&) = delete;
  DenseSumGpu& operator=(const DenseSumGpu&) = delete;

  void multiply_add(const TileView& a, const TileView& b) override {
    const auto cols = tile_.cols;
    if (tile_.nnz == 0) return;
    const DenseView<const T> x{reinterpret_cast<const T*>(b.data), b.tile.rows, cols, cols, 1};
    const auto met = a.tile.row_span();
    // The first product writes all rows of an own tile. Of another rank's only those between the first and the last with products
    // exist, until there are others.
    const auto rows = fresh_ && !marks_ ? Span{0, tile_.rows} : met;
    if (fresh_) written_ = rows;
    else if (!written_.covers(rows)) write_all();
    if (const bool first = std::exchange(fresh_, false);
        !first && a.memo && few_rows(a.tile.rows_met, rows.size())) {
      add_few(a, x);
    } else {
      const DenseView<T> y{data_ + rows.first * cols, rows.size(), cols, cols, 1};
      spmm_on<S, V>(rows_of<V>(a, rows), x, y, first ? Scale<S>{} : Scale<S>::accumulate(), here());
    }
    rows_ = rows_.with(met);
    if (marks_) mark_rows(csr_of<One>(a.data, a.tile).indptr, a.tile.rows, marks(), here());
    synchronize(here());
  }

  void pieces(std::int64_t most, const Piece& piece) override {
    begin();
    if (marks_ && tile_.nnz > 0) {
      const auto names = named_by(marks(), tile_.rows, here());
      if (rows_in(most) > 0 && worth_naming(names.size, rows_, row_bytes()))
        return named_pieces(names, rows_in(most), piece);
    }
    const auto step = (most - kDenseHeadGpu) / kWord;
    auto first = rows_.first * tile_.cols;
    const auto end = rows_.end * tile_.cols;
    do {
      const auto count = std::min(step, end - first);
      const auto bytes = count * kWord;
      const auto write = [&](std::byte* to) {
        const std::int64_t head[kDenseHeadGpu / 8] = {first};  // all of it is sent
        copy_async(to, head, sizeof head, here());
        copy_async(to + kDenseHeadGpu, data_ + first, bytes, here());
        synchronize(here());
      };
      piece(kDenseHeadGpu + bytes, write, first + count == end);
      first += count;
    } while (first < end);
  }

  void add_piece(const std::byte* piece, std::int64_t bytes) override {
    begin();
    const auto* const after = piece + kDenseHeadGpu;
    const auto first = fetch(reinterpret_cast<const std::int64_t*>(piece), here());
    if (first < 0)
      scatter_add<S>(reinterpret_cast<const T*>(after + names_bytes(-first)),
                     reinterpret_cast<const Index*>(after), -first, tile_.cols, data_, here());
    else
      add_part<S>(data_, reinterpret_cast<const std::int64_t*>(piece), reinterpret_cast<const T*>(after),
                  (bytes - kDenseHeadGpu) / kWord, here());
    synchronize(here());
  }

  Offset finish() override {
    begin();
    return tile_.nnz;
  }
  void take(std::byte*) override {}

 private:
  static constexpr auto kWord = static_cast<std::int64_t>(sizeof(T));
  Stream here() const { return shop_->stream; }
  std::int64_t row_bytes() const { return tile_.cols * kWord; }
  std::uint32_t* marks() const { return static_cast<std::uint32_t*>(marks_.get()); }
  /// Rows with their numbers that a piece of `most` bytes holds.
  std::int64_t rows_in(std::int64_t most) const {
    return (most - 2 * kDenseHeadGpu) / (row_bytes() + kRowName);
  }

  /// Adds a product of whose left factor few rows have entries.
  void add_few(const TileView& a, const DenseView<const T>& x) {
    auto few = csr_of<V>(a.data, a.tile);
    if (!*a.memo) *a.memo = std::make_shared<RowsMet>(csr_of<One>(a.data, a.tile), here());
    const auto& met = *static_cast<const RowsMet*>(a.memo->get());
    few.rows = met.names.size, few.indptr = met.ends.data;
    const auto sums = shop_->take(few.rows * row_bytes());
    const DenseView<T> y{reinterpret_cast<T*>(sums.data), few.rows, tile_.cols, tile_.cols, 1};
    spmm_on<S, V>(few, x, y, Scale<S>{}, here());
    scatter_add<S>(y.data, met.names.data, few.rows, tile_.cols, data_, here());
    synchronize(here());
    shop_->give(sums);
  }

  void named_pieces(const Array<const Index>& names, std::int64_t step, const Piece& piece) {
    std::int64_t n = 0;
    do {  // at least one, which says how many products are in it
      const auto some = std::min(step, names.size - n);
      const auto write = [&](std::byte* to) {
        const std::int64_t head[kDenseHeadGpu / 8] = {-some};
        copy_async(to, head, sizeof head, here());
        to += kDenseHeadGpu;
        if (some > 0) copy_async(to, names.data + n, some * kRowName, here());
        const auto named = some * kRowName;  // what pads them is sent, too
        if (const auto rest = names_bytes(some) - named; rest > 0) fill_async(to + named, 0, rest, here());
        gather(data_, names.data + n, some, row_bytes(), to + names_bytes(some), here());
        synchronize(here());
      };
      piece(kDenseHeadGpu + names_bytes(some) + some * row_bytes(), write, n + some == names.size);
      n += some;
    } while (n < names.size);
  }

  /// Rows that no product has written become zeros.
  void write_all() {
    const auto clear = [&](std::int64_t first, std::int64_t end) {
      if (first < end) fill_async(data_ + first * tile_.cols, 0, (end - first) * row_bytes(), here());
    };
    clear(0, written_.first), clear(written_.end, tile_.rows);
    written_ = {0, tile_.rows};
  }
  /// The first product overwrites what is there; anything else finds zeros.
  void begin() {
    static_assert(S::zero() == T(0), "zeros are written as bytes");
    if (!std::exchange(fresh_, false)) return;
    fill_async(data_, 0, tile_.nnz * kWord, here());
    written_ = {0, tile_.rows};
    synchronize(here());
  }

  TileAt tile_;
  std::shared_ptr<DenseWorkshop> shop_;
  Span rows_{0, 0};              // between which products are
  Span written_{0, 0};           // the rows that hold sums; the others hold nothing yet
  std::shared_ptr<void> marks_;  // of a sum for another rank: a bit for each row with products
  bool fresh_ = true;
  Array<std::byte> own_;
  T* data_ = nullptr;
};

template <Semiring S, class V>
class SpmmGpu final : public LocalProduct {
 public:
  explicit SpmmGpu(Where where) : shop_(std::make_shared<DenseWorkshop>(where)) {}
  TileValue result() const override { return tile_value<typename S::value_type>(); }
  std::unique_ptr<TileSum> start(const TileAt& tile, std::byte* place) const override {
    return std::make_unique<DenseSumGpu<S, V>>(tile, place, shop_);
  }

 private:
  std::shared_ptr<DenseWorkshop> shop_;
};

}  // namespace

std::unique_ptr<LocalProduct> local_spmm_gpu(std::string_view semiring, TileValue a, TileValue b,
                                             Where where) {
#define X(S, V)                                                                                            \
  if (semiring == semiring_name<S>() && a == tile_value<V>() && b == tile_value<typename S::value_type>()) \
    return std::make_unique<SpmmGpu<S, V>>(where);
  X(PlusTimes<float>, One)
  X(PlusTimes<float>, float)
  X(PlusTimes<double>, One)
  X(PlusTimes<double>, double)
#undef X
  return nullptr;
}

}  // namespace penstock
