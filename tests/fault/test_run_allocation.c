/* test_run_allocation.c -- the n-th allocation of a real run fails.
 * SPDX-License-Identifier: MIT
 *
 * run_fault.h describes the required result. CLEAVE_FAULTS=all fails each of them in
 * turn. */
#include "fault/failing_allocator.h"

#ifndef CV_NO_ALLOCATOR
#include "fault/run_fault.h"

static void arm(long n)
{
    has_failed = false;
    countdown = n;
}

static bool disarm(void)
{
    countdown = -1;
    return has_failed;
}

static const char *fault(void)
{
    return "allocation";
}

static long kept_blocks(void)
{
    return live_blocks;
}

/* How many allocations a run makes, about. */
static long how_many(const struct scenario *scenario)
{
    const long many = 1L << 40;
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;
    long made;

    if (scenario->there)
        return 60;
    if (scenario->stream)
        writer();
    remove_journal();
    if (scenario->resume)
        copy_file(paths[IMAGE], paths[JOURNAL]);
    (void)execute(scenario, scenario->resume, many, &result, &err);
    made = many - countdown;
    disarm();
    cleave_execution_free(result);
    return made;
}

static void try_known(const struct scenario *scenario, int *out_bad)
{
    (void)scenario;
    (void)out_bad;
}

int main(int argc, char **argv)
{
    (void)argv;
    return argc > 1 ? serve() : try_all(8);
}

#endif
