/* fetched.c -- an input that a command gives by ranges, read as if it were a file.
 * SPDX-License-Identifier: MIT */
#include "run/fetch/fetched.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/fetch/fetch_process.h"
#include "run/common/pipe_writer.h"

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
    CV_TRY(cv_fetch_range(&(struct cv_fetch){ .line = fetched->line,
                                              .name = fetched->name,
                                              .begin = offset,
                                              .end = offset + many,
                                              .take = keep,
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
    return cv_fetch_range(&fetch, &fetching->command, &stopped, err);
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
    status = cv_fetch_start(&fetch, &fetching->command, err);
    if (status != CLEAVE_OK) {
        free(fetching);
        return status;
    }
    status = cv_writer_thread_start(&fetching->threaded, work, "fetches", into, err);
    if (status == CLEAVE_OK) {
        *out = &fetching->threaded;
        return CLEAVE_OK;
    }
    cv_fetching_kill(&fetching->command);
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

struct cv_lazy_reader *cv_fetched_well(struct cv_fetched *fetched)
{
    return &fetched->well;
}

const char *cv_fetched_line(const struct cv_fetched *fetched)
{
    return fetched->line;
}
