/* joining.c -- ways to join a run: a socket, TLS, and a file of hosts that changes.
 * SPDX-License-Identifier: MIT */
#include "run/hosts/joining.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/helper_program.h"

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
        return cv_fail(err, CLEAVE_EINPUT, "%s: exists and is not a socket", path);
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

/* --- TLS ---------------------------------------------------------------------------- */

enum { MESSAGE = 1024, MOST_WORDS = 8, TLS_EXIT_MS = 1000 };

enum cleave_status cv_tls_program(char *path, size_t size, struct cleave_error *err)
{
    static const struct cv_helper_program helper = { "cleave-tls", "TLS",
                                                     "which comes with cleave" };

    return cv_helper_program_find(&helper, path, size, err);
}

/* *out is the other end of its standard input and output. */
static enum cleave_status start_tls(const char *const *words, int type,
                                    const sigset_t *mask, struct cv_process *process,
                                    int *out, struct cleave_error *err)
{
    char path[PATH_MAX];
    const char *all[MOST_WORDS] = { path };
    struct cv_command command = { 0 };
    enum cleave_status status;
    int ends[2];

    CV_TRY(cv_tls_program(path, sizeof path, err));
    for (size_t i = 0; words[i] != NULL && i + 2 < MOST_WORDS; i++)
        all[i + 1] = words[i];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
        return cv_fail_errno(err, errno, "cannot make a socket");
    status = cv_command_init(&command, NULL, all, err);
    CV_THEN(status, cv_process_start(process, &command,
                                     &(struct cv_process_files){ .in = ends[1],
                                                                 .out = ends[1],
                                                                 .errors = -1,
                                                                 .extra = -1 },
                                     mask, err));
    cv_command_done(&command);
    close(ends[1]);
    if (status == CLEAVE_OK)
        *out = ends[0];
    else
        close(ends[0]);
    return status;
}

static void end_tls(struct cv_process *process, int *fd)
{
    struct pollfd wait = { .fd = process->pidfd, .events = POLLIN };

    cv_close(fd);
    if (process->pid > 0)
        (void)poll(&wait, 1, TLS_EXIT_MS);
    if (process->pid > 0 && !cv_process_reap(process))
        cv_process_kill(process);
}

/* The first message of cleave-tls. If it begins with '+', at most `room` bytes are read. */
static enum cleave_status take_result(int fd, size_t room, char text[MESSAGE],
                                      struct cleave_error *err)
{
    ssize_t got = TEMP_FAILURE_RETRY(recv(fd, text, room, 0)), more = got;

    while (got > 0 && text[0] != '+' && more > 0 && got < MESSAGE - 1) {
        more = TEMP_FAILURE_RETRY(recv(fd, text + got, (size_t)(MESSAGE - 1 - got), 0));
        got += more > 0 ? more : 0;
    }
    text[got > 0 ? got : 0] = '\0';
    if (text[0] == '+')
        return CLEAVE_OK;
    if (got <= 0)
        return cv_fail(err, CLEAVE_EENGINE, "cleave-tls has failed");
    return cv_fail(err, text[0] == '!' ? CLEAVE_EINPUT : CLEAVE_ELOST, "%s", text + 1);
}

enum cleave_status cv_tls_connect_by(const char *const *words, struct cv_process *process,
                                     int *out, struct cleave_error *err)
{
    char text[MESSAGE];

    CV_TRY(start_tls(words, SOCK_STREAM, NULL, process, out, err));
    if (take_result(*out, 1, text, err) == CLEAVE_OK)
        return CLEAVE_OK;
    end_tls(process, out);
    return err->status;
}

/* A descriptor that did not fit was dropped by the kernel: the connection ends. */
static void take_message(void *context, unsigned events)
{
    struct cv_tls_port *port = context;
    char text[MESSAGE], room[CMSG_SPACE(sizeof(int))];
    struct iovec bytes = { .iov_base = text, .iov_len = sizeof text - 1 };
    struct msghdr message = { .msg_iov = &bytes,
                              .msg_iovlen = 1,
                              .msg_control = room,
                              .msg_controllen = sizeof room };
    const ssize_t got = recvmsg(port->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd;

    (void)events;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        cv_poller_remove(port->poller, &port->watch);
        port->note(port->context, "%s",
                   "cleave-tls has failed: no more workers can join");
        return;
    }
    text[got] = '\0';
    if (text[0] == '?') {
        port->note(port->context, "%s", text + 1);
    } else if (head != NULL && head->cmsg_type == SCM_RIGHTS &&
               head->cmsg_len == CMSG_LEN(sizeof fd)) {
        memcpy(&fd, CMSG_DATA(head), sizeof fd);
        port->joined(port->context, fd);
    } else {
        port->full(port->context, EMFILE);
    }
}

enum cleave_status cv_tls_port_open(struct cv_tls_port *port, struct cleave_error *err)
{
    const char *words[] = { "listen", port->address, port->key, NULL };
    enum cleave_status status;
    char text[MESSAGE];

    port->fd = -1;
    status = start_tls(words, SOCK_SEQPACKET, cv_poller_old_mask(port->poller),
                       &port->process, &port->fd, err);
    CV_THEN(status, take_result(port->fd, sizeof text - 1, text, err));
    CV_THEN(status, cv_poller_add(port->poller, &port->watch, port->fd, CV_READABLE,
                                  take_message, port, err));
    if (status == CLEAVE_OK) {
        port->note(port->context, "workers can join at %s", text + 1);
        return CLEAVE_OK;
    }
    end_tls(&port->process, &port->fd);
    port->poller = NULL;
    return status;
}

void cv_tls_port_close(struct cv_tls_port *port)
{
    if (port->poller == NULL)
        return;
    cv_poller_remove(port->poller, &port->watch);
    end_tls(&port->process, &port->fd);
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
