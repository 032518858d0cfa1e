/* live.c -- --live on a terminal and --serve for browsers of this machine.
 * SPDX-License-Identifier: MIT
 *
 * A thread serves browsers, so that a slow one delays nothing else. A browser waits for
 * a page newer than its own; no page is made unless one waits. */
#include "cli/live/live.h"

#include <errno.h>
#include <inttypes.h>
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
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/text.h"
#include "report/page/html_report.h"
#include "run/common/threads.h"
#include "run/common/poller.h"

enum { SHOWN = 64, QUEUE = 16, KEY = 1 + 32 }; /* "/" and 128 bits in hex */

union place {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static bool read_port(const char *text, uint16_t *port)
{
    const size_t digits = strspn(text, "0123456789");
    const unsigned long value = strtoul(text, NULL, 10);

    *port = (uint16_t)value;
    return digits > 0 && digits <= 5 && text[digits] == '\0' && value <= 65535;
}

/* Skip `name` at the start of *text; false: another text. */
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

/* Listen at a port of the loopback interface; 0 is any free port. *out is the socket. */
static enum cleave_status http_listen(const char *text, const char *folder, int *out,
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
    snprintf(url, CV_HTTP_URL_ROOM, "http://%s:%u%s/", six ? "[::1]" : "127.0.0.1",
             ntohs(six ? place.six.sin6_port : place.four.sin_port), folder);
    *out = fd;
    return CLEAVE_OK;
}

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

/* The next line, without its end; false: it is not complete yet. */
static bool take_line(struct part *rest, struct part *line)
{
    const char *end = memchr(rest->at, '\n', (size_t)(rest->end - rest->at));

    if (end == NULL)
        return false;
    *line = (struct part){ rest->at, end > rest->at && end[-1] == '\r' ? end - 1 : end };
    rest->at = end + 1;
    return true;
}

/* The part before the first `sign`, which is skipped as well; all without one. */
static struct part take_until(struct part *rest, char sign)
{
    const char *end = memchr(rest->at, sign, (size_t)(rest->end - rest->at));
    const struct part taken = { rest->at, end != NULL ? end : rest->end };

    rest->at = end != NULL ? end + 1 : rest->end;
    return taken;
}

/* Whether a Host header names this machine. A foreign page whose name was resolved to
 * 127.0.0.1 has its own name there. */
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

/* "/", or "/next?after=NUMBER", below the folder. The time does not depend on how much of
 * a wrong key is correct. */
static bool read_target(struct part target, const char *folder, uint64_t *after)
{
    const size_t length = strlen(folder);
    unsigned char wrong = 0;
    struct part path;

    *after = UINT64_MAX;
    if ((size_t)(target.end - target.at) < length)
        return false;
    for (size_t i = 0; i < length; i++)
        wrong |= (unsigned char)(target.at[i] ^ folder[i]);
    if (wrong != 0)
        return false;
    target.at += length;
    path = take_until(&target, '=');
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

struct cv_http_request cv_http_request_read(const char *text, size_t length,
                                            const char *folder)
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
    else if (!read_target(target, folder, &request.after))
        request.wish = CV_HTTP_ABSENT;
    else
        request.wish = CV_HTTP_PAGE;
    return request;
}

enum { MOST_GUESTS = 16, REQUEST_ROOM = 8192, HEAD_ROOM = 640 };
enum { LISTENER, BELL, FIRST_GUEST };

/* Seconds for a request to arrive, for a page to be read, for the last page, and for a
 * follower to return. */
static const double ASK_S = 10, READ_S = 60, LAST_S = 1, BACK_S = 5;

struct page {
    unsigned readers; /* guests that get it, plus one for the newest */
    uint64_t number;
    bool last;
    char *bytes; /* owned */
    size_t length;
};

/* A connection: it asks, waits, and is answered. */
struct guest {
    int fd; /* -1: the place is free */
    bool waits, answered;
    double until_s;
    uint64_t after;
    char request[REQUEST_ROOM];
    size_t got;
    char head[HEAD_ROOM];
    size_t head_length, sent;
    struct page *page; /* NULL: only the head is sent */
};

struct cv_http {
    pthread_t thread;
    int listener, bell;
    char folder[KEY + 1]; /* directory of all pages */
    atomic_bool wanted, closing;
    pthread_mutex_t lock;
    struct page *fresh; /* guarded by the lock: not yet taken by the thread */
    /* used by the thread: */
    struct page *newest; /* NULL: none yet */
    uint64_t shown;      /* how many there were */
    bool owed;           /* a follower has got a page, and has not returned yet */
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
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
        "Cleave-Page: %llu\r\n%sConnection: close\r\n\r\n",
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

/* Answer now, or let the guest wait for a newer page. */
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
    request = cv_http_request_read(guest->request, guest->got, http->folder);
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

/* If all places are taken, the place of the oldest guest without a request; NULL: all
 * have sent one. Only a guest that knows the key can keep a place. */
static struct guest *find_place(struct cv_http *http)
{
    struct guest *silent = NULL;

