/* real_run.h -- the run itself: what was asked for, and its parts. SPDX-License-Identifier: MIT
 *
 * Made by cleave_execute. Who works (staff.h), what is owed (books.h), what is under way
 * (desk.h) and what the driver is to be told (news.h) know nothing of it. */
#ifndef CV_REAL_RUN_H
#define CV_REAL_RUN_H
#include <cleave/execute.h>
#include "run/fold/fold.h"
#include "run/master/books.h"
#include "run/master/desk.h"
#include "run/master/news.h"
#include "run/master/staff.h"

struct cv_kept;

struct cv_real_run {
    const struct cleave_execution *asked; /* borrowed                                  */
    struct cv_poller *poller;             /* owned by cleave_execute, as all below     */
    struct cv_gather *gather;
    struct cv_fold *fold; /* NULL: outputs are written as they are                     */
    struct cv_kept *kept; /* instead, when they stay with the hosts                    */
    struct cv_staff staff;
    struct cv_books books;
    struct cv_desks desks;
    struct cv_news news;
    /* What ends it early: */
    int stopped_by; /* a signal; 0: none                                               */
    bool stopping;  /* what is under way was asked to end for it                       */
    bool halted, output_closed;
    bool reduce_failed; /* the command that reduces did, for good                      */
    bool rehost;        /* the hosts are to be asked for again                         */
};

#endif
