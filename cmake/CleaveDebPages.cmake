# What Debian asks of every package, put in before it is packed: compressed man pages, the
# licence, a list of changes. SPDX-License-Identifier: MIT
file(GLOB components LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
file(READ ${CPACK_CLEAVE_SOURCE}/LICENSE licence)
# Lines of a field are indented, and empty ones have a dot.
string(STRIP "${licence}" licence)
string(REPLACE "\n" "\n " licence "${licence}")
string(REPLACE "\n \n" "\n .\n" licence "${licence}")
foreach(component ${components})
    if(NOT IS_DIRECTORY ${component}/usr)
        continue()
    endif()
    cmake_path(GET component FILENAME name)
    string(TOUPPER ${name} name)
    set(package ${CPACK_DEBIAN_${name}_PACKAGE_NAME})
    set(doc ${component}/usr/share/doc/${package})
    file(GLOB pages ${component}/usr/share/man/man*/*.?)
    if(pages)
        execute_process(COMMAND gzip -n9 ${pages} COMMAND_ERROR_IS_FATAL ANY)
    endif()
    file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cleave

Files: *
Copyright: 2026 The cleave developers
License: Expat
 ${licence}
")
    file(WRITE ${doc}/changelog
"cleave (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * NEWS.md in the package cleave says what changed.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 2026 00:00:00 +0000
")
    execute_process(COMMAND gzip -nf9 ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
    set(overrides ${CPACK_CLEAVE_SOURCE}/packaging/debian/${package}.lintian-overrides)
    if(EXISTS ${overrides})
        file(COPY_FILE ${overrides} ${component}/lintian-overrides)
        file(MAKE_DIRECTORY ${component}/usr/share/lintian/overrides)
        file(RENAME ${component}/lintian-overrides
            ${component}/usr/share/lintian/overrides/${package})
    endif()
    file(GLOB_RECURSE all ${component}/usr/share/doc/* ${component}/usr/share/lintian/*
        ${component}/usr/share/man/*)
    foreach(file ${all})
        if(NOT file MATCHES "/examples/")
            file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
        endif()
    endforeach()
endforeach()
