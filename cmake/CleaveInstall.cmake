# What is installed, where, and how packages are made of it.
# SPDX-License-Identifier: MIT

# Only what the public headers declare is visible in the shared library.
set(CLEAVE_SYMBOLS ${PROJECT_SOURCE_DIR}/cmake/libcleave.symbols)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CLEAVE_SYMBOLS})
file(STRINGS ${CLEAVE_SYMBOLS} names)
list(JOIN names ";\n    " names)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/libcleave.map CONTENT
"CLEAVE_${CLEAVE_ABI} {
global:
    ${names};
local:
    *;
};
")
target_link_options(cleave-shared PRIVATE
    -Wl,--version-script=${PROJECT_BINARY_DIR}/libcleave.map)
set_property(TARGET cleave-shared APPEND PROPERTY LINK_DEPENDS
    ${PROJECT_BINARY_DIR}/libcleave.map)

# Another project that has cleave inside installs and packs itself.
if(NOT PROJECT_IS_TOP_LEVEL)
    return()
endif()

# Relative, so that what was installed may be moved.
file(RELATIVE_PATH CLEAVE_PC_TO_PREFIX
    /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" CLEAVE_PC_TO_PREFIX "${CLEAVE_PC_TO_PREFIX}")
configure_file(cmake/cleave.pc.in cleave.pc @ONLY)
set(configs ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/cleaveConfig.cmake.in cleaveConfig.cmake
    INSTALL_DESTINATION ${configs}
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(cleaveConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS cleave COMPONENT runtime)
install(TARGETS cleave-static COMPONENT development)
install(CODE "
    if(CMAKE_INSTALL_DO_STRIP) # CMake leaves archives alone
        execute_process(COMMAND ${CMAKE_STRIP} --strip-debug
            \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libcleave.a\"
            COMMAND_ERROR_IS_FATAL ANY)
    endif()
" COMPONENT development)
install(TARGETS cleave-shared
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
file(GLOB pages CONFIGURE_DEPENDS man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
# Pages of the library are made of its headers.
file(GLOB headers CONFIGURE_DEPENDS include/cleave/*.h)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man3/cleave.3
    COMMAND sh ${PROJECT_SOURCE_DIR}/tools/make-man3 ${PROJECT_BINARY_DIR}/man3
    DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/tools/make-man3 COMMENT "Making man3" VERBATIM)
add_custom_target(man3 ALL DEPENDS ${PROJECT_BINARY_DIR}/man3/cleave.3)
add_dependencies(product man3)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
install(FILES README.md NEWS.md SECURITY.md LICENSE TYPE DOC COMPONENT runtime)
install(DIRECTORY docs TYPE DOC COMPONENT runtime)
# Its headers become part of the program.
install(FILES /usr/share/doc/librandom123-dev/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses
    RENAME Random123.txt COMPONENT runtime OPTIONAL)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY include/cleave TYPE INCLUDE COMPONENT development
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.f90")
# One for each MPI, and one for the MPI that is meant when none is named: that of mpicc, or the
# first that is here.
if(CLEAVE_MPI_FLAVOURS)
    list(GET CLEAVE_MPI_FLAVOURS 0 CLEAVE_MPI_FIRST)
    find_program(CLEAVE_MPICC mpicc)
    if(CLEAVE_MPICC)
        file(REAL_PATH ${CLEAVE_MPICC} mpicc)
        foreach(flavour ${CLEAVE_MPI_FLAVOURS})
            if(mpicc MATCHES ${flavour})
                set(CLEAVE_MPI_FIRST ${flavour})
            endif()
        endforeach()
    endif()
    configure_file(cmake/cleave-mpi.pc.in cleave-mpi.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/cleave-mpi.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
foreach(flavour ${CLEAVE_MPI_FLAVOURS})
    set(module ${module_${flavour}})
    configure_file(cmake/cleave-mpi-flavour.pc.in cleave-mpi-${flavour}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/cleave-mpi-${flavour}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${flavour})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/cleave.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/cleaveConfig.cmake
    ${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake DESTINATION ${configs}
    COMPONENT development)
if(EXISTS ${PROJECT_SOURCE_DIR}/completions)
    install(FILES completions/cleave.bash RENAME cleave
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
    # zsh looks for vendor-completions below /usr alone, and for site-functions below /usr/local.
    install(CODE "
        if(CMAKE_INSTALL_PREFIX MATCHES \"^/usr/?$\")
            set(functions vendor-completions)
        else()
            set(functions site-functions)
        endif()
        file(INSTALL \"${PROJECT_SOURCE_DIR}/completions/_cleave\" TYPE FILE DESTINATION
            \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${functions}\")
    " COMPONENT runtime)
    install(FILES completions/cleave.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
endif()

# --- Debian packages: `make deb` -----------------------------------------------------------
# One for users, one for programmers, one with the papers' figures, and one each for what
# needs SimGrid or an MPI library.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cleave)
set(CPACK_PACKAGE_CONTACT "The cleave developers <developers@cleave.example.org>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON) # strips as well
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA # instead of calls of ldconfig
    ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/CleaveDebPages.cmake)
set(CPACK_CLEAVE_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_COMPONENTS_ALL runtime development figures)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
"Cuts a file or a stream at record boundaries and runs a command on the parts,
on the cores of this machine or of others, so that all finish together; plans
and simulates such runs, and joins the results along the best tree.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME cleave)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "openssh-client, cleave-figures, cleave-simgrid, cleave-openmpi | cleave-mpich")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Headers and libraries, for programs that plan, simulate or run divisible
loads and reductions.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcleave-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "cleave (= ${PROJECT_VERSION}), libyaml-dev, libsqlite3-dev, libxxhash-dev, libzstd-dev, liblzma-dev, liblz4-dev, libdeflate-dev, libpcre2-dev, libbz2-dev")
set(CPACK_DEBIAN_FIGURES_PACKAGE_NAME cleave-figures)
set(CPACK_DEBIAN_FIGURES_PACKAGE_DEPENDS "cleave (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_FIGURES_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_COMPONENT_FIGURES_DESCRIPTION
"Makes every figure and table of the papers that cleave is built on, and says
what holds of their claims: cleave figures.")
if(TARGET cleave-simgrid)
    list(APPEND CPACK_COMPONENTS_ALL simgrid)
    set(CPACK_DEBIAN_SIMGRID_PACKAGE_NAME cleave-simgrid)
    set(CPACK_DEBIAN_SIMGRID_PACKAGE_DEPENDS "cleave (= ${PROJECT_VERSION})")
    set(CPACK_COMPONENT_SIMGRID_DESCRIPTION
"The SimGrid engine: loads, streams and reductions on topologies with shared
links.")
endif()
foreach(flavour ${CLEAVE_MPI_FLAVOURS})
    string(TOUPPER ${flavour} upper)
    list(APPEND CPACK_COMPONENTS_ALL ${flavour})
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME cleave-${flavour})
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "cleave (= ${PROJECT_VERSION})")
    set(CPACK_COMPONENT_${upper}_DESCRIPTION
"Reductions for MPI programs of ${flavour}, as a library and as a preload, and
what cleave run --mpi needs.")
endforeach()
include(CPack)
