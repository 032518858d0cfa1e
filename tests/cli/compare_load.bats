# cleave compare load. SPDX-License-Identifier: MIT
load helper

@test "text: exact costs, named policies" {
    cleave 0 compare load -p $LAB -l 2000 --policies umr,one-round,factoring,self
    golden compare-exact.txt
    [ -z "$stderr" ]
}

@test "text: with noise" {
    cleave 0 compare load -p $LAB -l 2000 --policies umr,factoring --error 0.2 --runs 200
    golden compare-noise.txt
}

@test "all policies: those that do not apply are listed with the reason" {
    cleave 0 compare load -p $LAB -l 2000
    has "does not apply"
    has "needs equal workers"
    cleave 0 compare load -p $RACK -l 2000
    lacks "needs equal workers"
    "$CLEAVE" policies --json | sed -n '/"name"/{N;/"load"/s/^.*"name": "\([a-z-]*\)".*/\1/p}' |
        while read -r name; do
        has "  $name"
    done
}

@test "json: the fields, sorted by time" {
    cleave 0 compare load -p $LAB -l 2000 --json
    valid_json
    [ "$(json_keys)" = "load runs seed noise bound rows not_applicable " ]
    has '"runs": 1,'
    has '{"policy": "mi", "reason": "'
    local times
    times=$(printf '%s\n' "$output" | sed -n 's/^      "makespan": \(.*\),/\1/p')
    [ "$(printf '%s\n' "$times" | sort -g)" = "$times" ]
    [ "$(printf '%s\n' "$times" | wc -l)" -ge 8 ]
    for key in policy picked makespan over_bound over_best utilisation chunks; do
        [ "$(printf '%s\n' "$output" | grep -c "^      \"$key\": ")" -eq \
            "$(printf '%s\n' "$times" | wc -l)" ]
    done
}

@test "json: with noise the makespan is a distribution" {
    cleave 0 compare load -p $LAB -l 2000 --policies umr,self --noise gamma:0.2 --runs 50 --json
    valid_json
    has '"runs": 50,'
    has '"noise": "gamma:0.2"'
    has '"makespan": {'
    [ -n "$(number q90)" ]
}

@test "a row of compare load agrees with simulate" {
    cleave 0 compare load -p $LAB -l 2000 --policies umr --error 0.2 --runs 50 --json
    local mean
    mean=$(number mean)
    cleave 0 simulate load -p $LAB -l 2000 --policy umr --error 0.2 --runs 50 --json
    [ "$(number mean)" = "$mean" ]
}

@test "a policy that is named must exist, apply and be named once" {
    cleave 2 compare load -p $LAB -l 5 --policies umr,mi
    [[ $stderr == *"'mi' needs equal workers"* ]]
    [ -z "$output" ]
    cleave 2 compare load -p $LAB -l 5 --policies umr,factorin
    [[ $stderr == "cleave: --policies: unknown policy 'factorin'; did you mean 'factoring'"* ]]
    refuses "--policies: 'umr' is named twice" compare load -p $LAB -l 5 --policies umr,umr
    refuses "--policies: expected names such as umr,xmi" compare load -p $LAB -l 5 --policies ,
}

@test "parameters choose among all policies; none left is an error" {
    cleave 0 compare load -p $RACK -l 2000 --rounds 3 --json
    has '"policy": "umr"'
    has '{"policy": "self", "reason": "policy '"'self' has no parameter 'rounds'"
    cleave 2 compare load -p $RACK -l 2000 --param no-such=3
    [[ $stderr == "cleave: no policy applies: "*"no-such"* ]]
    [ -z "$output" ]
}

@test "engines are checked here too" {
    CLEAVE_LIBEXEC=/nowhere cleave 3 compare load -p $LAB -l 5 --engine simgrid
    [ "$stderr" = "cleave: engine 'simgrid' is missing: CLEAVE_LIBEXEC names the folder \
/nowhere, which has no cleave-simgrid" ]
}
