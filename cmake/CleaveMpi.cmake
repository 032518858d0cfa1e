# What MPI programs use: libcleave-mpi and its preload, one build for each MPI that is here.
# SPDX-License-Identifier: MIT
#
# Two MPI libraries cannot live in one process, so each build has a folder of its own:
# BUILD/lib/openmpi and BUILD/lib/mpich.
set(CLEAVE_MPI_FLAVOURS)
set(module_openmpi ompi-c)
set(module_mpich mpich)
file(GLOB library CONFIGURE_DEPENDS src/mpi/*.c)
file(GLOB preload CONFIGURE_DEPENDS src/mpi/preload*.c)
list(REMOVE_ITEM library ${preload} "")

foreach(flavour openmpi mpich)
    pkg_check_modules(MPI_${flavour} QUIET IMPORTED_TARGET GLOBAL ${module_${flavour}})
    if(NOT MPI_${flavour}_FOUND OR NOT library)
        continue()
    endif()
    list(APPEND CLEAVE_MPI_FLAVOURS ${flavour})
    set(target cleave-mpi-${flavour})
    add_library(${target} SHARED ${library})
    target_link_libraries(${target} PRIVATE cleave-static cleave-flags cleave-inside)
    target_link_libraries(${target} PUBLIC PkgConfig::MPI_${flavour})
    target_include_directories(${target} INTERFACE include)
    # The scheduling library is inside, and stays there.
    target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME cleave-mpi
        VERSION ${PROJECT_VERSION} SOVERSION 0
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/${flavour})
    add_dependencies(product ${target})
    install(TARGETS ${target} DESTINATION ${CMAKE_INSTALL_LIBDIR}/cleave/${flavour})
    if(preload)
        add_library(${target}-preload SHARED ${preload})
        target_link_libraries(${target}-preload PRIVATE ${target} cleave-static cleave-flags
            cleave-inside)
        target_link_options(${target}-preload PRIVATE -Wl,--exclude-libs,ALL)
        set_target_properties(${target}-preload PROPERTIES OUTPUT_NAME cleave-mpi-preload
            LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/${flavour}
            INSTALL_RPATH "$ORIGIN")
        add_dependencies(product ${target}-preload)
        install(TARGETS ${target}-preload
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/cleave/${flavour})
    endif()
endforeach()
