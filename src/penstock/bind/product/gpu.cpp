// Timing on a GPU, by its own clock: for benchmarks. No product of users goes through this.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "penstock/bind/bind.hpp"
#include "penstock/bind/product/gpu_timing.hpp"
#include "penstock/core/gpu_facts.hpp"
#include "penstock/kernel/spmv/spmv_gpu.hpp"

namespace penstock::bind {
namespace {

using AnyVector = nb::ndarray<nb::ro, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class S, class V>
bool try_time(const Matrix& m, const AnyVector& x, std::string_view semiring, int repeats, int gpu,
              bool planned, bool tiles, nb::tuple& result) {
  using T = typename S::value_type;
  const auto* a = std::get_if<Csr<V>>(&m.unread());
  if (!a || semiring != semiring_name<S>() || x.dtype() != nb::dtype<T>()) return false;
  m.guard().look();
  require(std::int64_t(x.shape(0)) == a->cols,
          "time_spmv_gpu: x must have as many entries as the matrix has columns");
  readable_by(gpu, *a, "time_spmv_gpu");
  const auto y = allocate<T>(a->rows);
  std::vector<double> seconds;
  {
    const nb::gil_scoped_release release;
    const Place here{Memory::device, static_cast<std::int16_t>(gpu)};
    const auto device_x = allocate<T>(a->cols, here), device_y = allocate<T>(a->rows, here);
    const OwnedStream stream(Where{gpu});
    copy_async(device_x.data, x.data(), device_x.bytes(), stream);
    const auto plan = planned ? plan_spmv(a->view(), sizeof(T), stream, tiles) : SpmvGpuPlan{};
    seconds = time_runs(stream, repeats, [&] {
      if (planned) spmv<S, V>(a->view(), device_x.data, device_y.data, {}, stream, plan);
      else spmv<S, V>(a->view(), device_x.data, device_y.data, {}, stream);
    });
    copy_async(y.data, device_y.data, y.bytes(), stream);
    synchronize(stream);
  }
  result = nb::make_tuple(seconds, as_numpy<T>(y));
  return true;
}

nb::tuple time_spmv_gpu(const Matrix& a, const AnyVector& x, const std::string& semiring, int repeats,
                        int gpu, bool planned, bool tiles) {
  nb::tuple result;
#define X(S, V) \
  if (try_time<S, V>(a, x, semiring, repeats, gpu, planned, tiles, result)) return result;
  PENSTOCK_FOR_EACH_SPMV(X)
#undef X
  throw Error(Errc::not_compiled, "no kernel for semiring " + semiring + " with these value types");
}

std::vector<double> time_copy_gpu(std::int64_t bytes, const std::string& to, const std::string& from,
                                  int repeats, int gpu) {
  const nb::gil_scoped_release release;
  const auto target = allocate<std::byte>(bytes, place_named(to, gpu));
  const auto source = allocate<std::byte>(bytes, place_named(from, gpu));
  const OwnedStream stream(Where{gpu});
  const auto pattern = allocate<std::uint32_t>(bytes / 4);  // not zeros: those can be faster than data
  for (std::int64_t i = 0; i < pattern.size; ++i)
    pattern.data[i] = static_cast<std::uint32_t>(i) * 2654435761u;
  copy_async(source.data, pattern.data, pattern.bytes(), stream);
  return time_runs(stream, repeats, [&] { copy_async(target.data, source.data, bytes, stream); });
}

}  // namespace

void gpu(nb::module_& m) {
  m.def(
      "gpu_info",
      [](int gpu) {
        const auto info = gpu_info(gpu);
        nb::dict d;
        d["name"] = info.name, d["bus"] = info.bus, d["driver"] = info.driver, d["runtime"] = info.runtime;
        d["memory_bytes"] = info.memory_bytes, d["free_bytes"] = info.free_bytes,
        d["cache_bytes"] = info.cache_bytes;
        d["multiprocessors"] = info.multiprocessors;
        return d;
      },
      nb::arg("gpu"), "What a GPU and its driver say of themselves; sizes in bytes.");
  m.def(
      "gpu_facts",
      [](int gpu) {
        const auto& f = gpu_facts(Where{gpu});
        nb::dict d;
        d["capability"] = std::to_string(f.major) + "." + std::to_string(f.minor);
        d["multiprocessors"] = f.multiprocessors, d["threads"] = f.threads;
        d["shared_block"] = f.shared_block, d["shared"] = f.shared, d["cache_bytes"] = f.cache;
        d["memory_bytes_per_s"] = f.memory_rate, d["pools"] = f.pools, d["shares_managed"] = f.shares_managed;
        return d;
      },
      nb::arg("gpu"),
      "What launches ask of a GPU: threads and bytes of shared memory of a multiprocessor, the most of a "
      "block, the "
      "second-level cache, and what clock and bus give its memory (0: not told). PENSTOCK_EMULATE_GPU lowers "
      "them.");
  m.def("time_spmv_gpu", time_spmv_gpu, nb::arg("a"), nb::arg("x"), nb::arg("semiring") = "plus_times",
        nb::arg("repeats") = 7, nb::arg("gpu") = 0, nb::arg("planned") = true, nb::arg("tiles") = false,
        "(seconds of each kernel call, y) for y = A x with x and y on the GPU and A where the GPU can read "
        "it. `planned`: "
        "with the row starts found before, as a matrix that is multiplied again and again has them; `tiles`: "
        "by tiles, even "
        "where the matrix is small.");
  m.def("time_copy_gpu", time_copy_gpu, nb::arg("bytes"), nb::arg("to"), nb::arg("source"),
        nb::arg("repeats") = 7, nb::arg("gpu") = 0,
        "Seconds of each copy between \"host\", \"pinned\" and \"device\" memory.");
}

}  // namespace penstock::bind
