# Reductions for MPI programs, under each MPI that is here.
# SPDX-License-Identifier: MIT
#
# cleave_mpi_test(NAME FLAVOUR RANKS PROGRAM ARGUMENT...) -- BUILD/tests/mpi-FLAVOUR/PROGRAM.
function(cleave_mpi_test name flavour ranks program)
    cleave_add_test(mpi/${flavour}-${name} full sh ${PROJECT_SOURCE_DIR}/tests/mpi/launch.sh
        ${flavour} ${ranks} ${PROJECT_BINARY_DIR}/tests/mpi-${flavour}/${program} ${ARGN})
    # MPICH spins where ranks share a core, so hardly anything should run beside it.
    set_tests_properties(mpi/${flavour}-${name} PROPERTIES PROCESSORS 4)
    if(CLEAVE_SANITIZE)
        # What the MPI libraries leave behind is theirs.
        set_property(TEST mpi/${flavour}-${name} APPEND PROPERTY
            ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endfunction()

foreach(flavour ${CLEAVE_MPI_FLAVOURS})
    foreach(program types order nonblocking shared errors death)
        set(target test-mpi-${flavour}-${program})
        add_executable(${target} tests/mpi/${program}.c)
        target_link_libraries(${target} PRIVATE cleave-mpi-${flavour} cleave-flags m)
        set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program}
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi-${flavour})
    endforeach()
    # The same program is one that knows nothing of cleave, below.
    add_executable(test-mpi-${flavour}-own_sessions tests/mpi/sessions.c)
    target_compile_definitions(test-mpi-${flavour}-own_sessions PRIVATE BY_CLEAVE)
    target_link_libraries(test-mpi-${flavour}-own_sessions PRIVATE cleave-mpi-${flavour}
        cleave-flags)
    set_target_properties(test-mpi-${flavour}-own_sessions PROPERTIES OUTPUT_NAME own_sessions
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi-${flavour})
    # It has a call of the MPI library's that is to be found first.
    set_target_properties(test-mpi-${flavour}-order PROPERTIES ENABLE_EXPORTS ON)
    # The inner parts, without messages.
    foreach(program plans choice replan)
        set(target test-mpi-${flavour}-${program})
        add_executable(${target} tests/mpi/${program}.c
            $<TARGET_OBJECTS:cleave-mpi-${flavour}-objects>)
        target_link_libraries(${target} PRIVATE PkgConfig::MPI_${flavour} cleave-static
            cleave-flags cleave-inside ${CMAKE_DL_LIBS} m)
        set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program}
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi-${flavour})
        cleave_add_test(mpi/${flavour}-${program} quick ${target})
        cleave_own_leaks(mpi/${flavour}-${program} ${target})
    endforeach()
    # Programs that know nothing of cleave.
    foreach(program plain calls many sessions)
        add_executable(test-mpi-${flavour}-${program} tests/mpi/${program}.c)
        target_link_libraries(test-mpi-${flavour}-${program} PRIVATE
            PkgConfig::MPI_${flavour} cleave-flags m)
        set_target_properties(test-mpi-${flavour}-${program} PROPERTIES OUTPUT_NAME ${program}
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi-${flavour})
    endforeach()
    # A sanitizer would have to come before the preload.
    if(NOT CLEAVE_SANITIZE)
        set(ranks 4)
        if(flavour STREQUAL "mpich")
            set(ranks 2)
        endif()
        foreach(script preload death)
            cleave_add_test(mpi/${flavour}-${script} full sh
                ${PROJECT_SOURCE_DIR}/tests/mpi/${script}.sh ${flavour} ${ranks})
            set_tests_properties(mpi/${flavour}-${script} PROPERTIES PROCESSORS 4)
        endforeach()
    endif()

    # The example sees what users see.
    add_executable(example-mpi-${flavour} examples/mpi/mpi_reduce.c)
    target_link_libraries(example-mpi-${flavour} PRIVATE cleave-mpi-${flavour} cleave-flags)
    set_target_properties(example-mpi-${flavour} PROPERTIES OUTPUT_NAME mpi_reduce
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/mpi-${flavour})
    cleave_mpi_test(example ${flavour} 2 mpi_reduce)
