/* worker_lead.c -- a worker that leads others. SPDX-License-Identifier: MIT
 *
 * Its command is a run of its own that stays (run/framed.h): pieces go to it one after the
 * other, it shares each over the hosts behind it, and its answer is the output of the piece.
 * To the master this is a worker like any other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/companion.h"
#include "base/fail.h"
#include "run/worker/worker_inner.h"

/* Words to be put together; `failed`: there was no memory. */
struct words {
    struct cv_arena *arena;
    const char **items;
    size_t count;
    bool failed;
};

static void add(struct words *words, const char *word)
{
    words->items[words->count] = cv_arena_text(words->arena, word);
    words->failed = words->failed || words->items[words->count] == NULL;
    words->count++;
}

static size_t length_of(const char *const *list)
{
    size_t count = 0;

    while (list[count] != NULL)
        count++;
    return count;
}

/* What the master asks of commands, this run asks of those behind it. */
static void add_terms(struct words *words, const struct cv_remote_job *job)
{
    char seconds[64];

    if (job->persistent)
        add(words, "--persistent");
    if (job->timeout_s > 0) {
        snprintf(seconds, sizeof seconds, "%.9g", job->timeout_s);
        add(words, "--timeout");
        add(words, seconds);
    }
    if (job->directory[0] != '\0') {
        add(words, "--workdir");
        add(words, job->directory);
    }
    for (size_t i = 0; job->environment[i] != NULL; i++) {
        add(words, "--env");
        add(words, job->environment[i]);
    }
    add(words, "--");
    for (size_t i = 0; job->command[i] != NULL; i++)
        add(words, job->command[i]);
}

enum cleave_status cv_worker_lead(struct cv_worker *worker, struct cleave_error *err)
{
    static const char *const first[] = { "run",    "--framed",   "--quiet", "--literal",
                                         "--halt", "now,fail=1", NULL };
    enum { OTHERS = 16 }; /* words that are none of a list */
    struct cv_remote_job *job = &worker->job;
    const char *const *lead = worker->options->lead;
    struct words words = { .arena = &worker->arena };
    char self[4096];

    if (job->items)
        return cv_fail(err, CLEAVE_EINPUT, "a worker that leads others does no items");
    if (!cv_own_program(self, sizeof self))
        return cv_fail(err, CLEAVE_EENGINE,
                       "a worker that leads others does not find its own program");
    words.items =
        cv_array(&worker->arena,
                 length_of(lead) + 2 * length_of((const char *const *)job->environment) +
                     length_of((const char *const *)job->command) + OTHERS,
                 sizeof *words.items);
    if (words.items == NULL)
        return cv_fail_memory(err, "the job");
    add(&words, self);
    for (size_t i = 0; first[i] != NULL; i++)
        add(&words, first[i]);
    for (size_t i = 0; lead[i] != NULL; i++)
        add(&words, lead[i]);
    add_terms(&words, job);
    job->command = words.items;
    job->timeout_s = 0;
    worker->stays = true;
    return words.failed ? cv_fail_memory(err, "the job") : CLEAVE_OK;
}
