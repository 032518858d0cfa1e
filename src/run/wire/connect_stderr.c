/* connect_stderr.c -- what a command that connects says on standard error. SPDX-License-Identifier: MIT */
#include "run/wire/connect_stderr.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"
#include "run/common/process.h"

/* --- the line by which a worker begins on standard error --------------------------- */

uint64_t cv_begin_mark_key(void)
{
    uint64_t key = 0;

    /* It need not be a secret: without randomness, a line that logins do not write has to do. */
    if (getrandom(&key, sizeof key, 0) != (ssize_t)sizeof key || key == 0)
        key = 1;
    return key;
}

void cv_begin_mark(uint64_t key, char out[CV_BEGIN_MARK_ROOM])
{
    snprintf(out, CV_BEGIN_MARK_ROOM, "[cleave worker %016llx]\n",
             (unsigned long long)key);
}

/* --- what a command that connects says on standard error --------------------------- */

enum {
    AT_A_TIME = 4096
}; /* of a pipe that can be written to, there is room for so much */

/* So long it is waited where nobody takes our standard error. */
static const double AGAIN_S = 0.02;

/* --- passing on --------------------------------------------------------------------------- */

static bool can_say(int wait_ms)
{
    struct pollfd place = { .fd = STDERR_FILENO, .events = POLLOUT };

    return poll(&place, 1, wait_ms) != 0; /* an error shows when it is written to */
}

/* All of it, however long that takes; nothing where nobody can hear it. */
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

/* --- keeping ------------------------------------------------------------------------------ */

