/* fields.c -- members of library structures as the options that set them.
 * SPDX-License-Identifier: MIT
 *
 * The library does not know the command line: its errors and notes name members of struct
 * cleave_execution and of the structures in src/run that options fill. */
#include "cli/common/fields.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *field, *option;
} names[] = {
    { "command.cat", "--cat" },
    { "command.framed", "--framed" },
    { "command.literal", "--literal" },
    { "command.persistent", "--persistent" },
    { "failures.directory", "--failed" },
    { "failures.halt", "--halt" },
    { "failures.isolate", "--isolate" },
    { "failures.retries", "--retries" },
    { "failures.timeout_s", "--timeout" },
    { "hosts.as", "--as" },
    { "hosts.file", "--hosts-file" },
    { "hosts.leaders", "--leaders" },
    { "hosts.list", "--hosts" },
    { "hosts.notice_s", "--grace" },
    { "hosts.program", "--remote" },
    { "hosts.push", "--push" },
    { "hosts.shared_input", "--shared-input" },
    { "hosts.timeout_s", "--host-timeout" },
    { "hosts.via", "--via" },
    { "hosts.work_directory", "--workdir" },
    { "input.decode", "--decode" },
    { "input.fetch", "--fetch" },
    { "input.files", "-i" },
    { "input.header", "--header" },
    { "input.index", "--index" },
    { "input.max_record", "--max-record" },
    { "input.pairs", "--pairs" },
    { "input.records", "--records" },
    { "input.recursive", "--recursive" },
    { "input.size", "--size" },
    { "input.split", "--split" },
    { "input.together", "--together" },
    { "items.columns", "--colsep" },
    { "items.null", "--null" },
    { "items.plus", "--plus" },
    { "items.replacements", "--rpl" },
    { "items.results", "--results" },
    { "items.shuffle", "--shuf" },
    { "journal.overwrite", "--overwrite" },
    { "journal.path", "--journal" },
    { "journal.resume", "--resume" },
    { "listener.job_log", "--joblog" },
    { "listener.trace", "--trace" },
    { "output.group", "--group" },
    { "output.header", "--header-out" },
    { "output.lines", "--line-buffer" },
    { "pieces.count", "-n" },
    { "pieces.index", "--index" },
    { "pieces.name", "--output" },
    { "pieces.records", "--records" },
    { "pieces.replace", "--force" },
    { "pieces.size", "--size" },
    { "policy.block", "--block" },
    { "policy.name", "--policy" },
    { "reduce.command", "--reduce" },
    { "workers.delay_s", "--delay" },
    { "workers.max_load", "--load" },
    { "workers.min_memory", "--memfree" },
};

static bool is_part_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The row of the field with which `text` begins, or -1. */
static int find(const char *text)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t length = strlen(names[i].field);

        if (strncmp(text, names[i].field, length) == 0 && !is_part_of_name(text[length]))
            return (int)i;
    }
    return -1;
}

void cv_fields_translate(const char *text, struct cv_text *out)
{
    bool quoted = false, inside = false; /* inside of a word */
    const char *at = text;

    while (*at != '\0') {
        const int row = quoted || inside ? -1 : find(at);

        if (row >= 0) {
            cv_text_add(out, "%.*s%s", (int)(at - text), text, names[row].option);
            text = at += strlen(names[row].field);
            inside = true;
            continue;
        }
        /* An apostrophe within a word, as in "don't", quotes nothing. */
        quoted = quoted != (*at == '\'' && (quoted || !inside));
        inside = is_part_of_name(*at) || *at == '.' || *at == '/' || *at == '-';
        at++;
    }
    cv_text_add(out, "%s", text);
}
