// Random lifts in the memory of a GPU. Copy 0 is hashed and sorted by the CPU, travels, and becomes all copies there.
#include <algorithm>
#include <sstream>
#include <string>
#include <type_traits>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/gpu_code.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/io/generate/generate_lift.hpp"
#include "penstock/io/generate/on_gpu.hpp"

namespace penstock {
namespace {

[[noreturn, maybe_unused]] void refuse(const OnGpu& where, std::int64_t needed, std::int64_t free,
                                       bool limited) {
  std::ostringstream text;
  text.precision(3);
  text << "this lift needs " << static_cast<double>(needed) / 1e9 << " GB and "
       << static_cast<double>(free) / 1e9 << " GB are free on GPU " << where.gpu
       << (limited ? " (limited by the option device_memory)" : "")
       << ": ask for fewer copies, or make it on the CPU";
  throw Error(Errc::out_of_memory, text.str());
}

/// The row of each entry.
template <class V>
Array<Index> rows_of(const Csr<V>& a) {
  auto rows = allocate<Index>(a.nnz());
  parallel_ranges(a.rows, 1 << 14, [&](std::int64_t first, std::int64_t last) {
    for (auto r = first; r < last; ++r)
      std::fill(rows.data + a.indptr.data[r], rows.data + a.indptr.data[r + 1], static_cast<Index>(r));
  });
  return rows;
}

template <class V>
MadeOnGpu<V> written(const OnGpu& where, const Csr<V>& a, const LiftOptions& o, const Csr<V>& base) {
  const auto nnz = a.nnz(), rows = a.rows * o.copies;
  constexpr auto kEntryBytes = static_cast<std::int64_t>(sizeof(Index)) + value_bytes<V>;
  const auto unused = std::max<std::int64_t>(0, gpu_info(where.gpu).free_bytes - kSpareOnGpu);
  const auto free = where.memory > 0 ? std::min(where.memory, unused) : unused;
  const auto needed = 8 * (rows + a.rows + 2) + kEntryBytes * nnz * (o.copies + 1) +
                      static_cast<std::int64_t>(sizeof(Index)) * nnz;
  if (needed > free) refuse(where, needed, free, where.memory > 0 && where.memory < unused);
  const UseDevice use(Where{where.gpu});
  const OwnedStream stream(Where{where.gpu});
  const Place here{Memory::device, static_cast<std::int16_t>(where.gpu)};
  const auto uploaded = [&]<class T>(const Array<T>& from) {
    auto to = allocate<std::remove_const_t<T>>(from.size, here);
    copy_async(to.data, from.data, from.bytes(), stream);
    return to;
  };
  auto indptr = allocate<Offset>(rows + 1, here);
  auto indices = allocate<Index>(nnz * o.copies, here);
  Array<V> values, from_values;
  if constexpr (!is_pattern<V>) {
    values = allocate<V>(nnz * o.copies, here);
    from_values = uploaded(base.values);
  }
  const auto owners = rows_of(a);  // read by copies that may still run
  const auto from_indptr = uploaded(base.indptr);
  const auto from_indices = uploaded(base.indices), from_rows = uploaded(Array<const Index>(owners));
  const Drained drained{stream};
  const LiftView view{a.rows, o.copies, from_indptr.data, from_indices.data};
  gpu::write_lift<V>(view, nnz, from_rows.data, from_values.data, indptr.data, indices.data, values.data,
                     stream);
  synchronize(stream);
  return {{rows, rows, indptr, indices, values}, 1, needed};
}

}  // namespace

template <class V>
MadeOnGpu<V> generate_lift_on(const OnGpu& where, const Csr<V>& a, const LiftOptions& o) {
  const auto base = first_copy(a, o);
  if constexpr (have_cuda) {
    return written(where, a, o, base);
  } else {
    throw Error(Errc::not_compiled,
                no_cuda_for("generating on GPU " + std::to_string(where.gpu)) + ", or leave `device` out");
  }
}

#define X(V) template MadeOnGpu<V> generate_lift_on(const OnGpu&, const Csr<V>&, const LiftOptions&);
PENSTOCK_FOR_EACH_VALUE(X)
#undef X

}  // namespace penstock
