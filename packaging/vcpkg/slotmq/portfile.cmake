# An overlay port, which builds the tree that it is a part of:
#
#   vcpkg install slotmq --overlay-ports=packaging/vcpkg
#
# The command is left out, because vcpkg has no libsmartcols.

# slotmqConfig.cmake finds the library relative to lib/cmake/slotmq, so it is not moved.
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)

get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_configure_meson(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -Dcli=false
        -Dtests=false
        -Dbench=false
        -Ddemo=false
)
vcpkg_install_meson()
vcpkg_fixup_pkgconfig()

# The build makes both kinds of library.
foreach(folder "${CURRENT_PACKAGES_DIR}/lib" "${CURRENT_PACKAGES_DIR}/debug/lib")
    if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
        file(GLOB other "${folder}/libslotmq.so*")
    else()
        set(other "${folder}/libslotmq.a")
    endif()
    if(other)
        file(REMOVE ${other})
    endif()
endforeach()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/lib/cmake"
    "${CURRENT_PACKAGES_DIR}/debug/share"
)
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
