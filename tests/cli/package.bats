# What is installed works where it is. SPDX-License-Identifier: MIT
load helper

setup_file() {
    export place=$BATS_FILE_TMPDIR/place
    cmake --install "$CLEAVE_BUILD_DIR" --prefix "$place" --strip >"$BATS_FILE_TMPDIR/log" 2>&1 ||
        { cat "$BATS_FILE_TMPDIR/log"; return 1; }
}

setup() {
    [ -z "$CLEAVE_SANITIZE" ] || skip "programs of users are not built with sanitizers"
    cd "$BATS_TEST_TMPDIR"
    mkdir -p examples
    cp "$CLEAVE_SOURCE_DIR"/examples/*.yaml examples/
}

@test "the installed command runs by itself" {
    seq 1000 >numbers
    run "$place/bin/cleave" run -q -i numbers -- cat
    [ "$status" = 0 ]
    [ "$output" = "$(cat numbers)" ]
}

@test "installed programs and libraries are stripped, and bound at the start" {
    command -v readelf >/dev/null || skip "readelf is not there"
    find "$place" -type f \( -perm -100 -o -name '*.so*' \) | while read -r file; do
        [ "$(head -c 4 "$file")" = $'\x7fELF' ] || continue
        readelf -d "$file" | grep -q 'FLAGS.*NOW' || { echo "$file: not bound at the start"; return 1; }
        run ! grep -q '\.debug_info' <(readelf -S -W "$file")
    done
    readelf -l -W "$place/bin/cleave" | grep -q GNU_RELRO
}

@test "the installed figures are found" {
    [ -x "$place/libexec/cleave/cleave-figures" ]
    [ ! -e "$place/bin/cleave-figures" ]
    run "$place/bin/cleave" figures umr-fig6
    [ "$status" = 0 ]
    [ "$output" = "$("$CLEAVE" figures umr-fig6)" ]
}

@test "pages, completions and examples are installed" {
    [ -f "$place/share/man/man1/cleave-run.1" ]
    [ -f "$place/share/doc/cleave/docs/guide/first-run.md" ]
    cmp "$CLEAVE_SOURCE_DIR/README.md" "$place/share/doc/cleave/README.md"
    [ -f "$place/share/doc/cleave/examples/plan.c" ]
    [ -f "$place/share/man/man3/cleave_execute.3" ]
    # Where zsh looks: below /usr, as packages have it, it is another folder than elsewhere.
    [ -f "$place/share/zsh/site-functions/_cleave" ]
    DESTDIR=$BATS_TEST_TMPDIR/root cmake --install "$CLEAVE_BUILD_DIR" --prefix /usr --component runtime >log
    [ -f root/usr/share/zsh/vendor-completions/_cleave ]
    [ ! -e root/usr/share/zsh/site-functions ]
    for page in "$CLEAVE_SOURCE_DIR"/man/*.1; do
        [ -f "$place/share/man/man1/${page##*/}" ]
    done
}

@test "examples compile against the installed library: pkg-config, shared and static" {
    export PKG_CONFIG_PATH=$(dirname "$(find "$place" -name cleave.pc)")
    cc "$CLEAVE_SOURCE_DIR/examples/plan.c" -o shared $(pkg-config --cflags --libs cleave) \
        -Wl,-rpath,"$(pkg-config --variable=libdir cleave)"
    ./shared >out
    grep -q ' s' out
    local lib=$(pkg-config --variable=libdir cleave)
    cc "$CLEAVE_SOURCE_DIR/examples/plan.c" -o static $(pkg-config --cflags cleave) \
        "$lib/libcleave.a" \
        $(pkg-config --libs yaml-0.1 sqlite3 libxxhash libzstd liblzma liblz4 libdeflate libpcre2-8) -lbz2 -lm -pthread
    ./static | cmp - out
    ! ldd static | grep -q libcleave
}

