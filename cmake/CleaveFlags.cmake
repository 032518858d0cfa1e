# How all C of the project is compiled: the target cleave-flags.
# SPDX-License-Identifier: MIT
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

add_library(cleave-flags INTERFACE)
target_compile_definitions(cleave-flags INTERFACE _GNU_SOURCE)
target_compile_options(cleave-flags INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    $<$<BOOL:${CLEAVE_WERROR}>:-Werror>
    # No fused multiply-add: a plan must have the same bits on every machine.
    -ffp-contract=off)
# Addresses of functions are fixed at the start and then read-only.
target_link_options(cleave-flags INTERFACE -Wl,-z,relro,-z,now)

if(CLEAVE_SANITIZE)
    set(sanitize -fsanitize=${CLEAVE_SANITIZE} -fno-sanitize-recover=all)
    target_compile_options(cleave-flags INTERFACE ${sanitize} -fno-omit-frame-pointer)
    target_link_options(cleave-flags INTERFACE ${sanitize})
endif()
if(CLEAVE_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "CLEAVE_FUZZ needs clang, got ${CMAKE_C_COMPILER}")
    endif()
    target_compile_options(cleave-flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
