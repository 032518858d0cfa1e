#!/usr/bin/env bats
# The rule of which room, sub-room and file may know which: tools/check-layers.
# SPDX-License-Identifier: MIT
load helper

# A small house in which nothing is wrong.
setup()
{
    cd "$CLEAVE_SOURCE_DIR" || return 1
    house=$BATS_TEST_TMPDIR/house
    mkdir -p "$house"/src/base "$house"/src/run/kit "$house"/src/run/master \
        "$house"/src/run/worker "$house"/include/cleave "$house"/tools
    cat >"$house/tools/layers" <<'TABLE'
base:
run:        base
run/kit:
run/worker: kit
run/master: kit
TABLE
    echo 'int cv_low(void);' >"$house/src/base/low.h"
    printf '#include "base/low.h"\n\nint cv_low(void)\n{\n    return 1;\n}\n' >"$house/src/base/low.c"
    echo 'int cv_tool(void);' >"$house/src/run/kit/tool.h"
    printf '#include "run/kit/tool.h"\n\nint cv_tool(void)\n{\n    return cv_low();\n}\n' \
        >"$house/src/run/kit/tool.c"
    printf '#include "run/kit/tool.h"\n\nint cv_lead(void)\n{\n    return cv_tool();\n}\n' \
        >"$house/src/run/master/lead.c"
    printf 'int cv_serve(void)\n{\n    return cv_tool();\n}\n' >"$house/src/run/worker/serve.c"
    printf '#include <stddef.h>\n' >"$house/include/cleave/public.h"
}

complains()
{
    run tools/check-layers "$house"
    [ "$status" -eq 1 ]
    [[ "$output" == *"$1"* ]] || {
        echo "expected: $1"
        echo "got: $output"
        return 1
    }
}

@test "a house in order is found in order" {
    run tools/check-layers "$house"
    [ "$status" -eq 0 ]
    [[ "$output" == *"no circle"* ]]
}

@test "an include that points up is found, between rooms and between sub-rooms" {
    sed -i '1i #include "run/kit/tool.h"' "$house/src/base/low.c"
    complains 'src/base/low.c:1: "run/kit/tool.h": base may know'
    setup
    sed -i '1i #include "run/master/lead.h"' "$house/src/run/kit/tool.c"
    complains 'src/run/kit/tool.c:1: "run/master/lead.h": run/kit may know no other sub-room'
}

@test "a call that points up is found without an include" {
    sed -i 's/cv_low()/cv_lead()/' "$house/src/run/kit/tool.c"
    complains 'src/run/kit/tool.c:5: cv_lead is in src/run/master/lead.c: run/kit may know no other sub-room'
}

@test "master and worker do not know each other" {
    sed -i 's/cv_tool()/cv_serve()/' "$house/src/run/master/lead.c"
    complains 'cv_serve is in src/run/worker/serve.c: run/master may know kit'
    setup
    sed -i 's/cv_tool()/cv_lead()/' "$house/src/run/worker/serve.c"
    complains 'cv_lead is in src/run/master/lead.c: run/worker may know kit'
    # And the real table says the same.
    ! grep -E '^run/master:.*worker|^run/worker:.*master' tools/layers
}

@test "a circle of files is found, of two and of three" {
    printf 'int cv_other(void)\n{\n    return cv_tool();\n}\n' >"$house/src/run/kit/other.c"
    run tools/check-layers "$house"
    [ "$status" -eq 0 ]
    sed -i 's/cv_low()/cv_other()/' "$house/src/run/kit/tool.c"
    complains 'src/run/kit/tool.c:5: cv_other is in src/run/kit/other.c, which leads back here'
    sed -i 's/cv_tool()/cv_third()/' "$house/src/run/kit/other.c"
    printf 'const int cv_three[] = { 3 };\nint cv_third(void)\n{\n    return cv_tool();\n}\n' \
        >"$house/src/run/kit/third.c"
    complains 'src/run/kit/third.c:4: cv_tool is in src/run/kit/tool.c, which leads back here'
    # Data counts as calls do; what stands in a comment, a string or a tag does not.
    sed -i 's/cv_tool()/1/' "$house/src/run/kit/third.c"
    run tools/check-layers "$house"
    [ "$status" -eq 0 ]
    sed -i 's/1;/cv_tool_data;/' "$house/src/run/kit/third.c"
    echo 'const int cv_tool_data = 3;' >>"$house/src/run/kit/tool.c"
    complains 'cv_tool_data is in src/run/kit/tool.c, which leads back here'
    sed -i 's|cv_tool_data;|1; /* cv_tool_data */ "cv_tool_data" struct cv_tool_data|' \
        "$house/src/run/kit/third.c"
    run tools/check-layers "$house"
    [ "$status" -eq 0 ]
}

@test "clocks, public headers, names and places are watched" {
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
    echo 'struct cv_thing { int b; };' >>"$house/src/run/kit/tool.c"
    complains 'struct cv_thing is another one in src/base/low.h'
    setup
    mkdir "$house/src/attic"
    : >"$house/src/attic/old.c"
    complains 'src/attic/old.c: expected src/ROOM/FILE'
}

@test "a folder of more than 26 sources is found" {
    for i in $(seq 25); do : >"$house/src/run/kit/file$i.c"; done
    run tools/check-layers "$house"
    [ "$status" -eq 0 ]
    : >"$house/src/run/kit/file26.c"
    complains 'src/run/kit: more than 26 sources'
}