@test "programs of the page about the library compile, and write what the page shows" {
    export PKG_CONFIG_PATH=$(dirname "$(find "$place" -name cleave.pc)")
    "$CLEAVE" sample --force >/dev/null
    awk '/^```c$/ { into = sprintf("page%02d.c", ++n); next }
        /^```text$/ { into = sprintf("page%02d.txt", n); next }
        /^```/ { into = "" }
        into != "" { print >into }' "$CLEAVE_SOURCE_DIR/docs/guide/library.md"
    [ "$(ls page*.c | wc -l)" -eq 5 ]
    for page in page*.c; do
        cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror "$page" -o program -pthread $(pkg-config --cflags --libs cleave) \
            -Wl,-rpath,"$(pkg-config --variable=libdir cleave)"
        ./program >out
        diff -u "${page%.c}.txt" out
    done
}

@test "examples compile against the installed library: CMake" {
    cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C)
find_package(cleave 0.2 REQUIRED)
add_executable(one $CLEAVE_SOURCE_DIR/examples/plan.c)
target_link_libraries(one cleave::cleave)
add_executable(two $CLEAVE_SOURCE_DIR/examples/plan.c)
target_link_libraries(two cleave::static)
add_executable(runs $CLEAVE_SOURCE_DIR/examples/execute.c)
target_link_libraries(runs cleave::static)
END
    cmake -S . -B b -G Ninja -DCMAKE_PREFIX_PATH="$place" >log 2>&1 || { cat log; false; }
    cmake --build b >log 2>&1 || { cat log; false; }
    b/one >out
    b/two | cmp - out
    # What runs commands needs every library there is.
    b/runs 1000 2
}

@test "another project has the source inside: add_subdirectory" {
    cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.21)
project(user LANGUAGES C)
add_subdirectory("$CLEAVE_SOURCE_DIR" cleave EXCLUDE_FROM_ALL)
add_executable(one $CLEAVE_SOURCE_DIR/examples/plan.c)
target_link_libraries(one cleave::cleave)
add_executable(two $CLEAVE_SOURCE_DIR/examples/plan.c)
target_link_libraries(two cleave::static)
END
    cmake -S . -B b -G Ninja >log 2>&1 || { cat log; false; }
    # All of the library takes minutes: what is made first, and that the rest is known.
    ninja -C b cleave/made/page_text.c >log 2>&1 || { cat log; false; }
    ninja -C b -t commands two >commands
    grep -q 'cleave/lib/libcleave.a.* -o two\|-o two .*cleave/lib/libcleave.a' commands
    # How it is built, installed and packed is the other project's.
    [ "$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' b/CMakeCache.txt)" = "" ]
    [ ! -e b/CPackConfig.cmake ]
    cmake --install b --prefix "$PWD/root" >log
    [ ! -e root ]
}

@test "the shared library shows what the headers declare, and nothing else" {
    tools="$CLEAVE_SOURCE_DIR/tools/public-symbols"
    "$tools" "$place"/include/cleave/*.h >declared
    cmp declared "$CLEAVE_SOURCE_DIR/cmake/libcleave.symbols"
    nm -D --defined-only "$(find "$place" -name 'libcleave.so')" | awk '{ print $3 }' |
        sed 's/@.*//' | grep -v '^CLEAVE_[0-9.]*$' | LC_ALL=C sort >shown
    cmp declared shown
}

@test "headers stand alone, in C and in C++" {
    for header in "$place"/include/cleave/*.h; do
        name=${header##*/}
        case $name in mpi*) continue ;; esac
        echo "#include <cleave/$name>" >alone.c
        local all="-Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -I$place/include"
        # shellcheck disable=SC2086
        cc -std=c11 $all -c alone.c -o /dev/null
        if command -v c++ >/dev/null; then
            cp alone.c alone.cc
            # shellcheck disable=SC2086
            c++ -std=c++17 $all -c alone.cc -o /dev/null
        fi
    done
    # All of them under the later standards.
    # shellcheck disable=SC2086
    for standard in c11 c17 c++17 c++20; do
        local language=c
        case $standard in c++*) language=c++; command -v c++ >/dev/null || continue ;; esac
        printf '#include <cleave/cleave.h>\nstruct cleave_cancel *c;\n' |
            cc -x $language -std=$standard $all -c - -o /dev/null
    done
}

