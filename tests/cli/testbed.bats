# testbed.bats -- tools/testbed: what is refused leaves nothing behind.
# SPDX-License-Identifier: MIT
load helper

# refused HOSTS -- `up` of these hosts fails, and nothing that it made is left.
refused() {
    local id got=0
    printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/hosts"
    TESTBED_NET=198.19.$((2 + $$ % 250)) tools/testbed up "$BATS_TEST_TMPDIR/hosts" "$BATS_TEST_TMPDIR/state" \
        2>"$BATS_TEST_TMPDIR/err" 3>&- &
    id=$!
    wait $id || got=$?
    cat "$BATS_TEST_TMPDIR/err"
    [ $got -ne 0 ] || return 1
    [ -s "$BATS_TEST_TMPDIR/err" ] || return 1
    [ ! -e "$BATS_TEST_TMPDIR/state" ] || return 1
    if command -v ip >/dev/null; then
        # Namespaces, links and control groups have its process id in their names.
        [ -z "$(ip netns list 2>/dev/null | grep "^cvt$id\(-\| \|\$\)")" ] || return 1
        [ -z "$(ip -o link 2>/dev/null | grep " cvt$id")" ] || return 1
    fi
    [ -z "$(compgen -G "/etc/netns/cvt$id-*")" ]
}

@test "hosts that cannot be made: all of them are removed" {
    run tools/testbed check
    [ "$status" -eq 0 ] || skip "${lines[0]}"
    refused $'one 10mbit\ntwo fast'
    refused $'one\ntwo - - late'
    refused $'one\none'
    refused "# none"
}

@test "an unsuitable machine is reported, and nothing is made" {
    if [ "$(id -u)" -eq 0 ]; then
        # Without a tool it needs, whoever asks.
        mkdir "$BATS_TEST_TMPDIR/bin"
        for tool in bash id dirname basename; do
            ln -s "$(command -v $tool)" "$BATS_TEST_TMPDIR/bin/$tool"
        done
        run env PATH="$BATS_TEST_TMPDIR/bin" tools/testbed up /dev/null "$BATS_TEST_TMPDIR/state"
    else
        run tools/testbed up /dev/null "$BATS_TEST_TMPDIR/state"
    fi
    [ "$status" -eq 77 ]
    [[ $output == "testbed: not on this machine: "* ]]
    [ ! -e "$BATS_TEST_TMPDIR/state" ]
}
