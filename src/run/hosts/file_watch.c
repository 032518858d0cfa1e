/* file_watch.c -- see when a file becomes another. SPDX-License-Identifier: MIT */
#include "run/hosts/file_watch.h"

#include <sys/stat.h>

static const double LOOK_S = 0.5;

static struct cv_file_state look(const char *path)
{
    struct stat now;

    if (stat(path, &now) != 0)
        return (struct cv_file_state){ 0 };
    return (struct cv_file_state){
        .device = now.st_dev,
        .inode = now.st_ino,
        .size = now.st_size,
        .mtime_ns = (int64_t)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec,
    };
}

static bool same(const struct cv_file_state *a, const struct cv_file_state *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->mtime_ns == b->mtime_ns;
}

static void look_again(void *context)
{
    struct cv_file_watch *watch = context;
    const struct cv_file_state now = look(watch->path);
    const bool rests = same(&now, &watch->last);

    watch->last = now;
    /* Without memory for the timer it is not looked at any more: a signal still works. */
    (void)cv_poller_set(watch->poller, &watch->timer, cv_clock_s() + LOOK_S, look_again,
                        watch, NULL);
    if (!rests || same(&now, &watch->told) || now.inode == 0)
        return;
    watch->told = now;
    watch->changed(watch->context);
}

enum cleave_status cv_file_watch_open(struct cv_file_watch *watch,
                                      struct cleave_error *err)
{
    watch->told = watch->last = look(watch->path);
    return cv_poller_set(watch->poller, &watch->timer, cv_clock_s() + LOOK_S, look_again,
                         watch, err);
}

void cv_file_watch_close(struct cv_file_watch *watch)
{
    if (watch->poller != NULL)
        cv_poller_cancel(watch->poller, &watch->timer);
}
