// What fits a GPU, decided by sizes alone.
#include "penstock/schedule/gpu_room.hpp"

#include <gtest/gtest.h>

#include "penstock/graph/gpu/gpu_graph.hpp"
#include "support.hpp"

namespace penstock {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;

TEST(GpuRoom, ANaturalSlotIsA64thWithinLimits) {
  EXPECT_EQ(natural_slot(0), kMiB);
  EXPECT_EQ(natural_slot(64 * kMiB + 63), kMiB);
  EXPECT_EQ(natural_slot(640 * kMiB), 10 * kMiB);
  EXPECT_EQ(natural_slot(100 * kGiB), 32 * kMiB);
}

TEST(GpuRoom, WithoutABudgetAReserveAndSixVectorsStayFree) {
  EXPECT_EQ(usable_bytes(10 * kGiB, 0, 0), 10 * kGiB - 512 * kMiB);
  EXPECT_EQ(usable_bytes(10 * kGiB, 0, 100 * kMiB), 10 * kGiB - 1112 * kMiB);
  EXPECT_EQ(usable_bytes(10 * kGiB, 0, kGiB), 5 * kGiB);  // half at least
}

TEST(GpuRoom, ABudgetIsTakenAsFarAsItIsFree) {
  EXPECT_EQ(usable_bytes(10 * kGiB, kGiB, kGiB), kGiB);
  EXPECT_EQ(usable_bytes(10 * kGiB, 20 * kGiB, 0), 10 * kGiB - 64 * kMiB);
  EXPECT_EQ(usable_bytes(kMiB, kGiB, 0), 0);
}

TEST(GpuRoom, AMatrixThatFitsNeedsNoRing) {
  const GpuRoomRequest request{
      .free_bytes = 10 * kGiB, .matrix_bytes = kGiB, .x_bytes = 80 * kMiB, .y_bytes = 0};
  const auto room = gpu_room(request);
  EXPECT_FALSE(room.ring);
  EXPECT_EQ(room.slot, 0);
  EXPECT_EQ(room.usable, 10 * kGiB - 512 * kMiB - 6 * 80 * kMiB);
  EXPECT_GE(room.kept, kGiB);
  EXPECT_LE(room.kept + 80 * kMiB, room.usable);
}

TEST(GpuRoom, EachOfSeveralDevicesKeepsItsPart) {
  GpuRoomRequest request{.matrix_bytes = 8 * kGiB, .device_memory = 3 * kGiB};
  request.free_bytes = 10 * kGiB;
  EXPECT_TRUE(gpu_room(request).ring);
  request.devices = 4;
  EXPECT_FALSE(gpu_room(request).ring);
  request.lanes = 4;  // on the same GPU
  EXPECT_EQ(gpu_room(request).usable, 3 * kGiB / 4);
  EXPECT_TRUE(gpu_room(request).ring);
}

TEST(GpuRoom, WhatDoesNotFitTravelsThroughASlotOfTheChosenSize) {
  GpuRoomRequest request{.free_bytes = 10 * kGiB, .matrix_bytes = 4 * kGiB, .device_memory = kGiB};
  EXPECT_EQ(gpu_room(request).slot, 32 * kMiB);
  request.slot_bytes = 5 * kMiB;
  EXPECT_EQ(gpu_room(request).slot, 5 * kMiB);
  request.keep = false;
  EXPECT_EQ(gpu_room(request).kept, 0);
  request.slot_bytes = kLeastSlotBytes - 1;
  EXPECT_EQ(test::code_of([&] { gpu_room(request); }), Errc::invalid_argument);
}

TEST(GpuRoom, RowsOfYTakeRoomFromTheBlocks) {
  GpuRoomRequest request{.free_bytes = 10 * kGiB, .matrix_bytes = 4 * kGiB, .device_memory = kGiB};
  const auto without = gpu_room(request);
  request.y_bytes = request.matrix_bytes;  // as much y as matrix
  const auto with = gpu_room(request);
  EXPECT_NEAR(double(with.kept), double(without.kept) / 2, 2);
}

TEST(GpuRoom, NeverPromisesMoreThanThereIs) {
  for (const std::int64_t budget : {64 * kKiB, kMiB, 37 * kMiB, kGiB})
    for (const std::int64_t matrix : {kMiB, 100 * kMiB, 5 * kGiB})
      for (const std::int64_t x : {std::int64_t(0), 20 * kKiB, 300 * kKiB, 30 * kMiB})
        for (const std::int64_t slots : {1, 3, 8})
          for (const bool keep : {false, true}) {
            const GpuRoomRequest request{.free_bytes = 10 * kGiB,
                                         .matrix_bytes = matrix,
                                         .x_bytes = x,
                                         .y_bytes = x,
                                         .device_memory = budget,
                                         .slots = slots,
                                         .keep = keep};
            if (budget < x + 2 * least_ring_bytes(slots, 8) + 16 * kKiB) continue;  // may be refused
            const auto room = gpu_room(request);
            const double kept = double(room.kept) * (1 + double(x) / double(matrix));
            EXPECT_EQ(room.usable, budget);
            EXPECT_LE(x + slots * room.slot * 2, room.usable);  // a slot can have as many bytes of y
            EXPECT_LE(double(x) + kept + double(slots * room.slot), double(room.usable) + 2);
            EXPECT_TRUE(keep || room.kept == 0);
          }
}

TEST(GpuRoom, AnErrorHasTheNumbers) {
  std::string what;
  const GpuRoomRequest request{
      .gpu = 3, .free_bytes = kGiB, .matrix_bytes = kGiB, .x_bytes = 8000, .device_memory = 9000};
  EXPECT_EQ(test::code_of([&] { gpu_room(request); }, &what), Errc::out_of_memory);
  for (const char* word : {"GPU 3", "9000 bytes", "x takes 8192", "3 slots need at least 3840"})
    EXPECT_NE(what.find(word), std::string::npos) << what;
}

TEST(GpuRoom, ARingBoundsItsSlots) {
  EXPECT_EQ(slot_within_ring(3 * kMiB, 3, 10 * kMiB), kMiB);
  EXPECT_EQ(slot_within_ring(3 * kMiB + 300, 3, 10 * kMiB), kMiB);  // whole lines
  EXPECT_EQ(slot_within_ring(3 * kMiB, 3, 64 * kKiB), 64 * kKiB);
  EXPECT_EQ(slot_within_ring(3 * kLeastSlotBytes, 3, kMiB), kLeastSlotBytes);
  EXPECT_EQ(test::code_of([] { slot_within_ring(3 * kLeastSlotBytes - 1, 3, kMiB); }),
            Errc::invalid_argument);
}

TEST(GpuRoom, AnXThatLeavesNoRoomForARingNeedsPanels) {
  EXPECT_EQ(least_ring_bytes(3, 8), 3840);
  EXPECT_FALSE(needs_column_panels(kMiB, kMiB + 3840 + 4096, 3, 8));
  EXPECT_TRUE(needs_column_panels(kMiB, kMiB + 3840 + 4095, 3, 8));
}

TEST(GpuRoom, AGraphsBudgetLeavesTheSameReserve) {
  EXPECT_EQ(graph_budget(0, kGiB), 512 * kMiB);
  EXPECT_EQ(graph_budget(0, kMiB), 0);
  EXPECT_EQ(graph_budget(kMiB, kGiB), kMiB);
}

}  // namespace
}  // namespace penstock
