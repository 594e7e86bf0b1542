#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "penstock/dist/halo/halo_gpu.hpp"
#include "penstock/dist/link/gpu_clock.hpp"
#include "penstock/dist/product/dist_product.hpp"
#include "penstock/dist/product/sums_gpu.hpp"
#include "penstock/dist/share/dist_csr.hpp"
#include "penstock/kernel/spmm/spmm_gpu.hpp"
#include "penstock/kernel/spmv/spmv_gpu.hpp"
#include "penstock/kernel/vectors/sweep.hpp"
#include "penstock/schedule/stream_plan.hpp"

// The products of dist_product.hpp with each rank's part on a GPU. The steps are those of dist_product.cpp, queued on a
// stream; the host waits only where an exchange needs it.
namespace penstock {

struct DistGpuOptions {
  Where where = {};           // this rank's device; the CPU is one, too
  std::string halo = "auto";  // of gpu_halos(), or "auto"
  /// The owned rows of the local block stay in host memory and travel block by block (what fits is kept): for parts that
  /// the GPU's memory does not hold. All else of the matrix is on the GPU.
  bool streamed = false;
  std::int64_t device_memory = 0;  // for the streamed block, in bytes; 0: what is free
};

/// The products of a matrix that is shared out, each part on a GPU, with x and y there. The exchange of x travels while the
/// local block is multiplied. Every rank calls the same products in the same order. One thread at a time.
template <class V>
class DistProductGpu {
 public:
  /// Copies this rank's part to its GPU. Exchanges are made when a product first needs them. Throws what make_gpu_halo
  /// throws, and Error{out_of_memory} where the part does not fit. Collective.
  DistProductGpu(DistCsr<V> a, DistGpuOptions options);

  /// y = alpha A x + beta y over S, ordered on the stream; x has cols() entries, y rows(), on this rank's device, and they
  /// do not overlap. The host waits for neighbours, but for its own device only where the exchange goes through the host
  /// or the matrix is streamed. Collective.
  template <Semiring S>
  void multiply(const typename S::value_type* x, typename S::value_type* y, Scale<S> scale, Stream stream) {
    multiply_columns<S>(x, y, 1, scale, stream);
  }
  /// The same with several vectors, x and y row-major without gaps between rows: one exchange brings all columns. All ranks
  /// give as many. Throws Error{invalid_argument} where the matrix is streamed and there is more than one.
  template <Semiring S>
  void multiply_columns(const typename S::value_type* x, typename S::value_type* y, std::int64_t columns,
                        Scale<S> scale, Stream stream);
  /// y = alpha A^T x + beta y in the same way: x has rows() entries, y cols(). The first one puts a transpose of this rank's part on
  /// the GPU, beside the part itself.
  template <Semiring S>
  void multiply_columns_transposed(const typename S::value_type* x, typename S::value_type* y,
                                   std::int64_t columns, Scale<S> scale, Stream stream);

  /// The entries of x that this rank needs from other ranks, by owner; on the device until the next exchange or product. Null
  /// where no rank needs any. x has the owned entries, on the device. Ordered on the stream. Collective.
  const void* exchange(const void* x, std::int64_t entry_bytes, Stream stream);
  /// The way back: adds what other ranks have for each owned entry to owned[i]. `ghosts` has as many entries as exchange() brings, in their
  /// order, and is not overwritten before the stream has come here. From GPU to GPU by the strategy of the products; one
  /// rank's after the other in ascending order: the same bits in every run. Collective.
  template <class T>
  void add_ghosts(const T* ghosts, T* owned, Stream stream);

  /// For use after an error: returns when no other rank reads this one's vectors. Work on the GPU that waits for a rank that will
  /// not come is ended, where that is possible. No product is possible afterwards.
  void abandon() noexcept;

  const DistCsr<V>& matrix() const { return a_; }
  Where where() const { return options_.where; }
  std::int64_t device_bytes() const { return device_bytes_; }  // of the matrix
  /// The strategy, which "auto" chooses when a product first needs one; empty before.
  const std::string& halo_name() const { return strategy_; }
  /// By the GPU's clock; waits for the products that have been queued.
  const DistTimes& times();
  void clear_times();

 private:
  /// What the products of a block need, made once.
  struct Plan {
    SpmvGpuPlan one = {};
    SpmmGpuPlan many = {};
  };
  /// The exchanges for vectors of one entry size and number of columns. In products with the transpose, `x` brings entries of
  /// foreign rows, and `sums` takes sums of ghosts back.
  struct Links {
    std::int64_t columns = 1;
    Plan own, foreign, halo_own, halo_foreign;
    Plan before, after;  // owned rows beside inner_
    std::unique_ptr<GpuHalo> x;
    std::unique_ptr<SumsGpu> sums;
    Array<std::byte> part = {};  // products of halo rows, before they are added
  };
  /// Transposes of the four blocks on the device: owned rows and foreign rows, each of the local and of the halo block.
  struct Transposed {
    Csr<V> own, foreign, halo_own, halo_foreign;
  };
  struct Marks {
    explicit Marks(Where w) : begun(w), local(w), arrived(w), done(w) {}
    StreamMark begun, local, arrived, done;
    bool open = false;  // not yet counted
  };
  struct Streaming;
  /// The exchange that takes ghosts back to their owners: that of the reverse plan.
  struct Back {
    std::unique_ptr<GpuHalo> halo;
    Array<const Index> to;  // where its entries belong
  };

