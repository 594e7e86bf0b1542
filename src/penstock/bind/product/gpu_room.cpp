// What fits a GPU, for predictions in Python: the answers that plans and graphs are made by. All of it is arithmetic on sizes
// in bytes; no GPU is asked.
#include "penstock/schedule/gpu_room.hpp"

#include <nanobind/stl/string.h>

#include "penstock/bind/bind.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/gpu/graph_room.hpp"

namespace penstock::bind {
namespace {

nb::dict room_of(std::int64_t free_bytes, std::int64_t matrix_bytes, std::int64_t x_bytes,
                 std::int64_t y_bytes, std::int64_t device_memory, std::int64_t slot_bytes,
                 std::int64_t slots, std::int64_t entry_bytes, bool keep, std::int64_t devices,
                 std::int64_t lanes, int gpu) {
  require(slots >= 1 && devices >= 1 && lanes >= 1, "gpu_room: slots, devices and lanes are at least 1");
  const auto room = penstock::gpu_room({.gpu = gpu,
                                        .free_bytes = free_bytes,
                                        .matrix_bytes = matrix_bytes,
                                        .x_bytes = x_bytes,
                                        .y_bytes = y_bytes,
                                        .device_memory = device_memory,
                                        .slot_bytes = slot_bytes,
                                        .slots = slots,
                                        .entry_bytes = entry_bytes,
                                        .keep = keep,
                                        .devices = devices,
                                        .lanes = lanes});
  nb::dict d;
  d["usable"] = room.usable, d["slot"] = room.slot, d["kept"] = room.kept, d["ring"] = room.ring;
  return d;
}

std::int64_t slot_in_ring(std::int64_t ring_bytes, std::int64_t slots, std::int64_t block_bytes,
                          std::int64_t matrix_bytes, bool on_gpu) {
  require(slots >= 1, "slot_within_ring: slots are at least 1");
  const auto natural = on_gpu ? natural_slot(matrix_bytes) : kHostLaneSlotBytes;
  return slot_within_ring(ring_bytes, slots, block_bytes > 0 ? block_bytes : natural);
}

}  // namespace

void gpu_room(nb::module_& m) {
  m.def("gpu_room", room_of, nb::arg("free_bytes"), nb::arg("matrix_bytes"), nb::arg("x_bytes"),
        nb::arg("y_bytes"), nb::kw_only(), nb::arg("device_memory") = 0, nb::arg("slot_bytes") = 0,
        nb::arg("slots") = 3, nb::arg("entry_bytes") = 8, nb::arg("keep") = true, nb::arg("devices") = 1,
        nb::arg("lanes") = 1, nb::arg("gpu") = 0,
        "How a stream plan uses the memory of a GPU with so many bytes free: `usable` bytes in all, `slot` "
        "bytes of one slot (0 without a ring), `kept` bytes of blocks that may stay, and whether there is a "
        "`ring`. device_memory: the budget, 0 for what is free less a reserve; slot_bytes: 0 for "
        "natural_slot; devices: of the plan, the CPU included; lanes: of the plan on this GPU. MemoryError, "
        "with the numbers, where x and the least ring do not fit.");
  m.def("gpu_usable_bytes", usable_bytes, nb::arg("free_bytes"), nb::arg("device_memory") = 0,
        nb::arg("x_bytes") = 0,
        "What a plan may hold on a GPU with so many bytes free. device_memory: the budget; 0 for what is "
        "free, less a reserve and six vectors of x's size, but at least half.");
  m.def("natural_slot", natural_slot, nb::arg("matrix_bytes"),
        "The bytes of a slot of a GPU's ring where nobody has chosen them: 1/64 of the matrix, 1 to 32 MiB.");
  m.def("largest_slot", largest_slot, nb::arg("left_bytes"), nb::arg("slots"), nb::arg("entry_bytes"),
        nb::arg("parts") = 2,
        "The largest slot for which so many bytes hold a ring and its rows of y; parts: 2 where the ring may "
        "take half of them, 1 where it may take all.");
  m.def("slot_within_ring", slot_in_ring, nb::arg("ring_bytes"), nb::arg("slots"), nb::arg("block_bytes") = 0,
        nb::arg("matrix_bytes") = 0, nb::arg("on_gpu") = true,
        "The bytes of a slot where all slots of a device may take ring_bytes: block_bytes, or where that is "
        "0 the plan's own choice, but no more than the ring holds. ValueError where it holds none.");
  m.def("least_ring_bytes", least_ring_bytes, nb::arg("slots"), nb::arg("entry_bytes"),
        "The device memory of the smallest ring, its rows of y included.");
  m.def("needs_column_panels", needs_column_panels, nb::arg("x_bytes"), nb::arg("usable_bytes"),
        nb::arg("slots"), nb::arg("entry_bytes"),
        "Whether x and the smallest ring exceed usable_bytes, so that the matrix is cut into ranges of "
        "columns.");
  m.def(
      "gpu_graph_fits",
      [](std::int64_t vertices, std::int64_t edges, std::int64_t device_memory, std::int64_t free_bytes) {
        const auto budget = graph_budget(device_memory, free_bytes);
        return choose_placement(vertices, edges, budget) == EdgePlacement::device;
      },
      nb::arg("vertices"), nb::arg("edges"), nb::arg("device_memory"), nb::arg("free_bytes"),
      "Whether a graph's edges and what a traversal takes for its vertices fit a GPU. device_memory: the "
      "budget; 0 for what is free less a reserve.");
}

}  // namespace penstock::bind