@test "the version numbers agree with the version text, and the ABI has the first two" {
    # shellcheck disable=SC2016
    printf '%s\n' '#include <cleave/version.h>' 'CLEAVE_VERSION CLEAVE_VERSION_MAJOR CLEAVE_VERSION_MINOR CLEAVE_VERSION_PATCH' |
        cc -E -P -I"$place/include" - | tail -1 >version
    local text major minor patch library
    read -r text major minor patch <version
    [ "$text" = "\"$major.$minor.$patch\"" ]
    library=$(find "$place" -name 'libcleave.so')
    objdump -p "$library" | grep -q "SONAME  *libcleave.so.$major.$minor\$"
    nm -D "$library" | grep -q "cleave_version@@CLEAVE_$major.$minor\$"
}

@test "MPI programs in C++ and Fortran compile against the installed library" {
    export PKG_CONFIG_PATH=$(dirname "$(find "$place" -name cleave.pc)")
    local faces=$CLEAVE_SOURCE_DIR/tests/mpi/faces tried=0
    for flavour in openmpi mpich; do
        pkg-config --exists cleave-mpi-$flavour || continue
        [ -f "$(pkg-config --variable=preload cleave-mpi-$flavour)" ]
        if command -v c++ >/dev/null; then
            c++ -std=c++17 -Wall -Wextra $faces.cpp -o faces \
                $(pkg-config --cflags --libs cleave-mpi-$flavour)
            run sh "$CLEAVE_SOURCE_DIR/tests/mpi/launch.sh" $flavour 2 ./faces
            [[ $status -eq 0 && $output == *"the face is right"* ]]
        fi
        if command -v mpifort.$flavour >/dev/null; then
            mpifort.$flavour "$(pkg-config --variable=fortran cleave-mpi-$flavour)" $faces.f90 \
                -o faces $(pkg-config --libs cleave-mpi-$flavour)
            run sh "$CLEAVE_SOURCE_DIR/tests/mpi/launch.sh" $flavour 2 ./faces
            [[ $status -eq 0 && $output == *"the face is right"* ]]
        fi
        tried=1
    done
    [ $tried = 1 ] || skip "no MPI is here"
    pkg-config --libs cleave-mpi | grep -q -- -lcleave-mpi
}

@test "MPI programs compile against the installed library: CMake" {
    [ -n "$(find "$place" -name libcleave-mpi.so)" ] || skip "no MPI is here"
    cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C)
find_package(MPI REQUIRED COMPONENTS C)
find_package(cleave 0.2 REQUIRED)
add_executable(one $CLEAVE_SOURCE_DIR/examples/mpi/mpi_reduce.c)
target_link_libraries(one cleave::mpi)
END
    for flavour in openmpi mpich; do
        [ -n "$(find "$place" -path "*/$flavour/libcleave-mpi.so")" ] || continue
        cmake -S . -B $flavour -G Ninja -DCMAKE_PREFIX_PATH="$place" \
            -DMPI_C_COMPILER=mpicc.$flavour >log 2>&1 || { cat log; false; }
        cmake --build $flavour >log 2>&1 || { cat log; false; }
        ldd $flavour/one | grep -q "cleave/$flavour/libcleave-mpi.so"
    done
    run cmake -S . -B none -G Ninja -DCMAKE_PREFIX_PATH="$place" -DCLEAVE_MPI=lam
    [[ $status -ne 0 && $output == *"expected CLEAVE_MPI to be one of those installed"* ]]
}

@test "a release builds without git" {
    [ -e "$CLEAVE_SOURCE_DIR/.git" ] || skip "not in a clone"
    "$CLEAVE_SOURCE_DIR/tools/make-dist" . >name
    tar xf "$(cat name)"
    cd cleave-*/
    # All that it takes to begin; the rest is what this build does anyway.
    cmake -S . -B b -G Ninja -DCLEAVE_TESTS=ON >log 2>&1 || { cat log; false; }
    ninja -C b -t commands cleave >plan
    grep -q main.c plan
    ninja -C b CMakeFiles/cleave.dir/src/cli/main.c.o >log 2>&1 || { cat log; false; }
    rm -rf b plan log
    # And the archive of the archive is the same.
    tools/make-dist ../again >/dev/null
    cmp ../again/cleave-*.tar.gz ../cleave-*.tar.gz
}

