# The SimGrid engine: stars, topologies, calibrate --topology, what goes wrong.
# SPDX-License-Identifier: MIT
load helper

TREE=examples/fat-tree.xml
SITES=examples/two-sites.xml

# here -- skip where SimGrid is missing.
here() {
    [ -x "$(dirname "$CLEAVE")/cleave-simgrid" ] || skip "cleave-simgrid is missing"
}

# agrees ARGUMENT... -- the same with both engines, up to 1e-9.
agrees() {
    local native
    cleave 0 "$@" --json || return 1
    has '"engine": "native"' || return 1
    native=$(number mean)
    cleave 0 "$@" --engine simgrid --json || return 1
    has '"engine": "simgrid"' || return 1
    near "$(number mean)" "$native" 1e-9
}

@test "a missing engine is named with its package" {
    local folder=$BATS_TEST_TMPDIR/bin
    mkdir "$folder"
    cp "$CLEAVE" "$folder/cleave"
    CLEAVE="$folder/cleave" cleave 3 simulate load -p $LAB -l 5 --engine simgrid
    [[ $stderr == "cleave: engine 'simgrid' is missing: "*libsimgrid-dev* ]]
    [ -z "$output" ]
    CLEAVE="$folder/cleave" cleave 3 simulate streams -p examples/streams.yaml -T 10 \
        --topology $SITES
    [[ $stderr == "cleave: engine 'simgrid' is missing: "* ]]
}

@test "it is found where CLEAVE_LIBEXEC says" {
    here
    local folder=$BATS_TEST_TMPDIR/bin
    mkdir "$folder"
    cp "$CLEAVE" "$folder/cleave"
    CLEAVE_LIBEXEC=$(dirname "$CLEAVE") CLEAVE="$folder/cleave" \
        cleave 0 simulate load -p $LAB -l 50 --engine simgrid -n 1
}

@test "engines prints whether simgrid is installed" {
    here
    cleave 0 engines
    has 'simgrid  here'
    cleave 0 engines --json
    has '{"name": "simgrid", "built": true'
}

@test "stars: the same as the native engine" {
    here
    agrees simulate load -p $LAB -l 500 --policy umr-plus -n 3
    agrees simulate load -p $LAB -l 500 --error 0.2 -n 20 --policy factoring
    agrees simulate load -p $LAB -l 500 --noise gamma:0.5 -n 10 --result-ratio 0.3
    agrees simulate reduce -N 20 -d gamma:1,0.5 -c exp:0.3 -n 10 --policy tree-dyn
    agrees simulate reduce --costs examples/costs.json --policy ordered-tree-dyn
}

@test "text names the engine and the topology" {
    here
    cleave 0 simulate load -p $LAB -l 50 -n 2 --engine simgrid
    has $'\nengine    simgrid\n'
    cleave 0 simulate reduce --topology $TREE -N 4 -c 1ms -n 2
    has $'\nengine    simgrid on examples/fat-tree.xml\n'
    cleave 0 simulate load -p $LAB -l 50 -n 2
    lacks engine
}

@test "the number of threads does not matter" {
    here
    cleave 0 simulate load -p $LAB -l 500 --error 0.3 -n 30 --engine simgrid -j 1 --json
    local one=$output
    cleave 0 simulate load -p $LAB -l 500 --error 0.3 -n 30 --engine simgrid -j 3 --json
    [ "$output" = "$one" ]
}

@test "streams: the same as the native engine" {
    here
    cleave 0 simulate streams -p examples/streams.yaml -M 2 -T 100 --declared-error 0.5 --json
    local native=$output
    cleave 0 simulate streams -p examples/streams.yaml -M 2 -T 100 --declared-error 0.5 \
        --engine simgrid --json
    local grid=$output
    output=$native
    local throughput idle
    throughput=$(number throughput) idle=$(number idle_s)
    output=$grid
    near "$(number throughput)" "$throughput" 1e-9
    near "$(number idle_s)" "$idle" 1e-6
}

@test "a trace has the same orders" {
    here
    local folder=$BATS_TEST_TMPDIR
    cleave 0 simulate load -p $LAB -l 500 --policy guided -n 1 --trace "$folder/native"
    cleave 0 simulate load -p $LAB -l 500 --policy guided -n 1 --engine simgrid \
        --trace "$folder/grid"
    [ -s "$folder/native" ]
    diff <(grep '"order"' "$folder/native") <(grep '"order"' "$folder/grid")
}

