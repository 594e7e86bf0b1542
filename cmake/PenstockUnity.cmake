# Compiles the files of a room together, a dozen at a time: most of a small file's time goes into headers, so a first build takes
# about half as long. A change then compiles a dozen files, some seconds. PENSTOCK_UNITY=OFF compiles each file alone.
option(PENSTOCK_UNITY "Compile the files of a folder together" ON)
set(PENSTOCK_UNITY_FILES 12 CACHE STRING "At most so many at a time")
mark_as_advanced(PENSTOCK_UNITY_FILES)

# All C++ files of the target below the folder, but those for one instruction set, whose flags are their own. Names in anonymous
# namespaces must be unique in a room.
function(penstock_unity target folder)
  if(NOT PENSTOCK_UNITY)
    return()
  endif()
  get_target_property(files ${target} SOURCES)
  list(FILTER files INCLUDE REGEX "^/.*/${folder}/.*\\.cpp$")
  list(SORT files)
  foreach(file ${files})
    if(file MATCHES "_(avx2|avx512|neon)\\.cpp$")
      set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    cmake_path(GET file PARENT_PATH room)
    string(REGEX REPLACE ".*/${folder}/" "" room ${room})
    string(REPLACE "/" "_" room ${room})
    if(NOT DEFINED count_${room})  # folders in a room come between its files
      set(count_${room} 0)
    endif()
    math(EXPR part "${count_${room}} / ${PENSTOCK_UNITY_FILES}")
    math(EXPR count_${room} "${count_${room}} + 1")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${room}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC warns of lambdas that capture types of an unnamed namespace wherever these are not in the file that it was given.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()
