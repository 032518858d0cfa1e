# benches.bats -- benches that compare with others are fair to them. SPDX-License-Identifier: MIT
load helper

# Stands in for the testbed, for ssh, which notes whom it connected to and does it here, and for GNU
# parallel, which notes the ssh that it was given, as the real one understands it.
stand_ins() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir bin tools
    cp -r "$CLEAVE_SOURCE_DIR/bench" .
    cat >tools/testbed <<'S'
#!/bin/bash
case $1 in up) mkdir "$3" && sed 's/\([^ ]*\).*/Host \1\n  HostName 198.19.1.1/' "$2" >"$3/ssh_config" ;; esac
S
    cat >bin/ssh <<S
#!/bin/bash
echo "ssh \$*" >>"$PWD/log"
exec sh -c "\${@: -1}"
S
    cat >bin/parallel <<S
#!/bin/bash
while [ \$# -gt 0 ]; do
    case \$1 in --ssh) how=\$2 ;; -a) input=\$2 ;; esac
    shift
done
{ echo parallel \$how; $(command -v ssh) -G -F "\${how##* }" h01; } >>"$PWD/log"
exec tr 0-9 a-j <"\$input"
S
    chmod +x tools/testbed bin/*
}

@test "GNU parallel has connections that are open, as cleave has" {
    command -v ssh >/dev/null || skip "ssh is not there"
    command -v cc >/dev/null || skip "no compiler"
    stand_ins
    PATH=$PWD/bin:$PATH BENCH_REPEATS=1 BENCH_KINDS=equal bench/bench_ssh.sh 64 "$(dirname "$CLEAVE")" >out
    grep -q '^equal parallel at best by cleave,' out
    # Each host was connected to before, by the settings that parallel had; and cleave had them too.
    config=$(sed -n 's/^parallel ssh -F //p' log | sort -u)
    [ -n "$config" ] && [ "$(wc -l <<<"$config")" -eq 1 ]
    sed '/^parallel/,$d' log >before
    sed '1,/^parallel/d' log >after
    [ "$(grep -c "^ssh -F $config h[0-9][0-9] true\$" before)" -eq 16 ]
    [ "$(grep "^ssh -F $config .* worker" after | grep -o ' h[0-9][0-9] ' | sort -u | wc -l)" -eq 16 ]
    [ "$(grep -c '^controlmaster auto' log)" -eq "$(grep -c '^parallel' log)" ]
    [ "$(grep -c '^controlpath .*/mux-' log)" -eq "$(grep -c '^parallel' log)" ]
    # Nor does another bench make parallel connect for each job.
    run grep -nE '^ *(parallel|par) .*(--ssh|-S) ' "$CLEAVE_SOURCE_DIR"/bench/*.sh
    [ "$status" -eq 0 ]
    run grep -vF -- '--ssh "$masters"' <<<"$output"
    [ -z "$output" ]
}
