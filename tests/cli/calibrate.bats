# calibrate.bats -- what cleave calibrate says of its measurements. SPDX-License-Identifier: MIT
load helper

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 400 >sample
}

# How far measurements are from the costs is in the file, which can be read all the same.
@test "calibrate writes the error of its costs into the file" {
    prepare
    cleave 0 calibrate -i sample -j 2 -o out.yaml -- sh -c 'sleep 0.02; cat'
    [ "$(sed -n 1p out.yaml)" = "# Measured by cleave calibrate on 1492 bytes; units are bytes." ]
    grep -qE '^# w0: 2[0-9] measurements took [01]\.[0-9]+ to [0-9.]+ of what these costs say, in the median [01]\.[0-9]+\.$' out.yaml
    cleave 0 plan load -p out.yaml -l 1000
    has "2 of 2 workers"
    # Every host has a line, with what its commands took there.
    printf 'workers:\n  - {name: a, slots: 2, speed: 1e5, bandwidth: 1e9}\n  - {name: b, slots: 1, speed: 1e5, bandwidth: 1e9}\n' >hosts.yaml
    cleave 0 calibrate -i sample --hosts hosts.yaml -o far.yaml -- sh -c 'sleep 0.02; cat'
    for host in 'a\.0' b; do
        grep -qE "^# $host: [0-9]+ measurements? took [0-9.]+ to [0-9.]+ of what" far.yaml
    done
}

@test "measurements that differ much are worth a warning" {
    prepare
    cat >now-and-then <<'END'
#!/bin/sh
cat
echo x >>calls
[ $(($(wc -l <calls) % 3)) -ne 0 ] || sleep 0.3
END
    chmod +x now-and-then
    cleave 0 calibrate -i sample -j 1 -o out.yaml -- ./now-and-then
    grep -qE '^cleave: w0: measurements differ by a factor of [0-9.]+, 8 of 10 of them: was the machine busy\?' <<<"$stderr"
    [ -s out.yaml ]
}