endforeach()

if(openmpi IN_LIST CLEAVE_MPI_FLAVOURS)
    cleave_mpi_test(types openmpi 17 types)
    cleave_mpi_test(order openmpi 17 order 4000 150)
    cleave_mpi_test(segments openmpi 6 order 2000 100 segment=4KiB)
    cleave_mpi_test(window openmpi 5 order 2000 100 board=window,segment=16KiB)
    cleave_mpi_test(nonblocking openmpi 5 nonblocking 60)
    cleave_mpi_test(shared openmpi 5 shared 1500 200)
    cleave_mpi_test(shared-segments openmpi 3 shared 400 100 segment=4KiB)
    cleave_mpi_test(shared-two openmpi 2 shared 800 100 segment=4KiB)
    cleave_mpi_test(shared-little openmpi 3 shared 400 100 share=256KiB)
    cleave_mpi_test(shared-machines openmpi 6 shared 80 50 machine=3)
    cleave_mpi_test(pairs openmpi 7 order 1000 100 share=1)
    cleave_mpi_test(nonblocking-window openmpi 3 nonblocking 20 board=window,segment=1KiB)
    cleave_mpi_test(machines openmpi 5 order 60 50 machine=2,segment=16KiB)
    cleave_mpi_test(ahead openmpi 6 order 400 50 transfer=1s,segment=4KiB,share=1)
    cleave_mpi_test(slices openmpi 5 order 400 50 slices=3,segment=16KiB)
    cleave_mpi_test(nonblocking-machines openmpi 4 nonblocking 6 machine=2)
    cleave_mpi_test(errors openmpi 4 errors)
    # Atomic operations by messages, as between machines.
    cleave_add_test(mpi/openmpi-messages full sh ${PROJECT_SOURCE_DIR}/tests/mpi/launch.sh
        openmpi 4 --mca osc pt2pt ${PROJECT_BINARY_DIR}/tests/mpi-openmpi/order 600 100
        board=window)
    set_tests_properties(mpi/openmpi-messages PROPERTIES PROCESSORS 4)
    set_property(TEST mpi/openmpi-messages APPEND PROPERTY
        ENVIRONMENT ASAN_OPTIONS=detect_leaks=0) # the MPI library keeps what it has

    find_program(VALGRIND valgrind)
    if(VALGRIND AND NOT CLEAVE_SANITIZE)
        cleave_add_test(mpi/openmpi-valgrind full sh ${PROJECT_SOURCE_DIR}/tests/mpi/launch.sh
            openmpi 3 ${VALGRIND} -q --leak-check=full --errors-for-leak-kinds=definite
            --error-exitcode=9 --keep-debuginfo=yes
            --suppressions=${PROJECT_SOURCE_DIR}/tests/mpi/valgrind.supp
            ${PROJECT_BINARY_DIR}/tests/mpi-openmpi/order 40 0 segment=8KiB)
        set_tests_properties(mpi/openmpi-valgrind PROPERTIES PROCESSORS 4)
    endif()
endif()
if(mpich IN_LIST CLEAVE_MPI_FLAVOURS)
    cleave_mpi_test(types mpich 2 types)
    cleave_mpi_test(types-3 mpich 3 types 3 3)
    cleave_mpi_test(order mpich 2 order 3000 100)
    cleave_mpi_test(order-3 mpich 3 order 300 100 segment=4KiB)
    cleave_mpi_test(slices mpich 3 order 200 50 slices=16)
    cleave_mpi_test(window mpich 2 order 1000 100 board=window,segment=16KiB)
    cleave_mpi_test(nonblocking mpich 2 nonblocking 40)
    cleave_mpi_test(shared mpich 3 shared 300 100 segment=16KiB)
    cleave_mpi_test(shared-two mpich 2 shared 800 100 segment=4KiB)
    cleave_mpi_test(errors mpich 2 errors)
    cleave_mpi_test(sessions mpich 2 own_sessions both)
endif()
