#!/usr/bin/env bats
# Which room, directory and file may use which (tools/check-layers), and how many lines each may
# have (tools/weight). SPDX-License-Identifier: MIT
load helper

# A small tree without mistakes.
setup()
{
    cd "$CLEAVE_SOURCE_DIR" || return 1
    house=$BATS_TEST_TMPDIR/house
    rm -rf "$house"
    mkdir -p "$house"/src/base "$house"/src/run/kit "$house"/src/run/master \
        "$house"/src/run/worker "$house"/include/cleave "$house"/tools
    cat >"$house/tools/layers" <<'TABLE'
src        1000:
base        100:
run         500: base
run/kit      50:
run/worker   50: kit
run/master   50: kit
TABLE
    echo 'int cv_low(void);' >"$house/src/base/low.h"
    printf '#include "base/low.h"\n\nint cv_low(void)\n{\n    return 1;\n}\n' >"$house/src/base/low.c"
    echo 'int cv_tool(void);' >"$house/src/run/kit/tool.h"
    printf '#include "run/kit/tool.h"\n#include "base/low.h"\n\nint cv_tool(void)\n{\n    return cv_low();\n}\n' \
        >"$house/src/run/kit/tool.c"
    printf '#include "run/kit/tool.h"\n\nint cv_lead(void)\n{\n    return cv_tool();\n}\n' \
        >"$house/src/run/master/lead.c"
    printf 'int cv_serve(void)\n{\n    return cv_tool();\n}\n' >"$house/src/run/worker/serve.c"
    printf '#include <stddef.h>\n' >"$house/include/cleave/public.h"
}

# Compile every source as the build does, and check.
check()
{
    local source object
    rm -rf "$house/build"
    for source in $(cd "$house" && find src -name '*.c'); do
        object=$house/build/all.dir/$source.o
        mkdir -p "$(dirname "$object")"
        cc -w -std=gnu89 -I"$house/src" -c "$house/$source" -o "$object"
    done
    run tools/check-layers "$house"
}

accepts()
{
    check
    [ "$status" -eq 0 ]
    [[ "$output" == *"no circle"* ]]
}

complains()
{
    check
    [ "$status" -eq 1 ]
    [[ "$output" == *"$1"* ]] || {
        echo "expected: $1"
        echo "got: $output"
        return 1
    }
}

@test "check-layers accepts a tree without mistakes" {
    accepts
}

@test "check-layers finds an include that points up, between rooms and between directories" {
    sed -i '1i #include "run/kit/tool.h"' "$house/src/base/low.c"
    complains 'src/base/low.c:1: "run/kit/tool.h": base may use'
    setup
    touch "$house/src/run/master/lead.h"
    sed -i '1i #include "run/master/lead.h"' "$house/src/run/kit/tool.c"
    complains 'src/run/kit/tool.c:1: "run/master/lead.h": run/kit may use no other directory'
}

@test "check-layers finds a call that points up without an include" {
    sed -i 's/cv_low()/cv_lead()/' "$house/src/run/kit/tool.c"
    complains 'src/run/kit/tool.c: cv_lead is in src/run/master/lead.c: run/kit may use no other directory'
}

@test "check-layers finds pasted names, tables of functions and inline functions" {
    printf '#define CALL(x) cv_##x()\nint cv_pasted(void)\n{\n    return CALL(lead);\n}\n' \
        >"$house/src/run/kit/pasted.c"
    complains 'src/run/kit/pasted.c: cv_lead is in src/run/master/lead.c: run/kit may use no other directory'
    setup
    printf 'extern int cv_lead(void);\nint (*const cv_table[])(void) = { cv_lead };\n' \
        >"$house/src/run/kit/table.c"
    complains 'src/run/kit/table.c: cv_lead is in src/run/master/lead.c'
    setup
    printf 'int cv_lead(void);\nstatic inline int cv_quick(void)\n{\n    return cv_lead();\n}\n' \
        >"$house/src/run/kit/quick.h"
    complains 'src/run/kit/quick.h: cv_lead is in src/run/master/lead.c: run/kit may use no other directory'
}

@test "check-layers rejects a table with a circle or an unknown room" {
    sed -i 's/^base .*/base 100: run/' "$house/tools/layers"
    complains 'tools/layers: base may use run, which leads back to base'
    setup
    sed -i 's/^run\/kit .*/run\/kit 50: master/' "$house/tools/layers"
    complains 'tools/layers: run/kit may use master, which leads back to run/kit'
    setup
    sed -i 's/^run .*/run 500: base attic/' "$house/tools/layers"
    complains 'tools/layers: run may use attic, which is not in the table'
}

