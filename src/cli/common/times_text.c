/* times_text.c -- how long many runs took, as text and JSON. SPDX-License-Identifier: MIT */
#include "cli/common/times_text.h"

#include <stdio.h>
#include "report/terminal/table.h"

/* A line from the shortest run to the longest, thick where eight of ten runs lie:
 *     |-----======#=====--------| */
static void add_spread(const struct cleave_stats *stats, const struct cv_screen *screen,
                       struct cv_text *out)
{
    static const char *const ascii[] = { "-", "=", "#" };
    static const char *const utf8[] = { "\u2500", "\u2501", "\u2588" };
    const char *const *marks = screen->utf8 ? utf8 : ascii;
    const unsigned width = (screen->width < 100 ? screen->width : 100) - 14;
    const double span = stats->most_s - stats->least_s;
    char min[CV_NUMBER_ROOM], max[CV_NUMBER_ROOM];
    int pad;

    if (!(span > 0))
        return;
    cv_text_add(out, "\n  ");
    for (unsigned c = 0; c < width; c++) {
        const double from = stats->least_s + span * c / width;
        const double to = stats->least_s + span * (c + 1) / width;
        const bool median =
            stats->median_s >= from && (stats->median_s < to || c + 1 == width);

        cv_text_add(out, "%s",
                    marks[median                                     ? 2
                          : to > stats->q10_s && from < stats->q90_s ? 1
                                                                     : 0]);
    }
    cv_show_number(stats->least_s, min);
    cv_show_number(stats->most_s, max);
    pad = (int)width - snprintf(NULL, 0, "%s s%s s", min, max);
    cv_text_add(out, "\n  %s s%*s%s s\n", min, pad > 1 ? pad : 1, "", max);
    cv_text_add(out, "  %s median   %s 8 runs of 10   %s all runs\n", marks[2], marks[1],
                marks[0]);
}

static void add_times(const struct cleave_stats *stats, const struct cv_screen *screen,
                      struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "mean s", CV_COLUMN_NUMBER },    { "std dev", CV_COLUMN_NUMBER },
        { "std error", CV_COLUMN_NUMBER }, { "10%", CV_COLUMN_NUMBER },
        { "median", CV_COLUMN_NUMBER },    { "90%", CV_COLUMN_NUMBER },
    };
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    cv_table_number(&table, stats->mean_s);
    cv_table_number(&table, stats->stddev_s);
    cv_table_number(&table, stats->stderr_s);
    cv_table_number(&table, stats->q10_s);
    cv_table_number(&table, stats->median_s);
    cv_table_number(&table, stats->q90_s);
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}

void cv_times_text(const struct cleave_stats *stats, const struct cv_screen *screen,
                   struct cv_text *out)
{
    add_times(stats, screen, out);
    add_spread(stats, screen, out);
}

void cv_field_stats(struct cv_json *json, const struct cleave_stats *stats)
{
    cv_field_number(json, "mean", stats->mean_s);
    cv_field_number(json, "stddev", stats->stddev_s);
    cv_field_number(json, "stderr", stats->stderr_s);
    cv_field_number(json, "q10", stats->q10_s);
    cv_field_number(json, "median", stats->median_s);
    cv_field_number(json, "q90", stats->q90_s);
    cv_field_number(json, "min", stats->least_s);
    cv_field_number(json, "max", stats->most_s);
}

struct cleave_stats cv_stats_of_one(double time_s)
{
    return (struct cleave_stats){ .runs = 1,
                                  .mean_s = time_s,
                                  .q10_s = time_s,
                                  .median_s = time_s,
                                  .q90_s = time_s,
                                  .least_s = time_s,
                                  .most_s = time_s };
}
