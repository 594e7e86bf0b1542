# Finds nvcc (an installed toolkit, or the wheels of penstock-sparse[cuda]) and sets PENSTOCK_HAVE_CUDA, and where it stays false
# PENSTOCK_CUDA_MISSING: off, not_found or too_old.
include(PenstockArchitectures)
set(PENSTOCK_CUDA_ARCHITECTURES "AUTO" CACHE STRING "GPUs that kernels are compiled for: AUTO, WHEEL, or as CMAKE_CUDA_ARCHITECTURES")
set(PENSTOCK_OLDEST_NVCC 13.0)

# The wheels put the toolkit into site-packages/nvidia/cu13, without the lib64 and libcudart.so that nvcc and CMake look
# for: a folder of links in the build tree has them, and site-packages stays as pip left it. Sets `out` to its nvcc.
function(penstock_find_cuda_wheels out)
  find_package(Python 3.10 QUIET COMPONENTS Interpreter)
  if(NOT Python_FOUND)
    return()
  endif()
  # purelib as well as sys.path: pip's isolated builds hide the first from the second
  execute_process(COMMAND ${Python_EXECUTABLE} -c "
import sys, sysconfig
from pathlib import Path
for p in [*sys.path, sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]:
    if (Path(p) / 'nvidia/cu13/bin/nvcc').is_file():
        print(Path(p) / 'nvidia/cu13')
        break
" OUTPUT_VARIABLE wheels OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT wheels)
    return()
  endif()
  if(CMAKE_VERSION VERSION_LESS 3.26)
    message(WARNING "nvcc of the PyPI wheels needs CMake 3.26 or newer (pip install cmake): not used")
    return()
  endif()
  set(root ${CMAKE_CURRENT_BINARY_DIR}/cuda)
  file(REMOVE_RECURSE ${root})
  file(MAKE_DIRECTORY ${root}/bin ${root}/lib)
  file(CREATE_LINK ${wheels}/include ${root}/include SYMBOLIC)
  file(CREATE_LINK ${wheels}/nvvm ${root}/nvvm SYMBOLIC)
  file(GLOB files RELATIVE ${wheels} ${wheels}/bin/* ${wheels}/lib/*)  # one by one: nvcc looks for its bin/../lib64
  foreach(file ${files})
    file(CREATE_LINK ${wheels}/${file} ${root}/${file} SYMBOLIC)
  endforeach()
  file(CREATE_LINK lib ${root}/lib64 SYMBOLIC)
  if(NOT EXISTS ${root}/lib/libcudart.so)
    file(CREATE_LINK libcudart.so.13 ${root}/lib/libcudart.so SYMBOLIC)
  endif()
  set(${out} ${root}/bin/nvcc PARENT_SCOPE)
endfunction()

set(PENSTOCK_HAVE_CUDA false)
set(PENSTOCK_CUDA_COMPILER "none")
set(PENSTOCK_CUDA_BUILT "")
if(NOT PENSTOCK_CUDA STREQUAL "AUTO" AND NOT PENSTOCK_CUDA)  # OFF, NO, 0, false
  set(PENSTOCK_CUDA_MISSING "off")
  return()
endif()
set(PENSTOCK_CUDA_MISSING "not_found")

if(NOT CMAKE_CUDA_COMPILER)
  find_program(CMAKE_CUDA_COMPILER nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
endif()
if(NOT CMAKE_CUDA_COMPILER OR CMAKE_CUDA_COMPILER STREQUAL "${CMAKE_CURRENT_BINARY_DIR}/cuda/bin/nvcc")
  penstock_find_cuda_wheels(wheel_nvcc)
  if(wheel_nvcc)
    set(CMAKE_CUDA_COMPILER ${wheel_nvcc} CACHE FILEPATH "nvcc of the PyPI wheels" FORCE)
    set(CUDAToolkit_ROOT ${CMAKE_CURRENT_BINARY_DIR}/cuda CACHE PATH "the PyPI wheels' toolkit" FORCE)
  else()
    unset(CMAKE_CUDA_COMPILER CACHE)
  endif()
endif()
if(NOT CMAKE_CUDA_COMPILER)
  if(NOT PENSTOCK_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PENSTOCK_CUDA=${PENSTOCK_CUDA}, but nvcc was not found: install a toolkit and set CUDA_HOME, or install the "
                        "wheels of penstock-sparse[cuda] for the Python that builds")
  endif()
  message(STATUS "nvcc not found: building without CUDA")
  return()
endif()

# An nvcc that is too old for this code or for this g++ must not stop a build that did not ask for it.
if(NOT PENSTOCK_NVCC_WORKS STREQUAL CMAKE_CUDA_COMPILER)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE output ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" output "${output}")
  set(message_text "")
  if(CMAKE_MATCH_1 AND CMAKE_MATCH_1 VERSION_LESS PENSTOCK_OLDEST_NVCC)
    set(message_text "${CMAKE_CUDA_COMPILER} is of CUDA ${CMAKE_MATCH_1}, and ${PENSTOCK_OLDEST_NVCC} is needed.\n")
  else()
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/probe.cu "#include <concepts>\n__global__ void probe() {}\n")
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER} -c probe.cu -o probe.o
                    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
      set(message_text "${CMAKE_CUDA_COMPILER} cannot compile C++20 with ${CMAKE_CXX_COMPILER}:\n${output}")
    endif()
  endif()
  if(message_text)
    if(NOT PENSTOCK_CUDA STREQUAL "AUTO")
      message(FATAL_ERROR "${message_text}")
    endif()
    message(WARNING "${message_text}Building without CUDA; set PENSTOCK_CUDA=OFF to silence this")
    set(PENSTOCK_CUDA_MISSING "too_old")
    unset(CMAKE_CUDA_COMPILER CACHE)
    unset(CMAKE_CUDA_COMPILER)
    return()
  endif()
  set(PENSTOCK_NVCC_WORKS ${CMAKE_CUDA_COMPILER} CACHE INTERNAL "the nvcc that was tried")
endif()

penstock_set_architectures()
enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 (Debian 12) does not know what nvcc calls C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
find_package(CUDAToolkit REQUIRED)
set(PENSTOCK_HAVE_CUDA true)
set(PENSTOCK_CUDA_MISSING "")
penstock_built_architectures(PENSTOCK_CUDA_BUILT)
message(STATUS "nvcc found: building with CUDA for ${PENSTOCK_CUDA_BUILT} (${CMAKE_CUDA_COMPILER})")
set(PENSTOCK_CUDA_COMPILER "nvcc ${CMAKE_CUDA_COMPILER_VERSION}")

# Kernels go to nvcc. The device seam is host code against the static CUDA runtime; drivers launch kernels that the CPU has no
# twin of.
function(penstock_add_cuda target)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS src/penstock/*.cu)
  file(GLOB_RECURSE host CONFIGURE_DEPENDS src/penstock/*_cuda*.cpp)
  target_sources(${target} PRIVATE ${kernels} ${host})
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
  # 554: Array<const T> has a conversion to itself that is never called, which is what it should be.
  target_compile_options(${target} PRIVATE
                         $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr --extended-lambda --diag-suppress=554
                         --compress-mode=size>)
  # Walks and communities compare sums and products that the CPU has rounded one by one.
  set_source_files_properties(src/penstock/graph/sample/walk_steps_gpu.cu
                              src/penstock/graph/sample/choice_steps_gpu.cu src/penstock/graph/community/device_level_gpu.cu
                              PROPERTIES COMPILE_OPTIONS "-fmad=false")
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()
