/* run_mistaken_input.c -- inputs that were meant to be taken otherwise.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "base/text.h"
#include "cli/common/usage_hints.h"
#include "cli/common/output.h"
#include "cli/run/run_checks.h"
#include "cli/run/run_options.h"

enum {
    SURELY_CUT = 1 << 24, /* bytes of which several workers get some */
    NAMES_WAIT_MS = 1000, /* for whoever lists them; nothing else could be done before */
};

void cv_run_mistakes_form(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;

    if (values->inputs.count == 0 || values->quiet || values->json)
        return;
    if (values->split == NULL && values->records == 0)
        cv_usage_hint_form(values->inputs.items[0], values->header != NULL);
    else if (values->split != NULL && strcmp(values->split, "csv") == 0)
        cv_usage_hint_separator(values->inputs.items[0]);
}

void cv_run_mistakes_seeming(const struct cv_call *call,
                             const struct cleave_execution_result *result)
{
    const struct cv_run_options *values = call->values;
    const char *name = values->inputs.count > 0 ? values->inputs.items[0] : "-";

    if (values->split != NULL || values->records > 0 || values->quiet || values->json)
        return;
    if (result->seems_endless && result->chunks == 1 && result->nworkers > 1)
        cv_usage_hint_endless(name, result->seems, result->seems_advice);
    else if (!result->seems_endless)
        cv_usage_hint_seeming(name, result->seems, result->seems_advice,
                              result->seems_headed && values->header != NULL);
}

/* find | cleave run gzip: who thinks of xargs wants the files compressed, not their names. Told
 * only of programs that take files as arguments and make nothing of use out of a list of them. */
static void hint_names(const struct cv_call *call)
{
    static const char *const takers[] = {
        "b2sum",     "bgzip",     "brotli",    "bunzip2", "bzcat",  "bzip2",
        "cksum",     "gunzip",    "gzip",      "jq",      "lz4",    "lzop",
        "md5sum",    "pbzip2",    "pigz",      "sha1sum", "sum",    "sha224sum",
        "sha256sum", "sha384sum", "sha512sum", "unxz",    "unzstd", "xmllint",
        "xxhsum",    "xz",        "xzcat",     "zcat",    "zstd",   "zstdcat",
    };
    const struct cv_run_options *values = call->values;
    const char *program = call->noperands > 0 ? cv_file_name(call->operands[0]) : "";
    enum cv_listed_files listed;

    if (values->fetch != NULL || values->cat || values->quiet || values->json ||
        !cv_is_one_of(program, takers, sizeof takers / sizeof *takers))
        return;
    for (size_t i = 1; i < call->noperands; i++)
        if (call->operands[i][0] != '-' || call->operands[i][1] == '\0')
            return;
    listed = cv_lists_files(STDIN_FILENO, cv_hosts_asked(values) ? 0 : NAMES_WAIT_MS);
    if (listed != CV_LISTS_NO_FILES)
        cv_print_error(
            CV_EXIT_DONE,
            "standard input is names of files, and %s gets the names; to run it "
            "for each of the files: cleave run %s-a - %s",
            program, listed == CV_LISTS_NULLS ? "-0 " : "", program);
}

bool cv_run_mistakes_form_early(const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    struct stat facts;

    if (values->inputs.count == 0)
        hint_names(call);
    if (values->inputs.count == 0 || values->block > 0 || values->policy != NULL ||
        values->dry_run ||
        (values->workers != NULL && strcmp(values->workers, "1") == 0) ||
        stat(values->inputs.items[0], &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size < SURELY_CUT)
        return false;
    cv_run_mistakes_form(call);
    return true;
}
