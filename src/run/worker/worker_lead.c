/* worker_lead.c -- a worker that leads others. SPDX-License-Identifier: MIT
 *
 * Its command is a run of its own that stays (run/execute/framed.h): pieces go to it one after the
 * other, it shares each over the hosts behind it, and its answer is the output of the piece.
 * To the master this is a worker like any other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/helper_program.h"
#include "base/fail.h"
#include "base/shell_word.h"
#include "run/worker/worker_internal.h"

/* What the master asks of commands, this run asks of those behind it. */
static void add_terms(struct cv_words *words, const struct cv_remote_job *job)
{
    char seconds[64];

    if (job->persistent)
        cv_words_add(words, "--persistent");
    if (job->lines)
        cv_words_add(words, "--line-buffer");
    else if (!job->early)
        cv_words_add(words, "--group");
    if (job->timeout_s > 0) {
        snprintf(seconds, sizeof seconds, "%.9g", job->timeout_s);
        cv_words_add(words, "--timeout");
        cv_words_add(words, seconds);
    }
    if (job->directory[0] != '\0') {
        cv_words_add(words, "--workdir");
        cv_words_add(words, job->directory);
    }
    for (size_t i = 0; job->environment[i] != NULL; i++) {
        cv_words_add(words, "--env");
        cv_words_add(words, job->environment[i]);
    }
    cv_words_add(words, "--");
    for (size_t i = 0; job->command[i] != NULL; i++)
        cv_words_add(words, job->command[i]);
}

enum cleave_status cv_worker_lead(struct cv_worker *worker, struct cleave_error *err)
{
    static const char *const first[] = { "run",    "--framed",   "--quiet", "--literal",
                                         "--halt", "now,fail=1", NULL };
    struct cv_remote_job *job = &worker->job;
    const char *const *lead = worker->options->lead;
    struct cv_words words = { .arena = &worker->arena };
    char self[4096];

    if (job->items)
        return cv_fail(err, CLEAVE_EINPUT, "a worker that leads others does no items");
    if (!cv_own_program(self, sizeof self))
        return cv_fail(err, CLEAVE_EENGINE,
                       "a worker that leads others does not find its own program");
    cv_words_add(&words, self);
    for (size_t i = 0; first[i] != NULL; i++)
        cv_words_add(&words, first[i]);
    for (size_t i = 0; lead[i] != NULL; i++)
        cv_words_add(&words, lead[i]);
    add_terms(&words, job);
    job->command = cv_words_done(&words);
    job->timeout_s = 0;
    worker->stays = true;
    return job->command != NULL ? CLEAVE_OK : cv_fail_memory(err, "the job");
}
