# What MPI programs use: libcleave-mpi and its preload, one build for each MPI that is here.
# SPDX-License-Identifier: MIT
#
# Two MPI libraries cannot live in one process, so each build has a folder of its own:
# BUILD/lib/openmpi and BUILD/lib/mpich. The preload has the reductions inside and needs no
# other library of cleave.
set(CLEAVE_MPI_FLAVOURS)
set(module_openmpi ompi-c)
set(module_mpich mpich)
file(GLOB reductions CONFIGURE_DEPENDS src/mpi/memory/*.c src/mpi/plan/*.c src/mpi/reduce/*.c)
file(GLOB preload CONFIGURE_DEPENDS src/mpi/preload/*.c)
file(GLOB others CONFIGURE_DEPENDS src/mpi/bridge/*.c src/mpi/map/*.c)
file(GLOB mpi_benches CONFIGURE_DEPENDS bench/mpi_*.c)

# cleave_mpi_library(TARGET FLAVOUR NAME SOURCE...) -- BUILD/lib/FLAVOUR/libNAME.so, with the
# reductions.
function(cleave_mpi_library target flavour name)
    set(symbols ${PROJECT_SOURCE_DIR}/cmake/lib${name}.symbols)
    add_library(${target} SHARED ${ARGN} $<TARGET_OBJECTS:cleave-mpi-${flavour}-objects>)
    target_link_libraries(${target} PRIVATE cleave-static cleave-flags cleave-inside)
    target_link_libraries(${target} PUBLIC PkgConfig::MPI_${flavour})
    target_include_directories(${target} INTERFACE include)
    # The scheduling library is inside, and stays there.
    target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL
        -Wl,--version-script=${symbols})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINK_DEPENDS ${symbols}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/${flavour})
    add_dependencies(product ${target})
    install(TARGETS ${target} COMPONENT ${flavour}
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cleave/${flavour})
endfunction()

add_custom_target(benches-mpi)
foreach(flavour openmpi mpich)
    pkg_check_modules(MPI_${flavour} QUIET IMPORTED_TARGET GLOBAL ${module_${flavour}})
    if(NOT MPI_${flavour}_FOUND OR NOT reductions)
        continue()
    endif()
    list(APPEND CLEAVE_MPI_FLAVOURS ${flavour})
    set(target cleave-mpi-${flavour})
    # Both libraries have them: compile them once.
    add_library(${target}-objects OBJECT ${reductions})
    set_target_properties(${target}-objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${target}-objects PRIVATE cleave-flags cleave-inside
        PkgConfig::MPI_${flavour})
    cleave_mpi_library(${target} ${flavour} cleave-mpi ${others})
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${CLEAVE_ABI})
    if(preload)
        cleave_mpi_library(${target}-preload ${flavour} cleave-mpi-preload
            ${preload})
        target_link_libraries(${target}-preload PRIVATE ${CMAKE_DL_LIBS})
    endif()
    foreach(source ${mpi_benches})
        cmake_path(GET source STEM name)
        add_executable(bench-${name}-${flavour} EXCLUDE_FROM_ALL ${source})
        target_link_libraries(bench-${name}-${flavour} PRIVATE ${target} cleave-flags m)
        set_target_properties(bench-${name}-${flavour} PROPERTIES OUTPUT_NAME ${name}
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench-${flavour})
        add_dependencies(benches-mpi bench-${name}-${flavour})
    endforeach()
endforeach()
