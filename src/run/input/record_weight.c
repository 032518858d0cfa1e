/* record_weight.c -- the cost or key of a record: a field, a column, or the answer of a command.
 * SPDX-License-Identifier: MIT */
#include "run/input/record_weight.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/quantity.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "run/common/process.h"
#include "run/common/shell.h"

/* --- texts ---------------------------------------------------------------------------------- */

static const char word_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-.";

enum cv_weight_kind cv_weight_kind_of(const char *text)
{
    if (text[0] == '\0')
        return CV_WEIGHT_ONE;
    if (text[strspn(text, word_bytes)] != '\0')
        return CV_WEIGHT_COMMAND;
    if (text[0] == '.')
        return CV_WEIGHT_FIELD;
    return text[strspn(text, "0123456789")] == '\0' ? CV_WEIGHT_COLUMN : CV_WEIGHT_WORD;
}

bool cv_weight_is_command(const char *text, const char *split)
{
    const enum cv_weight_kind kind = cv_weight_kind_of(text);

    return kind == CV_WEIGHT_COMMAND ||
           (kind == CV_WEIGHT_WORD && cv_is_program(text) &&
            (split == NULL || strncmp(split, "csv", 3) != 0));
}

enum { MAX_COLUMN = 9999 };

/* The member of the request, for messages. */
static const char *field_of(const struct cv_record_weight *weight)
{
    return weight->value == CV_VALUE_KEY ? "input.limits" : "input.weight";
}

/* The column of this name in a header. */
static enum cleave_status find_name(struct cv_record_weight *weight, const char *head,
                                    size_t length, const char *name,
                                    struct cleave_error *err)
{
    struct cv_key_text column;

    weight->kind = CV_WEIGHT_COLUMN;
    if (length == 0)
        return cv_fail_at(err, CV_FILE(name),
                          "%s %s: the input has no header that names columns; "
                          "expected the number of a column",
                          field_of(weight), CV_SHOWN(weight->text, 40));
    for (unsigned i = 1; cv_splitter_column(weight->splitter, i, head, length, &column);
         i++)
        if (column.length == strlen(weight->text) &&
            memcmp(column.bytes, weight->text, column.length) == 0) {
            weight->column = i;
            return CLEAVE_OK;
        }
    if (weight->value == CV_VALUE_KEY)
        return cv_fail_at(err, CV_FILE(name),
                          "input.limits: no column '%s' in the header",
                          CV_SHOWN(weight->text, 30));
    return cv_fail_at(err, CV_FILE(name),
                      "input.weight: no column '%s' in the header (a command needs a "
                      "blank or a slash: './%s')",
                      CV_SHOWN(weight->text, 30), CV_SHOWN(weight->text, 30));
}

static bool is_field(const char *text)
{
    const size_t length = strlen(text);

    return text[0] == '.' && text[length - 1] != '.' && strstr(text, "..") == NULL;
}

enum cleave_status cv_record_weight_init(struct cv_record_weight *weight,
                                         const char *text, enum cv_record_value value,
                                         double missing,
                                         const struct cv_splitter *splitter,
                                         const char *head, size_t length,
                                         const char *name, struct cleave_error *err)
{
    *weight = (struct cv_record_weight){ .kind = cv_weight_kind_of(text),
                                         .text = text,
                                         .value = value,
                                         .missing = missing,
                                         .splitter = splitter };
    if (weight->kind == CV_WEIGHT_FIELD && !is_field(text))
        return cv_fail(err, CLEAVE_EINPUT, "%s: expected a field such as %s, got '%s'",
                       field_of(weight),
                       value == CV_VALUE_KEY ? ".host or .request.host"
                                             : ".tokens or .usage.tokens",
                       CV_SHOWN(text, 40));
    if (weight->kind == CV_WEIGHT_COLUMN) {
        weight->column = strlen(text) < 5 ? (unsigned)strtoul(text, NULL, 10) : 0;
        if (weight->column == 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "%s: expected a column from 1 to %d, got '%s'",
                           field_of(weight), MAX_COLUMN, CV_SHOWN(text, 40));
    }
    if (weight->kind == CV_WEIGHT_WORD && cv_splitter_has_columns(splitter))
        return find_name(weight, head, length, name, err);
    if (value == CV_VALUE_KEY && weight->kind != CV_WEIGHT_FIELD &&
        weight->kind != CV_WEIGHT_COLUMN)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "input.limits: expected a key such as .host of JSON, column 2, or a "
            "name in csv, got '%s'",
            CV_SHOWN(text, 30));
    if (weight->kind != CV_WEIGHT_WORD)
        return CLEAVE_OK;
    weight->kind = CV_WEIGHT_COMMAND;
    return cv_is_program(text)
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT,
                         "input.weight: expected .FIELD of JSON, a column or a command, "
                         "got '%s', which is not a program",
                         CV_SHOWN(text, 40));
}

