#pragma once
#include <cuda_runtime_api.h>

#include <source_location>

// For device_cuda.cpp and the .cu files only: everything else knows no CUDA type.
namespace penstock::cuda {

/// Throws Error{out_of_memory}, Error{not_accessible} (no GPU here) or Error{cuda} unless `e` is cudaSuccess.
void check(cudaError_t e, std::source_location at = std::source_location::current());

}  // namespace penstock::cuda
