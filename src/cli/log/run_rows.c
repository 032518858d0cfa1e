/* run_rows.c -- what each command of an item wrote, as rows of one file.
 * SPDX-License-Identifier: MIT
 *
 * Columns, names and quotes are those of GNU parallel. A row is the output of its item for the
 * run, which writes it in the place of what the command wrote: so rows are in order. */
#include "cli/log/run_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"

enum cv_rows_kind cv_rows_kind(const char *name)
{
    static const struct {
        const char *end;
        enum cv_rows_kind kind;
    } ends[] = { { ".csv", CV_ROWS_CSV },
                 { ".tsv", CV_ROWS_TSV },
                 { ".json", CV_ROWS_JSON },
                 { ".jsonl", CV_ROWS_JSON } };
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t end = strlen(ends[i].end);

        if (length > end && strcasecmp(name + length - end, ends[i].end) == 0)
            return ends[i].kind;
    }
    return CV_ROWS_NONE;
}

void cv_run_rows_done(struct cv_run_rows *rows)
{
    for (size_t i = 0; i < rows->nerrors; i++)
        close(rows->errors[i].fd);
    free(rows->errors);
}

void cv_run_rows_attempted(struct cv_run_rows *rows, const struct cleave_attempt *attempt)
{
    rows->last = *attempt;
    snprintf(rows->worker, sizeof rows->worker, "%s", attempt->worker);
    rows->last.worker = rows->worker;
    rows->last.input = "";
}

/* --- standard error ----------------------------------------------------------------------- */

/* What there is of an earlier attempt is forgotten. */
enum cleave_status cv_run_rows_errors(struct cv_run_rows *rows, uint64_t item, int *out,
                                      struct cleave_error *err)
{
    size_t at = 0;
    int fd;

    while (at < rows->nerrors && rows->errors[at].item != item)
        at++;
    if (!CV_ROOM(rows->errors, &rows->room, at + 1))
        return cv_fail_memory(err, "--results");
    fd = memfd_create("stderr", MFD_CLOEXEC);
    *out = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (*out < 0) {
        if (fd >= 0)
            close(fd);
        return cv_fail(err, CLEAVE_EENGINE, "--results: cannot keep standard error: %s",
                       strerror(errno));
    }
    if (at < rows->nerrors)
        close(rows->errors[at].fd);
    else
        rows->nerrors++;
    rows->errors[at] = (struct cv_row_errors){ item, fd };
    return CLEAVE_OK;
}

static int take_errors(struct cv_run_rows *rows, uint64_t item)
{
    for (size_t i = 0; i < rows->nerrors; i++)
        if (rows->errors[i].item == item) {
            const int fd = rows->errors[i].fd;

            rows->errors[i] = rows->errors[--rows->nerrors];
            return fd;
        }
    return -1;
}

/* --- values ------------------------------------------------------------------------------- */

/* Any bytes, zeros as well. */
static void add_bytes(struct cv_text *out, const char *bytes, size_t length)
{
    out->failed =
        out->failed || !CV_ROOM(out->bytes, &out->capacity, out->length + length + 1);
    if (out->failed)
        return;
    if (length > 0)
        memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    out->bytes[out->length] = '\0';
}

/* With quotes around it if it holds a quote, a blank or what parts columns. */
static void add_column(struct cv_text *out, const char *bytes, size_t length,
                       char between)
{
    bool quoted = false;

    for (size_t i = 0; i < length && !quoted; i++)
        quoted = bytes[i] == '"' || bytes[i] == between || bytes[i] == ' ' ||
                 bytes[i] == '\0' || (bytes[i] >= '\t' && bytes[i] <= '\r');
    if (!quoted) {
        add_bytes(out, bytes, length);
        return;
    }
    cv_text_add(out, "\"");
    while (length > 0) {
        const char *quote = memchr(bytes, '"', length);
        const size_t some = quote != NULL ? (size_t)(quote + 1 - bytes) : length;

        add_bytes(out, bytes, some);
        if (quote != NULL)
            add_bytes(out, "\"", 1);
        bytes += some;
        length -= some;
    }
    add_bytes(out, "\"", 1);
}

/* A byte that is no UTF-8 is the character of its number. */
static void add_json(struct cv_text *out, const char *bytes, size_t length)
{
    cv_text_add(out, "\"");
    for (size_t i = 0; i < length;) {
        const unsigned char byte = (unsigned char)bytes[i];
        const size_t whole = cv_utf8(bytes + i, length - i, NULL);

        if (byte == '"' || byte == '\\')
            cv_text_add(out, "\\%c", byte);
        else if (byte < ' ' || whole == 0)
            cv_text_add(out, "\\u%04x", byte);
        else
            add_bytes(out, bytes + i, whole);
        i += whole > 0 ? whole : 1;
    }
    cv_text_add(out, "\"");
}

/* --- rows --------------------------------------------------------------------------------- */

/* What a row has beside numbers. */
struct row {
    struct cv_item_arguments arguments;
    struct cv_text command, output, errors;
};

static enum cleave_status read_range(int fd, uint64_t begin, uint64_t end,
                                     struct cv_text *out, struct cleave_error *err)
{
    char *bytes = end > begin ? malloc((size_t)(end - begin)) : NULL;
    uint64_t at = begin;

    if (end > begin && bytes == NULL)
        return cv_fail_memory(err, "an output");
    while (at < end) {
        const ssize_t got =
            pread(fd, bytes + (at - begin), (size_t)(end - at), (off_t)at);

        if (got <= 0) {
            free(bytes);
            return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again: %s",
                           strerror(errno));
        }
        at += (uint64_t)got;
    }
    *out = (struct cv_text){ bytes, (size_t)(end - begin), (size_t)(end - begin), false };
    return CLEAVE_OK;
}

