# What README and docs show is what the command prints. SPDX-License-Identifier: MIT
load helper

@test "console blocks of the documents are true" {
    if [ "${CLEAVE_ACCEPT:-}" = 1 ]; then
        tools/console-blocks accept README.md docs/*.md
    fi
    tools/console-blocks check README.md docs/*.md
}