@test "calibrate --topology writes the star of a topology" {
    here
    cleave 0 calibrate --topology $SITES --workers 4
    [ "$(printf '%s\n' "$output" | grep -c 'name:')" = 4 ]
    has 'name: east-1'
    has 'latency: 0.00012'
    has 'name: west-64'
    has 'bandwidth: 25'
    has 'latency: 0.01014'
    has 'speed: 2'
    cleave 0 calibrate --topology $TREE --worker-hosts node-3,node-17 --master node-200 \
        --unit-bytes 1k --unit-flops 1M --port duplex -o "$BATS_TEST_TMPDIR/star.yaml"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/star.yaml" -l 1000
    output=$(cat "$BATS_TEST_TMPDIR/star.yaml")
    has 'port: duplex'
    has 'speed: 1000'
    has 'bandwidth: 125000'
    lacks 'name: node-4'
}

@test "the page about topologies shows what calibrate writes" {
    here
    cleave 0 calibrate --topology $SITES --workers 4
    printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/now"
    sed -n '/^    \$ cleave calibrate /,/^$/{/\$ cleave/d;/^$/d;s/^    //p;}' docs/guide/topologies.md |
        diff - "$BATS_TEST_TMPDIR/now"
}

@test "one message at a time: a topology is the star that is measured on it" {
    here
    local star=$BATS_TEST_TMPDIR/star.yaml native
    cleave 0 calibrate --topology $SITES --workers 6 -o "$star"
    cleave 0 simulate load -p "$star" -l 300 --policy umr-plus -n 1 --json
    native=$(number mean)
    cleave 0 simulate load -p "$star" -l 300 --policy umr-plus -n 1 --topology $SITES --json
    has '"topology": "examples/two-sites.xml"'
    near "$(number mean)" "$native" 1e-6
}

@test "many messages at a time share links" {
    here
    local star=$BATS_TEST_TMPDIR/star.yaml native
    cleave 0 calibrate --topology $SITES --workers 6 --port multi -o "$star"
    cleave 0 simulate load -p "$star" -l 300 --policy links -n 1 --json
    native=$(number mean)
    cleave 0 simulate load -p "$star" -l 300 --policy links -n 1 --topology $SITES --json
    awk -v a="$(number mean)" -v b="$native" 'BEGIN { exit !(a > 1.1 * b) }'
}

@test "several messages that begin at once get no more than their links carry" {
    here
    # Four workers, four messages of 100 MB over links of 100 MB/s, and a backbone that is no
    # obstacle: 1 s each.
    cat >"$BATS_TEST_TMPDIR/four.xml" <<'XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config>
    <prop id="network/model" value="CM02"/><prop id="network/TCP-gamma" value="0"/>
    <prop id="network/crosstraffic" value="0"/>
  </config>
  <zone id="z" routing="Cluster">
    <host id="m" speed="1Gf"/><host id="a" speed="1Ef"/><host id="b" speed="1Ef"/>
    <host id="c" speed="1Ef"/><host id="d" speed="1Ef"/>
    <link id="lm" bandwidth="4GBps" latency="0s"/>
    <link id="la" bandwidth="100MBps" latency="1ms"/>
    <link id="lb" bandwidth="100MBps" latency="1ms"/>
    <link id="lc" bandwidth="100MBps" latency="1ms"/>
    <link id="ld" bandwidth="100MBps" latency="1ms"/>
    <host_link id="m" up="lm" down="lm"/>
    <host_link id="a" up="la" down="la"/><host_link id="b" up="lb" down="lb"/>
    <host_link id="c" up="lc" down="lc"/><host_link id="d" up="ld" down="ld"/>
  </zone>
</platform>
XML
    cleave 0 simulate load --topology "$BATS_TEST_TMPDIR/four.xml" --master m --port multi \
        -l 400 --policy self --param chunk=100 -n 1 --unit-flops 1 --json
    near "$(number mean)" 1.001 1e-6
}