/* --- fields of JSON ------------------------------------------------------------------------- */

struct reader {
    const char *at, *end;
};

static void skip_space(struct reader *in)
{
    while (in->at < in->end && strchr(" \t\r\n", *in->at) != NULL)
        in->at++;
}

static bool skip_byte(struct reader *in, char byte)
{
    skip_space(in);
    if (in->at == in->end || *in->at != byte)
        return false;
    in->at++;
    return true;
}

/* After the opening quote: skip the rest of a string. */
static bool skip_string(struct reader *in)
{
    for (; in->at < in->end; in->at++) {
        if (*in->at == '\\' && in->at + 1 < in->end)
            in->at++;
        else if (*in->at == '"') {
            in->at++;
            return true;
        }
    }
    return false;
}

static bool skip_value(struct reader *in)
{
    size_t depth = 0;

    skip_space(in);
    do {
        if (in->at == in->end)
            return false;
        if (*in->at == '"') {
            in->at++;
            if (!skip_string(in))
                return false;
            continue;
        }
        if (depth == 0 && strchr("{[", *in->at) == NULL) {
            while (in->at < in->end && strchr(",}] \t\r\n", *in->at) == NULL)
                in->at++;
            return true;
        }
        depth += *in->at == '{' || *in->at == '[';
        depth -= *in->at == '}' || *in->at == ']';
        in->at++;
    } while (depth > 0);
    return true;
}

bool cv_weight_find_field(const char *bytes, size_t length, const char *path,
                          struct cv_key_text *out)
{
    struct reader in = { bytes, bytes + length };

    *out = (struct cv_key_text){ bytes, 0 };
    while (in.at < in.end && strchr(",[ \t\r\n", *in.at) != NULL)
        in.at++; /* records of an array */
    while (*path == '.') {
        const size_t nkey = strcspn(path + 1, ".");
        bool found = false;

        if (!skip_byte(&in, '{'))
            return false;
        do {
            const char *key;

            skip_space(&in);
            if (skip_byte(&in, '}'))
                return true;
            if (!skip_byte(&in, '"'))
                return false;
            key = in.at;
            if (!skip_string(&in))
                return false;
            found = (size_t)(in.at - 1 - key) == nkey && memcmp(key, path + 1, nkey) == 0;
            if (!skip_byte(&in, ':'))
                return false;
            skip_space(&in);
            if (!found && !skip_value(&in))
                return false;
        } while (!found && skip_byte(&in, ','));
        if (!found)
            return skip_byte(&in, '}');
        path += 1 + nkey;
        if (*path == '.' && (in.at == in.end || *in.at != '{'))
            return true; /* .a has no fields */
    }
    out->bytes = in.at;
    if (!skip_value(&in))
        return false;
    out->length = (size_t)(in.at - out->bytes);
    if (out->length == 4 && memcmp(out->bytes, "null", 4) == 0)
        out->length = 0;
    return true;
}

/* --- weights of records --------------------------------------------------------------------- */

enum { NUMBER_ROOM = 64 };

static enum cleave_status fail_missing(const struct cv_record_weight *weight,
                                       const char *name, uint64_t number,
                                       struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(name),
                      "record %" PRIu64 ": no weight in %s%s; input.weight_default sets "
                      "one for such records",
                      number, weight->kind == CV_WEIGHT_COLUMN ? "column " : "",
                      CV_SHOWN(weight->text, 30));
}

