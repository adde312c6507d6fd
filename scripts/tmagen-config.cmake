# find_package(tmagen) gives tmagen::tmagen, the shared library, and tmagen::static.
get_filename_component(_tmagen "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET tmagen::tmagen)
  add_library(tmagen::tmagen SHARED IMPORTED)
  set_target_properties(tmagen::tmagen PROPERTIES IMPORTED_LOCATION "${_tmagen}/lib/libtmagen.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_tmagen}/include")
  add_library(tmagen::static STATIC IMPORTED)
  set_target_properties(tmagen::static PROPERTIES IMPORTED_LOCATION "${_tmagen}/lib/libtmagen.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_tmagen}/include" INTERFACE_LINK_LIBRARIES "m;dl;pthread")
endif()
