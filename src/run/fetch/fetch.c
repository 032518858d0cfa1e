/* fetch.c -- an input whose ranges are written by a command. SPDX-License-Identifier: MIT */
#include "run/fetch/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "run/common/process.h"
#include "run/common/pipe_writer.h"
#include "run/common/shell.h"

enum {
    TRIES = 4, /* attempts of a command without a byte in between */
    FIRST_PAUSE_MS = 100,
    PAUSE_GROWTH = 3,
    MAX_WAITS = 300,  /* pauses for resources to start a command                  */
    LOOK_MS = 100,    /* between looks for signals, which no descriptor shows     */
    HELD = 64 * 1024, /* bytes held until more arrive or the command has ended well */
    FEW = 64 * 1024,  /* bytes of a read at first; doubled while reads are consecutive */
    MANY = 8 << 20,
};

/* --- commands ------------------------------------------------------------------------------- */

/* A running command. The caller stops waiting if the event `halt` is readable or, if that is -1, if a
 * signal arrives. */
struct command {
    struct cv_command command;
    struct cv_process process;
    struct cv_pipe pipe;
    int halt; /* borrowed */
};

/* Wait until `fd` (-1: none) is readable, or for max_ms (-1: no limit). True: stop waiting. */
static bool wait_for(int fd, int halt, int max_ms)
{
    struct pollfd both[] = { { .fd = fd, .events = POLLIN },
                             { .fd = halt, .events = POLLIN } };

    for (;;) {
        int now = max_ms;
        int ready;

        if (halt < 0) {
            if (cv_signal_waits(true))
                return true;
            now = max_ms < 0 || max_ms > LOOK_MS ? LOOK_MS : max_ms;
        }
        ready = poll(both, 2, now);
        if (halt >= 0 && both[1].revents != 0)
            return true;
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return false;
        if (max_ms >= 0 && (max_ms -= now) <= 0)
            return false;
    }
}

static enum cleave_status start_command(struct command *command, const char *line,
                                        const char *name, int halt,
                                        struct cleave_error *err)
{
    enum cleave_status status;

    *command = (struct command){ .pipe = { -1, -1 }, .halt = halt };
    CV_TRY(cv_shell_command_init(&command->command, NULL, line, err));
    status = cv_command_set(&command->command, "CLEAVE_INPUT", name, err);
    CV_THEN(status, cv_pipe_open(&command->pipe, err));
    CV_THEN(status,
            cv_process_start(&command->process, &command->command,
                             &(struct cv_process_files){ .in = -1,
                                                         .out = command->pipe.write,
                                                         .errors = -1,
                                                         .extra = -1 },
                             NULL, err));
    cv_close(&command->pipe.write);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    cv_pipe_close(&command->pipe);
    cv_command_done(&command->command);
    return status;
}

