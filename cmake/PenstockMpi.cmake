# The MPI plugin, where CMake finds an MPI: penstock_mpi_<flavour>.so beside the extension. Never needed: without it the
# plugin is compiled at first use (python/penstock/dist/_mpi_find.py) from the sources that are installed here.
set(PENSTOCK_MPI "AUTO" CACHE STRING "The MPI plugin at build time: AUTO (where an MPI is found), ON or OFF")

install(FILES src/mpi/plugin.c src/mpi/windows.h DESTINATION penstock/_mpi_source/mpi)
install(FILES src/penstock/comm/mpi/mpi_verbs.h DESTINATION penstock/_mpi_source/penstock/comm/mpi)

if(PENSTOCK_MPI STREQUAL "OFF")
  return()
endif()
# The wrapper alone, not FindMPI: that ends the configuration where an MPI is installed in part.
find_program(PENSTOCK_MPICC mpicc DOC "The MPI's C compiler" HINTS $ENV{MPI_HOME}/bin)
set(PENSTOCK_MPI_FLAVOUR "")
if(PENSTOCK_MPICC)
  # What it is for names the plugin, as src/mpi/plugin.c finds it.
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/mpi_flavour.c "#include <mpi.h>
#if defined(OPEN_MPI)
#error flavour=openmpi
#elif defined(MPICH_NUMVERSION) || defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
#error flavour=mpich
#else
#error flavour=abi
#endif
")
  execute_process(COMMAND ${PENSTOCK_MPICC} -E ${CMAKE_CURRENT_BINARY_DIR}/mpi_flavour.c OUTPUT_QUIET ERROR_VARIABLE said)
  if(said MATCHES "flavour=(openmpi|mpich|abi)")
    set(PENSTOCK_MPI_FLAVOUR ${CMAKE_MATCH_1})
  endif()
endif()
if(NOT PENSTOCK_MPI_FLAVOUR)
  if(PENSTOCK_MPI STREQUAL "ON")
    message(FATAL_ERROR "PENSTOCK_MPI=ON, but no mpicc that works is found: load its module, or set PENSTOCK_MPICC")
  endif()
  message(STATUS "MPI not found: its plugin is compiled at first use")
  return()
endif()

set(name penstock_mpi_${PENSTOCK_MPI_FLAVOUR})
# MPI_UNWEIGHTED is an address of nothing, which GCC takes for an array that is too short.
set(flags -std=c11 -O2 -shared -fPIC -Wall -Wextra -Wno-stringop-overread -Wno-unknown-warning-option)
add_custom_command(OUTPUT ${name}.so
  COMMAND ${PENSTOCK_MPICC} ${flags} -I${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/src/mpi/plugin.c -o ${name}.so
  DEPENDS src/mpi/plugin.c src/mpi/windows.h src/penstock/comm/mpi/mpi_verbs.h VERBATIM)
add_custom_target(${name} ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${name}.so)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.so DESTINATION penstock)
# The wrapper writes down where its MPI lies on this machine. The MPI of the user's is open before the plugin is.
install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/penstock/${name}.so\")")
message(STATUS "MPI found: building its plugin ${name} (${PENSTOCK_MPICC})")