enum cleave_status cv_record_weight_parse(const struct cv_record_weight *weight,
                                          const char *bytes, size_t length,
                                          const char *name, uint64_t number, double *out,
                                          struct cleave_error *err)
{
    char text[NUMBER_ROOM], shown[NUMBER_ROOM];

    while (length > 0 && strchr(" \t\r\n", bytes[length - 1]) != NULL)
        length--;
    while (length > 0 && strchr(" \t", *bytes) != NULL) {
        bytes++;
        length--;
    }
    *out = weight->missing;
    if (length == 0)
        return weight->missing > 0 ? CLEAVE_OK : fail_missing(weight, name, number, err);
    if (length < sizeof text && memchr(bytes, '\0', length) == NULL) {
        memcpy(text, bytes, length);
        text[length] = '\0';
        if (cv_quantity_parse(text, CV_UNITS, out) == NULL && *out >= 0)
            return CLEAVE_OK;
    }
    return cv_fail_at(err, CV_FILE(name),
                      "record %" PRIu64
                      ": expected a weight of 0 or more from %s%s, got '%s'",
                      number, weight->kind == CV_WEIGHT_COLUMN ? "column " : "",
                      CV_SHOWN(weight->text, 30),
                      cv_shown(bytes, length, shown, sizeof shown / 2));
}

/* The text of the field or column; *found: the record has it. */
static enum cleave_status find_text(const struct cv_record_weight *weight,
                                    const char *bytes, size_t length, const char *name,
                                    uint64_t number, struct cv_key_text *out, bool *found,
                                    struct cleave_error *err)
{
    char shown[NUMBER_ROOM];

    *out = (struct cv_key_text){ bytes, 0 };
    if (weight->kind == CV_WEIGHT_COLUMN) {
        *found = cv_splitter_column(weight->splitter, weight->column, bytes, length, out);
        return CLEAVE_OK;
    }
    if (!cv_weight_find_field(bytes, length, weight->text, out))
        return cv_fail_at(err, CV_FILE(name),
                          "record %" PRIu64 ": expected a JSON object with %s, got '%s'",
                          number, CV_SHOWN(weight->text, 30),
                          cv_shown(bytes, length, shown, sizeof shown / 2));
    *found = out->length > 0;
    return CLEAVE_OK;
}

enum cleave_status cv_record_weight_read(const struct cv_record_weight *weight,
                                         const char *bytes, size_t length,
                                         const char *name, uint64_t number, double *out,
                                         struct cleave_error *err)
{
    struct cv_key_text text;
    bool found;

    *out = 1;
    if (weight->kind == CV_WEIGHT_ONE)
        return CLEAVE_OK;
    CV_TRY(find_text(weight, bytes, length, name, number, &text, &found, err));
    return cv_record_weight_parse(weight, text.bytes, text.length, name, number, out,
                                  err);
}

enum cleave_status cv_record_key_read(const struct cv_record_weight *weight,
                                      const char *bytes, size_t length, const char *name,
                                      uint64_t number, uint64_t seed, uint64_t *out,
                                      struct cleave_error *err)
{
    struct cv_key_text text;
    bool found;

    CV_TRY(find_text(weight, bytes, length, name, number, &text, &found, err));
    if (!found)
        return cv_fail_at(err, CV_FILE(name),
                          "record %" PRIu64
                          ": expected a key in %s%s for input.limits, got "
                          "none",
                          number, weight->kind == CV_WEIGHT_COLUMN ? "column " : "",
                          CV_SHOWN(weight->text, 30));
    while (text.length > 0 && strchr(" \t\r\n", text.bytes[text.length - 1]) != NULL)
        text.length--;
    *out = XXH3_64bits_withSeed(text.bytes, text.length, seed) | 1;
    return CLEAVE_OK;
}

/* --- the command ------------------------------------------------------------------------- */

struct cv_weigher {
    const char *line; /* borrowed */
    struct cv_command command;
    struct cv_process process;
    struct cv_pipe in, out;
    char *answers; /* owned: everything that the command has written */
    size_t length, capacity, taken;
};

enum { ANSWER_BYTES = 65536, LOOK_MS = 100 };

enum cleave_status cv_weigher_start(const char *line, struct cv_weigher **out,
                                    struct cleave_error *err)
{
    struct cv_weigher *weigher = calloc(1, sizeof *weigher);
    enum cleave_status status;

