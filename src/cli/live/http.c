/* http.c -- a page for browsers of this machine. SPDX-License-Identifier: MIT */
#include "cli/live/http.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"
#include "run/common/threads.h"
#include "run/common/poller.h"

/* --- where a page is served -------------------------------------------------------- */

enum { SHOWN = 64, QUEUE = 16 };

union place {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* A port is a number and nothing else. */
static bool read_port(const char *text, uint16_t *port)
{
    unsigned long value = 0;

    if (*text == '\0' || strlen(text) > 5)
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (unsigned long)(*text - '0');
    }
    *port = (uint16_t)value;
    return value <= 65535;
}

/* Whether `text` begins with the name of this machine and a colon. */
static bool begins(const char **text, const char *name)
{
    const size_t length = strlen(name);

    if (strncmp(*text, name, length) != 0)
        return false;
    *text += length;
    return true;
}

static enum cleave_status read_place(const char *text, union place *place,
                                     struct cleave_error *err)
{
    const char *rest = text, *colon = strrchr(text, ':');
    const bool six = begins(&rest, "[::1]:");
    const bool ours = six || begins(&rest, "127.0.0.1:") || begins(&rest, "localhost:");
    char shown[SHOWN];
    uint16_t port;

    if (!read_port(rest, &port)) {
        cv_shown(text, strlen(text), shown, sizeof shown);
        if (!ours && colon != NULL && read_port(colon + 1, &port))
            return cv_fail(err, CLEAVE_EINPUT,
                           "--serve: only this machine is served: expected 127.0.0.1:%u, "
                           "got '%s'; from another one: ssh -L %u:127.0.0.1:%u HOST",
                           port, shown, port, port);
        return cv_fail(err, CLEAVE_EINPUT, "--serve: expected 127.0.0.1:PORT, got '%s'",
                       shown);
    }
    memset(place, 0, sizeof *place);
    if (six) {
        place->six.sin6_family = AF_INET6;
        place->six.sin6_addr = in6addr_loopback;
        place->six.sin6_port = htons(port);
    } else {
        place->four.sin_family = AF_INET;
        place->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        place->four.sin_port = htons(port);
    }
    return CLEAVE_OK;
}

/* Listen at "PORT", "127.0.0.1:PORT", "localhost:PORT" or "[::1]:PORT", which only programs
 * of this machine reach; 0 is any port that is free. *out is the socket, and `url` says how
 * it is reached. */
static enum cleave_status http_listen(const char *text, int *out,
                                      char url[CV_HTTP_URL_ROOM],
                                      struct cleave_error *err)
{
    union place place;
    socklen_t length;
    char shown[SHOWN];
    int fd, error;
    bool six;

    CV_TRY(read_place(text, &place, err));
    six = place.any.sa_family == AF_INET6;
    length = six ? sizeof place.six : sizeof place.four;
    fd = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) != 0 ||
        bind(fd, &place.any, length) != 0 || listen(fd, QUEUE) != 0 ||
        getsockname(fd, &place.any, &length) != 0) {
        error = errno;
        if (fd >= 0)
            close(fd);
        return cv_fail(err, CLEAVE_EENGINE, "--serve: cannot listen at '%s': %s%s",
                       cv_shown(text, strlen(text), shown, sizeof shown), strerror(error),
                       error == EADDRINUSE ? "; 127.0.0.1:0 takes a port that is free"
                                           : "");
    }
    snprintf(url, CV_HTTP_URL_ROOM, "http://%s:%u/", six ? "[::1]" : "127.0.0.1",
             ntohs(six ? place.six.sin6_port : place.four.sin_port));
    *out = fd;
    return CLEAVE_OK;
}

/* --- what a browser asks for ------------------------------------------------------- */

/* A part of the request: [at, end). */
struct part {
    const char *at, *end;
};

static bool is(struct part part, const char *word)
{
    const size_t length = strlen(word);

    return (size_t)(part.end - part.at) == length &&
           strncasecmp(part.at, word, length) == 0;
}

/* The next line, without its end; none when the rest holds no whole line. */
static bool take_line(struct part *rest, struct part *line)
{
    const char *end = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));

    if (end == NULL)
        return false;
    *line = (struct part){ rest->at, end > rest->at && end[-1] == '\r' ? end - 1 : end };
    rest->at = end + 1;
    return true;
}

/* What stands before the first `sign`, which is taken too; all without one. */
static struct part take_until(struct part *rest, char sign)
{
    const char *end = memchr(rest->at, sign, (size_t)(rest->end - rest->at));
    const struct part taken = { rest->at, end != NULL ? end : rest->end };

