# Tests, all found by their place in tests/. Exit status 77 means skipped.
# SPDX-License-Identifier: MIT
cleave_need(CMOCKA cmocka libcmocka-dev)
find_program(BATS bats)
find_program(MAN man)

add_library(cleave-testing INTERFACE)
target_include_directories(cleave-testing INTERFACE tests)
target_compile_definitions(cleave-testing INTERFACE
    CLEAVE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_link_options(cleave-testing INTERFACE -Wl,--as-needed)
target_link_libraries(cleave-testing INTERFACE PkgConfig::CMOCKA)
if(CLEAVE_WITH_CLP)
    # The C interface alone: its own libraries come along with libClp.so.
    cleave_need(CLP clp coinor-libclp-dev)
    target_compile_definitions(cleave-testing INTERFACE CLEAVE_WITH_CLP=1)
    target_include_directories(cleave-testing SYSTEM INTERFACE ${CLP_INCLUDE_DIRS})
    target_link_directories(cleave-testing INTERFACE ${CLP_LIBRARY_DIRS})
    target_link_libraries(cleave-testing INTERFACE Clp)
endif()

# When a test has hung.
set(CLEAVE_TEST_SECONDS 600 CACHE STRING "seconds that a test may take")
mark_as_advanced(CLEAVE_TEST_SECONDS)

# cleave_add_test(NAME LABEL COMMAND...) -- run from the top of the source tree.
function(cleave_add_test name label)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set(environment CLEAVE=${PROJECT_BINARY_DIR}/cleave CLEAVE_SOURCE_DIR=${PROJECT_SOURCE_DIR}
        CLEAVE_BUILD_DIR=${PROJECT_BINARY_DIR} CLEAVE_SANITIZE=${CLEAVE_SANITIZE})
    set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77
        TIMEOUT ${CLEAVE_TEST_SECONDS} ENVIRONMENT "${environment}")
endfunction()

# cleave_test_program(FOLDER SOURCE...) -- the program BUILD/tests/FOLDER/NAME.
function(cleave_test_program folder source)
    cmake_path(GET source STEM name)
    set(target test-${folder}-${name})
    cleave_program(${target} ${source} ${ARGN})
    target_link_libraries(${target} PRIVATE cleave-testing)
    set_target_properties(${target} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${folder} OUTPUT_NAME ${name})
endfunction()

# On arm64 GCC's sanitizer takes 4 s of every process to look for leaks, be it as small as it may.
# There programs that are given tests/leak_watch.c look for themselves.
if(CLEAVE_SANITIZE MATCHES "address" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    add_library(cleave-leak-watch OBJECT tests/leak_watch.c)
    target_link_libraries(cleave-leak-watch PRIVATE cleave-flags)
endif()

# cleave_no_leaks(TEST) -- the sanitizer does not look for leaks where that takes long.
function(cleave_no_leaks name)
    if(TARGET cleave-leak-watch)
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endfunction()

# cleave_own_leaks(TEST TARGET) -- the program does so itself there.
function(cleave_own_leaks name target)
    cleave_no_leaks(${name})
    if(TARGET cleave-leak-watch)
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:cleave-leak-watch>)
    endif()
endfunction()

if(TARGET cleave-leak-watch)
    add_executable(test-leaky tests/leaky.c)
    target_link_libraries(test-leaky PRIVATE cleave-flags)
    cleave_add_test(leak_watch quick test-leaky)
    cleave_own_leaks(leak_watch test-leaky)
    set_tests_properties(leak_watch PROPERTIES PASS_REGULAR_EXPRESSION
        "leaked: 33 bytes, .*leaked: 1 blocks in all")
endif()

