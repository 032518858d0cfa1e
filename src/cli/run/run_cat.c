/* run_cat.c -- a chunk as a file instead of standard input: --cat.
 * SPDX-License-Identifier: MIT
 *
 * A shell where the command runs, be it on another machine, does it: so nothing else has to know.
 * The words of the command are one line for it, as with items. */
#include "cli/run/run_cat.h"

#include <string.h>

#include "cli/kit/output.h"

/* $1 is the line. The name is put in as it is, as mktemp makes it, unless TMPDIR has characters
 * that a shell would see something in: those are refused by their one word. */
static const char script[] =
    "f=$(mktemp \"${TMPDIR:-/tmp}/cleave-cat.XXXXXXXXXX\") || exit 125\n"
    "trap 'rm -f \"$f\"' EXIT\n"
    "trap 'exit 143' TERM\n"
    "trap 'exit 130' INT\n"
    "trap 'exit 129' HUP\n"
    "case $f in *[!A-Za-z0-9/._-]*)\n"
    "    echo \"cleave: --cat: expected a TMPDIR of letters, digits, '/', '.', '_' and "
    "'-', got '$TMPDIR'\" >&2; exit 125 ;;\n"
    "esac\n"
    "cat >\"$f\" || exit 125\n"
    "left=$1 line=\n"
    "while case $left in *'{}'*) true ;; *) false ;; esac; do\n"
    "    line=$line${left%%'{}'*}$f left=${left#*'{}'}\n"
    "done\n"
    "eval \"$line$left\" </dev/null\n";

int cv_run_cat(const struct cv_call *call, const char *const **words)
{
    const struct cv_run_options *values = call->values;
    const char **made = cv_array(call->arena, 6, sizeof *made);
    struct cv_text line = { NULL, 0, 0, false };

    if (values->persistent)
        return cv_complain(CV_EXIT_USAGE, "expected --cat or --persistent, got both");
    for (size_t i = 0; i < call->noperands; i++)
        cv_text_add(&line, "%s%s", i > 0 ? " " : "", call->operands[i]);
    if (!line.failed && line.bytes != NULL && strstr(line.bytes, "{}") == NULL)
        cv_text_add(&line, " {}");
    if (made != NULL && !line.failed && line.bytes != NULL) {
        made[0] = "/bin/sh";
        made[1] = "-c";
        made[2] = script;
        made[3] = "cleave-cat";
        made[4] = cv_arena_text(call->arena, line.bytes);
        *words = made;
    }
    cv_text_done(&line);
    return made != NULL && made[4] != NULL
               ? CV_EXIT_DONE
               : cv_complain(CV_EXIT_FAILED, "out of memory for the command");
}