    rest->at = end != NULL ? end + 1 : rest->end;
    return taken;
}

/* Whether the line says that the request is for this machine. A page from elsewhere whose
 * name was made to stand for 127.0.0.1 gives that name. */
static bool names_this(struct part line)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
    const char *end;

    while (line.at < line.end && (*line.at == ' ' || *line.at == '\t'))
        line.at++;
    for (end = line.end; end > line.at && end[-1] >= '0' && end[-1] <= '9';)
        end--;
    if (end > line.at && end[-1] == ':')
        line.end = end - 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(line, names[i]))
            return true;
    return false;
}

/* "/", or "/next?after=NUMBER". */
static bool read_target(struct part target, uint64_t *after)
{
    const struct part path = take_until(&target, '=');

    *after = UINT64_MAX;
    if (is(path, "/"))
        return target.at == target.end;
    if (!is(path, "/next?after") || target.at == target.end ||
        target.end - target.at > 18)
        return false;
    for (*after = 0; target.at < target.end; target.at++) {
        if (*target.at < '0' || *target.at > '9')
            return false;
        *after = *after * 10 + (uint64_t)(*target.at - '0');
    }
    return true;
}

struct cv_http_request cv_http_request_read(const char *text, size_t length)
{
    struct part rest = { text, text + length };
    struct part first, method, target, line;
    struct cv_http_request request = { .wish = CV_HTTP_MORE };
    bool ours = false, foreign = false;

    if (!take_line(&rest, &first))
        return request;
    for (;;) {
        if (!take_line(&rest, &line))
            return request;
        if (line.at == line.end)
            break;
        if (!is(take_until(&line, ':'), "Host"))
            continue;
        if (names_this(line))
            ours = true;
        else
            foreign = true;
    }
    method = take_until(&first, ' ');
    target = take_until(&first, ' ');
    if (first.end - first.at < 6 || strncmp(first.at, "HTTP/1", 6) != 0)
        request.wish = CV_HTTP_BAD;
    else if (!ours || foreign)
        request.wish = CV_HTTP_FOREIGN;
    else if (!is(method, "GET"))
        request.wish = CV_HTTP_METHOD;
    else if (!read_target(target, &request.after))
        request.wish = CV_HTTP_ABSENT;
    else
        request.wish = CV_HTTP_PAGE;
    return request;
}

/* --- a page for browsers of this machine ------------------------------------------- */

enum { MOST_GUESTS = 16, REQUEST_ROOM = 8192, HEAD_ROOM = 320 };
enum { LISTENER, BELL, FIRST_GUEST };

/* Seconds for a request to come, for a page to be read, for the last page at the end, and for
 * one who follows to come back. */
static const double ASK_S = 10, READ_S = 60, LAST_S = 1, BACK_S = 5;

struct page {
    unsigned readers; /* guests that are given it, and one for the newest */
    uint64_t number;
    bool last;
    char *bytes; /* owned */
    size_t length;
};

/* One who has called: asks, waits, is answered. */
struct guest {
    int fd; /* -1: the place is free */
    bool waits, answered;
    double until_s;
    uint64_t after;
    char request[REQUEST_ROOM];
    size_t got;
    char head[HEAD_ROOM];
    size_t head_length, sent;
    struct page *page; /* NULL: the head is all */
};

struct cv_http {
    pthread_t thread;
    int listener, bell;
    atomic_bool wanted, closing;
    pthread_mutex_t lock;
    struct page *fresh; /* behind the lock: shown, and not yet taken by the thread */
    /* Of the thread: */
    struct page *newest; /* NULL: none yet */
    uint64_t shown;      /* how many there were */
    bool owed;           /* one who follows was given a page, and has not come back yet */
    double served_s;     /* when that was */
    struct guest guests[MOST_GUESTS];
};

static void leave_page(struct page *page)
{
    if (page == NULL || --page->readers > 0)
        return;
    free(page->bytes);
    free(page);
}

static void dismiss(struct guest *guest)
{
    close(guest->fd);
    leave_page(guest->page);
    *guest = (struct guest){ .fd = -1 };
}

static void answer_page(struct guest *guest, struct page *page)
{
    guest->page = page;
    page->readers++;
    guest->head_length = (size_t)snprintf(
        guest->head, sizeof guest->head,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
        "Content-Length: %zu\r\nCache-Control: no-store\r\nX-Frame-Options: DENY\r\n"
        "X-Content-Type-Options: nosniff\r\nCleave-Page: %llu\r\n%sConnection: "
        "close\r\n\r\n",
        page->length, (unsigned long long)page->number,
        page->last ? "Cleave-Last: 1\r\n" : "");
}

