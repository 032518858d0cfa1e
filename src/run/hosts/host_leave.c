/* host_leave.c -- a host that is to go. SPDX-License-Identifier: MIT
 *
 * It gets nothing more and ends what it has; what is not done when its notice is over goes to
 * others, as if it had been lost. */
#include <stdio.h>

#include "run/hosts/remote_host.h"

static void notice_over(void *context)
{
    struct cv_host *host = context;
    struct cleave_error err;

    cv_fail(&err, CLEAVE_ELOST, "it was to leave, and its notice is over");
    cv_host_fail(host, &err);
}

void cv_host_dismiss(struct cv_host *host, double notice_s)
{
    struct cv_hosts *hosts = host->hosts;

    if (host->leaving || host->state == CV_HOST_OUT)
        return;
    if (host->state != CV_HOST_READY) {
        snprintf(host->reason, sizeof host->reason, "it was taken away");
        cv_host_leave_out(host);
        return;
    }
    host->leaving = true;
    hosts->nleaving++;
    cv_hosts_note(hosts, "%s: is to leave, and has %g s to end what it has", host->name,
                  notice_s);
    if (cv_poller_set(hosts->poller, &host->timer, cv_clock_s() + notice_s, notice_over,
                      host, NULL) != CLEAVE_OK)
        notice_over(host);
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
    if (!host->leaving)
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
    snprintf(host->reason, sizeof host->reason, "it was taken away");
    cv_hosts_note(host->hosts, "%s: has left", host->name);
}
