# Tests of the links between MPI ranks, of jobs shared by them, and the example of it.
# SPDX-License-Identifier: MIT
#
# Every test runs with each MPI that is here.
set(launch sh ${PROJECT_SOURCE_DIR}/tests/mpi/launch.sh)

# cleave_mpi_run_test(NAME FLAVOUR RANKS PROGRAM ARGUMENT...)
function(cleave_mpi_run_test name flavour ranks)
    cleave_add_test(${name} full ${launch} ${flavour} ${ranks} ${ARGN})
    # MPICH spins where ranks share a core, so hardly anything should run beside it.
    set_tests_properties(${name} PROPERTIES PROCESSORS 4 TIMEOUT 150)
    if(CLEAVE_SANITIZE)
        # What the MPI libraries leave behind, and the order of their locks, is theirs.
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0
            TSAN_OPTIONS=detect_deadlocks=0:suppressions=${PROJECT_SOURCE_DIR}/tests/mpi/tsan.supp)
    endif()
endfunction()

if(CLEAVE_MPI_FLAVOURS)
    # An inner part without messages.
    add_executable(test-mpi-units tests/mpi/units.c src/mpi/map/map_units.c)
    target_link_libraries(test-mpi-units PRIVATE cleave-static cleave-flags cleave-inside
        PkgConfig::CMOCKA)
    set_target_properties(test-mpi-units PROPERTIES OUTPUT_NAME units
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi)
    cleave_add_test(mpi/units quick test-mpi-units)
    cleave_own_leaks(mpi/units test-mpi-units)
    # Another one, which knows types of MPI, but calls nothing.
    list(GET CLEAVE_MPI_FLAVOURS 0 first)
    add_executable(test-mpi-ends tests/mpi/ends.c src/mpi/bridge/bridge_end.c)
    target_link_libraries(test-mpi-ends PRIVATE cleave-static cleave-flags cleave-inside
        PkgConfig::CMOCKA PkgConfig::MPI_${first})
    set_target_properties(test-mpi-ends PROPERTIES OUTPUT_NAME ends
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi)
    cleave_add_test(mpi/ends quick test-mpi-ends)
    cleave_own_leaks(mpi/ends test-mpi-ends)
    cleave_no_leaks(mpi/ends)
    # It loads the library as the command does, so it is the same program for all.
    add_executable(test-mpi-bridge_check tests/mpi/bridge_check.c)
    target_include_directories(test-mpi-bridge_check PRIVATE src include)
    target_link_libraries(test-mpi-bridge_check PRIVATE cleave-flags ${CMAKE_DL_LIBS})
    set_target_properties(test-mpi-bridge_check PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi OUTPUT_NAME bridge_check)
    add_library(test-mpi-refusing_mpi MODULE tests/mpi/refusing_mpi.c)
    target_link_libraries(test-mpi-refusing_mpi PRIVATE cleave-flags ${CMAKE_DL_LIBS})
    set_target_properties(test-mpi-refusing_mpi PROPERTIES PREFIX ""
        C_VISIBILITY_PRESET default OUTPUT_NAME refusing_mpi
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi)
endif()

foreach(flavour ${CLEAVE_MPI_FLAVOURS})
    foreach(case echo peers early lost)
        cleave_mpi_run_test(mpi/${flavour}-bridge-${case} ${flavour} 5
            $<TARGET_FILE:test-mpi-bridge_check> $<TARGET_FILE:cleave-mpi-${flavour}> ${case})
    endforeach()
    cleave_mpi_run_test(mpi/${flavour}-bridge-wide ${flavour} 40
        $<TARGET_FILE:test-mpi-bridge_check> $<TARGET_FILE:cleave-mpi-${flavour}> wide)
    # The runtime of a sanitizer wants to be the first one to be loaded.
    if(NOT CLEAVE_SANITIZE)
        cleave_mpi_run_test(mpi/${flavour}-bridge-refused ${flavour} 3
            env LD_PRELOAD=$<TARGET_FILE:test-mpi-refusing_mpi>
            $<TARGET_FILE:test-mpi-bridge_check> $<TARGET_FILE:cleave-mpi-${flavour}> echo)
        set_tests_properties(mpi/${flavour}-bridge-refused PROPERTIES PASS_REGULAR_EXPRESSION
            "rank 0: MPI: cannot let ranks tell each other where they are")
    endif()

    set(target test-mpi-${flavour}-map_check)
    add_executable(${target} tests/mpi/map_check.c)
    target_link_libraries(${target} PRIVATE cleave-mpi-${flavour} cleave-static cleave-flags
        cleave-inside)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME map_check
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi-${flavour})
    foreach(ranks 1 2 5)
        cleave_mpi_run_test(mpi/${flavour}-map-${ranks} ${flavour} ${ranks}
            $<TARGET_FILE:${target}>)
    endforeach()
    cleave_mpi_run_test(mpi/${flavour}-map-single ${flavour} 3
        $<TARGET_FILE:${target}> single)

    # Users see the public headers and the library of their MPI.
    set(target example-map_reduce-${flavour})
    add_executable(${target} examples/mpi/map_reduce.c)
    target_link_libraries(${target} PRIVATE cleave-mpi-${flavour} cleave-flags)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME map_reduce
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples/${flavour})
    cleave_mpi_run_test(examples/${flavour}-map_reduce ${flavour} 4
        $<TARGET_FILE:${target}>)
endforeach()
