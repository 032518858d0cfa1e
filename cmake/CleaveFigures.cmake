# The papers' figures: a program of their own that `cleave figures` starts, so that neither
# the library nor `cleave` itself has to carry them.
# SPDX-License-Identifier: MIT
file(GLOB found CONFIGURE_DEPENDS src/figures/*.c src/figures/*/*.c)
list(FILTER found EXCLUDE REGEX "/figures_main\\.c$")
add_library(cleave-papers STATIC ${found}) # a bench makes a figure, too
set_target_properties(cleave-papers PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/kit)
target_link_libraries(cleave-papers PRIVATE cleave-flags cleave-inside)

cleave_program(cleave-figures src/figures/figures_main.c)
target_link_libraries(cleave-figures PRIVATE cleave-papers cleave-kit cleave-static)
add_dependencies(product cleave-figures)
install(TARGETS cleave-figures DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cleave
    COMPONENT figures)