  template <class T>
  Array<const T> copied(const Array<const T>& from);
  void compress_halo();
  CsrView<V> rows_of(const Csr<V>& a, std::int64_t first, std::int64_t last, Offset first_nnz,
                     Offset last_nnz) const;
  /// Checks what every product asks for.
  void require_possible(std::int64_t columns, Stream stream) const;
  Plan plan(const CsrView<V>& a, std::int64_t value_bytes, std::int64_t columns) {
    if (columns == 1) return {.one = plan_spmv(a, value_bytes, setup_)};
    const auto products = tasks_serve(columns * value_bytes) ? SpmmPlanFor::many : SpmmPlanFor::one;
    return {.many = spmm_plan(a, products, setup_)};
  }
  Links& links(std::int64_t value_bytes, std::int64_t columns);
  Back& back(std::int64_t entry_bytes);
  Links& links_back(std::int64_t value_bytes, std::int64_t columns);
  Csr<V> transposed_of(const Csr<V>& a, std::int64_t first, std::int64_t last);
  Marks& next_marks();
  void settle(Marks& m);
  void find_inner();
  /// The owned rows of the local block and of y before inner_, in it, or after it.
  struct Part {
    std::int64_t first = 0;
    CsrView<V> rows;
  };
  Part own_rows(std::int64_t first, std::int64_t end) const;
  /// The products with rows beside inner_, on a stream of their own, while those of inner_ are multiplied on `stream`.
  template <Semiring S>
  void multiply_edges(Links& l, const typename S::value_type* x, typename S::value_type* y, Scale<S> scale,
                      Marks& m);
  template <Semiring S>
  static void block(const CsrView<V>& a, const typename S::value_type* x, typename S::value_type* y,
                    std::int64_t columns, Scale<S> scale, Stream stream, const Plan& plan);
  template <Semiring S>
  void add_halo(Links& l, const CsrView<V>& rows, const Plan& plan, const Index* row_ids,
                typename S::value_type alpha, typename S::value_type* y, Stream stream);

  DistCsr<V> a_;
  DistGpuOptions options_;
  Csr<V> local_, halo_;  // on the device; local_ has no owned rows where they are streamed
  CsrView<V> own_view_, foreign_view_, halo_own_view_, halo_foreign_view_;
  /// The row of y of each owned row of the halo block, then the number of each foreign row, counted from 0.
  Array<const Index> halo_rows_;
  std::int64_t halo_own_ = 0;  // owned rows of the halo block
  /// The longest run of owned rows without ghosts, where it is most of the rows: then what needs ghosts is multiplied beside
  /// it, as soon as they come. Else no rows.
  std::int64_t inner_ = 0, inner_end_ = 0;
  bool has_inner() const { return inner_ < inner_end_; }
  bool any_ghosts_ = false, any_foreign_ = false;  // on any rank
  std::int64_t device_bytes_ = 0;
  std::string strategy_;
  std::shared_ptr<Streaming> streaming_;
  OwnedStream setup_, side_;  // side_: what needs ghosts, beside the product of inner_
  OwnedEvent edges_done_;
  std::optional<Transposed> transposed_;
  /// By the bytes of a number, the number of columns, and whether the product is that of the transpose.
  std::map<std::tuple<std::int64_t, std::int64_t, bool>, Links> links_;
  std::map<std::int64_t, Back> back_;  // by the bytes of an entry
  std::vector<std::unique_ptr<Marks>> marks_;
  std::size_t next_ = 0;
  DistTimes times_;
};

template <class V>
template <class T>
Array<const T> DistProductGpu<V>::copied(const Array<const T>& from) {
  if (!options_.where.is_gpu()) return from;
  const auto to = allocate<T>(from.size, device_place(options_.where));
  copy_async(to.data, from.data, from.bytes(), setup_);
  synchronize(Stream(setup_));
  device_bytes_ += from.bytes();
  return to;
}

/// y = scale(a x, y) of one block.
template <class V>
template <Semiring S>
void DistProductGpu<V>::block(const CsrView<V>& a, const typename S::value_type* x, typename S::value_type* y,
                              std::int64_t columns, Scale<S> scale, Stream stream, const Plan& plan) {
  if (columns == 1) return spmv<S, V>(a, x, y, scale, stream, plan.one);
  spmm_on<S, V>(a, {x, a.cols, columns, columns, 1}, {y, a.rows, columns, columns, 1}, scale, stream,
                {.plan = &plan.many});
}

}  // namespace penstock
