/* hosts_connect.c -- connect to all other machines of a run. SPDX-License-Identifier: MIT
 *
 * To begin a connection by ssh takes this machine tens of milliseconds of a processor, most of them for
 * keys. If all were begun at once, all would be ready at once, and late. So a few are begun first, two
 * more for each that is ready or out, and twice as many every moment, since most of a connection is to wait
 * for the other side: unless processors had nothing to spare meanwhile. A thousand are begun
 * within half a second then. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/hosts/hosts.h"
#include "run/common/machine.h"

/* As many again are begun after so long, if processors were idle for such a part of it; and after so many
 * times that long whatever they were, lest hosts that do not answer keep others waiting. */
static const double STEP_S = 0.06, IDLE_PART = 0.25;
enum { MOST_HELD = 8 };
enum { IDLE = 4 }; /* which number of the first line: cpu user nice system idle ... */

static size_t count_in(const struct cv_hosts *hosts, enum cv_host_state first,
                       enum cv_host_state last)
{
    size_t count = 0;

    for (size_t i = 0; i < hosts->count; i++)
        count += hosts->items[i]->state >= first && hosts->items[i]->state <= last;
    return count;
}

bool cv_hosts_may_come(const struct cv_hosts *hosts)
{
    return count_in(hosts, CV_HOST_DOWN, CV_HOST_DOWN) > 0 ||
           count_in(hosts, CV_HOST_NEW, CV_HOST_GREETED) > 0 ||
           cv_hosts_stop_in_progress(hosts);
}

bool cv_hosts_any_hope(const struct cv_hosts *hosts)
{
    return hosts->nready > 0 || cv_hosts_may_come(hosts);
}

/* Whether it is not decided yet who is there. One that was cut off is tried again, and
 * waited for when there is nobody else. */
static bool undecided(const struct cv_hosts *hosts)
{
    return count_in(hosts, CV_HOST_NEW, CV_HOST_GREETED) > 0 ||
           (hosts->nready == 0 && count_in(hosts, CV_HOST_DOWN, CV_HOST_DOWN) > 0);
}

/* --- processors --------------------------------------------------------------------------- */

/* How long they had nothing to do since the machine was started, all added up. NAN: it does not
 * say. */
static double idle_s(void)
{
    FILE *file = fopen("/proc/stat", "re");
    char line[256] = "", *at = line + 3, *end = NULL;
    double ticks = NAN;

    if (file == NULL)
        return NAN;
    if (fgets(line, sizeof line, file) == NULL || strncmp(line, "cpu ", 4) != 0)
        end = at; /* it says something else */
    fclose(file);
    for (int i = 0; i < IDLE && end != at; i++) {
        at = end != NULL ? end : at;
        ticks = strtod(at, &end);
    }
    return end != at ? ticks / (double)sysconf(_SC_CLK_TCK) : NAN;
}

/* --- beginning ---------------------------------------------------------------------------- */

static struct cv_host *next_new(const struct cv_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->items[i]->state == CV_HOST_NEW)
            return hosts->items[i];
    return NULL;
}

static void widen(void *context);

static void set_step(struct cv_hosts *hosts)
{
    hosts->step_s = cv_clock_s();
    hosts->idle_s = idle_s();
    /* Without a timer, who settles begins the others. */
    hosts->stepping = cv_poller_set(hosts->poller, &hosts->step, hosts->step_s + STEP_S,
                                    widen, hosts, NULL) == CLEAVE_OK;
}

/* Whether processors were busy since the step was set: more connections would make all later. */
static bool were_busy(const struct cv_hosts *hosts)
{
    const double time_s = cv_clock_s() - hosts->step_s;

    return idle_s() - hosts->idle_s < IDLE_PART * time_s * cv_usable_cores();
}

/* Descriptors are there, and cost nothing. */
static void begin_some(struct cv_hosts *hosts)
{
    struct cv_host *host;

    if (hosts->beginning) /* one that could not be begun has settled in here */
        return;
    hosts->beginning = true;
    while ((host = next_new(hosts)) != NULL &&
           (host->words == NULL ||
            count_in(hosts, CV_HOST_CONNECTING, CV_HOST_GREETED) < hosts->window))
        cv_host_connect(host);
    hosts->beginning = false;
    if (host != NULL && !hosts->stepping)
        set_step(hosts);
}

static void widen(void *context)
{
    struct cv_hosts *hosts = context;

    hosts->stepping = false;
    if (were_busy(hosts) && ++hosts->held < MOST_HELD) {
        set_step(hosts);
        return;
    }
    hosts->held = 0;
    hosts->window *= 2;
    begin_some(hosts);
}

void cv_hosts_settled(struct cv_hosts *hosts)
{
    if (count_in(hosts, CV_HOST_NEW, CV_HOST_GREETED) == 0)
        cv_hosts_tell_rest(hosts);
    hosts->window += hosts->window > 0;
    if (hosts->window > 0)
        begin_some(hosts);
}

void cv_hosts_connect_no_more(struct cv_hosts *hosts)
{
    if (hosts->stepping)
        cv_poller_cancel(hosts->poller, &hosts->step);
    hosts->stepping = false;
    hosts->window = 0;
}

/* --- waiting ------------------------------------------------------------------------------ */

/* When it is not waited for more any longer: some are there since `first_s`, and the last of them
 * since `last_s`. */
static double waits_until(const struct cv_patience *patience, double first_s,
                          double last_s)
{
    return fmin(first_s + patience->most_s, last_s + patience->gap_s);
}

enum cleave_status cv_hosts_connect(struct cv_hosts *hosts,
                                    const struct cv_patience *patience, bool others,
                                    const int *stopped_by, struct cleave_error *err)
{
    double first_s = others ? cv_clock_s() : INFINITY, last_s = first_s;
    size_t nready = 0;

    /* Who waits for all, or begins without those who are late, gains nothing by the first ones. */
    hosts->window = isinf(patience->gap_s)  ? hosts->count + 1
                    : cv_usable_cores() > 2 ? cv_usable_cores()
                                            : 2;
    begin_some(hosts);
    while (undecided(hosts) && cv_clock_s() < waits_until(patience, first_s, last_s)) {
        const double until_s = waits_until(patience, first_s, last_s);

        CV_TRY(cv_poller_wait(hosts->poller,
                              isinf(until_s) ? -1 : fmax(until_s - cv_clock_s(), 0),
                              err));
        if (hosts->nready > nready) {
            last_s = cv_clock_s();
            first_s = fmin(first_s, last_s);
        }
        nready = hosts->nready;
        /* Who was there has gone: nobody is there who would begin without the others. */
        if (nready == 0 && !others)
            first_s = last_s = INFINITY;
        if (*stopped_by != 0)
            return cv_fail_stopped(err);
    }
    return CLEAVE_OK;
}