static bool begins(const char *line, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static void drop(struct cv_connect_stderr *login_stderr, size_t at, size_t length)
{
    memmove(login_stderr->kept + at, login_stderr->kept + at + length,
            login_stderr->nkept - at - length);
    login_stderr->nkept -= length;
    if (login_stderr->before >= at + length)
        login_stderr->before -= length;
    else if (login_stderr->before > at)
        login_stderr->before = at;
}

/* Whole lines that are for the user as they are do not stay. */
static void pass_own_lines(struct cv_connect_stderr *login_stderr)
{
    size_t at = 0;
    const char *end;

    while ((end = memchr(login_stderr->kept + at, '\n', login_stderr->nkept - at)) !=
           NULL) {
        const char *line = login_stderr->kept + at;
        const size_t length = (size_t)(end - line) + 1;

        if (begins(line, length, "cleave: ") || begins(line, length, "debug1: ") ||
            begins(line, length, "debug2: ") || begins(line, length, "debug3: ")) {
            say(line, length);
            drop(login_stderr, at, length);
        } else {
            at += length;
        }
    }
}

/* The older half makes room, up to the end of a line if there is one. */
static void grow_array(struct cv_connect_stderr *login_stderr)
{
    const size_t half = CV_ASIDE_ROOM / 2;
    const char *end = memchr(login_stderr->kept + half, '\n', login_stderr->nkept - half);
    const size_t gone = end != NULL ? (size_t)(end - login_stderr->kept) + 1 : half;

    drop(login_stderr, 0, gone);
}

static void forget(struct cv_connect_stderr *login_stderr)
{
    free(login_stderr->kept);
    login_stderr->kept = NULL;
    login_stderr->nkept = login_stderr->before = 0;
}

/* The mark is not to be seen, and what was before it ends with a line. */
static void find_mark(struct cv_connect_stderr *login_stderr)
{
    const size_t length = strlen(login_stderr->mark);
    const char *mark =
        login_stderr->marked || length == 0
            ? NULL
            : memmem(login_stderr->kept, login_stderr->nkept, login_stderr->mark, length);
    size_t at, glued;

    if (mark == NULL)
        return;
    login_stderr->marked = true;
    at = (size_t)(mark - login_stderr->kept);
    glued = at > 0 && mark[-1] != '\n';
    drop(login_stderr, at, length - glued);
    login_stderr->before = at + glued;
}

/* It is known what was said before it began, as far as it ever will be. */
static void pass(struct cv_connect_stderr *login_stderr)
{
    const size_t all = login_stderr->nkept, before = login_stderr->before;
    void (*tell)(void *context) = login_stderr->tell;

    login_stderr->tell = NULL;
    login_stderr->passes = true;
    login_stderr->nkept = before;
    tell(login_stderr->context);
    if (all > before)
        say(login_stderr->kept + before, all - before);
    forget(login_stderr);
}

static void keep(struct cv_connect_stderr *login_stderr, const char *bytes, size_t length)
{
    if (login_stderr->kept == NULL)
        login_stderr->kept = malloc(CV_ASIDE_ROOM);
    if (login_stderr->kept == NULL) { /* it is better heard than lost */
        say(bytes, length);
        return;
    }
    /* Where no mark is among so much, none will come. */
    if (login_stderr->nkept + length > CV_ASIDE_ROOM && login_stderr->tell != NULL) {
        pass(login_stderr);
        say(bytes, length);
        return;
    }
    if (login_stderr->nkept + length > CV_ASIDE_ROOM)
        grow_array(login_stderr);
    memcpy(login_stderr->kept + login_stderr->nkept, bytes, length);
    login_stderr->nkept += length;
    find_mark(login_stderr);
    if (login_stderr->tell != NULL && login_stderr->marked)
        pass(login_stderr);
    else
        pass_own_lines(login_stderr);
}

/* --- hearing ------------------------------------------------------------------------------ */

static void stop(struct cv_connect_stderr *login_stderr)
{
    if (!login_stderr->on)
        return;
    cv_poller_remove(login_stderr->poller, &login_stderr->watch);
    cv_poller_cancel(login_stderr->poller, &login_stderr->timer);
    close(login_stderr->from);
    login_stderr->on = false;
    if (login_stderr->tell != NULL)
        pass(login_stderr);
}

/* False: there is nothing more, for now or for ever. */
static bool take(struct cv_connect_stderr *login_stderr)
{
    char bytes[AT_A_TIME];
    const ssize_t n = read(login_stderr->from, bytes, sizeof bytes);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return errno == EINTR;
    if (n <= 0)
        stop(login_stderr);
    else if (login_stderr->passes)
        say(bytes, (size_t)n);
    else
        keep(login_stderr, bytes, (size_t)n);
    return n > 0;
}

static void heard(void *context, unsigned events);

static void listen_again(void *context)
{
    struct cv_connect_stderr *login_stderr = context;

    if (cv_poller_add(login_stderr->poller, &login_stderr->watch, login_stderr->from,
                      CV_READABLE, heard, login_stderr, NULL) != CLEAVE_OK)
        stop(login_stderr);
}

static void heard(void *context, unsigned events)
{
    struct cv_connect_stderr *login_stderr = context;

    (void)events;
    if (!login_stderr->passes || can_say(0)) {
        (void)take(login_stderr);
        return;
    }
    cv_poller_remove(login_stderr->poller, &login_stderr->watch);
    if (cv_poller_set(login_stderr->poller, &login_stderr->timer, cv_clock_s() + AGAIN_S,
                      listen_again, login_stderr, NULL) != CLEAVE_OK)
        stop(login_stderr);
}

enum cleave_status cv_connect_stderr_open(struct cv_connect_stderr *login_stderr,
                                          struct cv_poller *poller, int from,
                                          struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    cv_connect_stderr_done(login_stderr);
    login_stderr->poller = poller;
    login_stderr->from = from;
    login_stderr->on = true;
    login_stderr->passes = login_stderr->marked = false;
    login_stderr->mark[0] = '\0';
    if (!cv_never_wait(from))
        status = cv_fail(err, CLEAVE_EENGINE, "cannot hear a host: %s", strerror(errno));
    else
        status = cv_poller_add(poller, &login_stderr->watch, from, CV_READABLE, heard,
                               login_stderr, err);
    if (status != CLEAVE_OK)
        stop(login_stderr);
    return status;
}

/* Somebody may say more and more: no more than a pipe holds was there. */
static void hear(struct cv_connect_stderr *login_stderr)
{
    enum { MOST = 1 << 20 };

    for (size_t taken = 0; login_stderr->on && taken < MOST && take(login_stderr);
         taken += AT_A_TIME)
        ;
}

void cv_connect_stderr_expect(struct cv_connect_stderr *login_stderr, uint64_t key)
{
    cv_begin_mark(key, login_stderr->mark);
}

void cv_connect_stderr_ready(struct cv_connect_stderr *login_stderr, bool marks,
                             void (*tell)(void *context), void *context)
{
    hear(login_stderr);
    if (!login_stderr->marked) {
        if (login_stderr->nkept > CV_ASIDE_ROOM / 2)
            grow_array(login_stderr);
        login_stderr->before = login_stderr->nkept;
    }
    login_stderr->tell = tell;
    login_stderr->context = context;
    if (login_stderr->marked || !marks || !login_stderr->on)
        pass(login_stderr);
}

/* What it has left behind may hold the other end, so that the end need not come. */
void cv_connect_stderr_end(struct cv_connect_stderr *login_stderr)
{
    hear(login_stderr);
    stop(login_stderr);
}

void cv_connect_stderr_done(struct cv_connect_stderr *login_stderr)
{
    cv_connect_stderr_end(login_stderr);
    forget(login_stderr);
}

/* --- which lines of what a host said matter ---------------------------------------- */

#define KEY_CHANGED "REMOTE HOST IDENTIFICATION HAS CHANGED"
#define FORGET_KEY "ssh-keygen "
/* What ssh says of every host that it comes to for the first time. */
#define FIRST_TIME "Warning: Permanently added "

struct line {
    const char *at;
    size_t length;
};

/* The line from *at on without blanks and line ends around it; false: there is none. */
static bool next_line(const struct cv_connect_stderr *login_stderr, size_t *at,
                      struct line *out)
{
    const char *begin, *end;

    if (*at >= login_stderr->nkept)
        return false;
    begin = login_stderr->kept + *at;
    end = memchr(begin, '\n', login_stderr->nkept - *at);
    if (end == NULL)
        end = login_stderr->kept + login_stderr->nkept;
    *at = (size_t)(end - login_stderr->kept) + 1;
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (begin < end && isspace((unsigned char)end[-1]))
        end--;
    *out = (struct line){ begin, (size_t)(end - begin) };
    return true;
}

/* Whether it says anything, and not of every host. */
static bool matters(const struct line *line)
{
    if (line->length >= strlen(FIRST_TIME) &&
        memcmp(line->at, FIRST_TIME, strlen(FIRST_TIME)) == 0)
        return false;
    for (size_t i = 0; i < line->length; i++)
        if (isalnum((unsigned char)line->at[i]) || (unsigned char)line->at[i] > 127)
            return true;
    return false;
}

bool cv_connect_stderr_last(const struct cv_connect_stderr *login_stderr, char *out,
                            size_t size)
{
    struct line line, last[2] = { { NULL, 0 }, { NULL, 0 } };
    char shown[160];
    int n = 0;

    for (size_t at = 0; next_line(login_stderr, &at, &line);)
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

bool cv_connect_stderr_first(const struct cv_connect_stderr *login_stderr, char *out,
                             size_t size, size_t *others)
{
    struct line line;
    size_t count = 0;

    out[0] = '\0';
    for (size_t at = 0; next_line(login_stderr, &at, &line);)
        if (matters(&line) && count++ == 0)
            cv_shown(line.at, line.length, out, size);
    *others = count > 0 ? count - 1 : 0;
    return count > 0;
}

bool cv_connect_stderr_key_changed(const struct cv_connect_stderr *login_stderr,
                                   char *out, size_t size)
{
    struct line line;
    bool changed = false;

    out[0] = '\0';
    for (size_t at = 0; next_line(login_stderr, &at, &line);) {
        changed = changed ||
                  memmem(line.at, line.length, KEY_CHANGED, strlen(KEY_CHANGED)) != NULL;
        if (changed && line.length > strlen(FORGET_KEY) &&
            memcmp(line.at, FORGET_KEY, strlen(FORGET_KEY)) == 0)
            cv_shown(line.at, line.length, out, size);
    }
    return changed;
}
