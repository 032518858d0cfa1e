/* calibrate_spread.c -- how far measurements are from the costs that were made of them.
 * SPDX-License-Identifier: MIT */
#include "cli/calibrate/calibrate_spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/compare.h"
#include "base/text.h"
#include "cli/common/output.h"
#include "run/common/usable_cores.h"

/* Eight of ten measurements should lie within such a factor. */
static const double WIDE = 1.5;

enum { FEW = 3 }; /* measurements that differ by chance as likely as not */

void cv_spread_init(struct cv_spread *spread)
{
    *spread = (struct cv_spread){ .items = NULL };
}

void cv_spread_done(struct cv_spread *spread)
{
    for (size_t i = 0; i < spread->count; i++)
        free(spread->items[i].worker);
    free(spread->items);
    cv_spread_init(spread);
}

void cv_spread_attempted(void *context, const struct cleave_attempt *attempt)
{
    struct cv_spread *spread = context;
    char *worker;

    if (attempt->exit_code != 0 || attempt->end <= attempt->begin)
        return;
    worker = CV_ROOM(spread->items, &spread->room, spread->count + 1)
                 ? strdup(attempt->worker)
                 : NULL;
    if (worker == NULL) {
        spread->failed = true;
        return;
    }
    spread->items[spread->count++] =
        (struct cv_measured){ worker, (double)(attempt->end - attempt->begin),
                              attempt->compute_s };
}

double cv_spread_units(const struct cv_spread *spread)
{
    double units = 0;

    for (size_t i = 0; i < spread->count; i++)
        units += spread->items[i].units;
    return units;
}

double cv_spread_fit(const struct cv_spread *spread, double *out_latency_s)
{
    double n = 0, units = 0, time_s = 0, units2 = 0, cross = 0, parallel, mean, slope;

    for (size_t i = 0; i < spread->count; i++) {
        const struct cv_measured *one = &spread->items[i];

        n += 1;
        units += one->units;
        time_s += one->seconds;
        units2 += one->units * one->units;
        cross += one->units * one->seconds;
    }
    parallel = n * units2 - units * units;
    mean = time_s / units;
    slope = parallel > 0 ? (n * cross - units * time_s) / parallel : mean;
    slope = fmin(mean, fmax(slope, mean / 1000));
    *out_latency_s = fmax(0, (time_s - slope * units) / n);
    return 1 / slope;
}

/* Of sorted numbers, the one that such a part of them is not above. */
static double quantile(const double *sorted, size_t count, double part)
{
    return sorted[(size_t)(part * (double)(count - 1) + 0.5)];
}

void cv_spread_tell(const struct cv_spread *spread, const char *const *names,
                    size_t nnames, const struct cleave_worker *costs,
                    struct cv_text *comment)
{
    double *parts = calloc(spread->count + 1, sizeof *parts);
    char counted[CV_COUNTED_ROOM];
    size_t count = 0;
    double parallel;

    for (size_t i = 0; parts != NULL && !spread->failed && i < spread->count; i++)
        if (cv_is_one_of(spread->items[i].worker, names, nnames))
            parts[count++] =
                spread->items[i].seconds /
                (costs->compute_latency_s + spread->items[i].units / costs->speed_ups);
    if (count > 0) {
        qsort(parts, count, sizeof *parts, cv_compare_doubles);
        cv_text_add(comment,
                    "\n%s: %s took %.2f to %.2f of what these costs say, in the median "
                    "%.2f.",
                    names[0], cv_counted(count, "measurement", counted), parts[0],
                    parts[count - 1], quantile(parts, count, 0.5));
        parallel = quantile(parts, count, 0.9) / quantile(parts, count, 0.1);
        if (count > FEW && parallel > WIDE)
            cv_print_error(
                CV_EXIT_DONE,
                "%s: measurements differ by a factor of %.1f, 8 of 10 of them: "
                "was the machine busy? Measure again when it is not, or take a "
                "larger sample",
                names[0], parallel);
    }
    free(parts);
}

double cv_spread_load(void)
{
    double load;

    return getloadavg(&load, 1) == 1 ? load : 0;
}

void cv_spread_warn_busy(double load)
{
    const unsigned cores = cv_usable_cores();

    if (load > cores)
        cv_print_error(CV_EXIT_DONE,
                       "this machine was busy: load average %.1f on %u core%s. What was "
                       "measured may be too slow",
                       load, cores, cores == 1 ? "" : "s");
}