static void add_names(const struct cv_run_rows *rows, const struct row *row, char between,
                      struct cv_text *out)
{
    static const char *const first[] = { "Seq",        "Host",   "Starttime",
                                         "JobRuntime", "Send",   "Receive",
                                         "Exitval",    "Signal", "Command" };
    const struct cv_item_commands *commands = rows->commands;

    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        cv_text_add(out, "%s%c", first[i], between);
    for (size_t i = 0; i < row->arguments.count; i++) {
        if (i < commands->nnames)
            add_column(out, commands->names[i], strlen(commands->names[i]), between);
        else
            cv_text_add(out, "V%zu", i + 1);
        cv_text_add(out, "%c", between);
    }
    cv_text_add(out, "Stdout%cStderr\n", between);
}

static void add_row(const struct cv_run_rows *rows, const struct row *row, uint64_t item,
                    char between, struct cv_text *out)
{
    const struct cleave_attempt *last = &rows->last;

    cv_text_add(out, "%llu%c", (unsigned long long)item + 1, between);
    add_column(out, last->worker, strlen(last->worker), between);
    cv_text_add(out, "%c%.3f%c%.3f%c%llu%c%llu%c%d%c%d%c", between, last->start_s,
                between, last->seconds, between, (unsigned long long)last->sent, between,
                (unsigned long long)last->received, between,
                last->exit_code < 0 ? 0 : last->exit_code, between, last->signal,
                between);
    add_column(out, row->command.bytes, row->command.length, between);
    cv_text_add(out, "%c", between);
    for (size_t i = 0; i < row->arguments.count; i++) {
        add_column(out, row->arguments.items[i], strlen(row->arguments.items[i]),
                   between);
        cv_text_add(out, "%c", between);
    }
    add_column(out, row->output.bytes, row->output.length, between);
    cv_text_add(out, "%c", between);
    add_column(out, row->errors.bytes, row->errors.length, between);
    cv_text_add(out, "\n");
}

static void add_object(const struct cv_run_rows *rows, const struct row *row,
                       uint64_t item, struct cv_text *out)
{
    const struct cleave_attempt *last = &rows->last;

    cv_text_add(out, "{ \"Seq\": %llu, \"Host\": ", (unsigned long long)item + 1);
    add_json(out, last->worker, strlen(last->worker));
    cv_text_add(out,
                ", \"Starttime\": %.3f, \"JobRuntime\": %.3f, \"Send\": %llu, "
                "\"Receive\": %llu, \"Exitval\": %d, \"Signal\": %d, \"Command\": ",
                last->start_s, last->seconds, (unsigned long long)last->sent,
                (unsigned long long)last->received,
                last->exit_code < 0 ? 0 : last->exit_code, last->signal);
    add_json(out, row->command.bytes, row->command.length);
    cv_text_add(out, ", \"V\": [ ");
    for (size_t i = 0; i < row->arguments.count; i++) {
        cv_text_add(out, "%s", i > 0 ? "," : "");
        add_json(out, row->arguments.items[i], strlen(row->arguments.items[i]));
    }
    cv_text_add(out, " ], \"Stdout\": ");
    add_json(out, row->output.bytes, row->output.length);
    cv_text_add(out, ", \"Stderr\": ");
    add_json(out, row->errors.bytes, row->errors.length);
    cv_text_add(out, " }\n");
}

static enum cleave_status collect(struct cv_run_rows *rows, uint64_t item, int fd,
                                  uint64_t begin, uint64_t end, struct row *row,
                                  struct cleave_error *err)
{
    const int errors = take_errors(rows, item);
    enum cleave_status status = CLEAVE_OK;
    struct stat facts;

    if (errors >= 0 && fstat(errors, &facts) == 0)
        status = read_range(errors, 0, (uint64_t)facts.st_size, &row->errors, err);
    if (errors >= 0)
        close(errors);
    if (status == CLEAVE_OK)
        status = read_range(fd, begin, end, &row->output, err);
    if (status == CLEAVE_OK)
        status = cv_item_arguments_get(rows->commands, item, &row->arguments, err);
    if (status == CLEAVE_OK)
        status = cv_item_commands_line(rows->commands, item, rows->last.place,
                                       &row->command, err);
    return status;
}

enum cleave_status cv_run_rows_make(struct cv_run_rows *rows, uint64_t item, int fd,
                                    uint64_t begin, uint64_t end, char **out,
                                    size_t *out_length, struct cleave_error *err)
{
    struct row row = { .arguments.items = NULL };
    struct cv_text text = { NULL, 0, 0, false };
    const char between = rows->kind == CV_ROWS_TSV ? '\t' : ',';
    enum cleave_status status = collect(rows, item, fd, begin, end, &row, err);

    if (status == CLEAVE_OK && rows->kind == CV_ROWS_JSON)
        add_object(rows, &row, item, &text);
    else if (status == CLEAVE_OK) {
        if (!rows->begun && (item == 0 || rows->unordered)) {
            add_names(rows, &row, between, &text);
            rows->begun = true;
        }
        add_row(rows, &row, item, between, &text);
    }
    if (status == CLEAVE_OK && text.failed)
        status = cv_fail_memory(err, "--results");
    cv_item_arguments_done(&row.arguments);
    cv_text_done(&row.command);
    cv_text_done(&row.output);
    cv_text_done(&row.errors);
    if (status != CLEAVE_OK) {
        cv_text_done(&text);
        return status;
    }
    *out = text.bytes;
    *out_length = text.length;
    return CLEAVE_OK;
}
