# container.bats -- the container image: what is handed to the tool that builds it.
# SPDX-License-Identifier: MIT
#
# A stand-in for podman looks at it; `make image` is the real one, and takes minutes.
load helper

@test "an image is built of what git knows, by the recipe" {
    git rev-parse --git-dir >/dev/null 2>&1 || skip "this is not a checkout"
    T=$BATS_TEST_TMPDIR
    mkdir "$T/bin"
    cat >"$T/bin/podman" <<'END'
#!/bin/sh
echo "$*" >>"$LOG"
case $1 in
inspect | pull) [ ! -e "$LOG.nobase" ] || { echo "no route"; exit 1; } ;;
build)
    for context; do :; done
    cd "$context" && [ -x tools/install-deps ] && [ -e src/cli/main.c ] && [ ! -e build ] || exit 1
    # The recipe asks for a set of packages and a target that are there.
    [ "$(sed -n 's/^RUN tools\/install-deps \([a-z]*\) .*/\1/p' packaging/container/Containerfile)" = build ] &&
        grep -q 'add_executable(cleave-portable' CMakeLists.txt &&
        grep -q -- '--target cleave-portable' packaging/container/Containerfile
    ;;
run) echo "cleave of the image" ;;
esac
END
    chmod +x "$T/bin/podman"
    LOG=$T/log PATH=$T/bin:$PATH run tools/make-image try
    [ "$status" -eq 0 ]
    [ "$output" = "make-image: try has cleave of the image" ]
    [[ "$(cat "$T/log")" = *"build --build-arg BASE=docker.io/library/debian:12-slim "*" -t try "* ]]
    touch "$T/log.nobase"
    LOG=$T/log PATH=$T/bin:$PATH run tools/make-image
    [ "$status" -eq 77 ]
    [ "$output" = "make-image: skipped: no image docker.io/library/debian:12-slim: no route" ]
}
