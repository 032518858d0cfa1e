/* file_watch.h -- see when a file becomes another. SPDX-License-Identifier: MIT
 *
 * It is looked at twice a second, which works on every file system, and in every container. A
 * file that is being written is waited for: `changed` is called when it has stayed as it is
 * from one look to the next. */
#ifndef CV_FILE_WATCH_H
#define CV_FILE_WATCH_H
#include <stdbool.h>
#include <stdint.h>
#include "run/common/poller.h"

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
