/* fetch.c -- a command of the user's that gives a range of an input.
 * SPDX-License-Identifier: MIT */
#include "run/fetch/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "run/common/process.h"
#include "run/common/writer_thread.h"

struct cv_fetching {
    struct cv_command command;
    struct cv_process process;
    struct cv_pipe pipe;
    int results; /* borrowed */
};

/* --- a command whose output is read by who waits for it ---------------------------- */

enum { LOOK_MS = 100 }; /* for signals, which no descriptor tells */

static bool is_signalled(void)
{
    sigset_t set;

    return cv_signal_waits() ||
           (sigpending(&set) == 0 && sigismember(&set, SIGHUP) == 1 &&
            !cv_signal_is_ignored(SIGHUP));
}

/* Until `fd` (-1: none) has something to say, or so long (-1: as long as it takes). Whether
 * nobody wants it any more. */
static bool wait_for(int fd, int results, int most_ms)
{
    /* Of the end to write to, that its reader is gone is all that is asked. */
    struct pollfd both[] = { { .fd = fd, .events = POLLIN }, { .fd = results } };

    for (;;) {
        int now = most_ms;
        int ready;

        if (results < 0) {
            if (is_signalled())
                return true;
            now = most_ms < 0 || most_ms > LOOK_MS ? LOOK_MS : most_ms;
        }
        ready = poll(both, 2, now);
        if (results >= 0 && both[1].revents != 0)
            return true;
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return false;
        if (most_ms >= 0 && (most_ms -= now) <= 0)
            return false;
    }
}

/* The line for /bin/sh, with CLEAVE_INPUT. */
static enum cleave_status fetching_start(struct cv_fetching *fetching, const char *line,
                                         const char *name, int results,
                                         struct cleave_error *err)
{
    const char *const words[] = { "/bin/sh", "-c", line, NULL };
    enum cleave_status status;

    *fetching = (struct cv_fetching){ .pipe = { -1, -1 }, .results = results };
    CV_TRY(cv_command_init(&fetching->command, NULL, words, err));
    status = cv_command_set(&fetching->command, "CLEAVE_INPUT", name, err);
    if (status == CLEAVE_OK)
        status = cv_pipe_open(&fetching->pipe, err);
    if (status == CLEAVE_OK)
        status = cv_process_start(&fetching->process, &fetching->command,
                                  &(struct cv_process_files){ .in = -1,
                                                              .out = fetching->pipe.write,
                                                              .errors = -1,
                                                              .extra = -1 },
                                  NULL, err);
    cv_close(&fetching->pipe.write);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    cv_pipe_close(&fetching->pipe);
    cv_command_done(&fetching->command);
    return status;
}

/* Some bytes; 0: there are no more, or *stopped. */
static ssize_t fetching_read(struct cv_fetching *fetching, char *out, size_t max,
                             bool *stopped)
{
    ssize_t got;

    do {
        *stopped = wait_for(fetching->pipe.read, fetching->results, -1);
        got = *stopped ? 0 : read(fetching->pipe.read, out, max);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? got : 0;
}

static void fetching_kill(struct cv_fetching *fetching)
{
    cv_process_kill(&fetching->process);
    cv_pipe_close(&fetching->pipe);
    cv_command_done(&fetching->command);
}

/* Wait for its end. Whether it ended with status 0; if not, `why` says how. */
static bool fetching_end(struct cv_fetching *fetching, bool *stopped, char *why,
                         size_t room)
{
    struct cv_process *process = &fetching->process;
    bool well;

    while (!*stopped && !cv_process_reap(process))
        *stopped = wait_for(process->pidfd, fetching->results, -1);
    well = process->exit_code == 0;
    if (process->signal != 0)
        snprintf(why, room, "by signal %d", process->signal);
    else
        snprintf(why, room, "with status %d", process->exit_code);
    fetching_kill(fetching);
    return well || *stopped;
}

/* Whether that was ended early. */
static bool fetching_pause(int pause_ms, int results)
{
    return wait_for(-1, results, pause_ms);
}

/* --- a command of the user's that gives a range of an input ------------------------ */

enum {
    HELD = 64 * 1024, /* bytes kept until more come, or the command has ended well */
    FIRST_PAUSE_MS = 100,
    LONGER = 3,       /* each pause than the one before, times       */
    MOST_WAITS = 300, /* pauses until there is room for a command    */
};

/* One start of the command. */
struct attempt {
    const struct cv_fetch *fetch;
    uint64_t at, got; /* its first byte, and how many it gave                 */
    uint64_t passed;  /* of these                                             */
    char *held;       /* borrowed: those that were not                        */
    size_t nheld;
};

/* --- the line ------------------------------------------------------------------------------- */

enum cleave_status cv_fetch_check(const char *line, struct cleave_error *err)
{
    char shown[100];

    if (strstr(line, "{begin}") != NULL &&
        (strstr(line, "{end}") != NULL || strstr(line, "{length}") != NULL))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "--fetch: expected a command with {begin} and {end} (or {length}), as "
                   "'curl -sfr {begin}-{end} URL', got '%s'",
                   cv_shown(line, strlen(line), shown, sizeof shown));
}

