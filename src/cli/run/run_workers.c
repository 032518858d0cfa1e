/* run_workers.c -- the workers that --workers names or counts.
 * SPDX-License-Identifier: MIT
 *
 * Counts are those of GNU parallel: 8, +2, -1, 50%, 0. Anything else is a list of names, and
 * a name is never a word that could be meant as a count, so that a slip of the hand does
 * not end in one worker of a strange name. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "cli/common/output.h"
#include "cli/run/run_names.h"
#include "cli/run/run_options.h"
#include "model/platform/generate.h"
#include "run/common/usable_cores.h"

enum {
    MOST_POSSIBLE = 256, /* what 0 stands for: more cost more than they could gain unless
                          * somebody knows that they do not */
    FILES_EACH = 4, /* descriptors that a command takes here: its pipes, its end, a part
                     * of its output */
    FILES_ELSE = 64,
};

/* --- counts ------------------------------------------------------------------------------- */

/* As many as the descriptors of this process suffice for. */
static uint32_t most_possible(void)
{
    struct rlimit files;
    unsigned long max = MOST_POSSIBLE;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        max = files.rlim_cur > FILES_ELSE + FILES_EACH
                  ? (files.rlim_cur - FILES_ELSE) / FILES_EACH
                  : 1;
    return (uint32_t)(max < MOST_POSSIBLE ? max : MOST_POSSIBLE);
}

static uint32_t within_limits(long long count)
{
    return count < 1 ? 1 : count > CV_MOST_WORKERS ? CV_MOST_WORKERS : (uint32_t)count;
}

/* "4", "+1", "-2", "50%", "0". */
static int read_count(const char *text, uint32_t *out)
{
    const bool more = text[0] == '+', fewer = text[0] == '-';
    const char *digits = text + (more || fewer ? 1 : 0);
    const long long cores = cv_usable_cores();
    long long number;
    bool share;
    char *end;

    if (*digits < '0' || *digits > '9')
        return cv_expected_workers(text);
    number = strtoll(digits, &end, 10);
    share = *end == '%' && !more && !fewer;
    if (end[share ? 1 : 0] != '\0' || number > INT_MAX || (share && number == 0))
        return cv_expected_workers(text);
    if (share)
        *out = within_limits(cores * number / 100);
    else if (more || fewer)
        *out = within_limits(more ? cores + number : cores - number);
    else if (number == 0)
        *out = most_possible();
    else if (number > CV_MOST_WORKERS)
        return cv_expected_workers(text);
    else
        *out = (uint32_t)number;
    return CV_EXIT_DONE;
}

/* --- crews --------------------------------------------------------------------------------- */

int cv_crew_read(const char *text, struct cv_arena *arena, struct cv_worker_list *out)
{
    struct cv_members members = { NULL, NULL, 0 };
    struct cleave_error err;
    int status = CV_EXIT_DONE;

    *out = (struct cv_worker_list){ .platform = NULL };
    if (text == NULL)
        members.count = within_limits(cv_usable_cores());
    else if (cv_looks_counted(text) && strchr(text, ',') == NULL)
        status = read_count(text, &members.count);
    else
        status = cv_members_read(text, arena, &members);
    out->prefixes = members.prefixes;
    if (status == CV_EXIT_DONE &&
        cv_nominal_platform(CV_NOMINAL_HERE, members.names, members.count, &out->platform,
                            &err) != CLEAVE_OK)
        status = cv_print_error(CV_EXIT_USAGE, "--workers: %s", err.text);
    return status;
}

uint32_t cv_crew_count(const struct cv_worker_list *workers)
{
    return workers->platform != NULL ? cleave_platform_nworkers(workers->platform)
                                     : (uint32_t)cv_usable_cores();
}

int cv_crew_be_nice(struct cv_worker_list *workers, uint64_t nice, struct cv_arena *arena)
{
    const uint32_t count = cv_crew_count(workers);
    const char **prefixes = cv_array(arena, count, sizeof *prefixes);

    if (nice == 0)
        return CV_EXIT_DONE;
    for (uint32_t w = 0; prefixes != NULL && w < count; w++) {
        const char *own = workers->prefixes != NULL ? workers->prefixes[w] : NULL;
        struct cv_text text = { NULL, 0, 0, false };

        cv_text_add(&text, "nice -n %llu %s", (unsigned long long)nice,
                    own != NULL ? own : "");
        prefixes[w] = cv_text_take(&text, arena);
        if (prefixes[w] == NULL)
            prefixes = NULL;
    }
    workers->prefixes = prefixes;
    return prefixes != NULL
               ? CV_EXIT_DONE
               : cv_print_error(CV_EXIT_FAILED, "out of memory for the workers");
}