static void answer_no(struct guest *guest, enum cv_http_wish wish)
{
    const char *why = wish == CV_HTTP_ABSENT    ? "404 Not Found"
                      : wish == CV_HTTP_METHOD  ? "405 Method Not Allowed"
                      : wish == CV_HTTP_FOREIGN ? "403 Forbidden"
                                                : "400 Bad Request";

    guest->head_length =
        (size_t)snprintf(guest->head, sizeof guest->head,
                         "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: "
                         "%zu\r\n%sConnection: close\r\n\r\n%s\n",
                         why, strlen(why) + 1,
                         wish == CV_HTTP_METHOD ? "Allow: GET\r\n" : "", why);
}

/* Answer now, or let the guest wait for a page that is newer. */
static void answer(struct cv_http *http, struct guest *guest, enum cv_http_wish wish)
{
    const struct page *newest = http->newest;

    if (wish == CV_HTTP_PAGE) {
        guest->waits =
            newest == NULL || (!newest->last && guest->after >= newest->number);
        if (guest->waits) {
            guest->after = newest != NULL ? newest->number : 0;
            atomic_store(&http->wanted, true);
            return;
        }
        answer_page(guest, http->newest);
    } else {
        answer_no(guest, wish);
    }
    guest->waits = false;
    guest->answered = true;
    guest->until_s = cv_clock_s() + READ_S;
}

/* More of a request has come, or who waits has gone. */
static void hear(struct cv_http *http, struct guest *guest)
{
    struct cv_http_request request;
    char scrap[256];
    const ssize_t got = guest->waits ? recv(guest->fd, scrap, sizeof scrap, 0)
                                     : recv(guest->fd, guest->request + guest->got,
                                            sizeof guest->request - guest->got, 0);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        dismiss(guest);
        return;
    }
    if (guest->waits)
        return;
    guest->got += (size_t)got;
    request = cv_http_request_read(guest->request, guest->got);
    if (request.wish == CV_HTTP_MORE && guest->got < sizeof guest->request)
        return;
    guest->after = request.after;
    answer(http, guest, request.wish == CV_HTTP_MORE ? CV_HTTP_BAD : request.wish);
}

static void tell(struct cv_http *http, struct guest *guest)
{
    const size_t length = guest->page != NULL ? guest->page->length : 0;
    const char *from;
    size_t left;
    ssize_t sent;

    if (guest->page != NULL && guest->sent >= guest->head_length) {
        from = guest->page->bytes + (guest->sent - guest->head_length);
        left = length - (guest->sent - guest->head_length);
    } else {
        from = guest->head + guest->sent;
        left = guest->head_length - guest->sent;
    }
    sent = send(guest->fd, from, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent < 0) {
        dismiss(guest);
        return;
    }
    guest->sent += (size_t)sent;
    guest->until_s = cv_clock_s() + READ_S;
    if (guest->sent < guest->head_length + length)
        return;
    if (guest->page != NULL) {
        http->owed = !guest->page->last;
        http->served_s = cv_clock_s();
    }
    dismiss(guest);
}

