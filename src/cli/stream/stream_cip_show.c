/* stream_cip_show.c -- the shortest round for all workers of one master.
 * SPDX-License-Identifier: MIT */
#include "cli/stream/stream_cip_show.h"

#include <string.h>
#include "cli/common/counted.h"
#include "cli/common/output.h"
#include "io/json_out.h"
#include "model/stream/stream_costs.h"
#include "report/terminal/table.h"

static int show_json(const struct cv_stream_case *streams, const struct cv_cip *cip)
{
    struct cv_json json;

    cv_result_open(&json);
    cv_field_number(&json, "period", cip->tau_s);
    cv_field_number(&json, "least_period", cip->least_tau_s);
    cv_field_list(&json, "workers");
    for (uint32_t w = 0; w < cleave_platform_nworkers(streams->platform); w++) {
        cv_field_line(&json, NULL);
        cv_field_text(&json, "name", cleave_platform_worker_name(streams->platform, w));
        cv_field_number(&json, "theta", cip->theta[w]);
        cv_field_number(&json, "first_load", cip->first_load[w]);
        cv_field_number(&json, "delay", cip->delay[w]);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    return cv_result_close(&json);
}

static int show_text(const struct cv_stream_case *streams, const struct cv_cip *cip)
{
    static const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },
        { "sent first", CV_COLUMN_PERCENT },
        { "first load", CV_COLUMN_UNITS },
        { "delay s", CV_COLUMN_NUMBER },
    };
    const struct cv_screen screen = cv_screen_facts();
    const uint32_t n = cleave_platform_nworkers(streams->platform);
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];
    struct cv_table table;

    cv_text_add(&text, "one stream, %s\n", cv_counted(n, "worker", counted));
    cv_text_add(&text, "period    %s s, the shortest in which nobody waits\n",
                cv_show_number(cip->tau_s, number));
    cv_text_add(&text, "ports     would do with %s s\n\n",
                cv_show_number(cip->least_tau_s, number));
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t w = 0; w < n; w++) {
        cv_table_text(&table, cleave_platform_worker_name(streams->platform, w));
        cv_table_number(&table, cip->theta[w]);
        cv_table_number(&table, cip->first_load[w]);
        cv_table_number(&table, cip->delay[w]);
    }
    cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    return cv_print_take(&text);
}

/* What it does not go with. */
static const char *conflict(const struct cv_stream_options *options)
{
    return options->streams != 1                  ? "--streams"
           : strcmp(options->period, "auto") != 0 ? "--period"
           : options->demand != NULL              ? "--demand"
                                                  : NULL;
}

int cv_stream_cip_show(const struct cv_stream_case *streams,
                       const struct cv_stream_options *options, struct cv_arena *arena)
{
    const enum cleave_port port = cleave_platform_port(streams->platform);
    const uint32_t n = cleave_platform_nworkers(streams->platform);
    struct cleave_worker *workers = cv_array(arena, n, sizeof *workers);
    double *theta = cv_array(arena, n, sizeof *theta);
    const struct cv_stream_ring ring = {
        .workers = workers,
        .n = n,
        .result_ratio = port == CLEAVE_PORT_ONE ? 0 : options->result_ratio,
        .theta = theta,
        .margin = streams->task.margins,
    };
    struct cleave_error err;
    struct cv_cip cip;

    if (conflict(options) != NULL)
        return cv_print_error(CV_EXIT_USAGE,
                              "--cip: is about one stream and all workers; leave out %s",
                              conflict(options));
    if (port == CLEAVE_PORT_MULTI)
        return cv_print_error(CV_EXIT_USAGE,
                              "--cip: with port: multi links share no port, so "
                              "that nobody has to wait in any round");
    if (workers == NULL || theta == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the period");
    for (uint32_t w = 0; w < n; w++) {
        workers[w] = cv_stream_as_duplex(cleave_platform_workers(streams->platform)[w],
                                         port, options->result_ratio);
        theta[w] = options->theta;
    }
    if (cv_stream_cip(&ring, 0, arena, &cip, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_USAGE, "--cip: %s", err.text);
    return options->json ? show_json(streams, &cip) : show_text(streams, &cip);
}
