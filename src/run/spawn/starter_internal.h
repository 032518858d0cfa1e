/* starter_internal.h -- what the files of a starter share. SPDX-License-Identifier: MIT */
#ifndef CV_STARTER_INTERNAL_H
#define CV_STARTER_INTERNAL_H
#include <stdatomic.h>
#include <stddef.h>

#include "run/spawn/kernel_calls.h"
#include "run/spawn/starter.h"

#ifdef CV_KNOWN_MACHINE

enum {
    CV_STARTS = 64, /* that have not become a program at a time; then one is waited for */
    CV_AHEAD = 16,  /* children that are made ahead, at a time                        */
    CV_KEPT =
        8, /* descriptors above 2 that commands inherit, at most, if there are any */
};

/* A start is soon after the last one if it is within so many seconds. */
static const double CV_SOON_S = 0.05;

struct cv_start {
    struct cv_starter *starter; /* whose it is */
    struct cv_starting what;
    atomic_int
        shares; /* the child has our memory: the kernel makes it 0 when it has not */
    atomic_int
        error;   /* why it has not become the other program                         */
    bool clean;  /* the kernel has put handlers of signals back to their defaults    */
    pid_t pid;   /* of the last child; 0: it was asked what came of it              */
    char *stack; /* owned by the starter                                            */
    /* Of one that is made ahead: */
    int out; /* owned: where its output will come, until it is taken                */
    atomic_bool waits; /* all is well so far                                        */
    atomic_int told;
};

struct cv_starter {
    struct cv_start starts[CV_STARTS];
    char *stacks;                     /* owned */
    size_t next;                      /* where to look for one that is free */
    bool refused;                     /* by the kernel, and so for good     */
    bool old;                         /* it has no clone3                   */
    struct cv_start *ahead[CV_AHEAD]; /* children that were made ahead                 */
    size_t nahead;
    pid_t own;         /* of this process                                              */
    unsigned cores;    /* that commands have                                           */
    int kept[CV_KEPT]; /* descriptors above 2 that commands inherit, in order          */
    size_t nkept;
    bool listed;   /* those are known                                               */
    bool request;  /* there is somebody who takes them                              */
    bool direct;   /* no children are made ahead                                    */
    size_t alive;  /* children that have begun and have not been reaped             */
    size_t streak; /* starts so far, each soon after the one before                 */
    double last_s; /* when the last one was                                         */
};

/* --- start_child.c ------------------------------------------------------------------------ */

/* What a child does: become the program of its cv_start at once, or when it is told. */
int cv_child_become(void *context);
int cv_child_wait_and_become(void *context);

/* --- starter.c ---------------------------------------------------------------------------- */

double cv_starter_now_s(void);
/* A place for a start; NULL: there is none. */
struct cv_start *cv_starter_find_free(struct cv_starter *starter);
/* Nothing is known of the child that will be begun there. */
void cv_start_clear(struct cv_start *start);
/* Begin a child that does `enter`, without handlers of signals. -1 with errno: it could not. */
pid_t cv_start_begin(struct cv_start *start, int (*enter)(void *));
/* One more has begun to become a program. */
void cv_starter_count(struct cv_starter *starter);
/* The end of one that was made ahead and has not become anything. */
void cv_start_reap(struct cv_start *start);
/* All of them end. */
void cv_starter_leave_all(struct cv_starter *starter);

#endif
#endif
