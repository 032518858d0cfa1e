/* topology_options.c -- which engine simulates, and on what topology.
 * SPDX-License-Identifier: MIT */
#include "cli/common/topology_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "cli/common/engines.h"
#include "cli/common/output.h"

const char *cv_engine_used(const char *engine, const struct cv_topology_options *options)
{
    if (engine != NULL)
        return engine;
    return options->file != NULL ? "simgrid" : "native";
}

void cv_engine_line(const char *engine, const struct cv_topology_options *options,
                    struct cv_text *text)
{
    char shown[CV_ECHO_ROOM];

    engine = cv_engine_used(engine, options);
    if (strcmp(engine, "native") == 0)
        return;
    cv_text_add(text, "engine    %s", engine);
    if (options->file != NULL)
        cv_text_add(text, " on %s", cv_echo(options->file, shown));
    cv_text_add(text, "\n");
}

/* What only means something on a topology. */
static const char *needs_topology(const struct cv_topology_options *options)
{
    return options->master != NULL      ? "--master"
           : options->workers != NULL   ? "--worker-hosts"
           : options->count > 0         ? "--workers"
           : options->port != NULL      ? "--port"
           : options->unit_bytes > 0    ? "--unit-bytes"
           : options->unit_flops > 0    ? "--unit-flops"
           : options->partial_bytes > 0 ? "--partial"
                                        : NULL;
}

static int read_hosts(const char *text, struct cv_arena *arena,
                      struct cleave_simgrid *out)
{
    char *copy = cv_arena_text(arena, text), *at = copy;
    char shown[CV_ECHO_ROOM];
    const char **names;
    uint32_t count = 1;

    for (const char *c = text; *c != '\0'; c++)
        count += *c == ',';
    names = cv_array(arena, count, sizeof(const char *));
    if (copy == NULL || names == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the hosts");
    for (uint32_t i = 0; i < count; i++) {
        names[i] = at;
        at += strcspn(at, ",");
        *at++ = '\0';
        if (names[i][0] == '\0')
            return cv_print_error(
                CV_EXIT_USAGE, "--worker-hosts: expected names such as a,b,c, got '%s'",
                cv_echo(text, shown));
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return cv_print_error(CV_EXIT_USAGE,
                                      "--worker-hosts: '%s' is there twice",
                                      cv_echo(names[i], shown));
    }
    out->workers = names;
    out->nworkers = count;
    return CV_EXIT_DONE;
}

static int fill(const struct cv_topology_options *options, struct cv_arena *arena,
                struct cleave_simgrid *out)
{
    char shown[CV_ECHO_ROOM];

    if (access(options->file, R_OK) != 0)
        return cv_print_error(CV_EXIT_USAGE, "--topology: cannot read '%s': %s",
                              cv_echo(options->file, shown), strerror(errno));
    out->topology = options->file;
    out->master = options->master;
    out->unit_bytes = options->unit_bytes;
    out->unit_flops = options->unit_flops;
    out->partial_bytes = options->partial_bytes;
    if (options->count > 0 && options->workers != NULL)
        return cv_print_error(
            CV_EXIT_USAGE, "--workers and --worker-hosts cannot both say who takes part");
    out->nworkers = (uint32_t)options->count;
    return options->workers == NULL ? CV_EXIT_DONE
                                    : read_hosts(options->workers, arena, out);
}

int cv_topology_open(const char *engine, const struct cv_topology_options *options,
                     struct cv_arena *arena, const struct cleave_simgrid **out)
{
    const char *other = needs_topology(options);
    struct cleave_simgrid *simgrid;
    int status;

    *out = NULL;
    engine = cv_engine_used(engine, options);
    if (options->file == NULL && other != NULL)
        return cv_print_error(CV_EXIT_USAGE, "%s is about a topology: see --topology",
                              other);
    if (options->file != NULL && strcmp(engine, "native") == 0)
        return cv_print_error(
            CV_EXIT_USAGE,
            "--engine: a topology is for simgrid; native has only the star "
            "of the platform file");
    status = cv_engine_check(engine);
    if (status != CV_EXIT_DONE || strcmp(engine, "simgrid") != 0)
        return status;
    simgrid = cv_array(arena, 1, sizeof *simgrid);
    if (simgrid == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the topology");
    *out = simgrid;
    return options->file == NULL ? CV_EXIT_DONE : fill(options, arena, simgrid);
}

/* One line for each host that was left out. */
static void say_left_out(char *lines)
{
    char *line;

    while ((line = strsep(&lines, "\n")) != NULL && line[0] != '\0')
        (void)cv_print_error(CV_EXIT_DONE, "left out %s", line);
}

int cv_topology_platform(const struct cv_topology_options *options,
                         const struct cleave_simgrid *simgrid,
                         struct cleave_platform **out)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX,
                                              CLEAVE_PORT_MULTI };
    enum { PORTS = sizeof ports / sizeof *ports };
    char shown[CV_ECHO_ROOM], left_out[4096] = "";
    struct cleave_simgrid measured = *simgrid;
    struct cleave_error err;
    size_t i = 0;

    while (options->port != NULL && i < PORTS &&
           strcmp(options->port, cleave_port_name(ports[i])) != 0)
        i++;
    if (i == PORTS)
        return cv_print_error(CV_EXIT_USAGE,
                              "--port: expected one, duplex or multi, got '%s'",
                              cv_echo(options->port, shown));
    measured.left_out = left_out;
    measured.left_out_size = sizeof left_out;
    if (cleave_simgrid_measure(&measured, ports[i], out, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    say_left_out(left_out);
    return CV_EXIT_DONE;
}
