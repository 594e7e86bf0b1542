#include "penstock/core/gpu_code.hpp"

#include <gtest/gtest.h>

#include "penstock/core/config.hpp"
#include "penstock/core/device.hpp"

namespace penstock {
namespace {

constexpr const char* kWheel = "75-real;80-real;86-real;89-real;90-real;100-real;120";

TEST(GpuCode, MachineCodeRunsOnItsMajorVersionFromItsMinorOneOn) {
  EXPECT_EQ(gpu_code("80-real", {8, 0}), GpuCode::machine);
  EXPECT_EQ(gpu_code("80-real", {8, 9}), GpuCode::machine);
  EXPECT_EQ(gpu_code("86-real", {8, 0}), GpuCode::none);
  EXPECT_EQ(gpu_code("80-real", {9, 0}), GpuCode::none);
  EXPECT_EQ(gpu_code("90-real", {8, 0}), GpuCode::none);
}

TEST(GpuCode, PtxRunsOnEverythingLater) {
  EXPECT_EQ(gpu_code("75-virtual", {7, 5}), GpuCode::ptx);
  EXPECT_EQ(gpu_code("75-virtual", {12, 1}), GpuCode::ptx);
  EXPECT_EQ(gpu_code("80-virtual", {7, 5}), GpuCode::none);
  EXPECT_EQ(gpu_code("75;90", {8, 0}), GpuCode::ptx);
  EXPECT_EQ(gpu_code("75;90", {9, 0}), GpuCode::machine);
  EXPECT_EQ(gpu_code("75;90", {10, 0}), GpuCode::ptx);
}

TEST(GpuCode, WheelsHaveMachineCodeForAllListedOnes) {
  for (const Capability c :
       {Capability{7, 5}, {8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {12, 1}})
    EXPECT_EQ(gpu_code(kWheel, c), GpuCode::machine) << name(c);
  EXPECT_EQ(gpu_code(kWheel, {13, 0}), GpuCode::ptx);
  EXPECT_EQ(gpu_code(kWheel, {11, 0}), GpuCode::none);  // PTX of 12.0 is too new for it
  EXPECT_EQ(gpu_code(kWheel, {7, 0}), GpuCode::none);
}

TEST(GpuCode, CodeForOneGpuOrOneFamilyGoesNoFurther) {
  EXPECT_EQ(gpu_code("90a", {9, 0}), GpuCode::machine);
  EXPECT_EQ(gpu_code("90a", {10, 0}), GpuCode::none);
  EXPECT_EQ(gpu_code("100a-real", {10, 3}), GpuCode::none);
  EXPECT_EQ(gpu_code("100f", {10, 3}), GpuCode::machine);
  EXPECT_EQ(gpu_code("100f-virtual", {12, 0}), GpuCode::none);
}

TEST(GpuCode, OddListsHoldNothing) {
  for (const char* list : {"", ";;", "native", "-real"})
    EXPECT_EQ(gpu_code(list, {9, 0}), GpuCode::none) << list;
  EXPECT_EQ(architectures_in_words(""), "no kernels");
}

TEST(GpuCode, ListsAreSpeltOut) {
  EXPECT_EQ(architectures_in_words("90"), "machine code for 9.0, PTX for 9.0");
  EXPECT_EQ(architectures_in_words("75-real;90"), "machine code for 7.5 and 9.0, PTX for 9.0");
  EXPECT_EQ(architectures_in_words("75-virtual"), "PTX for 7.5");
  EXPECT_EQ(architectures_in_words("90a-real"), "machine code for 9.0a");
}

TEST(GpuCode, TheSentenceNamesGpuBuildAndRemedy) {
  const auto text = no_kernels_for("GPU 0 (NVIDIA A100)", {8, 0}, "90");
  for (const char* word :
       {"GPU 0 (NVIDIA A100)", "compute capability 8.0", "machine code for 9.0, PTX for 9.0",
        "pip install . -C cmake.define.CMAKE_CUDA_ARCHITECTURES=80"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  const auto old = no_kernels_for("GPU 1 (NVIDIA V100)", {7, 0}, kWheel);
  EXPECT_NE(old.find("before 7.5 are not supported"), std::string::npos) << old;
  EXPECT_EQ(old.find("pip install"), std::string::npos) << old;
}

TEST(GpuCode, ABuildSaysWhyItHasNoCuda) {
  EXPECT_NE(why_no_cuda("off").find("PENSTOCK_CUDA=OFF"), std::string::npos);
  EXPECT_EQ(why_no_cuda("off").find("nvcc"), std::string::npos);
  EXPECT_NE(why_no_cuda("not_found").find("no nvcc was found"), std::string::npos);
  EXPECT_NE(why_no_cuda("too_old").find("too old"), std::string::npos);
  EXPECT_EQ(why_no_cuda(""), "");
  EXPECT_EQ(why_no_cuda().empty(), have_cuda);
}

TEST(GpuCode, UsableGpusAreThoseBeforeTheFirstWithoutKernels) {
  const auto seen = gpus_seen();
  int usable = 0;
  while (usable < std::ssize(seen) && seen[static_cast<std::size_t>(usable)].code != GpuCode::none) ++usable;
  EXPECT_EQ(device_count(), usable);
  for (const auto& g : seen) EXPECT_EQ(g.why.empty(), g.code != GpuCode::none);
}

}  // namespace
}  // namespace penstock