@test "reductions on a topology" {
    here
    local policy
    for policy in greedy binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt
    do
        cleave 0 simulate reduce --topology $TREE -N 16 -c 1ms --policy $policy -n 1 --json
        has '"topology": "examples/fat-tree.xml"'
        awk -v a="$(number mean)" -v b="$(number lower_bound)" 'BEGIN { exit !(a >= b && b > 0) }'
    done
    cleave 0 simulate reduce --topology $SITES --worker-hosts east-3,west-7 -c 0 \
        --partial 25MB --policy greedy -n 1 --json
    [ "$(number nodes)" = 2 ]
    near "$(number mean)" 1.01014 1e-6
}

@test "streams on a topology" {
    here
    cleave 0 simulate streams --topology $SITES --worker-hosts east-5,west-6 -T 50 \
        --period 2 --json
    valid_json
    awk -v a="$(number throughput)" 'BEGIN { exit !(a > 0) }'
}

@test "errors in SimGrid are one line and status 3" {
    here
    echo "<platform>" >"$BATS_TEST_TMPDIR/bad.xml"
    cleave 3 simulate load --topology "$BATS_TEST_TMPDIR/bad.xml" -l 5
    [[ $stderr == "cleave: SimGrid died (Aborted): Parse error at "* ]]
    [ "$(printf '%s\n' "$stderr" | wc -l)" = 1 ]
    cleave 3 calibrate --topology "$BATS_TEST_TMPDIR/bad.xml"
    cleave 3 simulate reduce --topology "$BATS_TEST_TMPDIR/bad.xml" -c 1
    # A program that is not the right one.
    mkdir "$BATS_TEST_TMPDIR/other"
    printf '#!/bin/sh\necho nonsense >&2\nexit 4\n' >"$BATS_TEST_TMPDIR/other/cleave-simgrid"
    chmod +x "$BATS_TEST_TMPDIR/other/cleave-simgrid"
    CLEAVE_LIBEXEC=$BATS_TEST_TMPDIR/other cleave 3 simulate load -p $LAB -l 5 --engine simgrid
    [ "$stderr" = "cleave: SimGrid ended: nonsense" ]
    run -2 --separate-stderr "$(dirname "$CLEAVE")/cleave-simgrid" </dev/null
    [[ $stderr == "cleave-simgrid is started by cleave: "* ]]
}

@test "a link that is switched off is reported in one sentence" {
    here
    if [ -n "$CLEAVE_SANITIZE" ]; then
        skip 'this cleave-simgrid has a sanitizer in it'
    fi
    printf '0.001 0\n50 1\n' >"$BATS_TEST_TMPDIR/off.profile"
    cat >"$BATS_TEST_TMPDIR/off.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="a" speed="1Gf"/>
    <host id="b" speed="1Gf"/>
    <link id="l" bandwidth="1MBps" latency="0" state_file="off.profile"/>
    <route src="a" dst="b"><link_ctn id="l"/></route>
  </zone>
</platform>
END
    cd "$BATS_TEST_TMPDIR"
    run --separate-stderr "$CLEAVE" calibrate --topology off.xml
    [ "$status" -ne 0 ]
    [ "$stderr" = "cleave: off.xml: no host can be used by the master 'a': a link or host on the way goes off, by a profile of the platform file" ]
}