/* The line with its places filled. */
static void fill_line(struct cv_text *out, const char *line, uint64_t begin, uint64_t end)
{
    const struct {
        const char *place;
        uint64_t number;
    } known[] = { { "{begin}", begin },
                  { "{end}", end - 1 },
                  { "{length}", end - begin } };
    const size_t nknown = sizeof known / sizeof *known;

    while (*line != '\0') {
        size_t i = 0;

        while (i < nknown && strncmp(line, known[i].place, strlen(known[i].place)) != 0)
            i++;
        if (i < nknown) {
            cv_text_add(out, "%" PRIu64, known[i].number);
            line += strlen(known[i].place);
        } else if (strncmp(line, "{}", 2) == 0) {
            cv_text_add(out, "\"$CLEAVE_INPUT\"");
            line += 2;
        } else {
            cv_text_add(out, "%c", *line++);
        }
    }
}

/* --- one attempt ------------------------------------------------------------------------------ */

static bool pass_on(struct attempt *attempt)
{
    const bool wanted =
        attempt->nheld == 0 ||
        attempt->fetch->take(attempt->fetch->context, attempt->held, attempt->nheld);

    attempt->passed += attempt->nheld;
    attempt->nheld = 0;
    return wanted;
}

/* Read what the command writes, to its end. *stopped: nobody wants it. False: more than was
 * asked for. */
static bool read_all(struct attempt *attempt, struct cv_fetching *fetching, bool *stopped)
{
    const uint64_t wanted = attempt->fetch->end - attempt->at;

    while (!*stopped) {
        ssize_t some;

        if (attempt->nheld == HELD && !pass_on(attempt)) {
            *stopped = true;
            break;
        }
        some = fetching_read(fetching, attempt->held + attempt->nheld,
                             HELD - attempt->nheld, stopped);
        if (some <= 0)
            break;
        attempt->nheld += (size_t)some;
        attempt->got += (uint64_t)some;
        if (attempt->got > wanted)
            return false;
    }
    return true;
}

static enum cleave_status fail_length(const struct attempt *attempt,
                                      struct cleave_error *err)
{
    const struct cv_fetch *fetch = attempt->fetch;
    const struct cv_place place = { fetch->name, 0, 0, NULL };
    const uint64_t wanted = fetch->end - attempt->at;

    if (attempt->got > wanted)
        return cv_fail_at(err, &place,
                          "fetched from byte %" PRIu64 ": expected %" PRIu64
                          " bytes, got more: does who answers know ranges?",
                          attempt->at, wanted);
    return cv_fail_at(err, &place,
                      "fetched from byte %" PRIu64 ": expected %" PRIu64
                      " bytes, got %" PRIu64 ": is --size right?",
                      attempt->at, wanted, attempt->got);
}

static enum cleave_status start_at(const struct cv_fetch *fetch, uint64_t at,
                                   struct cv_fetching *out, struct cleave_error *err)
{
    struct cv_text line = { .bytes = NULL };
    enum cleave_status status;

    fill_line(&line, fetch->line, at, fetch->end);
    status = line.failed
                 ? cv_fail_memory(err, "a command")
                 : fetching_start(out, line.bytes, fetch->name, fetch->results, err);
    cv_text_done(&line);
    return status;
}

/* Start the command that is to give bytes [begin, end): ESCARCE if there is no room for it. */
static enum cleave_status fetch_start(const struct cv_fetch *fetch,
                                      struct cv_fetching *out, struct cleave_error *err)
{
    return start_at(fetch, fetch->begin, out, err);
}

/* Start it again. Who waits in a thread of its own (`outlet`) may wait for room, which others make; for
 * others the end of a command is to be waited for, which they have to see to. */
