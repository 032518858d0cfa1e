/* host_leave.c -- a host that is to go. SPDX-License-Identifier: MIT
 *
 * It gets nothing more and ends what it has; what is not done when its notice is over goes to
 * others, as if it had been lost. One that has said so itself gives back what it has not begun. */
#include <stdio.h>

#include "run/hosts/remote_host.h"

static void notice_over(void *context)
{
    struct cv_host *host = context;
    struct cleave_error err;

    cv_fail(&err, CLEAVE_ELOST, "it was to leave, and its notice is over");
    cv_host_fail(host, &err);
}

static void begin_to_leave(struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;

    host->leaving = true;
    hosts->nleaving++;
    if (cv_poller_set(hosts->poller, &host->timer, cv_clock_s() + hosts->terms.notice_s,
                      notice_over, host, NULL) != CLEAVE_OK)
        notice_over(host);
}

void cv_host_dismiss(struct cv_host *host)
{
    if (host->leaving || host->state == CV_HOST_OUT)
        return;
    if (host->state != CV_HOST_READY) {
        snprintf(host->reason, sizeof host->reason, "it was taken away");
        cv_host_leave_out(host);
        return;
    }
    cv_hosts_note(host->hosts, "%s: is to leave, and has %g s to end what it has",
                  host->name, host->hosts->terms.notice_s);
    begin_to_leave(host);
}

/* Batch systems tell all processes of a job to end, this one too, but not at the same time. */
static const double HUSH_S = 1;

bool cv_hosts_stop_in_progress(const struct cv_hosts *hosts)
{
    return hosts->told_s > 0 && cv_clock_s() < hosts->told_s + HUSH_S;
}

/* Who waits looks again. */
static void hush_over(void *context)
{
    (void)context;
}

void cv_host_notice(struct cv_host *host)
{
    struct cv_hosts *hosts = host->hosts;

    host->noticed = true;
    if (cv_poller_set(hosts->poller, &hosts->hush, cv_clock_s() + HUSH_S, hush_over,
                      hosts, NULL) == CLEAVE_OK)
        hosts->told_s = cv_clock_s();
    if (host->leaving) /* it has been told so by us already */
        return;
    /* A signal that ends the run may reach hosts as well. */
    if (hosts->stopped_by == NULL || *hosts->stopped_by == 0)
        cv_hosts_note(hosts,
                      "%s: was told to end (SIGTERM): it gets nothing new, and leaves "
                      "within %g s (--grace)",
                      host->name, hosts->terms.notice_s);
    begin_to_leave(host);
}

/* It leaves no more, whatever the reason. */
static void forget(struct cv_host *host)
{
    cv_poller_cancel(host->hosts->poller, &host->timer);
    host->hosts->nleaving--;
    host->leaving = false;
}

void cv_host_keep(struct cv_host *host)
{
    if (!host->leaving || host->noticed)
        return;
    forget(host);
    cv_hosts_note(host->hosts, "%s: stays", host->name);
    host->hosts->changed(host->hosts->context, host);
}

void cv_host_release(struct cv_host *host)
{
    forget(host);
    cv_link_close(&host->link);
    cv_send_reset(host);
    host->hosts->nready--;
    host->state = CV_HOST_OUT;
    snprintf(host->reason, sizeof host->reason, "%s",
             host->noticed ? "it was told to end (SIGTERM)" : "it was taken away");
    if (!host->noticed) /* of others one line is enough */
        cv_hosts_note(host->hosts, "%s: has left", host->name);
    host->noticed = false;
}
