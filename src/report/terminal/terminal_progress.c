/* terminal_progress.c -- time left, progress bar and the limit of a run, as text.
 * SPDX-License-Identifier: MIT */
#include "report/terminal/terminal_progress.h"

#include <math.h>

static const double LEAST_S = 10, LEAST_PART = 0.05; /* before the first estimate       */
static const double MEMORY_S = 3,
                    MEMORY_PART = 0.3;              /* window: seconds, part of elapsed */
static const double UP = 1.2, DOWN = 1.5, LEAP = 2; /* per second, and per call        */
static const double SHORT_S = 0.5; /* smallest value that UP applies to */

void cv_eta_init(struct cv_eta *eta, double now_s)
{
    *eta = (struct cv_eta){ .at_s = now_s, .began_s = now_s, .left_s = NAN };
}

/* Move the estimate towards `left_s`, `gone_s` after the last call. */
static void follow(struct cv_eta *eta, double gone_s, double left_s)
{
    const double least_s = fmax(0, eta->left_s - gone_s) / fmin(LEAP, pow(DOWN, gone_s));
    const double most_s = fmax(SHORT_S, eta->left_s) * fmin(LEAP, pow(UP, gone_s));

    eta->left_s = isnan(eta->left_s) ? left_s : fmax(least_s, fmin(most_s, left_s));
}

double cv_eta_left(struct cv_eta *eta, double now_s, double done, double total)
{
    const double gone_s = now_s - eta->at_s;
    const double news = fmax(0, done - eta->done);
    double since_s, kept;

    if (!(gone_s > 0))
        return eta->left_s;
    eta->at_s = now_s;
    eta->done += news;
    if (!(eta->done > 0)) {
        eta->began_s = now_s;
        return NAN;
    }
    since_s = now_s - eta->began_s;
    kept = exp(-gone_s / (MEMORY_S + MEMORY_PART * since_s));
    eta->units = kept * eta->units + news;
    eta->time_s = kept * eta->time_s + gone_s;
    if (isnan(eta->left_s) && since_s < LEAST_S && eta->done < LEAST_PART * total)
        return NAN;
    if (eta->units > 0)
        follow(eta, gone_s, fmax(0, total - eta->done) * eta->time_s / eta->units);
    return eta->left_s;
}

void cv_bar_add(struct cv_text *out, double part, unsigned columns, bool utf8)
{
    static const char *const eighths[] = { "\u2591", "\u258f", "\u258e",
                                           "\u258d", "\u258c", "\u258b",
                                           "\u258a", "\u2589", "\u2588" };
    const unsigned full = (unsigned)(8 * columns * fmax(0, fmin(1, part)));

    for (unsigned c = 0; c < columns; c++) {
        const unsigned rest = full > 8 * c ? full - 8 * c : 0;

        if (utf8)
            cv_text_add(out, "%s", eighths[rest < 8 ? rest : 8]);
        else
            cv_text_add(out, "%c", rest >= 8 ? '#' : '.');
    }
}

/* Parts of the makespan: the master or its port is the limit if it was busy for BUSY,
 * and workers waited for WAITING. A master with fewer than SOME chunks per worker only
 * starts and ends. */
static const double BUSY = 0.8, WAITING = 0.1;
static const uint64_t SOME = 10;

void cv_limit_text(const struct cleave_execution_result *result, struct cv_text *out)
{
    const double makespan_s = result->seconds - result->connect_s;

    if (result->chunks == 0)
        return;
    if (!(result->waiting_s > WAITING * makespan_s * result->there))
        return;
    if (result->port_s > BUSY * makespan_s)
        cv_text_add(out,
                    "the port of the master was the limit: it was sending %.0f%% of the "
                    "time, %.4g MB/s",
                    fmin(100, 100 * result->port_s / makespan_s),
                    result->input_bytes / makespan_s / 1e6);
    else if (result->master_s > BUSY * makespan_s &&
             result->chunks >= SOME * result->there)
        cv_text_add(out,
                    "the master was the limit: it was busy %.0f%% of the time, with %.0f "
                    "chunks a second; larger ones would take less of it",
                    fmin(100, 100 * result->master_s / makespan_s),
                    (double)result->chunks / makespan_s);
}