@test "Debian packages have their files" {
    command -v dpkg-shlibdeps >/dev/null || skip "dpkg-dev is not installed"
    (cd "$CLEAVE_BUILD_DIR" && cpack -G DEB -B "$BATS_TEST_TMPDIR/packages" >"$BATS_TEST_TMPDIR/log" 2>&1) ||
        { cat log; false; }
    mkdir root
    dpkg -x packages/cleave_*.deb root
    dpkg -x packages/libcleave-dev_*.deb root
    # Libraries of several processors lie side by side; debug symbols are separate.
    [ -f "root/usr/lib/$(cc -dumpmachine)/pkgconfig/cleave.pc" ]
    gzip -t root/usr/share/man/man3/cleave_execute.3.gz
    mkdir symbols
    dpkg -x packages/cleave-dbgsym_*.ddeb symbols
    [ -n "$(find symbols -name '*.debug')" ]
    # As Debian asks for.
    for name in cleave libcleave-dev; do
        grep -q '^License: Expat' root/usr/share/doc/$name/copyright
        gzip -dc root/usr/share/doc/$name/changelog.gz | grep -q "^cleave ("
    done
    gzip -t root/usr/share/man/man1/cleave-run.1.gz
    dpkg-deb -f packages/cleave_*.deb Depends | grep -q libyaml
    [ -x root/usr/bin/cleave ] && [ -f root/usr/include/cleave/cleave.h ]
    [ ! -e root/usr/libexec/cleave/cleave-figures ]
    run -3 --separate-stderr root/usr/bin/cleave figures umr-fig6
    dpkg -x packages/cleave-figures_*.deb root
    dpkg-deb -f packages/cleave-figures_*.deb Recommends | grep -q gnuplot-nox
    dpkg-deb -f packages/cleave-figures_*.deb Depends | grep -q 'cleave (= '
    [ "$(root/usr/bin/cleave figures umr-fig6)" = "$("$CLEAVE" figures umr-fig6)" ]
    [ "$(LD_LIBRARY_PATH=$(echo root/usr/lib/*/) root/usr/bin/cleave --version)" = "$("$CLEAVE" --version)" ]
}

@test "uninstall removes all installed files and no others" {
    other=$BATS_TEST_TMPDIR/other
    cmake --install "$CLEAVE_BUILD_DIR" --prefix "$other" >log
    cp "$CLEAVE_BUILD_DIR/install_manifest.txt" list
    touch "$other/bin/mine" "$other/include/cleave/mine.h"
    "$CLEAVE_SOURCE_DIR/tools/uninstall" list
    [ "$(cd "$other" && find . -type f -o -type l | sort | xargs)" = "./bin/mine ./include/cleave/mine.h" ]
    [ "$(cd "$other" && find . -name cleave)" = ./include/cleave ]
    # With names as a package has them, below another root.
    mkdir -p root && cp -r "$other/." root/
    printf '/bin/mine\n/include/cleave/mine.h' >list
    "$CLEAVE_SOURCE_DIR/tools/uninstall" list "$BATS_TEST_TMPDIR/root"
    [ -z "$(find root -type f -o -name cleave)" ]
    [ -e "$other/bin/mine" ]
    run ! "$CLEAVE_SOURCE_DIR/tools/uninstall" nothing
    [[ $output == *"nothing was installed from this folder" ]]
    # Folders whose names have blanks stay one word on the way through make.
    make -n -C "$CLEAVE_SOURCE_DIR" install uninstall DESTDIR='/a b' PREFIX='/c d' >log
    grep -q 'INSTALL_PREFIX="/c d"$' log
    grep -q '^DESTDIR="/a b" cmake --install' log
    grep -q 'installed.txt "/a b"$' log
}
