# release.bats -- what `make release` makes, without making all of it. SPDX-License-Identifier: MIT
load helper

@test "the program without libraries works where there is nothing else" {
    [ -z "$CLEAVE_SANITIZE" ] || skip "sanitizers need libraries"
    run tools/in-bare-root "$CLEAVE_BUILD_DIR/cleave-portable"
    [ "$status" -ne 77 ] || skip "$output"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "in-bare-root: cleave-portable works with nothing beside it" ]
}

@test "a program that needs libraries is found out" {
    run tools/in-bare-root "$CLEAVE"
    [ "$status" -ne 77 ] || skip "$output"
    [ "$status" -eq 1 ]
    [ "$output" = "in-bare-root: $CLEAVE does not start without libraries" ]
}

@test "made-of adds up a program by library" {
    cat >"$BATS_TEST_TMPDIR/map" <<'END'
Discarded input sections

 .text          0x0000000000000000     0xffff /usr/lib/libzstd.a(dropped.o)

Linker script and memory map

 .text          0x0000000000401000      0x800 /usr/lib/libzstd.a(one.o)
 .text.startup  0x0000000000401800      0x400 CMakeFiles/cleave-portable.dir/main.c.o
 .rodata.very_long_name
                0x0000000000402000      0x200 /usr/lib/libzstd.a(two.o)
 .rodata        0x0000000000402200      0x100 kit/libcleave-verbs.a(verb.o)
 .debug_info    0x0000000000000000    0x99999 /usr/lib/libzstd.a(two.o)
 .text          0x0000000000403000      0x3ff /usr/lib/libc.a(small.o)
 *fill*         0x0000000000404000        0x8
END
    run tools/made-of "$BATS_TEST_TMPDIR/map"
    [ "$status" -eq 0 ]
    diff -u - <(printf '%s\n' "$output") <<'END'
     2560  libzstd.a
     1280  cleave
     1023  libc, libm, libgcc
END
}

@test "recipes and the list of release contents name every library" {
    # As the build asks for them.
    sed -n 's/^cleave_need([A-Z0-9]* [^ ]* lib\(.*\)-dev)$/\1/p' cmake/CleaveDependencies.cmake |
        sed 's/yaml-.*/yaml/; s/sqlite3/sqlite/' >"$BATS_TEST_TMPDIR/names"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -ge 7 ]
    while read -r name; do
        for file in packaging/conda/meta.yaml tools/make-release packaging/spack/package.py; do
            case $name:$file in lzma:*spack*) name=xz ;; esac
            grep -q "$name" "$file" || {
                echo "$file does not name $name"
                return 1
            }
        done
    done <"$BATS_TEST_TMPDIR/names"
}

@test "recipes name the version that this is" {
    version=$(sed -n 's/.*define CLEAVE_VERSION "\(.*\)".*/\1/p' include/cleave/version.h)
    grep -qF "set version = \"$version\"" packaging/conda/meta.yaml
    grep -qF "version(\"$version\")" packaging/spack/package.py
    grep -qx "version: $version" CITATION.cff
}