    if (weigher == NULL)
        return cv_fail_memory(err, "the weights of records");
    *out = weigher;
    weigher->line = line;
    weigher->in = weigher->out = (struct cv_pipe){ -1, -1 };
    status = cv_shell_command_init(&weigher->command, NULL, line, err);
    CV_THEN(status, cv_pipe_open(&weigher->in, err));
    CV_THEN(status, cv_pipe_open(&weigher->out, err));
    if (status == CLEAVE_OK && (!cv_never_wait(weigher->in.write)))
        status = cv_fail_errno(err, errno, "the weights of records");
    CV_THEN(status,
            cv_process_start(&weigher->process, &weigher->command,
                             &(struct cv_process_files){ .in = weigher->in.read,
                                                         .out = weigher->out.write,
                                                         .errors = -1,
                                                         .extra = -1 },
                             NULL, err));
    cv_close(&weigher->in.read);
    cv_close(&weigher->out.write);
    return status;
}

/* Wait until the command reads or writes; store its answers. */
static enum cleave_status attend(struct cv_weigher *weigher, struct cleave_error *err)
{
    struct pollfd both[] = { { .fd = weigher->out.read, .events = POLLIN },
                             { .fd = weigher->in.write, .events = POLLOUT } };
    ssize_t got;

    if (cv_signal_waits(true))
        return cv_fail_stopped(err);
    if (poll(both, 2, LOOK_MS) <= 0 || both[0].revents == 0)
        return CLEAVE_OK;
    if (!CV_ROOM(weigher->answers, &weigher->capacity, weigher->length + ANSWER_BYTES))
        return cv_fail_memory(err, "the weights of records");
    got = read(weigher->out.read, weigher->answers + weigher->length, ANSWER_BYTES);
    if (got > 0)
        weigher->length += (size_t)got;
    else if (got == 0)
        cv_close(&weigher->out.read);
    return CLEAVE_OK;
}

enum cleave_status cv_weigher_feed(struct cv_weigher *weigher, const char *bytes,
                                   size_t length, struct cleave_error *err)
{
    while (length > 0 && weigher->in.write >= 0) {
        const ssize_t given = write(weigher->in.write, bytes, length);

        if (given > 0) {
            bytes += given;
            length -= (size_t)given;
        } else if (errno == EPIPE) {
            cv_close(
                &weigher->in.write); /* the command has exited: its answers are counted */
        } else {
            CV_TRY(attend(weigher, err));
        }
    }
    return CLEAVE_OK;
}

enum cleave_status cv_weigher_finish(struct cv_weigher *weigher, struct cleave_error *err)
{
    cv_close(&weigher->in.write);
    while (weigher->out.read >= 0)
        CV_TRY(attend(weigher, err));
    while (!cv_process_reap(&weigher->process)) {
        if (cv_signal_waits(true))
            return cv_fail_stopped(err);
        poll(&(struct pollfd){ .fd = weigher->process.pidfd, .events = POLLIN }, 1,
             LOOK_MS);
    }
    if (weigher->process.exit_code == 0)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT, "input.weight: '%s' failed %s %d",
                   CV_SHOWN(weigher->line, 60),
                   weigher->process.signal != 0 ? "by signal" : "with status",
                   weigher->process.signal != 0 ? weigher->process.signal
                                                : weigher->process.exit_code);
}

bool cv_weigher_next(struct cv_weigher *weigher, const char **bytes, size_t *length)
{
    const char *from = weigher->answers + weigher->taken;
    const size_t rest = weigher->length - weigher->taken;
    const char *end = rest > 0 ? memchr(from, '\n', rest) : NULL;

    if (rest == 0)
        return false;
    *bytes = from;
    *length = end != NULL ? (size_t)(end - from) : rest;
    weigher->taken += *length + (end != NULL);
    return true;
}

void cv_weigher_free(struct cv_weigher *weigher)
{
    if (weigher == NULL)
        return;
    cv_process_kill(&weigher->process);
    cv_pipe_close(&weigher->in);
    cv_pipe_close(&weigher->out);
    cv_command_done(&weigher->command);
    free(weigher->answers);
    free(weigher);
}