    for (struct guest *guest = http->guests; guest < http->guests + MOST_GUESTS;
         guest++) {
        if (guest->fd < 0)
            return guest;
        if (!guest->waits && !guest->answered &&
            (silent == NULL || guest->until_s < silent->until_s))
            silent = guest;
    }
    return silent;
}

static void welcome(struct cv_http *http)
{
    const int fd = accept4(http->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct guest *place = fd >= 0 ? find_place(http) : NULL;

    if (place != NULL && place->fd >= 0)
        dismiss(place);
    if (place != NULL)
        *place = (struct guest){ .fd = fd, .until_s = cv_clock_s() + ASK_S };
    else if (fd >= 0)
        close(fd);
}

/* The eventfd was signalled: there is a new page, or the end is near. */
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

/* Fill the descriptors to poll; returns the timeout in milliseconds. */
static int look_out(const struct cv_http *http, bool closing,
                    struct pollfd fds[FIRST_GUEST + MOST_GUESTS])
{
    double next_s = INFINITY;

    for (size_t i = 0; i < MOST_GUESTS; i++) {
        const struct guest *guest = &http->guests[i];

        fds[FIRST_GUEST + i] =
            (struct pollfd){ .fd = guest->fd,
                             .events = guest->answered ? POLLOUT : POLLIN };
        if (guest->fd >= 0 && !guest->waits && guest->until_s < next_s)
            next_s = guest->until_s;
    }
    fds[LISTENER] = (struct pollfd){ .fd = http->listener, .events = POLLIN };
    fds[BELL] = (struct pollfd){ .fd = http->bell, .events = POLLIN };
    next_s -= cv_clock_s();
    return closing ? 50 : next_s > 60 ? 60000 : next_s > 0 ? (int)(next_s * 1e3) + 1 : 0;
}

/* Drop slow guests; returns whether any are left or expected back. */
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
    uint64_t key[2];
    int error = 0;

    if (http == NULL)
        return cv_fail_memory(err, "--serve");
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key) {
        free(http);
        return cv_fail_errno(err, errno, "--serve: cannot make a key");
    }
    snprintf(http->folder, sizeof http->folder, "/%016" PRIx64 "%016" PRIx64, key[0],
             key[1]);
    if (http_listen(text, http->folder, &http->listener, url, err) != CLEAVE_OK) {
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

/* Publish a page; `bytes` are from malloc and taken over. */
static void http_show(struct cv_http *http, char *bytes, size_t length, bool last)
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

/* Guests that read get their page; `http` may be NULL. */
static void http_close(struct cv_http *http)
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

void cv_run_add_bytes(struct cv_text *text, double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
    size_t unit = 0;

    for (; unit + 1 < sizeof units / sizeof *units && bytes >= 1e3; unit++)
        bytes /= 1e3;
    cv_text_add(text, "%.*f %s", unit > 0 ? 1 : 0, bytes, units[unit]);
}

static const char *state_text(enum cleave_worker_state state, bool items)
{
    static const char *const texts[] = {
        [CLEAVE_WORKER_BUSY] = "works",
        [CLEAVE_WORKER_ABSENT] = "waits: its host is not connected",
        [CLEAVE_WORKER_RESTS] = "waits: chunks that failed here succeeded elsewhere",
        [CLEAVE_WORKER_HELD] = "waits for --delay, --load or --memfree",
        [CLEAVE_WORKER_STARVES] = "waits for input",
        [CLEAVE_WORKER_UNASKED] = "waits: the policy gives it nothing now",
        [CLEAVE_WORKER_OVER] = "waits for the others: all is given out",
    };

    return items && state == CLEAVE_WORKER_STARVES ? "waits for items" : texts[state];
}

static int name_columns(const struct cleave_progress *progress, unsigned rows)
{
    size_t max = sizeof "worker" - 1;

    for (uint32_t w = 0; w < rows; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        if (strlen(worker.name) > max)
            max = strlen(worker.name);
    }
    return max < 24 ? (int)max : 24;
}

static void add_amounts(const struct cleave_worker_progress *worker, struct cv_text *out)
{
    struct cv_text bytes = { NULL, 0, 0, false };

    cv_run_add_bytes(&bytes, worker->units + worker->read);
    cv_text_add(out, "  %9s", bytes.bytes != NULL ? bytes.bytes : "");
    cv_text_done(&bytes);
    if (worker->busy_s > 0 && worker->units > 0) {
        const double rate = worker->units / worker->busy_s / 1e6;

        /* A slow worker has a rate above 0. */
        cv_text_add(out, rate < 0.1 ? "  %8.3g" : "  %8.1f", rate);
    } else {
        cv_text_add(out, "  %8s", "-");
    }
}

/* Add a line, cut to the width of the screen. */
static void add_line(struct cv_text *line, unsigned width, struct cv_text *out)
{
    if (!line->failed)
        cv_text_add(out, "\n%.*s\033[K", (int)width, line->bytes);
    out->failed = out->failed || line->failed;
    cv_text_done(line);
}

static void add_worker(const struct cleave_worker_progress *worker, bool items,
                       int columns, unsigned width, struct cv_text *out)
{
    struct cv_text line = { NULL, 0, 0, false };

    cv_text_add(&line, "  %-*.*s  %6llu", columns, columns, worker->name,
                (unsigned long long)worker->chunks);
    if (!items)
        add_amounts(worker, &line);
    cv_text_add(&line, "  %s", state_text(worker->state, items));
    if (worker->failures > 0)
        cv_text_add(&line, ", %llu failed", (unsigned long long)worker->failures);
    add_line(&line, width, out);
}

unsigned cv_run_live_rows(const struct cleave_progress *progress, bool items,
                          unsigned max, unsigned width, struct cv_text *out)
{
    const bool fits = progress->workers + 1 <= max;
    const unsigned shown = fits ? progress->workers : max >= 3 ? max - 2 : 0;
    const int columns = name_columns(progress, shown);
    struct cv_text line = { NULL, 0, 0, false };

    if (shown == 0)
        return 0;
    cv_text_add(&line, "  %-*s  %6s", columns, "worker", items ? "done" : "chunks");
    if (!items)
        cv_text_add(&line, "  %9s  %8s", "bytes", "MB/s");
    add_line(&line, width, out);
    for (uint32_t w = 0; w < shown; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        add_worker(&worker, items, columns, width, out);
    }
    if (!fits) {
        line = (struct cv_text){ NULL, 0, 0, false };
        cv_text_add(&line, "  and %u more", progress->workers - shown);
        add_line(&line, width, out);
    }
    return 1 + shown + !fits;
}

/* Least seconds between pages, and the part of its time that the run spends on them. */
static const double PAUSE_S = 1, PART = 0.02;

struct scene {
    struct cv_trace_file file;
    struct cv_span *under_way;
    size_t count;
    const char *now;
};

static void show(const struct cv_live_page *live, const struct scene *scene, bool last)
{
    struct cv_report_data data = { .file = NULL };
    char *bytes = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&bytes, &length);
    bool whole;

    if (file == NULL)
        return;
    whole = cv_report_data_make(&scene->file, scene->under_way, scene->count, &data,
                                NULL) == CLEAVE_OK &&
            cv_report_data_reduce(&data, NULL) == CLEAVE_OK;
    if (whole)
        cv_report_write(&(struct cv_report){ .measured = &data,
                                             .now = scene->now,
                                             .running = !last },
                        file);
    whole = fclose(file) == 0 && whole;
    cv_report_data_done(&data);
    if (whole)
        http_show(live->http, bytes, length, last);
    else
        free(bytes); /* out of memory: the run matters more */
}

static void open_scene(const struct cv_live_page *live, uint32_t nworkers, double load,
                       const char *now, struct scene *out)
{
    *out = (struct scene){ .now = now };
    cv_arena_init(&out->file.arena);
    /* The trace is only read. */
    out->file.trace = (struct cleave_trace *)live->trace;
    out->file.header = (struct cv_trace_header){
        .task = CLEAVE_TASK_LOAD,
        .policy = live->policy,
        .load = load,
        .port = CLEAVE_PORT_MULTI,
        .names = cv_array(&out->file.arena, nworkers, sizeof(const char *)),
        .nworkers = nworkers,
    };
    out->under_way = cv_array(&out->file.arena, nworkers, sizeof *out->under_way);
}

static bool is_whole(const struct scene *scene)
{
    return scene->file.header.names != NULL && scene->under_way != NULL;
}

static void add_workers(const struct cleave_progress *progress, struct scene *scene)
{
    for (uint32_t w = 0; w < progress->workers; w++) {
        struct cleave_worker_progress worker;

        progress->look(progress->run, w, &worker);
        scene->file.header.names[w] = worker.name;
        if (!isnan(worker.since_s))
            scene->under_way[scene->count++] =
                (struct cv_span){ .kind = CV_SPAN_COMPUTE,
                                  .worker = w,
                                  .units = worker.read,
                                  .start_s = worker.since_s,
                                  .end_s = fmax(progress->elapsed_s, worker.since_s) };
    }
}

void cv_live_page_look(struct cv_live_page *live, const struct cleave_progress *progress,
                       const char *now)
{
    const double from_s = cv_clock_s();
    struct scene scene;

    if (progress->elapsed_s < live->next_s || !atomic_load(&live->http->wanted))
        return;
    open_scene(live, progress->workers,
               isfinite(progress->total) ? progress->total
                                         : progress->done + progress->read,
               now, &scene);
    if (is_whole(&scene)) {
        add_workers(progress, &scene);
        show(live, &scene, false);
    }
    cv_arena_done(&scene.file.arena);
    live->next_s = progress->elapsed_s + fmax(PAUSE_S, (cv_clock_s() - from_s) / PART);
}

void cv_live_page_close(struct cv_live_page *live,
                        const struct cleave_execution_result *result, const char *now)
{
    const struct cleave_platform *platform = result != NULL ? result->platform : NULL;
    struct scene scene;

    if (live->http != NULL && platform != NULL) {
        const uint32_t count = cleave_platform_nworkers(platform);

        open_scene(live, count, result->input_bytes, now, &scene);
        for (uint32_t w = 0; is_whole(&scene) && w < count; w++)
            scene.file.header.names[w] = cleave_platform_worker_name(platform, w);
        if (is_whole(&scene))
            show(live, &scene, true);
        cv_arena_done(&scene.file.arena);
    }
    http_close(live->http);
    live->http = NULL;
}
