/* hosts.h -- all other machines of a run. SPDX-License-Identifier: MIT */
#ifndef CV_HOSTS_H
#define CV_HOSTS_H
#include <cleave/execute.h>
#include "run/hosts/remote_host.h"

void cv_hosts_init(struct cv_hosts *hosts);
/* Ends all connections. */
void cv_hosts_done(struct cv_hosts *hosts);
/* What the input is, for hosts that may see it. */
enum cleave_status cv_hosts_describe(struct cv_hosts *hosts, struct cleave_error *err);
/* Add a host; its workers are those from `first` on. `asked` is copied but for the link. */
enum cleave_status cv_hosts_add(struct cv_hosts *hosts, const struct cleave_host *request,
                                uint32_t first, struct cv_host **out,
                                struct cleave_error *err);

/* --- connecting (hosts_connect.c) ---------------------------------------------------------- */

/* How long those who are ready wait for others: at most so long, and since the last one came. */
struct cv_patience {
    double most_s, gap_s; /* INFINITY: any time                                         */
};

/* Connect to all that were not tried; wait until each is ready or out, but no longer than
 * `patience` says once one is ready, or `others` are, who are no hosts: the rest may join
 * later. */
enum cleave_status cv_hosts_connect(struct cv_hosts *hosts,
                                    const struct cv_patience *patience, bool others,
                                    const int *stopped_by, struct cleave_error *err);
/* One is ready, or out: another connection can be begun. */
void cv_hosts_settled(struct cv_hosts *hosts);
void cv_hosts_connect_no_more(struct cv_hosts *hosts);
/* Whether any is ready or may be. */
bool cv_hosts_any_hope(const struct cv_hosts *hosts);
/* Whether one that is not ready may become so, or all are told to end just now. */
bool cv_hosts_may_come(const struct cv_hosts *hosts);

#endif
