# Finds nvcc (an installed toolkit, or the wheels of penstock[cuda]) and sets PENSTOCK_HAVE_CUDA.
set(PENSTOCK_HAVE_CUDA false)
set(PENSTOCK_CUDA_COMPILER "none")
set(PENSTOCK_CUDA_ARCHITECTURES "")
if(PENSTOCK_CUDA STREQUAL "OFF")
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  unset(CMAKE_CUDA_COMPILER CACHE)
  if(PENSTOCK_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_CUDA=ON, but nvcc was not found: install a toolkit, or set CUDA_HOME")
  endif()
  message(STATUS "nvcc not found: building without CUDA")
  return()
endif()

if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 (Debian 12) does not know what nvcc calls C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
find_package(CUDAToolkit REQUIRED)
set(PENSTOCK_HAVE_CUDA true)
set(PENSTOCK_CUDA_COMPILER "nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
set(PENSTOCK_CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")

# Kernels go to nvcc; the device seam is host code against the static CUDA runtime.
function(penstock_add_cuda target)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS src/penstock/*.cu)
  target_sources(${target} PRIVATE ${kernels} src/penstock/core/device_cuda.cpp)
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
  # 554: Array<const T> has a conversion to itself that is never called, which is what it should be.
  target_compile_options(${target} PRIVATE
                         $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --extended-lambda --diag-suppress=554>)
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()
