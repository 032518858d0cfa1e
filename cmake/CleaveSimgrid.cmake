# The SimGrid engine: a program of its own, since SimGrid allows one engine per process and
# ends the process when something is wrong. Left out where SimGrid is missing.
# SPDX-License-Identifier: MIT
file(GLOB found CONFIGURE_DEPENDS src/simgrid/*.c)
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET GLOBAL simgrid)
if(found AND SIMGRID_FOUND)
    cleave_program(cleave-simgrid ${found})
    target_link_libraries(cleave-simgrid PRIVATE PkgConfig::SIMGRID ${CMAKE_DL_LIBS})
    add_dependencies(product cleave-simgrid)
    install(TARGETS cleave-simgrid DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cleave
        COMPONENT simgrid)
endif()
