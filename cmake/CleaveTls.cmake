# Links over TLS: a program of its own, since loading OpenSSL takes longer than the start of cleave.
# SPDX-License-Identifier: MIT
file(GLOB found CONFIGURE_DEPENDS src/tls/*.c)
list(FILTER found EXCLUDE REGEX "/tls_main.c$")
add_library(cleave-tls-kit STATIC ${found})
set_target_properties(cleave-tls-kit PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/kit)
target_include_directories(cleave-tls-kit PUBLIC include src)
target_link_libraries(cleave-tls-kit PRIVATE cleave-flags PUBLIC PkgConfig::OPENSSL)

# cleave_tls_program(NAME LIBRARY...)
function(cleave_tls_program name)
    add_executable(${name} src/tls/tls_main.c)
    target_link_libraries(${name} PRIVATE cleave-flags
        $<TARGET_FILE:cleave-tls-kit> $<TARGET_FILE:cleave-static> ${ARGN})
    target_include_directories(${name} PRIVATE include src)
    add_dependencies(${name} cleave-tls-kit cleave-static)
endfunction()
cleave_tls_program(cleave-tls PkgConfig::OPENSSL)
add_dependencies(product cleave-tls)
install(TARGETS cleave-tls DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cleave COMPONENT runtime)
# The same beside cleave-portable.
cleave_tls_program(cleave-tls-portable ssl crypto)
set_target_properties(cleave-tls-portable PROPERTIES EXCLUDE_FROM_ALL ON)
target_link_options(cleave-tls-portable PRIVATE -static -s)
