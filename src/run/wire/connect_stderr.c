/* connect_stderr.c -- standard error of a command that connects to a host.
 * SPDX-License-Identifier: MIT */
#include "run/wire/connect_stderr.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"
#include "run/common/process.h"

void cv_begin_mark(uint64_t key, char out[CV_BEGIN_MARK_ROOM])
{
    snprintf(out, CV_BEGIN_MARK_ROOM, "[cleave worker %016llx]\n",
             (unsigned long long)key);
}

enum { AT_A_TIME = 4096 }; /* a pipe that is writable has room for this many bytes */

/* Until a blocked standard error is tried again. */
static const double AGAIN_S = 0.02;

static bool can_say(int wait_ms)
{
    struct pollfd place = { .fd = STDERR_FILENO, .events = POLLOUT };

    return poll(&place, 1, wait_ms) != 0; /* an error shows when it is written */
}

/* Write everything, blocking if necessary; drop it if standard error is closed. */
static void say(const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(STDERR_FILENO, bytes, length);

        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            can_say(-1);
        } else if (n == 0 || errno != EINTR) {
            return;
        }
    }
}

static bool begins(const char *line, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static void drop(struct cv_connect_stderr *login, size_t at, size_t length)
{
    memmove(login->kept + at, login->kept + at + length, login->nkept - at - length);
    login->nkept -= length;
    if (login->before >= at + length)
        login->before -= length;
    else if (login->before > at)
        login->before = at;
}

/* Complete lines for the user are passed on and not kept. */
static void pass_own_lines(struct cv_connect_stderr *login)
{
    size_t at = 0;
    const char *end;

    while ((end = memchr(login->kept + at, '\n', login->nkept - at)) != NULL) {
        const char *line = login->kept + at;
        const size_t length = (size_t)(end - line) + 1;

        if (begins(line, length, "cleave: ") || begins(line, length, "debug1: ") ||
            begins(line, length, "debug2: ") || begins(line, length, "debug3: ")) {
            say(line, length);
            drop(login, at, length);
        } else {
            at += length;
        }
    }
}

/* Drop the older half, up to the end of a line if there is one. */
static void drop_older_half(struct cv_connect_stderr *login)
{
    const size_t half = CV_ASIDE_ROOM / 2;
    const char *end = memchr(login->kept + half, '\n', login->nkept - half);
    const size_t gone = end != NULL ? (size_t)(end - login->kept) + 1 : half;

    drop(login, 0, gone);
}

static void forget(struct cv_connect_stderr *login)
{
    free(login->kept);
    login->kept = NULL;
    login->nkept = login->before = 0;
}

/* The mark is removed; the text before it gets a newline if it lacks one. */
static void find_mark(struct cv_connect_stderr *login)
{
    const size_t length = strlen(login->mark);
    const char *mark = login->marked || length == 0
                           ? NULL
                           : memmem(login->kept, login->nkept, login->mark, length);
    size_t at, glued;

    if (mark == NULL)
        return;
    login->marked = true;
    at = (size_t)(mark - login->kept);
    glued = at > 0 && mark[-1] != '\n';
    drop(login, at, length - glued);
    login->before = at + glued;
}

/* The first part is complete. */
static void pass(struct cv_connect_stderr *login)
{
    const size_t all = login->nkept, before = login->before;
    void (*tell)(void *context) = login->tell;

    login->tell = NULL;
    login->passes = true;
    login->nkept = before;
    tell(login->context);
    if (all > before)
        say(login->kept + before, all - before);
    forget(login);
}

static void keep(struct cv_connect_stderr *login, const char *bytes, size_t length)
{
    if (login->kept == NULL)
        login->kept = malloc(CV_ASIDE_ROOM);
    if (login->kept == NULL) { /* better printed too early than lost */
        say(bytes, length);
        return;
    }
    /* A mark that is not in this much text will not arrive. */
    if (login->nkept + length > CV_ASIDE_ROOM && login->tell != NULL) {
        pass(login);
        say(bytes, length);
        return;
    }
    if (login->nkept + length > CV_ASIDE_ROOM)
        drop_older_half(login);
    memcpy(login->kept + login->nkept, bytes, length);
    login->nkept += length;
    find_mark(login);
    if (login->tell != NULL && login->marked)
        pass(login);
    else
        pass_own_lines(login);
}

static void stop(struct cv_connect_stderr *login)
{
    if (!login->on)
        return;
    cv_poller_remove(login->poller, &login->watch);
    cv_poller_cancel(login->poller, &login->timer);
    close(login->from);
    login->on = false;
    if (login->tell != NULL)
        pass(login);
}

/* False: nothing to read now, or the end. */
static bool take(struct cv_connect_stderr *login)
{
    char bytes[AT_A_TIME];
    const ssize_t n = read(login->from, bytes, sizeof bytes);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    if (n <= 0)
        stop(login);
    else if (login->passes)
        say(bytes, (size_t)n);
    else
        keep(login, bytes, (size_t)n);
    return n > 0;
}

static void heard(void *context, unsigned events);

static void watch_again(void *context)
{
    struct cv_connect_stderr *login = context;

    if (cv_poller_add(login->poller, &login->watch, login->from, CV_READABLE, heard,
                      login, NULL) != CLEAVE_OK)
        stop(login);
}

static void heard(void *context, unsigned events)
{
    struct cv_connect_stderr *login = context;

    (void)events;
    if (!login->passes || can_say(0)) {
        (void)take(login);
        return;
    }
    cv_poller_remove(login->poller, &login->watch);
    cv_poller_set(login->poller, &login->timer, cv_clock_s() + AGAIN_S, watch_again,
                  login);
}

enum cleave_status cv_connect_stderr_open(struct cv_connect_stderr *login,
                                          struct cv_poller *poller, int from,
                                          struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    cv_connect_stderr_done(login);
    login->poller = poller;
    login->from = from;
    login->on = true;
    login->passes = login->marked = false;
    login->mark[0] = '\0';
    if (!cv_never_wait(from))
        status = cv_fail_errno(err, errno, "cannot hear a host");
    else
        status =
            cv_poller_add(poller, &login->watch, from, CV_READABLE, heard, login, err);
    if (status != CLEAVE_OK)
        stop(login);
    return status;
}

/* Read the bytes that have arrived. Limited: the writer may never pause. */
static void hear(struct cv_connect_stderr *login)
{
    enum { MOST = 1 << 20 };

    for (size_t taken = 0; login->on && taken < MOST && take(login); taken += AT_A_TIME)
        ;
}

void cv_connect_stderr_expect(struct cv_connect_stderr *login, uint64_t key)
{
    cv_begin_mark(key, login->mark);
}

void cv_connect_stderr_ready(struct cv_connect_stderr *login, bool marks,
                             void (*tell)(void *context), void *context)
{
    hear(login);
    if (!login->marked) {
        if (login->nkept > CV_ASIDE_ROOM / 2)
            drop_older_half(login);
        login->before = login->nkept;
    }
    login->tell = tell;
    login->context = context;
    if (login->marked || !marks || !login->on)
        pass(login);
}

/* A process that the command has left may hold the pipe: do not wait for its end. */
void cv_connect_stderr_end(struct cv_connect_stderr *login)
{
    hear(login);
    stop(login);
}

void cv_connect_stderr_done(struct cv_connect_stderr *login)
{
    cv_connect_stderr_end(login);
    forget(login);
}

/* --- lines -------------------------------------------------------------------------------- */

#define KEY_CHANGED "REMOTE HOST IDENTIFICATION HAS CHANGED"
#define FORGET_KEY "ssh-keygen "
/* ssh prints this for every new host. */
#define FIRST_TIME "Warning: Permanently added "

struct line {
    const char *at;
    size_t length;
};

/* The line at *at without surrounding white space. False: there is none. */
static bool next_line(const struct cv_connect_stderr *login, size_t *at, struct line *out)
{
    const char *begin, *end;

    if (*at >= login->nkept)
        return false;
    begin = login->kept + *at;
    end = memchr(begin, '\n', login->nkept - *at);
    if (end == NULL)
        end = login->kept + login->nkept;
    *at = (size_t)(end - login->kept) + 1;
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (begin < end && isspace((unsigned char)end[-1]))
        end--;
    *out = (struct line){ begin, (size_t)(end - begin) };
    return true;
}

/* The line has words and is not printed for every host. */
static bool matters(const struct line *line)
{
    if (begins(line->at, line->length, FIRST_TIME))
        return false;
    for (size_t i = 0; i < line->length; i++)
        if (isalnum((unsigned char)line->at[i]) || (unsigned char)line->at[i] > 127)
            return true;
    return false;
}

bool cv_connect_stderr_last(const struct cv_connect_stderr *login, char *out, size_t size)
{
    struct line line, last[2] = { { NULL, 0 }, { NULL, 0 } };
    char shown[160];
    int n = 0;

    for (size_t at = 0; next_line(login, &at, &line);)
        if (matters(&line)) {
            last[0] = last[1];
            last[1] = line;
        }
    out[0] = '\0';
    for (int i = 0; i < 2; i++)
        if (last[i].length > 0 && n >= 0 && (size_t)n < size)
            n += snprintf(out + n, size - (size_t)n, "%s%s", n > 0 ? "; " : "",
                          cv_shown(last[i].at, last[i].length, shown, sizeof shown));
    return n > 0;
}

bool cv_connect_stderr_first(const struct cv_connect_stderr *login, char *out,
                             size_t size, size_t *others)
{
    struct line line;
    size_t count = 0;

    out[0] = '\0';
    for (size_t at = 0; next_line(login, &at, &line);)
        if (matters(&line) && count++ == 0)
            cv_shown(line.at, line.length, out, size);
    *others = count > 0 ? count - 1 : 0;
    return count > 0;
}

bool cv_connect_stderr_key_changed(const struct cv_connect_stderr *login, char *out,
                                   size_t size)
{
    struct line line;
    bool changed = false;

    out[0] = '\0';
    for (size_t at = 0; next_line(login, &at, &line);) {
        changed = changed ||
                  memmem(line.at, line.length, KEY_CHANGED, strlen(KEY_CHANGED)) != NULL;
        if (changed && begins(line.at, line.length, FORGET_KEY))
            cv_shown(line.at, line.length, out, size);
    }
    return changed;
}