/* 0: the end, or *stopped. */
static size_t read_command(struct command *command, char *out, size_t max, bool *stopped)
{
    ssize_t got;

    do {
        *stopped = wait_for(command->pipe.read, command->halt, -1);
        got = *stopped ? 0 : read(command->pipe.read, out, max);
    } while (got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

static void kill_command(struct command *command)
{
    cv_process_kill(&command->process);
    cv_pipe_close(&command->pipe);
    cv_command_done(&command->command);
}

/* Wait for the end. False: it failed, as `why` describes. */
static bool end_command(struct command *command, bool *stopped, char *why, size_t room)
{
    struct cv_process *process = &command->process;
    bool well;

    while (!*stopped && !cv_process_reap(process))
        *stopped = wait_for(process->pidfd, command->halt, -1);
    well = process->exit_code == 0;
    if (process->signal != 0)
        snprintf(why, room, "by signal %d", process->signal);
    else
        snprintf(why, room, "with status %d", process->exit_code);
    kill_command(command);
    return well || *stopped;
}

/* --- the line ------------------------------------------------------------------------------- */

enum cleave_status cv_fetch_check(const char *line, struct cleave_error *err)
{
    if (strstr(line, "{begin}") != NULL &&
        (strstr(line, "{end}") != NULL || strstr(line, "{length}") != NULL))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EINPUT,
        "input.fetch: expected a command with {begin} and {end} (or {length}), "
        "as 'curl -sfr {begin}-{end} URL', got '%s'",
        CV_SHOWN(line, 100));
}

/* The line with its placeholders replaced. */
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

/* --- ranges --------------------------------------------------------------------------------- */

/* A range to be fetched: bytes [at, end). */
struct range {
    const struct cv_fetched *from;
    uint64_t at, end;
    bool (*take)(void *context, const char *bytes, size_t length); /* false: stop */
    void *context;
    int halt;     /* as in struct command */
    char *held;   /* borrowed: HELD bytes, which are not taken yet */
    size_t nheld; /* number of them in use */
    /* The current command. */
    uint64_t got, taken;
};

static enum cleave_status start_range(const struct range *range, struct command *out,
                                      struct cleave_error *err)
{
    struct cv_text line = { .bytes = NULL };
    enum cleave_status status;

    fill_line(&line, range->from->line, range->at, range->end);
    status = line.failed
                 ? cv_fail_memory(err, "a command")
                 : start_command(out, line.bytes, range->from->name, range->halt, err);
    cv_text_done(&line);
    return status;
}

/* Start the command. A thread (with `halt`) waits for resources, which others will release. Without
 * a thread, only the caller could release them. */
static enum cleave_status start_again(const struct range *range, struct command *out,
                                      bool *stopped, struct cleave_error *err)
{
    for (int waits = 0;; waits++) {
        const enum cleave_status status = start_range(range, out, err);

        if (status != CLEAVE_ERESOURCES || range->halt < 0 || waits == MAX_WAITS)
            return status;
        *stopped = wait_for(-1, range->halt, FIRST_PAUSE_MS);
        if (*stopped)
            return status;
    }
}

static bool take_held(struct range *range)
{
    const bool wanted =
        range->nheld == 0 || range->take(range->context, range->held, range->nheld);

    range->taken += range->nheld;
    range->nheld = 0;
    return wanted;
}

/* Read the output of the command to its end. False: there are too many bytes. */
static bool read_range(struct range *range, struct command *command, bool *stopped)
{
    while (!*stopped) {
        size_t some;

        if (range->nheld == HELD && !take_held(range)) {
            *stopped = true;
            break;
        }
        some = read_command(command, range->held + range->nheld, HELD - range->nheld,
                            stopped);
        if (some == 0)
            break;
        range->nheld += some;
        range->got += some;
        if (range->got > range->end - range->at)
            return false;
    }
    return true;
}

static enum cleave_status fail_length(const struct range *range, struct cleave_error *err)
{
    const uint64_t wanted = range->end - range->at;

    if (range->got > wanted)
        return cv_fail_at(err, CV_FILE(range->from->name),
                          "fetched from byte %" PRIu64 ": expected %" PRIu64
                          " bytes, got more: does who answers know ranges?",
                          range->at, wanted);
    return cv_fail_at(err, CV_FILE(range->from->name),
                      "fetched from byte %" PRIu64 ": expected %" PRIu64
                      " bytes, got %" PRIu64 ": is input.size right?",
                      range->at, wanted, range->got);
}

/* Run one command, which was started already if `begun` is not NULL. *again: it failed, and another
 * try may succeed. The first bytes of a command that writes too few, which may be an error page, are
 * not taken. */
static enum cleave_status try_range(struct range *range, const struct command *begun,
                                    bool *again, bool *stopped, struct cleave_error *err)
{
    struct command command;
    enum cleave_status status = CLEAVE_OK;
    char why[64];
    bool fits;

    range->got = range->taken = range->nheld = 0;
    *again = false;
    if (begun != NULL)
        command = *begun;
    else
        status = start_again(range, &command, stopped, err);
    if (*stopped)
        return CLEAVE_OK;
    CV_TRY(status);
    fits = read_range(range, &command, stopped);
    if (!fits || *stopped) {
        kill_command(&command);
        return *stopped ? CLEAVE_OK : fail_length(range, err);
    }
    if (!end_command(&command, stopped, why, sizeof why)) {
        *again = true;
        return cv_fail_at(err, CV_FILE(range->from->name),
                          "cannot be fetched from byte %" PRIu64 " on: the command ended "
                          "%s",
                          range->at, why);
    }
    if (*stopped)
        return CLEAVE_OK;
    if (range->at + range->got < range->end) {
        *again = range->taken == 0;
        return fail_length(range, err);
    }
    *stopped = !take_held(range);
    return CLEAVE_OK;
}

/* Fetch a range, from where a command broke off if necessary. The first command may have been started
 * (`begun`, else NULL), and has ended in any case. */
static enum cleave_status fetch_range(struct range *range, struct command *begun,
                                      bool *stopped, struct cleave_error *err)
{
    int pause_ms = FIRST_PAUSE_MS;
    enum cleave_status status = CLEAVE_OK;

    *stopped = false;
    range->held = malloc(HELD);
    if (range->held == NULL) {
        if (begun != NULL)
            kill_command(begun);
        return cv_fail_memory(err, "what is fetched");
    }
    for (int tries = 1; !*stopped && range->at < range->end; tries++) {
        bool again = false;

        status = try_range(range, begun, &again, stopped, err);
        begun = NULL;
        range->at += range->taken;
        if (status == CLEAVE_OK || !again)
            break;
        if (range->taken > 0) {
            tries = 1;
            pause_ms = FIRST_PAUSE_MS;
        }
        if (tries == TRIES)
            break;
        *stopped = wait_for(-1, range->halt, pause_ms);
        status = CLEAVE_OK;
        pause_ms *= PAUSE_GROWTH;
    }
    free(range->held);
    return status;
}

/* --- sizes ---------------------------------------------------------------------------------- */

bool cv_fetch_is_number(const char *text)
{
    return text[0] >= '0' && text[0] <= '9';
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

/* A number at the start, or the last Content-Length, because redirections come first. */
static bool read_size(const char *text, uint64_t *out)
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

/* The first HELD bytes of the output of a command. */
static enum cleave_status read_answer(const char *line, const char *name,
                                      struct cv_text *answer, bool *again,
                                      struct cleave_error *err)
{
    struct command command;
    char bytes[1024], why[64];
    bool stopped = false, well;
    size_t some;

    CV_TRY(start_command(&command, line, name, -1, err));
    while ((some = read_command(&command, bytes, sizeof bytes, &stopped)) > 0)
        if (answer->length < HELD)
            cv_text_add(answer, "%.*s", (int)some, bytes);
    well = end_command(&command, &stopped, why, sizeof why);
    if (stopped)
        return cv_fail_stopped(err);
    *again = !well;
    return well ? CLEAVE_OK
                : cv_fail_at(err, CV_FILE(name),
                             "its size is unknown: the command of input.size ended %s",
                             why);
}

enum cleave_status cv_fetch_size(const char *text, const char *name, uint64_t *out,
                                 struct cleave_error *err)
{
    struct cv_text answer = { .bytes = NULL }, line = { .bytes = NULL };
    enum cleave_status status = CLEAVE_OK;
    int pause_ms = FIRST_PAUSE_MS;
    bool again = true;
    char shown[60] = "";

    if (cv_fetch_is_number(text))
        return read_number(text, out) && strspn(text, "0123456789") == strlen(text)
                   ? CLEAVE_OK
                   : cv_fail(err, CLEAVE_EINPUT,
                             "input.size: expected a number of bytes or a command that "
                             "writes it, got '%s'",
                             cv_shown(text, strlen(text), shown, sizeof shown));
    fill_line(&line, text, 0, 1);
    if (line.failed)
        status = cv_fail_memory(err, "a command");
    for (int tries = 1; status == CLEAVE_OK && again; tries++) {
        cv_text_done(&answer);
        status = read_answer(line.bytes, name, &answer, &again, err);
        if (status != CLEAVE_OK && again && tries < TRIES)
            status = wait_for(-1, -1, pause_ms) ? cv_fail_stopped(err) : CLEAVE_OK;
        pause_ms *= PAUSE_GROWTH;
    }
    if (status == CLEAVE_OK && answer.bytes != NULL)
        cv_shown(answer.bytes, strcspn(answer.bytes, "\r\n"), shown, sizeof shown);
    if (status == CLEAVE_OK &&
        (answer.failed || answer.bytes == NULL || !read_size(answer.bytes, out)))
        status = cv_fail_at(err, CV_FILE(name),
                            "expected its size from the command of input.size, as a "
                            "number or a line Content-Length: N, got '%s'",
                            shown);
    cv_text_done(&answer);
    cv_text_done(&line);
    return status;
}

/* --- reads ---------------------------------------------------------------------------------- */

static bool keep(void *context, const char *bytes, size_t length)
{
    struct cv_fetched *fetched = context;

    memcpy(fetched->bytes + fetched->length, bytes, length);
    fetched->length += length;
    return true;
}

static enum cleave_status fetch_more(struct cv_fetched *fetched, uint64_t offset,
                                     size_t min, struct cleave_error *err)
{
    const bool consecutive =
        offset == fetched->at + fetched->length && fetched->length > 0;
    size_t many = consecutive && fetched->length < MANY / 2 ? 2 * fetched->length
                  : consecutive                             ? MANY
                                                            : FEW;
    struct range range = {
        .from = fetched, .take = keep, .context = fetched, .halt = -1, .at = offset
    };
    enum cleave_status status;
    bool stopped;

    many = many < min ? min : many;
    many = many < fetched->size - offset ? many : (size_t)(fetched->size - offset);
    if (!CV_ROOM(fetched->bytes, &fetched->room, many))
        return cv_fail_memory(err, "what is fetched");
    fetched->at = offset;
    fetched->length = 0;
    range.end = offset + many;
    status = fetch_range(&range, NULL, &stopped, err);
    if (status != CLEAVE_OK || stopped)
        fetched->length = 0;
    return stopped ? cv_fail_stopped(err) : status;
}

static enum cleave_status read_at(struct cv_lazy_reader *reader, uint64_t offset,
                                  void *out, size_t max, size_t *got,
                                  struct cleave_error *err)
{
    struct cv_fetched *fetched = (struct cv_fetched *)reader;
    size_t some;

    *got = 0;
    if (offset >= fetched->size || max == 0)
        return CLEAVE_OK;
    if (offset < fetched->at || offset >= fetched->at + fetched->length)
        CV_TRY(fetch_more(fetched, offset, max, err));
    some = (size_t)(fetched->at + fetched->length - offset);
    *got = some < max ? some : max;
    memcpy(out, fetched->bytes + (offset - fetched->at), *got);
    return CLEAVE_OK;
}

/* --- flows ---------------------------------------------------------------------------------- */

struct flow {
    struct cv_writer_thread threaded; /* first */
    struct range range;
    struct command command; /* owned by the thread: writes the first bytes */
};

static bool give(void *context, const char *bytes, size_t length)
{
    return cv_writer_thread_write(context, bytes, length);
}

static enum cleave_status work(struct cv_writer_thread *threaded,
                               struct cleave_error *err)
{
    struct flow *flow = (struct flow *)threaded;
    bool stopped;

    flow->range.halt = flow->command.halt = threaded->halt;
    return fetch_range(&flow->range, &flow->command, &stopped, err);
}

static void stop_flow(struct cv_writer_thread *threaded)
{
    cv_writer_thread_stop(threaded);
    free(threaded);
}

/* The command is started here, not by the thread: if resources are missing, the caller learns it before
 * it starts a process that would wait for the bytes and hold these resources. */
static enum cleave_status start_flow(struct cv_lazy_reader *reader, uint64_t begin,
                                     uint64_t end,
                                     const struct cv_writer_thread_into *into,
                                     struct cv_writer_thread **out,
                                     struct cleave_error *err)
{
    struct flow *flow = calloc(1, sizeof *flow);
    enum cleave_status status;

    if (flow == NULL)
        return cv_fail_memory(err, "what is fetched");
    flow->range = (struct range){ .from = (const struct cv_fetched *)reader,
                                  .at = begin,
                                  .end = end,
                                  .take = give,
                                  .context = &flow->threaded,
                                  .halt = -1 };
    status = start_range(&flow->range, &flow->command, err);
    if (status == CLEAVE_OK) {
        status = cv_writer_thread_start(&flow->threaded, work, "fetches", into, err);
        if (status != CLEAVE_OK)
            kill_command(&flow->command);
    }
    if (status == CLEAVE_OK)
        *out = &flow->threaded;
    else
        free(flow);
    return status;
}

enum cleave_status cv_fetched_new(const char *line, const char *name, uint64_t size,
                                  struct cv_fetched **out, struct cleave_error *err)
{
    struct cv_fetched *fetched = calloc(1, sizeof *fetched);

    if (fetched == NULL)
        return cv_fail_memory(err, "an input");
    fetched->reader = (struct cv_lazy_reader){
        .read = read_at, .threaded = start_flow, .stop = stop_flow, .bounded = true
    };
    fetched->line = line;
    fetched->name = name;
    fetched->size = size;
    *out = fetched;
    return CLEAVE_OK;
}

void cv_fetched_free(struct cv_fetched *fetched)
{
    if (fetched != NULL)
        free(fetched->bytes);
    free(fetched);
}
