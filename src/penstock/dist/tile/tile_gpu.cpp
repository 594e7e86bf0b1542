// What products of tiles on devices need besides their arithmetic.
#include "penstock/dist/tile/tile_gpu.hpp"

#include "penstock/dist/link/bounded_wait.hpp"
#include "penstock/dist/link/transport_gpu.hpp"

namespace penstock {
namespace {

std::string place_text(const TileMatrix& t) {
  if (t.where().is_gpu()) return "on GPU " + std::to_string(t.where().gpu);
  return t.on_device() ? "on the CPU as a device" : "in host memory";
}

}  // namespace

MakeTransport transport_of_kind(std::string kind, Where where) {
  return
      [kind = std::move(kind), where](std::shared_ptr<Comm> comm, std::int64_t bytes, std::int64_t zeroed) {
        return make_device_transport(kind, std::move(comm), bytes, where, zeroed);
      };
}

std::unique_ptr<LocalProduct> local_product_on(Where where, std::string_view semiring, TileValue a,
                                               TileValue b, bool b_sparse) {
  if (auto found = b_sparse ? local_spgemm_gpu(semiring, a, b, where) : local_spmm_gpu(semiring, a, b, where))
    return found;
  throw Error(
      Errc::not_compiled,
      "no product of tiles on a GPU over " + std::string(semiring) + " of A in " + std::string(text_of(a)) +
          " and " + (b_sparse ? "sparse" : "dense") + " B in " + std::string(text_of(b)) +
          ": there is plus_times with one of float32 and float64 (A, or sparse B, may be a "
          "pattern), and or_and of sparse patterns; cut the tiles without device= for products on the CPU");
}

void require_same_devices(const TileMatrix& a, const TileMatrix& b) {
  std::string why;
  if (a.where() != b.where() || a.on_device() != b.on_device())
    why = "tiles of A are " + place_text(a) + ", those of B or the mask " + place_text(b) +
          ": give both the same device=";
  if (a.on_device() || b.on_device()) require_everywhere(*a.comm(), why, "a product of tiles");
}

}  // namespace penstock
