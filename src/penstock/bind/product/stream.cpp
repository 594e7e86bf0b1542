// Plans that multiply one matrix again and again on GPUs whose memory it may exceed.
#include "penstock/bind/product/stream.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "penstock/bind/product/ell_g.hpp"
#include "penstock/bind/product/encode.hpp"
#include "penstock/bind/ready.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/reuse.hpp"
#include "penstock/format/column_panels.hpp"
#include "penstock/schedule/codec.hpp"
#include "penstock/schedule/csr_blocks.hpp"
#include "penstock/schedule/ell_blocks.hpp"
#include "penstock/schedule/packed_blocks.hpp"

namespace penstock::bind {
namespace {

using StreamVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;
using StreamResult = nb::ndarray<nb::ndim<1>, nb::c_contig>;

/// Pages of host memory that a plan reads: locked where asked, and whether all of them are.
class Pages {
 public:
  Pages(const StreamSettings& settings, bool lock) : lock_(lock) {
    for (const auto where : settings.devices) gpu_ |= where.is_gpu();
  }
  /// The array as the plan reads it: itself, its pages locked where asked; small ones, which share pages with others and
  /// cannot be locked, as a pinned copy.
  template <class T>
  Array<const T> ready(const Array<const T>& array) {
    if (!gpu_ || array.size == 0) return array;
    // This is asked first: pages that another plan has locked are shared with it, and stay locked when it ends.
    if (lock_ && array.place.memory == Memory::host)
      if (auto lock = lock_pages(array.data, array.bytes())) {
        locks.push_back(std::move(lock));
        return array;
      }
    if (place_of(array.data).memory != Memory::host) return array;
    if (!lock_ || array.bytes() >= kLeastLocked) {
      pinned_ = false;
      return array;
    }
    const auto copy = allocate<std::remove_const_t<T>>(array.size, {Memory::pinned});
    std::memcpy(copy.data, array.data, static_cast<std::size_t>(array.bytes()));
    return copy;
  }
  bool on_gpu() const { return gpu_; }
  bool bounce() const { return !pinned_; }
  std::vector<std::shared_ptr<void>> locks;