@test "check-layers keeps master and worker apart" {
    sed -i 's/cv_tool()/cv_serve()/' "$house/src/run/master/lead.c"
    complains 'cv_serve is in src/run/worker/serve.c: run/master may use kit'
    setup
    sed -i 's/cv_tool()/cv_lead()/' "$house/src/run/worker/serve.c"
    complains 'cv_lead is in src/run/master/lead.c: run/worker may use kit'
    ! grep -E '^run/master .*worker|^run/worker .*master' tools/layers
}

@test "check-layers finds a circle of two and of three files" {
    printf 'int cv_other(void)\n{\n    return cv_tool();\n}\n' >"$house/src/run/kit/other.c"
    accepts
    sed -i 's/cv_low()/cv_other()/' "$house/src/run/kit/tool.c"
    complains 'src/run/kit/tool.c: cv_other is in src/run/kit/other.c, which leads back here'
    sed -i 's/cv_tool()/cv_third()/' "$house/src/run/kit/other.c"
    printf 'int cv_third(void)\n{\n    return cv_tool();\n}\n' >"$house/src/run/kit/third.c"
    complains 'src/run/kit/third.c: cv_tool is in src/run/kit/tool.c, which leads back here'
    # A file that only leads to the circle is not part of it.
    [[ "$output" != *"src/run/master/lead.c"* ]]
    # Data counts as calls do.
    printf 'extern const int cv_tool_data;\nint cv_third(void)\n{\n    return cv_tool_data;\n}\n' \
        >"$house/src/run/kit/third.c"
    echo 'const int cv_tool_data = 3;' >>"$house/src/run/kit/tool.c"
    complains 'cv_tool_data is in src/run/kit/tool.c, which leads back here'
}

@test "check-layers watches clocks, public headers, names and places" {
    echo '#include <time.h>' >>"$house/src/base/low.c"
    complains '<time.h> belongs to run'
    setup
    echo '#include "base/low.h"' >>"$house/include/cleave/public.h"
    complains 'include/cleave/public.h:2: a public header may include libc'
    setup
    cp "$house/src/base/low.c" "$house/src/run/kit/low.c"
    complains 'src/run/kit/low.c: same file name as src/base/low.c'
    rm "$house/src/run/kit/low.c"
    echo 'struct cv_thing { int a; };' >>"$house/src/base/low.h"
    echo 'struct cv_thing { int b; };' >>"$house/src/run/master/lead.c"
    check
    [[ "$output" == *'struct cv_thing is also defined in src/base/low.h'* ]]
    setup
    mkdir "$house/src/attic"
    : >"$house/src/attic/old.c"
    complains 'src/attic/old.c: expected src/ROOM/FILE'
}

@test "check-layers needs object files" {
    mkdir "$house/build"
    run tools/check-layers "$house"
    [ "$status" -eq 1 ]
    [[ "$output" == *"no object files"* ]]
}

@test "weight fails if a directory, a room or src has more lines than its budget" {
    CLEAVE_TREE=$house tools/weight
    sed -i 's/^run\/kit .*/run\/kit 5:/' "$house/tools/layers"
    CLEAVE_TREE=$house run tools/weight
    [ "$status" -eq 1 ]
    [[ "$output" == *"src/run/kit has 8 lines, its budget is 5"* ]]
    setup
    sed -i 's/^run .*/run 10: base/' "$house/tools/layers"
    CLEAVE_TREE=$house run tools/weight
    [ "$status" -eq 1 ]
    [[ "$output" == *"src/run has 18 lines, its budget is 10"* ]]
    setup
    sed -i 's/^src .*/src 20:/' "$house/tools/layers"
    CLEAVE_TREE=$house run tools/weight
    [ "$status" -eq 1 ]
    [[ "$output" == *"src has 25 lines, its budget is 20"* ]]
}

@test "weight wants a budget for every directory" {
    sed -i 's/^run\/kit .*/run\/kit:/' "$house/tools/layers"
    CLEAVE_TREE=$house run tools/weight
    [ "$status" -eq 1 ]
    [[ "$output" == *"run/kit: expected a number of lines"* ]]
    sed -i '/^run\/kit/d' "$house/tools/layers"
    CLEAVE_TREE=$house run tools/weight
    [ "$status" -eq 1 ]
    [[ "$output" == *"src/run/kit has no line in tools/layers"* ]]
}

@test "weight lower lowers budgets and never raises one" {
    CLEAVE_TREE=$house tools/weight lower
    grep -qx 'run/kit      8:' "$house/tools/layers"
    grep -qx 'run         18: base' "$house/tools/layers"
    echo 'int cv_more;' >>"$house/src/run/kit/tool.c"
    CLEAVE_TREE=$house run tools/weight lower
    [ "$status" -eq 1 ]
    grep -qx 'run/kit      8:' "$house/tools/layers"
}
