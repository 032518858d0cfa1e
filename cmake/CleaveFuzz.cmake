# libFuzzer programs: BUILD/fuzz_NAME from tests/fuzz/fuzz_NAME.c, all by target `fuzzers`.
# SPDX-License-Identifier: MIT
add_custom_target(fuzzers)
file(GLOB found CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
foreach(source ${found})
    cmake_path(GET source STEM name)
    cleave_program(${name} ${source})
    target_compile_definitions(${name} PRIVATE CLEAVE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE cleave-verbs cleave-kit cleave-static)
    add_dependencies(fuzzers ${name})
endforeach()