 private:
  bool lock_, gpu_ = false, pinned_ = true;
};

/// A plan over the blocks that `cut(slot_bytes, kept)` makes of a matrix with values of type V.
template <class V, class Source>
AnyPlan plan_with(std::function<Source(std::int64_t, std::span<const std::int64_t>)> cut,
                  StreamPlan::Shape shape, StreamSettings settings, Pages pages, Codec codec,
                  std::string kernel) {
  settings.bounce = pages.bounce();
  std::shared_ptr<const Source> source;
  AnyPlan out;
  out.codec = name(codec);
  out.keeps = std::move(pages.locks);
  out.plan = std::make_shared<StreamPlan>(
      [&](std::int64_t slot_bytes, std::span<const std::int64_t> kept) {
        source = std::make_shared<const Source>(cut(slot_bytes, kept));
        return list_of(source, kernel);
      },
      shape, settings);
  out.product = [source](const std::string& semiring, nb::dlpack::dtype type, const nb::object& alpha,
                         const nb::object& beta) {
    std::optional<BlockProduct> found;
#define X(S, W)                     \
  if constexpr (std::same_as<W, V>) \
    if (try_product_of<S, V>(source, semiring, type, alpha, beta, found)) return found;
    PENSTOCK_FOR_EACH_SPMV(X)
#undef X
    return found;
  };
  return out;
}

template <class V>
AnyPlan plan_of(const Csr<V>& a, const StreamSettings& settings, bool pin) {
  for (const Place place : {a.indptr.place, a.indices.place, a.values.place}) {
    check(Streamed{.devices = settings.devices}, place);
    check(InCore{}, place);
  }
  Pages pages(settings, pin);
  const Csr<V> read{a.rows, a.cols, pages.ready(a.indptr), pages.ready(a.indices), pages.ready(a.values)};
  return plan_with<V, CsrBlocks<V>>(
      [&](std::int64_t slot, auto kept) { return CsrBlocks<V>(read, slot, kept); },
      {a.rows, a.cols, a.bytes()}, settings, std::move(pages), Codec::raw,
      pages.on_gpu() ? "merge_path" : "balanced");
}

template <class V>
AnyPlan plan_of(const Packed<V>& a, const StreamSettings& settings, bool pin) {
  Pages pages(settings, pin);
  auto read = a;
  read.bytes = pages.ready(a.bytes);
  return plan_with<V, PackedBlocks<V>>(
      [&](std::int64_t slot, auto kept) { return PackedBlocks<V>(read, slot, kept); },
      {a.rows, a.cols, a.nbytes()}, settings, std::move(pages), Codec::packed, "packed");
}

template <class V>
AnyPlan plan_of(const EllG<V>& a, const StreamSettings& settings, bool pin) {
  Pages pages(settings, pin);
  auto read = a;
  read.bytes = pages.ready(a.bytes);
  return plan_with<V, EllBlocks<V>>([&](std::int64_t, auto) { return EllBlocks<V>(read); },
                                    {a.rows, a.cols, a.bytes.size}, settings, std::move(pages), Codec::ell_g,
                                    "ell_g");
}

StreamSettings settings_of(const std::vector<int>& gpus, std::int64_t block_bytes, int slots,
                           std::int64_t device_memory, bool keep, std::int64_t entry_bytes, bool cpu) {
  StreamSettings s{.devices = {},
                   .slot_bytes = block_bytes,
                   .slots = slots,
                   .device_memory = device_memory,
                   .keep = keep,
                   .entry_bytes = entry_bytes};
  for (const int gpu : gpus) s.devices.push_back(Where{gpu});
  if (cpu) s.devices.push_back(Where{});
  return s;
}

/// Where the bytes of an array are. Work that its library has queued on the GPU's default stream is waited for.
template <class A>
VectorAt at(const A& a) {
  auto* data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(a.data())));
  const auto place = place_when_ready(data);
  // Managed memory is read by every processor, as pinned memory is.
  if (place.memory == Memory::managed) return {data, {Memory::pinned}};
  return {data, place};
}

nb::object multiply_plan(AnyPlan& p, const StreamVector& x, const StreamResult& y,
                         const std::string& semiring, const nb::object& alpha, const nb::object& beta,
                         bool traced) {
  p.guard.require_whole();
  const auto& list = p.plan->list();
  require(std::int64_t(x.shape(0)) == list.cols, "multiply: x has " + std::to_string(x.shape(0)) +
                                                     " entries, the matrix has " + std::to_string(list.cols) +
                                                     " columns");
  require(std::int64_t(y.shape(0)) == list.rows, "multiply: y has " + std::to_string(y.shape(0)) +
                                                     " entries, the matrix has " + std::to_string(list.rows) +
                                                     " rows");
  require(x.dtype() == y.dtype(), "multiply: x and y differ in type");
  const auto product = p.product(semiring, x.dtype(), alpha, beta);
  if (!product) no_kernel(semiring);
  Trace trace;
  {
    const nb::gil_scoped_release release;
    p.plan->multiply(*product, at(x), at(y), traced ? &trace : nullptr);
  }
  if (!traced) return nb::none();
  auto event = nb::cast<nb::dict>(as_event(trace, true));
  event["codec"] = p.codec;
  return event;
}

