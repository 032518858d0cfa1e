/* joining.c -- two ways to join a run: a socket, and a file of hosts that changes.
 * SPDX-License-Identifier: MIT */
#include "run/hosts/joining.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "run/common/process.h"

enum { WAITING = 128 }; /* connections that are not accepted yet */

static const double REST_S = 1;

static enum cleave_status make_socket(const char *path, struct sockaddr_un *address,
                                      int *out, struct cleave_error *err)
{
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (path[0] == '\0' || strlen(path) >= sizeof address->sun_path)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: expected the name of a socket, of at most %zu bytes", path,
                       sizeof address->sun_path - 1);
    strcpy(address->sun_path, path);
    *out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*out < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot make a socket: %s", strerror(errno));
    return CLEAVE_OK;
}

enum cleave_status cv_join_port_reach(const char *path, int *out,
                                      struct cleave_error *err)
{
    struct sockaddr_un address;

    CV_TRY(make_socket(path, &address, out, err));
    if (connect(*out, (const struct sockaddr *)&address, sizeof address) == 0)
        return CLEAVE_OK;
    cv_fail(err, CLEAVE_ELOST, "%s: cannot join: %s", path,
            errno == ECONNREFUSED ? "the run has ended" : strerror(errno));
    cv_close(out);
    return CLEAVE_ELOST;
}

/* Remove the socket of a run that was killed. */
static enum cleave_status make_way(const char *path, struct cleave_error *err)
{
    struct stat facts;
    int fd = -1;

    if (lstat(path, &facts) != 0)
        return CLEAVE_OK;
    if (!S_ISSOCK(facts.st_mode))
        return cv_fail(err, CLEAVE_EINPUT, "%s: is there already, and is no socket",
                       path);
    if (cv_join_port_reach(path, &fd, NULL) == CLEAVE_OK) {
        cv_close(&fd);
        return cv_fail(err, CLEAVE_EINPUT, "%s: belongs to another run", path);
    }
    if (unlink(path) != 0)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot replace: %s", path,
                       strerror(errno));
    return CLEAVE_OK;
}

static void take(void *context, unsigned events);

static void listen_again(void *context)
{
    struct cv_join_port *port = context;
    struct cleave_error err;

    if (cv_poller_add(port->poller, &port->watch, port->fd, CV_READABLE, take, port,
                      &err) != CLEAVE_OK)
        port->full(port->context, ENOMEM);
}

/* A connection that waits would be reported again and again. */
static void pause_accept(struct cv_join_port *port, int reason)
{
    port->full(port->context, reason);
    cv_poller_set(port->poller, &port->rest, cv_clock_s() + REST_S, listen_again, port);
    cv_poller_remove(port->poller, &port->watch);
}

static void take(void *context, unsigned events)
{
    struct cv_join_port *port = context;
    const int fd = accept4(port->fd, NULL, NULL, SOCK_CLOEXEC);

    (void)events;
    if (fd >= 0)
        port->joined(port->context, fd);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        pause_accept(port, errno);
}

/* The mode is set before anyone can connect. */
static enum cleave_status listen_at(struct cv_join_port *port, struct cleave_error *err)
{
    struct sockaddr_un address;
    struct stat facts;

    CV_TRY(make_socket(port->path, &address, &port->fd, err));
    if (bind(port->fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        lstat(port->path, &facts) != 0)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot make: %s", port->path,
                       strerror(errno));
    port->device = facts.st_dev;
    port->inode = facts.st_ino;
    if (chmod(port->path, S_IRUSR | S_IWUSR) != 0 || listen(port->fd, WAITING) != 0)
        return cv_fail(err, CLEAVE_EINPUT, "%s: cannot listen: %s", port->path,
                       strerror(errno));
    return cv_poller_add(port->poller, &port->watch, port->fd, CV_READABLE, take, port,
                         err);
}

enum cleave_status cv_join_port_open(struct cv_join_port *port, struct cleave_error *err)
{
    enum cleave_status status;

    port->fd = -1;
    port->inode = 0;
    status = make_way(port->path, err);
    if (status == CLEAVE_OK)
        status = listen_at(port, err);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    cv_close(&port->fd);
    if (port->inode != 0)
        unlink(port->path);
    port->poller = NULL;
    return status;
}

void cv_join_port_close(struct cv_join_port *port)
{
    struct stat facts;

    if (port->poller == NULL)
        return;
    cv_poller_cancel(port->poller, &port->rest);
    cv_poller_remove(port->poller, &port->watch);
    cv_close(&port->fd);
    if (lstat(port->path, &facts) == 0 && facts.st_dev == port->device &&
        facts.st_ino == port->inode)
        unlink(port->path);
    port->poller = NULL;
}

/* --- the file ----------------------------------------------------------------------- */

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
    return memcmp(a, b, sizeof *a) == 0; /* without padding: four numbers of 8 bytes */
}

static void look_again(void *context)
{
    struct cv_file_watch *watch = context;
    const struct cv_file_state now = look(watch->path);
    const bool rests = same(&now, &watch->last);

    watch->last = now;
    cv_poller_set(watch->poller, &watch->timer, cv_clock_s() + LOOK_S, look_again, watch);
    if (!rests || same(&now, &watch->told) || now.inode == 0)
        return;
    watch->told = now;
    watch->changed(watch->context);
}

void cv_file_watch_open(struct cv_file_watch *watch)
{
    watch->told = watch->last = look(watch->path);
    cv_poller_set(watch->poller, &watch->timer, cv_clock_s() + LOOK_S, look_again, watch);
}

void cv_file_watch_close(struct cv_file_watch *watch)
{
    if (watch->poller != NULL)
        cv_poller_cancel(watch->poller, &watch->timer);
}
