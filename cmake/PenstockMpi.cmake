# The MPI plugin, where CMake finds an MPI: penstock_mpi_<flavour>.so beside the extension. Never needed: without it the
# plugin is compiled at first use (python/penstock/dist/_mpi_find.py) from the sources that are installed here.
set(PENSTOCK_MPI "AUTO" CACHE STRING "The MPI plugin at build time: AUTO (where an MPI is found), ON or OFF")

install(FILES src/mpi/plugin.c src/mpi/windows.h DESTINATION penstock/_mpi_source/mpi)
install(FILES src/penstock/comm/mpi_verbs.h DESTINATION penstock/_mpi_source/penstock/comm)

if(PENSTOCK_MPI STREQUAL "OFF")
  return()
endif()
include(CheckLanguage)
check_language(C)
if(CMAKE_C_COMPILER)
  enable_language(C)
  find_package(MPI QUIET COMPONENTS C)
endif()
if(NOT MPI_C_FOUND)
  if(PENSTOCK_MPI STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_MPI=ON, but CMake finds no MPI: load its module, or set MPI_C_COMPILER to its mpicc")
  endif()
  message(STATUS "MPI not found: its plugin is compiled at first use")
  return()
endif()

# The name says which ABI it is for, as src/mpi/plugin.c finds it.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/mpi_flavour.c "#include <mpi.h>
#if defined(OPEN_MPI)
#error flavour=openmpi
#elif defined(MPICH_NUMVERSION) || defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
#error flavour=mpich
#else
#error flavour=abi
#endif
")
execute_process(COMMAND ${MPI_C_COMPILER} -E ${CMAKE_CURRENT_BINARY_DIR}/mpi_flavour.c OUTPUT_QUIET ERROR_VARIABLE said)
if(NOT said MATCHES "flavour=(openmpi|mpich|abi)")
  message(WARNING "${MPI_C_COMPILER} does not say which MPI it is for: its plugin is compiled at first use")
  return()
endif()
set(name penstock_mpi_${CMAKE_MATCH_1})
add_library(${name} MODULE src/mpi/plugin.c)
set_target_properties(${name} PROPERTIES PREFIX "" C_STANDARD 11)
target_include_directories(${name} PRIVATE src)
# MPI_UNWEIGHTED is an address of nothing, which GCC takes for an array that is too short.
target_compile_options(${name} PRIVATE -Wall -Wextra $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overread>)
target_link_libraries(${name} PRIVATE MPI::MPI_C)
install(TARGETS ${name} LIBRARY DESTINATION penstock)
message(STATUS "MPI found: building its plugin ${name} (${MPI_C_LIBRARY_VERSION_STRING})")
