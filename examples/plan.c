/* plan.c -- plan a load with the library. SPDX-License-Identifier: MIT
 *
 *     plan [PLATFORM [UNITS]]
 *
 * Prints the shares, the end, and the distance to the bound. */
#include <stdio.h>
#include <stdlib.h>

#include <cleave/cleave.h>

static int complain(const struct cleave_error *err)
{
    char text[1024];

    cleave_error_format(err, text, sizeof text);
    fprintf(stderr, "plan: %s\n", text);
    return 1;
}

static void show(const struct cleave_platform *platform,
                 const struct cleave_schedule *schedule)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++) {
        double units = 0;

        for (size_t k = 0; k < schedule->nchunks; k++)
            if (schedule->chunks[k].worker == w)
                units += schedule->chunks[k].units;
        printf("%-10s %10.2f units\n", cleave_platform_worker_name(platform, w), units);
    }
    printf("%s: %.3f s, no schedule is below %.3f s\n",
           schedule->picked != NULL ? schedule->picked : schedule->policy,
           schedule->makespan_s, schedule->bound.value_s);
}

int main(int argc, char **argv)
{
    struct cleave_platform *platform = NULL;
    struct cleave_schedule *schedule = NULL;
    struct cleave_job job = { .load = argc > 2 ? strtod(argv[2], NULL) : 2000 };
    struct cleave_error err;

    if (cleave_platform_load(argc > 1 ? argv[1] : "examples/unequal.yaml", &platform,
                             &err) != CLEAVE_OK)
        return complain(&err);
    job.platform = platform;
    if (cleave_plan_load(&job, &schedule, &err) != CLEAVE_OK) {
        cleave_platform_free(platform);
        return complain(&err);
    }
    show(platform, schedule);
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
    return 0;
}
