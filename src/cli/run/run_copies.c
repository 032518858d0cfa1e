/* run_copies.c -- copies of cleave that are taken to hosts. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include "base/shell_word.h"
#include "cli/common/output.h"
#include "cli/run/run_hosts.h"

/* Start the copy for the processor over there, or say which one is lacking. */
void cv_copies_words(const struct cv_copies *copies, const char *runner,
                     struct cv_text *line)
{
    cv_text_add(line, "case $(uname -m) in ");
    for (size_t i = 0; i < CV_PROCESSORS; i++)
        if (copies->of[i].file != NULL)
            cv_text_add(line, "%s) h=%s l=%zu;; ", cv_processor_name(i),
                        copies->of[i].hash, CLEAVE_HOST_LACKS + i);
        else
            cv_text_add(line, "%s) exit %zu;; ", cv_processor_name(i),
                        CLEAVE_HOST_LACKS + i);
    cv_text_add(line,
                "*) exit %d;; esac; p=\"$HOME/.cache/cleave/$h/cleave\"; "
                "[ -x \"$p\" ] || exit $l; %s \"$p\" worker --hash $h",
                CLEAVE_HOST_LACKS + CV_PROCESSORS, runner);
}

void cv_script_add(struct cv_words *words, struct cv_text *script)
{
    struct cv_text line = { NULL, 0, 0, false };

    if (!script->failed)
        cv_login_line_add(&line, script->bytes);
    line.failed = line.failed || script->failed;
    cv_text_done(script);
    cv_words_take(words, &line);
}

/* Standard input becomes the program there, if all of it has come. */
static void push_by_ssh(const struct cv_host_fields *host, const struct cv_reach *reach,
                        const struct cv_copy *copy, struct cv_words *words)
{
    struct cv_text line = { NULL, 0, 0, false };

    cv_words_split(words, reach->ssh != NULL ? reach->ssh : "ssh");
    cv_words_split(words, "-C -T -o BatchMode=yes --");
    cv_words_add(words, host->ssh);
    cv_text_add(&line,
                "umask 077; d=\"$HOME/.cache/cleave/%s\"; mkdir -p \"$d\" && "
                "cat >\"$d/new.$$\" && [ \"$(wc -c <\"$d/new.$$\")\" -eq %lld ] && "
                "chmod 700 \"$d/new.$$\" && mv \"$d/new.$$\" \"$d/cleave\" || "
                "{ rm -f \"$d/new.$$\"; exit 1; }",
                copy->hash, copy->size);
    cv_script_add(words, &line);
}

/* What can be taken to a host, by processor, and what is said where there is nothing. */
enum cleave_status cv_copies_offer(const struct cv_host_fields *host,
                                   const struct cv_reach *reach, struct cv_arena *arena,
                                   struct cleave_host *out, struct cleave_error *err)
{
    struct cleave_copy *copies = cv_array(arena, CV_PROCESSORS + 1, sizeof *copies);
    char absent[300];

    if (copies == NULL)
        return cv_fail_memory(err, "the copies of cleave");
    for (size_t i = 0; i < CV_PROCESSORS; i++) {
        const struct cv_copy *copy = &reach->copies.of[i];
        const char *processor = cv_processor_name(i);
        struct cv_words push = { .arena = arena };

        snprintf(absent, sizeof absent,
                 "its processor is %s, and --push has no copy for that: put one "
                 "beside this program as cleave-%s, or name it with --push-from FILE; "
                 "'make release' "
                 "makes them",
                 processor, processor);
        copies[i].absent = cv_arena_text(arena, absent);
        if (copies[i].absent == NULL)
            return cv_fail_memory(err, "the copies of cleave");
        if (copy->file == NULL)
            continue;
        push_by_ssh(host, reach, copy, &push);
        copies[i].file = copy->file;
        copies[i].push = cv_words_done(&push);
        if (copies[i].push == NULL)
            return cv_fail_memory(err, "the copies of cleave");
    }
    copies[CV_PROCESSORS].absent = "its processor is none that --push knows (uname -m): "
                                   "install cleave there, and leave --push out";
    out->copies = copies;
    out->ncopies = CV_PROCESSORS + 1;
    return CLEAVE_OK;
}

int cv_reach_open(struct cv_reach *reach, struct cv_arena *arena)
{
    struct cleave_error err;

    reach->push = reach->push || reach->push_from.count > 0;
    if (!reach->push || cv_copies_find(reach->push_from.items, reach->push_from.count,
                                       arena, &reach->copies, &err) == CLEAVE_OK)
        return CV_EXIT_DONE;
    return cv_print_error(err.status == CLEAVE_EINPUT ? CV_EXIT_USAGE : CV_EXIT_FAILED,
                          "--push%s: %s", reach->push_from.count > 0 ? "-from" : "",
                          err.text);
}
