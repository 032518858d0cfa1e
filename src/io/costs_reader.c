/* costs_reader.c -- the costs of one exact reduction: YAML, or JSON, which YAML contains.
 * SPDX-License-Identifier: MIT
 *
 *     {"transfer": [[0, 1, 5ms], [2, 0, 1], [1, 1, 0]], "compute": [1, 1, 0.5]}
 *
 * The first row says how many nodes there are; every other row, the number of rows and
 * the list of combining costs must agree with it. Memory grows with what was read, so
 * that a short file cannot ask for much. */
#include "io/costs_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "io/input.h"
#include "io/quick_costs.h"
#include "io/reading.h"

#define FILE_MOST ((size_t)3 << 30) /* bytes */

struct costs_reader {
    struct cv_reading in;
    struct cv_costs_draft draft;
    struct cv_token compute; /* where the list of combining costs began */
};

static const char *const fields[] = { "transfer", "compute" };
enum { TRANSFER, COMPUTE, NFIELDS };

static const char *field_name(const void *context, size_t index)
{
    (void)context;
    return fields[index];
}

static enum cleave_status add_time(struct costs_reader *reader, struct cv_doubles *list,
                                   double time_s)
{
    return cv_doubles_add(list, time_s) ? CLEAVE_OK
                                        : cv_fail_memory(reader->in.err, "costs");
}

/* A row of the matrix whose path is in reader->in.field. */
static enum cleave_status take_row(struct costs_reader *reader,
                                   const struct cv_token *token, size_t row)
{
    struct cv_costs_draft *draft = &reader->draft;
    struct cv_place place = cv_read_place(&reader->in, token);
    const size_t path = strlen(reader->in.field),
                 max = row > 0 ? draft->nodes : CV_COSTS_NODES;
    struct cv_token item;
    char expected[96];
    size_t n = 0;

    if (token->node != CV_NODE_LIST)
        return cv_read_fail(&reader->in, token, "expected a list of times, one per node");
    for (;; n++) {
        double time_s = 0;

        CV_TRY(cv_read_next(&reader->in, &item));
        if (item.node == CV_NODE_END)
            break;
        snprintf(reader->in.field + path, sizeof reader->in.field - path, "[%zu]", n);
        if (n == max) {
            snprintf(expected, sizeof expected,
                     row > 0 ? "expected the end of a row of %zu, as the first"
                             : "expected at most %zu nodes",
                     max);
            return cv_read_fail(&reader->in, &item, expected);
        }
        if (n == row) /* nobody sends to itself */
            CV_TRY(cv_read_number(&reader->in, &item, CV_SECONDS, &time_s));
        else
            CV_TRY(cv_read_ranged(&reader->in, &item, CV_SECONDS, false, &time_s));
        CV_TRY(add_time(reader, &draft->transfer, n == row ? 0 : time_s));
        reader->in.field[path] = '\0';
    }
    if (row == 0)
        draft->nodes = n;
    if (n == 0)
        return cv_fail_at(reader->in.err, &place,
                          "expected a list of times, one per node, got an empty list");
    if (n < draft->nodes)
        return cv_fail_at(reader->in.err, &place,
                          "expected a row of %zu, as the first, got %zu", draft->nodes,
                          n);
    return CLEAVE_OK;
}

static enum cleave_status take_transfer(struct costs_reader *reader,
                                        const struct cv_token *token)
{
    struct cv_place place = cv_read_place(&reader->in, token);
    struct cv_token item;
    char expected[96];
    size_t rows = 0;

    if (token->node != CV_NODE_LIST)
        return cv_read_fail(&reader->in, token,
                            "expected a list of rows, one per sender");
    for (;; rows++) {
        CV_TRY(cv_read_next(&reader->in, &item));
        if (item.node == CV_NODE_END)
            break;
        snprintf(reader->in.field, sizeof reader->in.field, "transfer[%zu]", rows);
        if (rows > 0 && rows == reader->draft.nodes) {
            snprintf(expected, sizeof expected,
                     "expected the end of %zu rows, as many as a row has times", rows);
            return cv_read_fail(&reader->in, &item, expected);
        }
        CV_TRY(take_row(reader, &item, rows));
    }
    snprintf(reader->in.field, sizeof reader->in.field, "transfer");
    if (rows == 0)
        return cv_fail_at(reader->in.err, &place,
                          "expected a list of rows, one per sender, got an empty list");
    if (rows < reader->draft.nodes)
        return cv_fail_at(reader->in.err, &place,
                          "expected %zu rows, as many as a row has times, got %zu",
                          reader->draft.nodes, rows);
    return CLEAVE_OK;
}

