/* fetch_command.c -- a command of the user's that gives a range of an input.
 * SPDX-License-Identifier: MIT */
#include "run/fetch/fetch_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/fetch/fetch_process.h"

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
        some = cv_fetching_read(fetching, attempt->held + attempt->nheld,
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
                 : cv_fetching_start(out, line.bytes, fetch->name, fetch->results, err);
    cv_text_done(&line);
    return status;
}

enum cleave_status cv_fetch_start(const struct cv_fetch *fetch, struct cv_fetching *out,
                                  struct cleave_error *err)
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
        *stopped = cv_fetching_pause(FIRST_PAUSE_MS, fetch->results);
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
        cv_fetching_kill(&fetching);
        return *stopped ? CLEAVE_OK : fail_length(attempt, err);
    }
    if (!cv_fetching_end(&fetching, stopped, why, sizeof why)) {
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

enum cleave_status cv_fetch_range(const struct cv_fetch *fetch, struct cv_fetching *begun,
                                  bool *stopped, struct cleave_error *err)
{
    struct attempt attempt = { .fetch = fetch, .at = fetch->begin };
    int pause_ms = FIRST_PAUSE_MS;
    enum cleave_status status = CLEAVE_OK;

    *stopped = false;
    attempt.held = malloc(HELD);
    if (attempt.held == NULL) {
        if (begun != NULL)
            cv_fetching_kill(begun);
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
        *stopped = cv_fetching_pause(pause_ms, fetch->results);
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

    CV_TRY(cv_fetching_start(&fetching, line, name, -1, err));
    while ((some = cv_fetching_read(&fetching, bytes, sizeof bytes, &stopped)) > 0)
        if (said->length < HELD)
            keep(said, bytes, (size_t)some);
    well = cv_fetching_end(&fetching, &stopped, why, sizeof why);
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
            status = cv_fetching_pause(pause_ms, -1) ? cv_fail_stopped(err) : CLEAVE_OK;
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
