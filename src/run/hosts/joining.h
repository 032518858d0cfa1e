/* joining.h -- a socket by which workers join a run. SPDX-License-Identifier: MIT
 *
 * It is a file of this machine that only its owner can open: whoever comes from elsewhere has
 * come in by ssh before. Nothing listens on a network. */
#ifndef CV_JOINING_H
#define CV_JOINING_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/fail.h"
#include "run/common/poller.h"

struct cv_join_port {
    struct cv_poller *poller; /* borrowed, as the path                                  */
    const char *path;
    void (*joined)(void *context, int fd); /* the descriptor is yours                   */
    /* Nobody can be let in now, for this reason of errno; it is tried again soon. */
    void (*full)(void *context, int reason);
    void *context;

    int fd; /* owned                                                                    */
    dev_t device;
    ino_t inode; /* of the file that was made                                           */
    struct cv_watch watch;
    struct cv_timer
        rest; /* until those who wait are tried again                        */
};

/* Those above the line have been set. A socket that nobody listens to any more is replaced;
 * anything else that is there is not. */
enum cleave_status cv_join_port_open(struct cv_join_port *port, struct cleave_error *err);
/* The file goes as well. One that was never opened may be closed, if its poller is NULL. */
void cv_join_port_close(struct cv_join_port *port);

/* Connect to it from the other side. */
enum cleave_status cv_join_port_reach(const char *path, int *out,
                                      struct cleave_error *err);

/* What is looked at; all 0: there is no file. */
struct cv_file_state {
    uint64_t device, inode;
    int64_t size, mtime_ns;
};

struct cv_file_watch {
    struct cv_poller *poller; /* borrowed, as the path                                  */
    const char *path;
    void (*changed)(void *context);
    void *context;

    struct cv_timer timer;
    struct cv_file_state told, last;
};

/* Those above the line have been set. */
enum cleave_status cv_file_watch_open(struct cv_file_watch *watch,
                                      struct cleave_error *err);
/* One that was never opened may be closed, if its poller is NULL. */
void cv_file_watch_close(struct cv_file_watch *watch);

#endif
