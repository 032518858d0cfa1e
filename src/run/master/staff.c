/* staff.c -- who works: on this machine and on others. SPDX-License-Identifier: MIT */
#include "run/master/staff.h"

bool cv_staff_there(const struct cv_staff *staff, uint32_t worker)
{
    const struct cv_host *host = staff->host_of[worker];

    return host != NULL ? host->state == CV_HOST_READY : !staff->absent[worker];
}

bool cv_staff_anybody(const struct cv_staff *staff)
{
    for (uint32_t w = 0; w < staff->nworkers; w++)
        if (cv_staff_there(staff, w))
            return true;
    return false;
}

uint32_t cv_staff_party(const struct cv_staff *staff, uint32_t worker)
{
    return staff->host_of[worker] != NULL ? staff->host_of[worker]->first : worker;
}

const char *cv_staff_party_name(const struct cv_staff *staff, uint32_t party)
{
    return staff->host_of[party] != NULL ? staff->host_of[party]->name
                                         : staff->names[party];
}

bool cv_staff_serves(const struct cv_staff *staff, uint32_t worker)
{
    return cv_staff_there(staff, worker) &&
           !cv_trust_rests(&staff->trust, cv_staff_party(staff, worker));
}

void cv_staff_rouse(struct cv_staff *staff)
{
    for (uint32_t w = 0; w < staff->nworkers && staff->trust.nresting > 0; w++)
        if (cv_staff_serves(staff, w))
            return;
    if (staff->trust.nresting > 0 && cv_staff_anybody(staff))
        cv_trust_release(&staff->trust);
}

enum cleave_status cv_staff_check(const struct cv_staff *staff, struct cleave_error *err)
{
    const struct cv_hosts *hosts = &staff->hosts;

    if (hosts->count == 0 || cv_hosts_any_hope(hosts) || cv_staff_anybody(staff))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_ELOST, "all hosts are gone; the last one: %s: %s",
                   hosts->items[hosts->count - 1]->name,
                   hosts->items[hosts->count - 1]->reason);
}