nb::dict facts(const AnyPlan& p) {
  const auto& plan = *p.plan;
  nb::dict d;
  nb::list gpus, bytes;
  std::int64_t kept = 0, kept_blocks = 0, ring = 0, vectors = 0;
  for (const auto& lane : plan.lanes()) {
    gpus.append(lane->where().gpu), bytes.append(lane->device_bytes());
    kept += lane->kept_bytes(), ring += lane->ring_bytes();
    kept_blocks += lane->shape().kept_last - lane->shape().kept_first;
    if (lane->where().is_gpu()) vectors += lane->device_bytes() - lane->kept_bytes() - lane->ring_bytes();
  }
  d["codec"] = p.codec, d["gpus"] = gpus, d["kernel"] = plan.list().kernel;
  d["blocks"] = std::ssize(plan.list().blocks), d["kept_blocks"] = kept_blocks;
  d["kept_bytes"] = kept, d["streamed_bytes"] = plan.streamed_bytes();
  d["ring_bytes"] = ring, d["vector_bytes"] = vectors, d["device_bytes"] = bytes;
  d["block_bytes"] = plan.lanes().front()->shape().slot_bytes,
  d["slots"] = plan.lanes().front()->shape().slots;
  d["bounced"] = plan.settings().bounce, d["entry_bytes"] = plan.settings().entry_bytes;
  return d;
}

template <class Any>
void def_stream_plan(nb::module_& m) {
  m.def(
      "stream_plan",
      [](const Any& a, const std::vector<int>& gpus, std::int64_t block_bytes, int slots,
         std::int64_t device_memory, bool keep, std::int64_t entry_bytes, bool cpu, bool pin) {
        const auto settings = settings_of(gpus, block_bytes, slots, device_memory, keep, entry_bytes, cpu);
        const nb::gil_scoped_release release;
        auto plan = std::visit([&](const auto& one) { return plan_of(one, settings, pin); }, a.any(release));
        plan.guard = a.guard();
        return plan;
      },
      nb::arg("a"), nb::arg("gpus"), nb::arg("block_bytes") = 0, nb::arg("slots") = 3,
      nb::arg("device_memory") = 0, nb::arg("keep") = true, nb::arg("entry_bytes") = 8,
      nb::arg("cpu") = false, nb::arg("pin") = false,
      "A plan for many products. Devices: GPUs, or -1 for the CPU as a device. Sizes in bytes; device_memory "
      "is each GPU's, "
      "0 what is free. pin locks host arrays in place.",
      nb::keep_alive<0, 1>());
}

}  // namespace

void stream(nb::module_& m) {
  nb::class_<AnyPlan>(m, "StreamPlan")
      // A y of another order would be converted, and the result written to a copy that the caller does not see.
      .def(
          "multiply", multiply_plan, nb::arg("x"), nb::arg("y").noconvert(),
          nb::arg("semiring") = "plus_times", nb::arg("alpha") = nb::none(), nb::arg("beta") = nb::none(),
          nb::arg("traced") = true,
          "y = alpha A x + beta y; x and y in host, pinned or one GPU's memory. What was done, where traced.")
      .def("facts", facts);
  def_stream_plan<Matrix>(m);
  def_stream_plan<PackedMatrix>(m);
  def_stream_plan<EllGMatrix>(m);
  m.def(
      "column_panels",
      [](const Matrix& a, std::int64_t width) {
        const nb::gil_scoped_release release;
        return std::visit(
            [&](const auto& csr) {
              for (const Place place : {csr.indptr.place, csr.indices.place, csr.values.place})
                check(InCore{}, place);
              std::vector<Matrix> out;
              for (auto& panel : column_panels(csr, width)) out.emplace_back(std::move(panel));
              return out;
            },
            a.any(release));
      },
      nb::arg("a"), nb::arg("width"), "The matrix in ranges of `width` columns, copied.");
  m.def(
      "pinned_bytes",
      [](std::int64_t bytes) {
        std::shared_ptr<void> owner;
        {
          const nb::gil_scoped_release release;
          owner = reuse_bytes(bytes, {Memory::pinned});
        }
        auto* keep = new std::shared_ptr<void>(owner);
        return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(
            owner.get(), {static_cast<std::size_t>(bytes)},
            nb::capsule(keep, [](void* p) noexcept { delete static_cast<std::shared_ptr<void>*>(p); }));
      },
      nb::arg("bytes"), "Pinned host memory as a NumPy array of bytes; what is freed is used again.");
}

}  // namespace penstock::bind