@test "hosts that cannot be used are left out, with the reason" {
    here
    # Sanitizers need threads, with which a world cannot be copied to try hosts in.
    if [ -n "$CLEAVE_SANITIZE" ]; then
        skip 'this cleave-simgrid has a sanitizer in it'
    fi
    cat >"$BATS_TEST_TMPDIR/torn.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Full">
    <host id="a" speed="1Gf"/>
    <host id="b" speed="1Gf"/>
    <host id="c" speed="2Gf"/>
    <link id="l" bandwidth="125MBps" latency="1ms"/>
    <route src="a" dst="c"><link_ctn id="l"/></route>
  </zone>
</platform>
END
    cleave 0 calibrate --topology "$BATS_TEST_TMPDIR/torn.xml"
    has 'name: c'
    [[ $output != *'name: b'* ]]
    [[ $stderr == 'cleave: left out b: '*'no connecting path'* ]]
    cleave 0 simulate load --topology "$BATS_TEST_TMPDIR/torn.xml" -l 100 -n 1 --policy umr-plus --json
    valid_json
    # Nobody is left; and a route that takes no time for any size has some bandwidth all the same.
    sed '/<route/d' "$BATS_TEST_TMPDIR/torn.xml" >"$BATS_TEST_TMPDIR/apart.xml"
    cleave 2 calibrate --topology "$BATS_TEST_TMPDIR/apart.xml"
    [[ $stderr == *"no host can be used by the master 'a': "* ]]
    cat >"$BATS_TEST_TMPDIR/peers.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="all" routing="Vivaldi">
    <host id="p" coordinates="25.5 9.4 1.4" speed="1Gf"/>
    <host id="q" coordinates="-12.7 -9.9 2.1" speed="1Gf"/>
  </zone>
</platform>
END
    cleave 0 calibrate --topology "$BATS_TEST_TMPDIR/peers.xml"
    awk -v b="$(sed -n 's/ *bandwidth: //p' <<<"$output")" 'BEGIN { exit !(b > 1e9) }'
}

@test "wrong words about topologies" {
    here
    refuses "--engine: a topology is for simgrid; native has only the star of the platform \
file" simulate load --topology $SITES -l 5 --engine native
    refuses "--master is about a topology: see --topology" \
        simulate load -p $LAB -l 5 --master a
    refuses "--partial is about a topology: see --topology" \
        simulate reduce -N 4 -d 1 -c 1 --partial 1M
    refuses "--topology: cannot read 'nowhere.xml': No such file or directory" \
        simulate load --topology nowhere.xml -l 5
    refuses "$SITES: there is no host 'nobody'" \
        simulate load --topology $SITES -l 5 --master nobody
    refuses "$SITES: there is no host 'old.0'" \
        simulate load --topology $SITES -p $LAB -l 5
    refuses "--worker-hosts: expected names such as a,b,c, got 'east-1,,east-2'" \
        calibrate --topology $SITES --worker-hosts east-1,,east-2
    refuses "--worker-hosts: 'east-1' is there twice" \
        calibrate --topology $SITES --worker-hosts east-1,east-1
    refuses "--workers and --worker-hosts cannot both select the workers" \
        calibrate --topology $SITES --worker-hosts east-1 --workers 3
    refuses "--port: expected one, duplex or multi, got 'two'" \
        calibrate --topology $SITES --port two
    refuses "--port: the platform file says that" \
        simulate load --topology $SITES -p $LAB -l 5 --port multi
    refuses "$SITES: expected 257 hosts, got 256" \
        simulate reduce --topology $SITES -N 257 -c 1
    refuses "--topology: what sending takes follows from the topology and --partial; leave \
out --transfer" simulate reduce --topology $SITES -N 4 -d 1 -c 1
    refuses "--platform FILE is required" simulate load -l 5
    refuses "--platform FILE is required" simulate streams -T 5
    refuses "--input FILE is required" calibrate -- true
    printf 'workers:\n- {name: east-1, speed: 1, bandwidth: 1, profile: [[1, 0.5]]}\n' \
        >"$BATS_TEST_TMPDIR/profile.yaml"
    refuses "worker 'east-1' has a profile, but on a topology speeds are those of the \
topology's file" simulate load --topology $SITES -p "$BATS_TEST_TMPDIR/profile.yaml" -l 5
}

@test "--workers sets the number of hosts of a topology, as with calibrate" {
    cleave 0 calibrate --topology examples/two-sites.xml --workers 4
    printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/star.yaml"
    cleave 0 simulate load --topology examples/two-sites.xml --workers 4 -l 100 -n 1 --policy umr --json
    four=$output
    cleave 0 simulate load --topology examples/two-sites.xml -p "$BATS_TEST_TMPDIR/star.yaml" -l 100 -n 1 --policy umr --json
    [ "$(grep '"mean"' <<<"$four")" = "$(grep '"mean"' <<<"$output")" ]
    refuses '--workers is about a topology: see --topology' \
        simulate load -p "$BATS_TEST_TMPDIR/star.yaml" --workers 4 -l 100
    refuses '--workers and --worker-hosts cannot both select the workers' \
        simulate load --topology examples/two-sites.xml --workers 4 --worker-hosts east-1 -l 100
}
