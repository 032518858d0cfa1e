#!/bin/sh
# A command for cleave run --persistent --window K: answers chunks in any order.
#
#     cleave run --persistent --window 8 -N 1 -i FILE -- examples/window.sh
#
# A process of its own writes each chunk in upper case. SPDX-License-Identifier: MIT
export LC_ALL=C # lengths are bytes
folder=$(mktemp -d) && trap 'wait; rm -r "$folder"' EXIT
number=0
while length=$(head -c 8 | od -An -tu8 --endian=big) && [ -n "$length" ]; do
    head -c "$length" >"$folder/$number" # the chunk
    {
        answer=$(tr a-z A-Z <"$folder/$number" && echo .) # the '.' keeps the last line end
        size=$((${#answer} - 1)) n=$((number % 65536))
        set -- 128 $((n >> 8)) $((n & 255)) 0 $((size >> 24)) $((size >> 16 & 255)) $((size >> 8 & 255)) $((size & 255))
        flock 9 # one answer after the other
        printf "$(printf '\\%03o' "$@")%s" "${answer%.}"
        rm "$folder/$number"
    } 9>"$folder/lock" &
    number=$((number + 1))
done