static void welcome(struct cv_http *http)
{
    struct guest *place = http->guests;
    int fd;

    while (place < http->guests + MOST_GUESTS && place->fd >= 0)
        place++;
    if (place == http->guests + MOST_GUESTS)
        return;
    fd = accept4(http->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        *place = (struct guest){ .fd = fd, .until_s = cv_clock_s() + ASK_S };
}

/* The bell has rung: there is a new page, or the end is near. */
static void take_page(struct cv_http *http)
{
    uint64_t rings;
    struct page *fresh;

    if (read(http->bell, &rings, sizeof rings) < 0)
        return;
    pthread_mutex_lock(&http->lock);
    fresh = http->fresh;
    http->fresh = NULL;
    pthread_mutex_unlock(&http->lock);
    if (fresh == NULL)
        return;
    leave_page(http->newest);
    http->newest = fresh;
    fresh->number = ++http->shown;
    for (struct guest *guest = http->guests; guest < http->guests + MOST_GUESTS; guest++)
        if (guest->fd >= 0 && guest->waits)
            answer(http, guest, CV_HTTP_PAGE);
}

/* Whom to hear of; returns how long to wait, in milliseconds. */
static int look_out(const struct cv_http *http, bool closing,
                    struct pollfd fds[FIRST_GUEST + MOST_GUESTS])
{
    double next_s = INFINITY;
    bool room = false;

    for (size_t i = 0; i < MOST_GUESTS; i++) {
        const struct guest *guest = &http->guests[i];

        fds[FIRST_GUEST + i] =
            (struct pollfd){ .fd = guest->fd,
                             .events = guest->answered ? POLLOUT : POLLIN };
        room |= guest->fd < 0;
        if (guest->fd >= 0 && !guest->waits && guest->until_s < next_s)
            next_s = guest->until_s;
    }
    fds[LISTENER] = (struct pollfd){ .fd = room ? http->listener : -1, .events = POLLIN };
    fds[BELL] = (struct pollfd){ .fd = http->bell, .events = POLLIN };
    next_s -= cv_clock_s();
    return closing ? 50 : next_s > 60 ? 60000 : next_s > 0 ? (int)(next_s * 1e3) + 1 : 0;
}

/* Send away who has taken too long. Whether anybody is left, or will be back. */
static bool tidy(struct cv_http *http)
{
    bool left = http->owed && cv_clock_s() < http->served_s + BACK_S;

    for (struct guest *guest = http->guests; guest < http->guests + MOST_GUESTS;
         guest++) {
        if (guest->fd < 0)
            continue;
        if (!guest->waits && cv_clock_s() > guest->until_s)
            dismiss(guest);
        else
            left = true;
    }
    return left;
}

static void *serve(void *context)
{
    struct cv_http *http = context;
    struct pollfd fds[FIRST_GUEST + MOST_GUESTS];
    double end_s = INFINITY;

    for (;;) {
        const bool closing = atomic_load(&http->closing);

        if (closing && isinf(end_s))
            end_s = cv_clock_s() + LAST_S;
        if (poll(fds, FIRST_GUEST + MOST_GUESTS, look_out(http, closing, fds)) < 0 &&
            errno != EINTR)
            return NULL;
        if (fds[BELL].revents != 0)
            take_page(http);
        for (size_t i = 0; i < MOST_GUESTS; i++) {
            struct guest *guest = &http->guests[i];

            if (guest->fd < 0 || fds[FIRST_GUEST + i].fd != guest->fd ||
                fds[FIRST_GUEST + i].revents == 0)
                continue;
            if (fds[FIRST_GUEST + i].events == POLLOUT)
                tell(http, guest);
            else if (!guest->answered)
                hear(http, guest);
        }
        if (fds[LISTENER].revents != 0)
            welcome(http);
        if ((!tidy(http) && closing) || cv_clock_s() > end_s)
            return NULL;
    }
}

enum cleave_status cv_http_open(const char *text, struct cv_http **out,
                                char url[CV_HTTP_URL_ROOM], struct cleave_error *err)
{
    struct cv_http *http = calloc(1, sizeof *http);
    int error = 0;

    if (http == NULL)
        return cv_fail_memory(err, "--serve");
    if (http_listen(text, &http->listener, url, err) != CLEAVE_OK) {
        free(http);
        return err->status;
    }
    for (size_t i = 0; i < MOST_GUESTS; i++)
        http->guests[i].fd = -1;
    pthread_mutex_init(&http->lock, NULL);
    http->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (http->bell < 0)
        error = errno;
    if (error == 0)
        error = cv_nosignal_thread_create(&http->thread, serve, http);
    if (error == 0) {
        *out = http;
        return CLEAVE_OK;
    }
    close(http->listener);
    if (http->bell >= 0)
        close(http->bell);
    free(http);
    return cv_fail(err, CLEAVE_EENGINE, "--serve: cannot start a thread: %s",
                   strerror(error));
}

static void ring(struct cv_http *http)
{
    const uint64_t once = 1;

    while (write(http->bell, &once, sizeof once) < 0 && errno == EINTR)
        ;
}

bool cv_http_wanted(struct cv_http *http)
{
    return atomic_load(&http->wanted);
}

void cv_http_show(struct cv_http *http, char *bytes, size_t length, bool last)
{
    struct page *page = malloc(sizeof *page), *missed;

    if (page == NULL) {
        free(bytes);
        return;
    }
    *page = (struct page){ .readers = 1, .last = last, .bytes = bytes, .length = length };
    atomic_store(&http->wanted, false);
    pthread_mutex_lock(&http->lock);
    missed = http->fresh;
    http->fresh = page;
    pthread_mutex_unlock(&http->lock);
    leave_page(missed);
    ring(http);
}

void cv_http_close(struct cv_http *http)
{
    if (http == NULL)
        return;
    atomic_store(&http->closing, true);
    ring(http);
    pthread_join(http->thread, NULL);
    for (struct guest *guest = http->guests; guest < http->guests + MOST_GUESTS; guest++)
        if (guest->fd >= 0)
            dismiss(guest);
    leave_page(http->newest);
    leave_page(http->fresh);
    close(http->listener);
    close(http->bell);
    pthread_mutex_destroy(&http->lock);
    free(http);
}