static enum cleave_status take_compute(struct costs_reader *reader,
                                       const struct cv_token *token)
{
    struct cv_token item;
    char expected[64];
    double time_s;

    reader->compute = *token;
    snprintf(expected, sizeof expected, "expected at most %d nodes", CV_COSTS_NODES);
    if (token->node != CV_NODE_LIST)
        return cv_read_fail(&reader->in, token, "expected a list of times, one per node");
    for (;;) {
        CV_TRY(cv_read_next(&reader->in, &item));
        if (item.node == CV_NODE_END)
            break;
        snprintf(reader->in.field, sizeof reader->in.field, "compute[%zu]",
                 reader->draft.compute.count);
        if (reader->draft.compute.count == CV_COSTS_NODES)
            return cv_read_fail(&reader->in, &item, expected);
        CV_TRY(cv_read_ranged(&reader->in, &item, CV_SECONDS, false, &time_s));
        CV_TRY(add_time(reader, &reader->draft.compute, time_s));
    }
    snprintf(reader->in.field, sizeof reader->in.field, "compute");
    return CLEAVE_OK;
}

/* After the last field: one time per row. */
static enum cleave_status check_compute(struct costs_reader *reader, bool given)
{
    struct cv_place place;

    reader->draft.has_compute = given;
    if (!given || reader->draft.compute.count == reader->draft.nodes)
        return CLEAVE_OK;
    snprintf(reader->in.field, sizeof reader->in.field, "compute");
    place = cv_read_place(&reader->in, &reader->compute);
    return cv_fail_at(reader->in.err, &place,
                      "expected %zu times, one per row of 'transfer', got %zu",
                      reader->draft.nodes, reader->draft.compute.count);
}

static enum cleave_status take_field(void *context, size_t index,
                                     const struct cv_token *value)
{
    return index == TRANSFER ? take_transfer(context, value)
                             : take_compute(context, value);
}

static enum cleave_status read_slowly(struct costs_reader *reader, const char *text,
                                      size_t length)
{
    const struct cv_fields all = { field_name, NFIELDS, TRANSFER, take_field, reader };
    unsigned seen[NFIELDS] = { 0 };
    enum cleave_status status = cv_read_mapping(&reader->in, text, length, &all, seen);

    if (status == CLEAVE_OK)
        status = check_compute(reader, seen[COMPUTE] != 0);
    cv_arena_done(&reader->in.arena);
    return status;
}

static enum cleave_status build(struct cv_costs_draft *draft, struct cleave_costs **out,
                                struct cleave_error *err)
{
    while (!draft->has_compute && draft->compute.count < draft->nodes)
        if (!cv_doubles_add(&draft->compute, 0))
            return cv_fail_memory(err, "costs");
    return cleave_costs_new((uint32_t)draft->nodes, draft->transfer.at, draft->compute.at,
                            out, err);
}

enum cleave_status cv_costs_parse(const char *name, const char *text, size_t length,
                                  struct cleave_costs **out, struct cleave_error *err)
{
    struct costs_reader reader = { .in = { .file = name, .err = err } };
    enum cleave_status status = CLEAVE_OK;

    if (!cv_costs_read_quickly(text, length, &reader.draft)) {
        cv_costs_draft_clear(&reader.draft);
        status = read_slowly(&reader, text, length);
    }
    if (status == CLEAVE_OK)
        status = build(&reader.draft, out, err);
    cv_costs_draft_clear(&reader.draft);
    return status;
}

enum cleave_status cleave_costs_load(const char *path, struct cleave_costs **out,
                                     struct cleave_error *err)
{
    enum cleave_status status;
    size_t length;
    char *text;

    CV_TRY(cv_input_read(path, FILE_MOST, &text, &length, err));
    status = cv_costs_parse(cv_input_name(path), text, length, out, err);
    free(text);
    return status;
}
