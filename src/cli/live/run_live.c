/* run_live.c -- what every worker does, while it does it. SPDX-License-Identifier: MIT */
#include "cli/live/run_live.h"

#include <string.h>

void cv_run_add_bytes(struct cv_text *text, double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    size_t unit = 0;

    for (; unit + 1 < sizeof units / sizeof *units && bytes >= 1e3; unit++)
        bytes /= 1e3;
    cv_text_add(text, "%.*f %s", unit > 0 ? 1 : 0, bytes, units[unit]);
}

/* What a worker does or waits for, in the words of who looks at it. */
static const char *state_text(enum cleave_worker_state state, bool items)
{
    switch (state) {
    case CLEAVE_WORKER_BUSY:
        return "works";
    case CLEAVE_WORKER_ABSENT:
        return "waits: its host is not there";
    case CLEAVE_WORKER_RESTS:
        return "waits: others did what it failed with";
    case CLEAVE_WORKER_HELD:
        return "waits for --delay, --load or --memfree";
    case CLEAVE_WORKER_STARVES:
        return items ? "waits for items" : "waits for input";
    case CLEAVE_WORKER_UNASKED:
        return "waits: the policy gives it nothing now";
    case CLEAVE_WORKER_OVER:
        return "waits for the others: all is given out";
    }
    return "";
}

/* As wide as the longest name, within reason. */
static int name_columns(const struct cleave_progress *progress, unsigned rows)
{
    size_t max = sizeof "worker" - 1;

    for (uint32_t w = 0; w < rows; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        if (strlen(worker.name) > max)
            max = strlen(worker.name);
    }
    return max < 24 ? (int)max : 24;
}

/* Bytes and rate, of items neither. */
static void add_amounts(const struct cleave_worker_progress *worker, struct cv_text *out)
{
    struct cv_text bytes = { NULL, 0, 0, false };

    cv_run_add_bytes(&bytes, worker->units + worker->read);
    cv_text_add(out, "  %9s", bytes.bytes != NULL ? bytes.bytes : "");
    cv_text_done(&bytes);
    if (worker->busy_s > 0 && worker->units > 0) {
        const double rate = worker->units / worker->busy_s / 1e6;

        /* A slow one is not one that stands still. */
        cv_text_add(out, rate < 0.1 ? "  %8.3g" : "  %8.1f", rate);
    } else {
        cv_text_add(out, "  %8s", "-");
    }
}

/* Add a line, cut where the screen ends. */
static void add_line(struct cv_text *line, unsigned width, struct cv_text *out)
{
    if (!line->failed)
        cv_text_add(out, "\n%.*s\033[K", (int)width, line->bytes);
    out->failed = out->failed || line->failed;
    cv_text_done(line);
}

static void add_worker(const struct cleave_worker_progress *worker, bool items,
                       int columns, unsigned width, struct cv_text *out)
{
    struct cv_text line = { NULL, 0, 0, false };

    cv_text_add(&line, "  %-*.*s  %6llu", columns, columns, worker->name,
                (unsigned long long)worker->chunks);
    if (!items)
        add_amounts(worker, &line);
    cv_text_add(&line, "  %s", state_text(worker->state, items));
    if (worker->failures > 0)
        cv_text_add(&line, ", %llu failed", (unsigned long long)worker->failures);
    add_line(&line, width, out);
}

unsigned cv_run_live_rows(const struct cleave_progress *progress, bool items,
                          unsigned max, unsigned width, struct cv_text *out)
{
    const bool fits = progress->workers + 1 <= max;
    const unsigned shown = fits ? progress->workers : max >= 3 ? max - 2 : 0;
    const int columns = name_columns(progress, shown);
    struct cv_text line = { NULL, 0, 0, false };

    if (shown == 0)
        return 0;
    cv_text_add(&line, "  %-*s  %6s", columns, "worker", items ? "done" : "chunks");
    if (!items)
        cv_text_add(&line, "  %9s  %8s", "bytes", "MB/s");
    add_line(&line, width, out);
    for (uint32_t w = 0; w < shown; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        add_worker(&worker, items, columns, width, out);
    }
    if (!fits) {
        line = (struct cv_text){ NULL, 0, 0, false };
        cv_text_add(&line, "  and %u more", progress->workers - shown);
        add_line(&line, width, out);
    }
    return 1 + shown + !fits;
}
