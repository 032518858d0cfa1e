/* join_port.h -- a socket by which workers join a run. SPDX-License-Identifier: MIT
 *
 * It is a file of this machine that only its owner can open: whoever comes from elsewhere has
 * come in by ssh before. Nothing listens on a network. */
#ifndef CV_JOIN_PORT_H
#define CV_JOIN_PORT_H
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

#endif
