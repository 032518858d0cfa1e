/* lead_command.c -- the command of a worker that leads others. SPDX-License-Identifier: MIT
 *
 * It is a run that stays (run/framed.h). The options below pass on to it what the master asks
 * of the commands of the job. */
#include "cli/run/lead_command.h"

#include <stdio.h>

#include "base/fail.h"
#include "base/helper_program.h"
#include "base/shell_word.h"

static void add_option(struct cv_words *words, const char *option, const char *value)
{
    cv_words_add(words, option);
    cv_words_add(words, value);
}

static void add_terms(struct cv_words *words, const struct cv_remote_job *job)
{
    char seconds[64];

    if (job->persistent)
        cv_words_add(words, "--persistent");
    if (job->lines)
        cv_words_add(words, "--line-buffer");
    else if (!job->early)
        cv_words_add(words, "--group");
    snprintf(seconds, sizeof seconds, "%.9g", job->timeout_s);
    if (job->timeout_s > 0)
        add_option(words, "--timeout", seconds);
    if (job->directory[0] != '\0')
        add_option(words, "--workdir", job->directory);
    for (size_t i = 0; job->environment[i] != NULL; i++)
        add_option(words, "--env", job->environment[i]);
    cv_words_add(words, "--");
    for (size_t i = 0; job->command[i] != NULL; i++)
        cv_words_add(words, job->command[i]);
}

static enum cleave_status make_command(const char *const *own,
                                       const struct cv_remote_job *job,
                                       struct cv_arena *arena, const char ***out,
                                       struct cleave_error *err)
{
    struct cv_words words = { .arena = arena };
    char self[4096];

    if (!cv_own_program(self, sizeof self))
        return cv_fail(err, CLEAVE_EENGINE,
                       "a worker that leads others does not find its own program");
    cv_words_add(&words, self);
    cv_words_split(&words, "run --framed --quiet --literal --quote --halt now,fail=1");
    for (size_t i = 0; own[i] != NULL; i++)
        cv_words_add(&words, own[i]);
    add_terms(&words, job);
    *out = cv_words_done(&words);
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the job");
}

void cv_lead_by(struct cv_worker_options *options, const char *const *words)
{
    options->lead = words != NULL ? make_command : NULL;
    options->lead_words = words;
}
