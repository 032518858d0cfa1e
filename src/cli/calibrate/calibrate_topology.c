/* calibrate_topology.c -- cleave calibrate --topology. SPDX-License-Identifier: MIT */
#include "cli/calibrate/calibrate_topology.h"

#include <stdio.h>
#include "cli/common/output.h"
#include "cli/common/output_file.h"
#include "io/platform_file.h"

static int write_star(const struct cleave_platform *platform,
                      const struct cv_topology_options *options, const char *output,
                      bool force)
{
    char comment[600], shown[CV_ECHO_ROOM];
    struct cv_output_file out;
    struct cleave_error err;
    bool failed;
    const int status = cv_output_open(&out, "--output", output != NULL ? output : "-",
                                      force ? 0 : CV_NEW_FILE_ONLY);

    if (status != CV_EXIT_DONE)
        return status;
    snprintf(comment, sizeof comment,
             "What a master on %s sees of each worker by itself,\n"
             "measured in simulation by SimGrid. A unit is %g bytes and %g flops.",
             cv_echo(options->file, shown),
             options->unit_bytes > 0 ? options->unit_bytes : 1e6,
             options->unit_flops > 0 ? options->unit_flops : 1e9);
    failed = cv_platform_write(platform, NULL, comment, out.file, &err) != CLEAVE_OK;
    if (failed && out.file != stdout) /* which is told when stdout is closed */
        cv_print_error(CV_EXIT_FAILED, "--output: %s", err.text);
    return cv_output_close(&out, failed);
}

int cv_calibrate_topology(const struct cv_topology_options *options, uint64_t workers,
                          const char *output, bool force, struct cv_arena *arena)
{
    const struct cleave_simgrid *found = NULL;
    struct cleave_platform *platform = NULL;
    struct cleave_simgrid simgrid;
    int status = cv_topology_open(NULL, options, arena, &found);

    if (status != CV_EXIT_DONE)
        return status;
    simgrid = *found;
    if (workers > 0 && simgrid.workers != NULL)
        return cv_print_error(
            CV_EXIT_USAGE, "--workers and --worker-hosts cannot both say who takes part");
    if (workers > 0)
        simgrid.nworkers = (uint32_t)workers;
    status = cv_topology_platform(options, &simgrid, &platform);
    if (status == CV_EXIT_DONE)
        status = write_star(platform, options, output, force);
    cleave_platform_free(platform);
    return status;
}