file(GLOB units CONFIGURE_DEPENDS tests/unit/test_*.c)
file(GLOB larger CONFIGURE_DEPENDS tests/policy/*.c tests/engine/*.c tests/fault/*.c)
foreach(source ${units} ${larger})
    cmake_path(GET source STEM name)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set(label full)
    if(folder STREQUAL "unit")
        set(label quick)
    endif()
    cleave_test_program(${folder} ${source})
    cleave_add_test(${folder}/${name} ${label} test-${folder}-${name})
    if(folder STREQUAL "engine") # they run commands
        cleave_own_leaks(${folder}/${name} test-${folder}-${name})
    else()
        cleave_no_leaks(${folder}/${name})
    endif()
endforeach()

target_link_options(test-engine-test_run_attempts PRIVATE
    -Wl,--wrap=cv_attempt_step,--wrap=cv_slot_init,--wrap=cv_worker_pool_there)

# A program of a user and the command themselves under valgrind.
find_program(VALGRIND valgrind)
if(VALGRIND AND NOT CLEAVE_SANITIZE)
    set(valgrind env CLEAVE_PLAIN_START=1 ${VALGRIND} -q --error-exitcode=99 --leak-check=full)
    cleave_add_test(valgrind/library full ${valgrind} $<TARGET_FILE:test-engine-test_run_embedded>)
    cleave_add_test(valgrind/command full ${valgrind} $<TARGET_FILE:cleave> run -q -j 2 --block 8k
        -i README.md --reduce sum -- wc -l)
endif()

# What only the command has.
target_link_libraries(test-unit-test_http_request PRIVATE cleave-verbs cleave-kit cleave-static)
target_link_libraries(test-unit-test_fields PRIVATE cleave-kit)
target_link_libraries(test-unit-test_tls PRIVATE cleave-tls-kit cleave-static)

# The fuzz targets read back the inputs kept in tests/fuzz/corpus/NAME/; cmake/fuzz_replay.c
# stands in for libFuzzer, so any compiler will do.
file(GLOB found CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
if(CLEAVE_FUZZ)
    set(found) # CleaveFuzz.cmake makes the real ones
endif()
foreach(source ${found})
    cmake_path(GET source STEM name)
    cleave_test_program(fuzz ${source} ${PROJECT_SOURCE_DIR}/cmake/fuzz_replay.c)
    target_link_libraries(test-fuzz-${name} PRIVATE cleave-verbs cleave-kit cleave-static)
    cleave_add_test(fuzz/${name} quick test-fuzz-${name}
        ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    cleave_no_leaks(fuzz/${name})
endforeach()

# Exact inputs and outputs made by independent code.
file(GLOB found CONFIGURE_DEPENDS tests/data/*_open.json)
foreach(vectors ${found})
    cmake_path(GET vectors STEM name)
    cleave_add_test(vectors/${name} quick check-vectors ${vectors})
    cleave_no_leaks(vectors/${name})
endforeach()

# The command line.
file(GLOB found CONFIGURE_DEPENDS tests/cli/*.bats)
if(found AND NOT BATS)
    message(FATAL_ERROR "bats not found (Debian package bats)")
endif()
foreach(script ${found})
    cmake_path(GET script STEM name)
    # Whoever runs tests in the background may ignore these, and what ignores them is not stopped.
    cleave_add_test(cli/${name} quick env --default-signal=HUP,INT ${BATS} ${script})
    cleave_no_leaks(cli/${name})
    if(CLEAVE_SANITIZE AND name MATCHES "mpi") # the MPI library keeps what it has
        set_property(TEST cli/${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endforeach()

# The package for Python.
find_program(PYTHON3 python3)
if(PYTHON3)
    cleave_add_test(python quick ${PYTHON3} -B python/tests/test_cleave.py)
    cleave_no_leaks(python)
endif()

# A program that makes faults happen to jobs, see tests/chaos/chaos.h. It only knows the command
# line of what it tries, and starts itself very often: no sanitizers.
file(GLOB found CONFIGURE_DEPENDS tests/chaos/*.c)
add_executable(chaos ${found})
target_include_directories(chaos PRIVATE tests)
target_compile_definitions(chaos PRIVATE _GNU_SOURCE)
target_compile_options(chaos PRIVATE -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes $<$<BOOL:${CLEAVE_WERROR}>:-Werror>)

# The slow and far links of hosts.
add_executable(relay tests/relay.c)
target_link_libraries(relay PRIVATE m)
target_compile_options(relay PRIVATE -Wall -Wextra $<$<BOOL:${CLEAVE_WERROR}>:-Werror>)
add_dependencies(chaos relay)

# Examples see what users see: the public headers and the shared library.
file(GLOB found CONFIGURE_DEPENDS examples/*.c)
foreach(source ${found})
    cmake_path(GET source STEM name)
    add_executable(example-${name} ${source})
    target_link_libraries(example-${name} PRIVATE cleave-shared cleave-flags m)
    set_target_properties(example-${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples OUTPUT_NAME ${name})
    cleave_add_test(examples/${name} quick example-${name})
    cleave_own_leaks(examples/${name} example-${name})
endforeach()

# The pages must format without a complaint.
file(GLOB found CONFIGURE_DEPENDS man/*.1)
foreach(page ${found})
    cmake_path(GET page STEM name)
    if(MAN)
        cleave_add_test(man/${name} quick sh -c
            "complaints=$(LC_ALL=C.UTF-8 MANWIDTH=90 ${MAN} --warnings -l '${page}' 2>&1 >/dev/null)
             echo \"$complaints\"; [ -z \"$complaints\" ]")
    endif()
endforeach()

cleave_add_test(layers quick sh ${PROJECT_SOURCE_DIR}/tools/check-layers ${PROJECT_SOURCE_DIR}
                ${PROJECT_BINARY_DIR})
cleave_add_test(weight quick sh ${PROJECT_SOURCE_DIR}/tools/weight)
# The lists of mutants must keep up with the code; `make mutants` tries them.
cleave_add_test(mutants quick sh ${PROJECT_SOURCE_DIR}/tools/mutants -n)

include(cmake/CleaveMpiTests.cmake)
include(cmake/CleaveMpiRunTests.cmake)

# What starts threads, for ThreadSanitizer: `make check-threads` builds the target `threaded`
# and runs what has this label. Of MPI, Open MPI alone: MPICH does not start under it.
add_custom_target(threaded)
add_dependencies(threaded cleave cleave-figures)
set(threaded cli/simulate_load cli/simulate_reduce cli/streams cli/run_serve)
foreach(name unit/test_as4dr unit/test_learn unit/test_stream_plan engine/test_monte_carlo
        engine/test_run_kept engine/test_run_embedded unit/test_decode_ahead unit/test_decode_thread unit/test_ordered_jobs
        unit/test_parallel_bzip2)
    string(REPLACE "/" "-" target ${name})
    add_dependencies(threaded test-${target})
    list(APPEND threaded ${name})
endforeach()
if(openmpi IN_LIST CLEAVE_MPI_FLAVOURS)
    add_dependencies(threaded cleave-mpi-openmpi test-mpi-bridge_check
        test-mpi-openmpi-map_check)
    list(APPEND threaded mpi/openmpi-bridge-echo mpi/openmpi-bridge-peers mpi/openmpi-map-2)
endif()
set_property(TEST ${threaded} APPEND PROPERTY LABELS threads)

# The longest begin first, so that none of them is left alone at the end; seconds on two cores.
set(longest
    fault/test_run_calls 85 cli/run_fails 74 cli/run_mpi 67 cli/run_hosts 64 cli/run_scarce 45 cli/run_commands 42
    cli/run_ssh 36 engine/test_run_kept 35 cli/package 32 cli/slurm 30 cli/documents 30 cli/report_page 27
    policy/conformance 24 cli/run_decode 23 cli/figures 22 cli/run 21 fault/test_allocation 20
    engine/parity_simgrid 17 cli/run_summary 17 cli/run_items 16 cli/simulate_load 14
    unit/test_decode_ahead 13 cli/report 13 cli/run_slots 13 vectors/returns_open 12 cli/run_leaders_lines 12
    engine/test_run_persistent 10 cli/run_mpi_outputs 10 cli/plan_reduce 9 cli/chaos 9 unit/test_rounds_links 8
    unit/test_lifespan 6)
while(longest)
    list(POP_FRONT longest name seconds)
    if(TEST ${name})
        set_tests_properties(${name} PROPERTIES COST ${seconds})
    endif()
endwhile()