static enum cleave_status start_again(const struct attempt *attempt,
                                      struct cv_fetching *out, bool *stopped,
                                      struct cleave_error *err)
{
    const struct cv_fetch *fetch = attempt->fetch;
    enum cleave_status status;

    for (int waits = 0;; waits++) {
        status = start_at(fetch, attempt->at, out, err);
        if (status != CLEAVE_ERESOURCES || fetch->results < 0 || waits == MOST_WAITS)
            return status;
        *stopped = fetching_pause(FIRST_PAUSE_MS, fetch->results);
        if (*stopped)
            return status;
    }
}

/* *again: it failed, and another one may do better. */
static enum cleave_status attempt_once(struct attempt *attempt,
                                       const struct cv_fetching *begun, bool *again,
                                       bool *stopped, struct cleave_error *err)
{
    const struct cv_fetch *fetch = attempt->fetch;
    const struct cv_place place = { fetch->name, 0, 0, NULL };
    struct cv_fetching fetching;
    enum cleave_status status = CLEAVE_OK;
    char why[64];
    bool fits;

    attempt->got = attempt->passed = attempt->nheld = 0;
    *again = false;
    if (begun != NULL)
        fetching = *begun;
    else
        status = start_again(attempt, &fetching, stopped, err);
    if (*stopped)
        return CLEAVE_OK;
    CV_TRY(status);
    fits = read_all(attempt, &fetching, stopped);
    if (!fits || *stopped) {
        fetching_kill(&fetching);
        return *stopped ? CLEAVE_OK : fail_length(attempt, err);
    }
    if (!fetching_end(&fetching, stopped, why, sizeof why)) {
        *again = true;
        return cv_fail_at(err, &place,
                          "cannot be fetched from byte %" PRIu64 " on: the command ended "
                          "%s",
                          attempt->at, why);
    }
    if (*stopped)
        return CLEAVE_OK;
    if (attempt->at + attempt->got < fetch->end) {
        *again = attempt->passed == 0;
        return fail_length(attempt, err);
    }
    *stopped = !pass_on(attempt);
    return CLEAVE_OK;
}

/* Fetch bytes [begin, end), from where an attempt broke off if need be, the first of which may
 * have been started (`begun`, else NULL), and is over in any case. What a command that
 * gave too few of them had written at first, as a page about an error, is not passed on.
 * *stopped: nobody waits any more. */
static enum cleave_status fetch_range(const struct cv_fetch *fetch,
                                      struct cv_fetching *begun, bool *stopped,
                                      struct cleave_error *err)
{
    struct attempt attempt = { .fetch = fetch, .at = fetch->begin };
    int pause_ms = FIRST_PAUSE_MS;
    enum cleave_status status = CLEAVE_OK;

    *stopped = false;
    attempt.held = malloc(HELD);
    if (attempt.held == NULL) {
        if (begun != NULL)
            fetching_kill(begun);
        return cv_fail_memory(err, "what is fetched");
    }
    for (int tries = 1; !*stopped && attempt.at < fetch->end; tries++) {
        bool again = false;

        status = attempt_once(&attempt, begun, &again, stopped, err);
        begun = NULL;
        attempt.at += attempt.passed;
        if (status == CLEAVE_OK || !again)
            break;
        if (attempt.passed > 0) {
            tries = 1;
            pause_ms = FIRST_PAUSE_MS;
        }
        if (tries == CV_FETCH_TRIES)
            break;
        *stopped = fetching_pause(pause_ms, fetch->results);
        status = CLEAVE_OK;
        pause_ms *= LONGER;
    }
    free(attempt.held);
    return status;
}

/* --- sizes -------------------------------------------------------------------------------------- */

bool cv_fetch_is_number(const char *text)
{
    return text[0] >= '0' && text[0] <= '9';
}

static bool keep(void *context, const char *bytes, size_t length)
{
    struct cv_text *said = context;

    cv_text_add(said, "%.*s", (int)length, bytes);
    return !said->failed;
}

static bool read_number(const char *text, uint64_t *out)
{
    const char *digits = text + strspn(text, " \t");
    char *end;

    errno = 0;
    *out = strtoull(digits, &end, 10);
    return cv_fetch_is_number(digits) && errno == 0 && *out <= INT64_MAX &&
           strchr(" \t\r\n", *end) != NULL;
}

/* The last one there is, as answers to redirections come first; or a number at the start. */
static bool read_said(const char *text, uint64_t *out)
{
    static const char length[] = "content-length:";
    bool found = false;

    if (read_number(text, out))
        return true;
    for (const char *line = text; line != NULL && *line != '\0';
         line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        if (strncasecmp(line, length, sizeof length - 1) == 0)
            found = read_number(line + sizeof length - 1, out);
    }
    return found;
}

