# cleave policies, engines, version. SPDX-License-Identifier: MIT
load helper

@test "policies: every one, with a summary" {
    cleave 0 policies
    for name in auto one-round mi xmi umr rumr self guided factoring weighted-factoring greedy \
        binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt; do
        [[ $output == *$'\n'"  $name "* ]]
    done
    [ -z "$stderr" ]
}

@test "policies NAME: needs, parameters, reference" {
    cleave 0 policies xmi
    golden policies-xmi.txt
    cleave 0 policies greedy
    golden policies-greedy.txt
    cleave 0 policies ordered-tree-dyn
    has "the order is kept"
    refuses "unexpected argument 'umr'; see 'cleave policies --help'" policies xmi umr
    cleave 2 policies xm
    [[ $stderr == "cleave: unknown policy 'xm'; did you mean "*"'xmi'"* ]]
}

@test "policies --json" {
    cleave 0 policies --json
    valid_json
    [ "$(json_keys)" = "policies " ]
    has '"name": "umr"'
    has '"equal-workers"'
    has '"task": "load"'
    has '"task": "reduce"'
    has '"task": "loads"'
    for key in name task summary needs parameters reference; do
        [ "$(printf '%s\n' "$output" | grep -c "^      \"$key\": ")" -eq \
            "$(printf '%s\n' "$output" | grep -c '^      "name": ')" ]
    done
    cleave 0 policies orders --json
    [[ $output == *'"name": "send-order", "kind": "text"'* ]]
    cleave 0 policies orders
    [[ $output == *$'\n'"  send-order    -        -      -     workers"* ]]
    cleave 0 policies umr --json
    valid_json
    has '{"name": "rounds", "kind": "count", "default": '
    lacks '"name": "xmi"'
}

@test "engines" {
    CLEAVE_LIBEXEC=/nowhere cleave 0 engines
    golden engines.txt
    CLEAVE_LIBEXEC=/nowhere cleave 0 engines --json
    valid_json
    has '{"name": "native", "built": true, "summary": "'
    has '{"name": "simgrid", "built": false, "summary": "'
}

@test "version" {
    cleave 0 version
    local version
    version=$(sed -n 's/.*CLEAVE_VERSION "\(.*\)"/\1/p' include/cleave/version.h)
    [ "$output" = "cleave $version" ]
    cleave 0 version --json
    valid_json
    [ "$output" = "{\"version\": \"$version\"}" ]
}
