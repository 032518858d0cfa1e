# What the library is made with: the target cleave-inside. Each error names the Debian
# package that helps; tools/install-deps installs them all.
# SPDX-License-Identifier: MIT
include(CheckIncludeFile)
find_package(Threads REQUIRED)
find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
    message(FATAL_ERROR "pkg-config not found (Debian package pkg-config)")
endif()

# cleave_need(PREFIX MODULE PACKAGE) -- a library known to pkg-config, or a clear end.
function(cleave_need prefix module package)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(NOT ${prefix}_FOUND)
        message(FATAL_ERROR "${module} not found by pkg-config (Debian package ${package})")
    endif()
endfunction()

cleave_need(YAML yaml-0.1 libyaml-dev)
cleave_need(SQLITE sqlite3 libsqlite3-dev)
cleave_need(XXHASH libxxhash libxxhash-dev)
cleave_need(ZSTD libzstd libzstd-dev)
cleave_need(LZMA liblzma liblzma-dev)
cleave_need(LZ4 liblz4 liblz4-dev)
cleave_need(DEFLATE libdeflate libdeflate-dev)
cleave_need(PCRE2 libpcre2-8 libpcre2-dev)
# Of cleave-tls alone, which is not linked with the others.
cleave_need(OPENSSL openssl>=3.0 libssl-dev)
# bzip2 is not known to pkg-config everywhere.
check_include_file(bzlib.h CLEAVE_HAS_BZIP2)
if(NOT CLEAVE_HAS_BZIP2)
    unset(CLEAVE_HAS_BZIP2 CACHE)
    message(FATAL_ERROR "bzlib.h not found (Debian package libbz2-dev)")
endif()
check_include_file(Random123/philox.h CLEAVE_HAS_RANDOM123)
if(NOT CLEAVE_HAS_RANDOM123)
    unset(CLEAVE_HAS_RANDOM123 CACHE) # look again next time
    message(FATAL_ERROR "Random123/philox.h not found (Debian package librandom123-dev)")
endif()

add_library(cleave-inside INTERFACE)
target_include_directories(cleave-inside INTERFACE include src)
target_link_libraries(cleave-inside INTERFACE
    PkgConfig::YAML PkgConfig::SQLITE PkgConfig::XXHASH PkgConfig::ZSTD PkgConfig::LZMA
    PkgConfig::LZ4 PkgConfig::DEFLATE PkgConfig::PCRE2 bz2 Threads::Threads m)