/* What the command says, which is to be short. */
static enum cleave_status ask(const char *line, const char *name, struct cv_text *said,
                              bool *again, struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };
    struct cv_fetching fetching;
    char bytes[1024], why[64];
    bool stopped = false, well;
    ssize_t some;

    CV_TRY(fetching_start(&fetching, line, name, -1, err));
    while ((some = fetching_read(&fetching, bytes, sizeof bytes, &stopped)) > 0)
        if (said->length < HELD)
            keep(said, bytes, (size_t)some);
    well = fetching_end(&fetching, &stopped, why, sizeof why);
    if (stopped)
        return cv_fail_stopped(err);
    *again = !well;
    return well ? CLEAVE_OK
                : cv_fail_at(err, &place,
                             "its size cannot be told: the command of --size ended %s",
                             why);
}

enum cleave_status cv_fetch_size(const char *text, const char *name, uint64_t *out,
                                 struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };
    struct cv_text said = { .bytes = NULL };
    struct cv_text line = { .bytes = NULL };
    enum cleave_status status = CLEAVE_OK;
    int pause_ms = FIRST_PAUSE_MS;
    bool again = true;
    char shown[60];

    if (cv_fetch_is_number(text))
        return read_number(text, out) && strspn(text, "0123456789") == strlen(text)
                   ? CLEAVE_OK
                   : cv_fail(
                         err, CLEAVE_EINPUT,
                         "--size: expected a number of bytes or a command that writes "
                         "it, got '%s'",
                         cv_shown(text, strlen(text), shown, sizeof shown));
    fill_line(&line, text, 0, 1);
    if (line.failed)
        status = cv_fail_memory(err, "a command");
    for (int tries = 1; status == CLEAVE_OK && again; tries++) {
        cv_text_done(&said);
        status = ask(line.bytes, name, &said, &again, err);
        if (status != CLEAVE_OK && again && tries < CV_FETCH_TRIES)
            status = fetching_pause(pause_ms, -1) ? cv_fail_stopped(err) : CLEAVE_OK;
        pause_ms *= LONGER;
    }
    if (status == CLEAVE_OK &&
        (said.failed || said.bytes == NULL || !read_said(said.bytes, out)))
        status =
            cv_fail_at(err, &place,
                       "expected its size from the command of --size, as a number or "
                       "a line Content-Length: N, got '%s'",
                       said.bytes != NULL
                           ? cv_shown(said.bytes, strcspn(said.bytes, "\r\n"), shown,
                                      sizeof shown)
                           : "");
    cv_text_done(&said);
    cv_text_done(&line);
    return status;
}

/* --- an input that a command gives by ranges, read as if it were a file ------------ */

enum {
    FEW = 64 * 1024, /* asked for at first, and from there on twice as many each time */
    MANY = 8 << 20,
};

struct cv_fetched {
    struct cv_lazy_reader well;
    const char *line, *name; /* borrowed */
    uint64_t size;
    char *bytes; /* owned: what was read last */
    uint64_t at;
    size_t length, room;
};

struct fetching {
    struct cv_writer_thread threaded;
    const struct cv_fetched *from;
    uint64_t begin, end;
    struct cv_fetching command; /* owned by the thread: what gives the first bytes */
};

/* --- here and there --------------------------------------------------------------------------- */

static bool fetched_keep(void *context, const char *bytes, size_t length)
{
    struct cv_fetched *fetched = context;

    memcpy(fetched->bytes + fetched->length, bytes, length);
    fetched->length += length;
    return true;
}

static enum cleave_status fetch_more(struct cv_fetched *fetched, uint64_t offset,
                                     size_t min, struct cleave_error *err)
{
    const bool goes_on = offset == fetched->at + fetched->length && fetched->length > 0;
    size_t many = goes_on && fetched->length < MANY / 2 ? 2 * fetched->length
                  : goes_on                             ? MANY
                                                        : FEW;
    bool stopped;

    many = many < min ? min : many;
    many = many < fetched->size - offset ? many : (size_t)(fetched->size - offset);
    if (many > fetched->room) {
        char *larger = realloc(fetched->bytes, many);

        if (larger == NULL)
            return cv_fail_memory(err, "what is fetched");
        fetched->bytes = larger;
        fetched->room = many;
    }
    fetched->at = offset;
    fetched->length = 0;
    CV_TRY(fetch_range(&(struct cv_fetch){ .line = fetched->line,
                                           .name = fetched->name,
                                           .begin = offset,
                                           .end = offset + many,
                                           .take = fetched_keep,
                                           .context = fetched,
                                           .results = -1 },
                       NULL, &stopped, err));
    return stopped ? cv_fail_stopped(err) : CLEAVE_OK;
}

