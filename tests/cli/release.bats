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

@test "static programs come with the licence of every library in them" {
    # shellcheck disable=SC2046
    set -- $(sed -n '/^target_link_libraries(cleave-portable/,/)/p' CMakeLists.txt | sed -n 's/)$//; /^    yaml/p')
    [ $# -ge 9 ]
    for library; do
        case $library in m) continue ;; esac
        grep -q "^lib$library\.a " packaging/linked.txt || { echo "packaging/linked.txt: no lib$library.a"; return 1; }
    done
    run tools/licenses "$BATS_TEST_TMPDIR/made"
    [ "$status" -ne 77 ] || skip "$output"
    [ "$status" -eq 0 ]
    made=$BATS_TEST_TMPDIR/made
    grep -v '^#' packaging/linked.txt | while read -r _ name licence; do
        [ -s "$made/$name.txt" ]
        grep -qx "PackageLicenseDeclared: $licence" "$made/cleave.spdx"
        grep -qx "Relationship: SPDXRef-cleave STATIC_LINK SPDXRef-$name" "$made/cleave.spdx"
    done
    [ -s "$made/LGPL-2.1" ]
    # Every part has a version.
    run ! grep -x 'PackageVersion: *' "$made/cleave.spdx"
    tools/licenses "$BATS_TEST_TMPDIR/again"
    diff -r "$made" "$BATS_TEST_TMPDIR/again"
    run tools/licenses "$BATS_TEST_TMPDIR/none" false
    [ "$status" -ne 0 ]
    [ ! -e "$BATS_TEST_TMPDIR/none/cleave.spdx" ]
}

@test "recipes and the list of linked libraries name every library" {
    # As the build asks for them.
    sed -n 's/^cleave_need([A-Z0-9]* [^ ]* lib\(.*\)-dev)$/\1/p' cmake/CleaveDependencies.cmake |
        sed 's/yaml-.*/yaml/; s/sqlite3/sqlite/' >"$BATS_TEST_TMPDIR/names"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -ge 7 ]
    while read -r name; do
        for file in packaging/conda/meta.yaml packaging/linked.txt packaging/spack/package.py; do
            case $name:$file in lzma:*spack*) name=xz ;; esac
            grep -q "$name" "$file" || {
                echo "$file does not name $name"
                return 1
            }
        done
    done <"$BATS_TEST_TMPDIR/names"
}

@test "the recipe for conda is YAML, and the one for Spack is Python" {
    python3 -c 'import yaml' 2>/dev/null || skip "Python has no yaml"
    python3 - <<'END'
import re, runpy, sys, types, yaml

text = open("packaging/conda/meta.yaml").read()
version = re.search(r'set version = "(.*?)"', text)[1]
text = re.sub(r"{%.*?%}", "", text).replace("{{ version }}", version)
recipe = yaml.safe_load(re.sub(r"{{ *(\w+)\((.*?)\) *}}", r"\1 of it", text).replace("# [not linux]", ""))
assert recipe["package"]["version"] == version
assert set(recipe["requirements"]) == {"build", "host", "run"}
assert any("--strip" in line for line in recipe["build"]["script"])

# Names of Spack that the recipe uses.
asked = []
class CMakePackage:
    @staticmethod
    def define(name, value): return f"-D{name}={value}"
names = dict.fromkeys("license variant conflicts generator".split(), lambda *a, **k: None)
names.update(CMakePackage=CMakePackage, version=lambda v: asked.append(v), Executable=None,
             depends_on=lambda what, **k: asked.append(what),
             run_after=lambda *a: lambda f: f, on_package_attributes=lambda **k: lambda f: f)
sys.modules["spack"] = types.ModuleType("spack")
package = sys.modules["spack.package"] = types.ModuleType("spack.package")
package.__dict__.update(names, __all__=list(names))
made = runpy.run_path("packaging/spack/package.py")["Cleave"]()
assert version in asked and "openssl@3:" in asked
assert "-DCLEAVE_WERROR=False" in made.cmake_args()

cited = yaml.safe_load(open("CITATION.cff"))
for work in cited["references"]:
    assert work["year"] > 2000 and work["title"] and work["authors"], work
    assert all(author["given-names"] for author in work["authors"])
END
}

@test "recipes name the version that this is" {
    version=$(sed -n 's/.*define CLEAVE_VERSION "\(.*\)".*/\1/p' include/cleave/version.h)
    grep -qF "set version = \"$version\"" packaging/conda/meta.yaml
    grep -qF "version(\"$version\")" packaging/spack/package.py
    grep -qx "version: $version" CITATION.cff
}
