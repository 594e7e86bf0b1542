#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "penstock/format/csr.hpp"

namespace penstock::cusparse {

// The parts of cusparse.h and library_types.h that are used here, as the documentation of cuSPARSE 12 states them.
using Status = int;
using Handle = void*;
using Matrix = void*;
using Dense = void*;
constexpr int kOperationNone = 0, kIndex32 = 2, kBaseZero = 0, kOrderRow = 2;
template <class T>
constexpr int kType = std::same_as<T, float>       ? 0   // CUDA_R_32F
                      : std::same_as<T, double>    ? 1   // CUDA_R_64F
                      : std::same_as<T, Complex64> ? 4   // CUDA_C_32F
                                                   : 5;  // CUDA_C_64F

/// The type of every step of SpGEMM: the arguments that all steps have, then the last ones, which differ.
template <class... Last>
using SpgemmCall = Status(Handle, int, int, const void*, Matrix, Matrix, const void*, Matrix, int, int, void*,
                          Last...);
using VectorCall = Status(Handle, int, const void*, Matrix, Dense, const void*, Dense, int, int, void*);
using ColumnsCall = Status(Handle, int, int, const void*, Matrix, Dense, const void*, Dense, int, int, void*);

struct Library {
  void* opened = nullptr;
  Status (*create)(Handle*) = nullptr;
  Status (*destroy)(Handle) = nullptr;
  Status (*get_version)(Handle, int*) = nullptr;
  Status (*set_stream)(Handle, void*) = nullptr;
  const char* (*error_string)(Status) = nullptr;
  Status (*create_csr)(Matrix*, std::int64_t, std::int64_t, std::int64_t, void*, void*, void*, int, int, int,
                       int) = nullptr;
  Status (*destroy_matrix)(Matrix) = nullptr;
  Status (*create_vector)(Dense*, std::int64_t, void*, int) = nullptr;
  Status (*destroy_vector)(Dense) = nullptr;
  Status (*set_vector)(Dense, void*) = nullptr;
  Status (*create_columns)(Dense*, std::int64_t, std::int64_t, std::int64_t, void*, int, int) = nullptr;
  Status (*destroy_columns)(Dense) = nullptr;
  Status (*set_columns)(Dense, void*) = nullptr;
  VectorCall *spmv = nullptr, *spmv_size = nullptr, *spmv_prepare = nullptr;   // _size: the last is a size_t*
  ColumnsCall *spmm = nullptr, *spmm_size = nullptr, *spmm_prepare = nullptr;  // _prepare may be absent
  Status (*create_spgemm)(void**) = nullptr;
  Status (*destroy_spgemm)(void*) = nullptr;
  SpgemmCall<std::size_t*, void*>*estimate_work = nullptr, *compute_spgemm = nullptr;
  SpgemmCall<float, std::size_t*, void*, std::size_t*>* estimate_memory = nullptr;
  SpgemmCall<>* copy_spgemm = nullptr;
  Status (*matrix_size)(Matrix, std::int64_t*, std::int64_t*, std::int64_t*) = nullptr;
  Status (*set_csr)(Matrix, void*, void*, void*) = nullptr;
};

/// The library. Opens it if it is not open yet.
const Library& library();
/// Throws unless a call succeeded: Error{out_of_memory}, Error{invalid_argument} or Error{cuda}.
void check(Status status, const char* what);

}  // namespace penstock::cusparse