static enum cleave_status read_well(struct cv_lazy_reader *well, uint64_t offset,
                                    void *out, size_t max, size_t *got,
                                    struct cleave_error *err)
{
    struct cv_fetched *fetched = (struct cv_fetched *)well;
    enum cleave_status status;
    size_t some;

    *got = 0;
    if (offset >= fetched->size || max == 0)
        return CLEAVE_OK;
    if (offset < fetched->at || offset >= fetched->at + fetched->length) {
        status = fetch_more(fetched, offset, max, err);
        if (status != CLEAVE_OK) {
            fetched->length = 0;
            return status;
        }
    }
    some = (size_t)(fetched->at + fetched->length - offset);
    some = some < max ? some : max;
    memcpy(out, fetched->bytes + (offset - fetched->at), some);
    *got = some;
    return CLEAVE_OK;
}

/* --- flows ---------------------------------------------------------------------------------- */

static bool give(void *context, const char *bytes, size_t length)
{
    return cv_writer_thread_write(context, bytes, length);
}

static struct cv_fetch describe(struct fetching *fetching, int results)
{
    return (struct cv_fetch){ .line = fetching->from->line,
                              .name = fetching->from->name,
                              .begin = fetching->begin,
                              .end = fetching->end,
                              .take = give,
                              .context = &fetching->threaded,
                              .results = results };
}

static enum cleave_status work(struct cv_writer_thread *threaded,
                               struct cleave_error *err)
{
    struct fetching *fetching = (struct fetching *)threaded;
    const struct cv_fetch fetch = describe(fetching, threaded->pipe.write);
    bool stopped;

    fetching->command.results = fetch.results;
    return fetch_range(&fetch, &fetching->command, &stopped, err);
}

static void stop_flow(struct cv_writer_thread *threaded)
{
    cv_writer_thread_stop(threaded);
    free(threaded);
}

/* The command is started here and not by the thread: who has no room for it is told so before anybody else is
 * started that would wait for its bytes and hold the room that it needs. */
static enum cleave_status start_flow(struct cv_lazy_reader *well, uint64_t begin,
                                     uint64_t end,
                                     const struct cv_writer_thread_into *into,
                                     struct cv_writer_thread **out,
                                     struct cleave_error *err)
{
    struct fetching *fetching = calloc(1, sizeof *fetching);
    enum cleave_status status;
    struct cv_fetch fetch;

    if (fetching == NULL)
        return cv_fail_memory(err, "what is fetched");
    fetching->from = (const struct cv_fetched *)well;
    fetching->begin = begin;
    fetching->end = end;
    fetch = describe(fetching, -1);
    status = fetch_start(&fetch, &fetching->command, err);
    if (status != CLEAVE_OK) {
        free(fetching);
        return status;
    }
    status = cv_writer_thread_start(&fetching->threaded, work, "fetches", into, err);
    if (status == CLEAVE_OK) {
        *out = &fetching->threaded;
        return CLEAVE_OK;
    }
    fetching_kill(&fetching->command);
    free(fetching);
    return status;
}

/* --- the input -------------------------------------------------------------------------------- */

enum cleave_status cv_fetched_new(const char *line, const char *name, uint64_t size,
                                  struct cv_fetched **out, struct cleave_error *err)
{
    struct cv_fetched *fetched = calloc(1, sizeof *fetched);

    if (fetched == NULL)
        return cv_fail_memory(err, "an input");
    fetched->well = (struct cv_lazy_reader){
        .read = read_well, .threaded = start_flow, .stop = stop_flow, .bounded = true
    };
    fetched->line = line;
    fetched->name = name;
    fetched->size = size;
    *out = fetched;
    return CLEAVE_OK;
}

void cv_fetched_free(struct cv_fetched *fetched)
{
    if (fetched == NULL)
        return;
    free(fetched->bytes);
    free(fetched);
}

struct cv_lazy_reader *cv_fetched_reader(struct cv_fetched *fetched)
{
    return &fetched->well;
}

const char *cv_fetched_line(const struct cv_fetched *fetched)
{
    return fetched->line;
}
