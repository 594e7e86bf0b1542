# Writes generated/penstock/core/config.hpp, and picks the SIMD files for this processor family. Each is compiled with
# its own instruction set and chosen at run time; nothing else is built for more than the baseline.
set(PENSTOCK_VERSION_FULL "${SKBUILD_PROJECT_VERSION_FULL}")
if(NOT PENSTOCK_VERSION_FULL)
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/pyproject.toml line REGEX "^version = ")
  string(REGEX REPLACE "^version = \"(.*)\"$" "\\1" PENSTOCK_VERSION_FULL "${line}")
endif()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(PENSTOCK_SIMD_FAMILY "x86")
  file(GLOB_RECURSE PENSTOCK_SIMD_SOURCES CONFIGURE_DEPENDS src/penstock/*_avx2.cpp src/penstock/*_avx512.cpp)
  set(quiet "-Wno-uninitialized;-Wno-maybe-uninitialized")  # GCC 12 warns inside its own intrinsics
  foreach(file ${PENSTOCK_SIMD_SOURCES})
    if(file MATCHES "_avx512\\.cpp$")
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS
        "-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw;-mavx2;-mfma;-ffp-contract=fast;-mprefer-vector-width=512;${quiet}")
    else()
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-ffp-contract=fast;${quiet}")
    endif()
  endforeach()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(PENSTOCK_SIMD_FAMILY "arm")
  file(GLOB_RECURSE PENSTOCK_SIMD_SOURCES CONFIGURE_DEPENDS src/penstock/*_neon.cpp)
else()
  set(PENSTOCK_SIMD_FAMILY "none")
  set(PENSTOCK_SIMD_SOURCES "")
endif()

# What was compiled for one instruction set is counted by a test: a file that no pattern finds would go unnoticed, only slower.
list(TRANSFORM PENSTOCK_SIMD_SOURCES REPLACE ".*/" "" OUTPUT_VARIABLE PENSTOCK_SIMD_NAMES)
list(JOIN PENSTOCK_SIMD_NAMES " " PENSTOCK_SIMD_NAMES)

string(TOLOWER "${PENSTOCK_HAVE_CUDA}" PENSTOCK_HAVE_CUDA_LOWER)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/src/penstock/core/config.hpp.in
               ${CMAKE_CURRENT_BINARY_DIR}/generated/penstock/core/config.hpp @ONLY)
message(STATUS "Penstock ${PENSTOCK_VERSION_FULL}: CUDA ${PENSTOCK_HAVE_CUDA}, SIMD family ${PENSTOCK_SIMD_FAMILY}")
