/* fields.c -- members of library structures as the options that set them.
 * SPDX-License-Identifier: MIT
 *
 * The library does not know the command line: its errors and notes name members of struct
 * cleave_execution and of the structures in src/run that options fill. */
#include "cli/common/output.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *field, *option;
} names[] = {
    { "command.cat", "--cat" },
    { "command.framed", "--framed" },
    { "command.literal", "--literal" },
    { "command.persistent", "--persistent" },
    { "command.window", "--window" },
    { "failures.directory", "--failed" },
    { "failures.halt", "--halt" },
    { "failures.halt_fails", "--halt" },
    { "failures.halt_on", "--halt" },
    { "failures.halt_share", "--halt" },
    { "failures.isolate", "--isolate" },
    { "failures.later", "--later" },
    { "failures.ok", "--ok" },
    { "failures.retries", "--retries" },
    { "failures.strict", "--retries" },
    { "failures.timeout_s", "--timeout" },
    { "failures.timeout_share", "--timeout" },
    { "hosts.as", "--as" },
    { "hosts.base_files", "--basefile" },
    { "hosts.cleanup", "--cleanup" },
    { "hosts.connect_timeout_s", "--connect-timeout" },
    { "hosts.environment", "--env" },
    { "hosts.file", "--hosts-file" },
    { "hosts.fold", "--mpi" },
    { "hosts.join_path", "--join-socket" },
    { "hosts.key", "--key" },
    { "hosts.leaders", "--leaders" },
    { "hosts.list", "--hosts" },
    { "hosts.listen", "--listen" },
    { "hosts.notice_s", "--grace" },
    { "hosts.program", "--remote" },
    { "hosts.push", "--push" },
    { "hosts.shared_input", "--shared-input" },
    { "hosts.timeout_s", "--host-timeout" },
    { "hosts.via", "--via" },
    { "hosts.watched", "--hosts-file" },
    { "hosts.work_directory", "--workdir" },
    { "input.decode", "--decode" },
    { "input.exact", "--records" },
    { "input.fetch", "--fetch" },
    { "input.files", "-i" },
    { "input.header", "--header" },
    { "input.header_how", "--header" },
    { "input.index", "--index" },
    { "input.limits", "--limit" },
    { "input.max_record", "--max-record" },
    { "input.nlimits", "--limit" },
    { "input.no_header", "--no-header" },
    { "input.pairs", "--pairs" },
    { "input.records", "--records" },
    { "input.recursive", "--recursive" },
    { "input.size", "--size" },
    { "input.split", "--split" },
    { "input.together", "--together" },
    { "input.weight", "--weight" },
    { "input.weight_default", "--weight-default" },
    { "items.columns", "--colsep" },
    { "items.errors", "--results" },
    { "items.keep", "--results" },
    { "items.limits", "--limit" },
    { "items.literal", "--quote" },
    { "items.max", "--many" },
    { "items.max_chars", "--max-chars" },
    { "items.nlimits", "--limit" },
    { "items.null", "--null" },
    { "items.plus", "--plus" },
    { "items.replacements", "--rpl" },
    { "items.returns", "--return" },
    { "items.sends", "--transferfile" },
    { "items.shuffle", "--shuf" },
    { "items.sizes", "--weight" },
    { "items.tag", "--tag" },
    { "journal.overwrite", "--overwrite" },
    { "journal.path", "--journal" },
    { "journal.resume", "--resume" },
    { "listener.job_log", "--joblog" },
    { "listener.trace", "--trace" },
    { "output.descriptor", "--output" },
    { "output.direct", "--ungroup" },
    { "output.directory", "--tmpdir" },
    { "output.early", "--group" },
    { "output.group", "--group" },
    { "output.header", "--header-out" },
    { "output.header_once", "--header-out" },
    { "output.keep", "--output" },
    { "output.lines", "--line-buffer" },
    { "output.memory", "--memory" },
    { "output.name", "--output" },
    { "output.shared", "--shared-output" },
    { "output.unordered", "--unordered" },
    { "pieces.count", "-n" },
    { "pieces.index", "--index" },
    { "pieces.name", "--output" },
    { "pieces.records", "--records" },
    { "pieces.replace", "--force" },
    { "pieces.size", "--size" },
    { "policy.backups", "--backups" },
    { "policy.block", "--block" },
    { "policy.name", "--policy" },
    { "policy.settings", "--param" },
    { "reduce.command", "--reduce" },
    { "reduce.commutative", "--commutative" },
    { "workers.count", "--workers" },
    { "workers.delay_s", "--delay" },
    { "workers.max_load", "--load" },
    { "workers.min_memory", "--memfree" },
    { "workers.nrates", "--workers" },
    { "workers.pin", "--pin" },
    { "workers.platform", "--workers" },
    { "workers.prefixes", "--workers" },
    { "workers.rates", "--workers" },
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

const char *cv_fields_text(const char *text, struct cv_arena *arena)
{
    struct cv_text named = { NULL, 0, 0, false };

    cv_fields_translate(text, &named);
    return cv_text_take(&named, arena);
}
