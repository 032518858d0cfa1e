/* job_log.c -- rows for commands that ended: the job log, and outputs of items.
 * SPDX-License-Identifier: MIT */
#include "cli/log/job_log.h"

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
#include "base/shell_word.h"
#include "run/common/piece_part.h"

struct entry {
    const struct cleave_attempt *attempt;
    uint64_t number; /* item or chunk, from 1 */
    const struct cv_text *command;
};

/* X(NAME, title, needed, text, format, value), in the order of GNU parallel. A log
 * without a needed column is not continued. A text is quoted where the format needs
 * it. */
#define COLUMNS(X)                                                                  \
    X(SEQ, "Seq", true, false, "%llu", (unsigned long long)entry->number)           \
    X(HOST, "Host", true, true, "%s", entry->attempt->worker)                       \
    X(START, "Starttime", false, false, "%.3f", entry->attempt->start_s)            \
    X(RUNTIME, "JobRuntime", true, false, "%.3f", entry->attempt->seconds)          \
    X(SENT, "Send", false, false, "%llu", (unsigned long long)entry->attempt->sent) \
    X(RECEIVED, "Receive", false, false, "%llu",                                    \
      (unsigned long long)entry->attempt->received)                                 \
    X(STATUS, "Exitval", true, false, "%d",                                         \
      entry->attempt->exit_code < 0 ? 0 : entry->attempt->exit_code)                \
    X(SIGNAL, "Signal", true, false, "%d", entry->attempt->signal)                  \
    X(COMMAND, "Command", true, true, "%s", "?")

enum column {
#define X(name, title, needed, text, format, value) COLUMN_##name,
    COLUMNS(X)
#undef X
        NCOLUMNS
};

static const struct {
    const char *title;
    bool needed, text;
} columns[] = {
#define X(name, title, needed, text, format, value) { title, needed, text },
    COLUMNS(X)
#undef X
};

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

static void add_value(int column, const struct entry *entry, struct cv_text *out)
{
    /* A command may hold any bytes. */
    if (column == COLUMN_COMMAND && !entry->command->failed &&
        entry->command->bytes != NULL) {
        add_bytes(out, entry->command->bytes, entry->command->length);
        return;
    }
    switch (column) {
#define X(name, title, needed, text, format, value) \
    case COLUMN_##name:                             \
        cv_text_add(out, format, value);            \
        break;
        COLUMNS(X)
#undef X
    }
}

/* --- the job log ------------------------------------------------------------------------ */

static int find_column(const char *title, size_t length)
{
    for (int i = 0; i < NCOLUMNS; i++)
        if (strncmp(columns[i].title, title, length) == 0 &&
            columns[i].title[length] == '\0')
            return i;
    return -1;
}

/* The columns of an older log, by its first line. */
static int read_columns(struct cv_job_log *log, const char *line)
{
    bool found[NCOLUMNS] = { false };

    for (log->ncolumns = 0;; line++) {
        const size_t length = strcspn(line, "\t\n");
        const int column = find_column(line, length);

        if (log->ncolumns == CV_LOG_COLUMNS)
            return cv_refuse("--joblog: '%s' has more than %d columns",
                             CV_ECHO(log->out.path), CV_LOG_COLUMNS);
        log->columns[log->ncolumns++] = column;
        if (column >= 0)
            found[column] = true;
        line += length;
        if (*line != '\t')
            break;
    }
    for (int i = 0; i < NCOLUMNS; i++)
        if (columns[i].needed && !found[i])
            return cv_refuse("--joblog: --resume cannot continue '%s': its first line "
                             "has no column '%s'",
                             CV_ECHO(log->out.path), columns[i].title);
    return CV_EXIT_DONE;
}

static void write_titles(struct cv_job_log *log)
{
    for (int i = 0; i < NCOLUMNS; i++) {
        log->columns[i] = i;
        fprintf(log->out.file, "%s%s", i > 0 ? "\t" : "", columns[i].title);
    }
    log->ncolumns = NCOLUMNS;
    fputc('\n', log->out.file);
}

/* Copy an older log; its last line may be cut. */
static int copy_lines(struct cv_job_log *log, FILE *older)
{
    char *line = NULL, last = '\n';
    size_t room = 0;
    ssize_t length = getline(&line, &room, older);
    int status = CV_EXIT_DONE;

    if (length > 0)
        status = read_columns(log, line);
    else
        write_titles(log);
    while (length > 0 && status == CV_EXIT_DONE) {
        fwrite(line, 1, (size_t)length, log->out.file);
        last = line[length - 1];
        length = getline(&line, &room, older);
    }
    free(line);
    if (status != CV_EXIT_DONE)
        return status;
    if (last != '\n')
        fputc('\n', log->out.file);
    return ferror(older)
               ? cv_print_error(CV_EXIT_FAILED, "--joblog: cannot read '%s': %s",
                                CV_ECHO(log->out.path), strerror(errno))
               : CV_EXIT_DONE;
}

/* Begin with the lines of an older log, if that is a file. */
static int begin(struct cv_job_log *log, const char *path, bool resumes)
{
    struct stat now;
    FILE *older;
    int status;

    if (!resumes || strcmp(path, "-") == 0 || stat(path, &now) != 0 ||
        !S_ISREG(now.st_mode)) {
        write_titles(log);
        return CV_EXIT_DONE;
    }
    older = fopen(path, "re");
    if (older == NULL)
        return cv_refuse("--joblog: cannot read '%s': %s", CV_ECHO(path),
                         strerror(errno));
    status = copy_lines(log, older);
    fclose(older);
    return status;
}

int cv_job_log_open(struct cv_job_log *log, const char *path, bool resumes)
{
    int status;

    *log = (struct cv_job_log){ .failed = CV_EXIT_DONE };
    if (path == NULL)
        return CV_EXIT_DONE;
    CV_DO(cv_output_open(&log->out, "--joblog", path, CV_NEW_FILE_SECRET));
    status = cv_output_clear(&log->out.made, "--joblog", true);
    if (status == CV_EXIT_DONE)
        status = begin(log, path, resumes);
    if (status != CV_EXIT_DONE) {
        cv_output_drop(&log->out);
        log->out.file = NULL;
    }
    return status;
}

/* A name with tabs or line ends is quoted for a shell, and so is a name that looks
 * quoted. */
static void add_name(struct cv_text *out, const char *name)
{
    if (cv_printable(name, strlen(name), true) && name[0] != '$' && name[0] != '\'')
        cv_text_add(out, "%s", name);
    else
        cv_shell_word_add(out, name);
}

static void add_command(struct cv_text *out, const struct cleave_attempt *attempt,
                        const struct cv_item_commands *items)
{
    struct cleave_error ignored;

    if (items == NULL) {
        add_name(out, attempt->input);
        cv_text_add(out, ":%llu-%llu", (unsigned long long)attempt->begin,
                    (unsigned long long)attempt->end);
        return;
    }
    (void)cv_item_commands_run_line(items, attempt->begin, attempt->end - attempt->begin,
                                    attempt->place, out, &ignored);
    /* As in GNU parallel, zero bytes replace line ends. */
    for (size_t i = 0; !out->failed && i < out->length; i++)
        if (out->bytes[i] == '\n')
            out->bytes[i] = '\0';
}

void cv_job_log_add(struct cv_job_log *log, const struct cleave_attempt *attempt,
                    const struct cv_item_commands *items)
{
    struct cv_text command = { NULL, 0, 0, false }, line = command;
    const struct entry entry = { attempt,
                                 (items != NULL ? attempt->begin : attempt->chunk) + 1,
                                 &command };

    if (log->out.file == NULL || log->failed != CV_EXIT_DONE)
        return;
    add_command(&command, attempt, items);
    for (size_t i = 0; i < log->ncolumns; i++) {
        add_value(log->columns[i], &entry, &line); /* an unknown column stays empty */
        cv_text_add(&line, i + 1 < log->ncolumns ? "\t" : "");
    }
    /* The columns remain the columns of GNU parallel. */
    cv_text_add(&line, attempt->dropped ? "\tdropped\n" : "\n");
    if (!line.failed)
        fwrite(line.bytes, 1, line.length, log->out.file);
    cv_text_done(&command);
    cv_text_done(&line);
    /* The log gets its name with the first row, so that it can be followed. Errors are
     * printed once. */
    log->failed = cv_output_place(&log->out);
}

int cv_job_log_close(struct cv_job_log *log, int status)
{
    const bool began = log->out.made.beside == NULL;
    int closed = log->failed;

    if (log->out.file == NULL)
        return status;
    /* A run that failed before any command ended has nothing to log. */
    if (closed == CV_EXIT_DONE && (began || status == CV_EXIT_DONE))
        closed = cv_output_close(&log->out, false);
    else
        cv_output_drop(&log->out);
    log->out.file = NULL;
    return status == CV_EXIT_DONE ? closed : status;
}

/* --- failures of a trace ---------------------------------------------------------------- */

void cv_failure_list_add(struct cv_failure_list *list,
                         const struct cleave_attempt *attempt,
                         const struct cv_item_commands *items)
{
    struct cv_text what = { NULL, 0, 0, false };
    struct cleave_trace_failure *failure;
    struct cleave_error ignored;

    if (list->arena == NULL || !attempt->given_up || list->count == CV_FAILURES_KEPT)
        return;
    if (list->items == NULL && !CV_NEW(list->arena, list->items, CV_FAILURES_KEPT))
        return;
    if (items != NULL)
        (void)cv_item_commands_run_line(items, attempt->begin,
                                        attempt->end - attempt->begin, attempt->place,
                                        &what, &ignored);
    else
        cv_text_add(&what, "%s: bytes %llu to %llu", attempt->input,
                    (unsigned long long)attempt->begin, (unsigned long long)attempt->end);
    failure = &list->items[list->count++];
    *failure = (struct cleave_trace_failure){
        .worker = attempt->place - 1,
        .chunk = attempt->chunk,
        .attempts = attempt->attempt,
        .what = cv_arena_text(list->arena,
                              !what.failed && what.bytes != NULL ? what.bytes : ""),
        .how = cv_arena_text(list->arena, attempt->how),
        .errors = attempt->errors[0] != '\0' ? cv_arena_text(list->arena, attempt->errors)
                                             : NULL,
    };
    cv_text_done(&what);
}

/* --- rows of --results ------------------------------------------------------------------ */

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

/* In quotes if it has a quote, a separator or white space. `end` follows it. */
static void add_column(struct cv_text *out, const char *bytes, size_t length,
                       char between, char end)
{
    bool quoted = false;

    for (size_t i = 0; i < length && !quoted; i++)
        quoted = bytes[i] == '"' || bytes[i] == between || bytes[i] == ' ' ||
                 bytes[i] == '\0' || (bytes[i] >= '\t' && bytes[i] <= '\r');
    if (quoted)
        add_bytes(out, "\"", 1);
    while (length > 0) {
        const char *quote = memchr(bytes, '"', length);
        const size_t some = quote != NULL ? (size_t)(quote + 1 - bytes) : length;

        add_bytes(out, bytes, some);
        if (quote != NULL)
            add_bytes(out, "\"", 1);
        bytes += some;
        length -= some;
    }
    cv_text_add(out, "%s%c", quoted ? "\"" : "", end);
}

/* Bytes that are not UTF-8 are characters of the same number. */
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

struct row {
    struct entry entry;
    struct cv_item_arguments arguments;
    struct cv_text command, output, errors;
};

static enum cleave_status read_range(int fd, uint64_t begin, uint64_t end,
                                     struct cv_text *out, struct cleave_error *err)
{
    const struct cv_part part = { .fd = fd, .begin = begin, .end = end };
    const size_t length = (size_t)(end - begin);
    char *bytes = length > 0 ? malloc(length) : NULL;

    if (length > 0 && bytes == NULL)
        return cv_fail_memory(err, "an output");
    if (length > 0 && cv_part_read(&part, begin, bytes, length) != (ssize_t)length) {
        free(bytes);
        return cv_fail(err, CLEAVE_EENGINE, "cannot read an output again: %s",
                       strerror(errno));
    }
    *out = (struct cv_text){ bytes, length, length, false };
    return CLEAVE_OK;
}

static void add_titles(const struct cv_run_rows *rows, const struct row *row,
                       char between, struct cv_text *out)
{
    const struct cv_item_commands *commands = rows->commands;

    for (int i = 0; i < NCOLUMNS; i++)
        cv_text_add(out, "%s%c", columns[i].title, between);
    for (size_t i = 0; i < row->arguments.count; i++) {
        if (i < commands->nnames)
            add_column(out, commands->names[i], strlen(commands->names[i]), between,
                       between);
        else
            cv_text_add(out, "V%zu%c", i + 1, between);
    }
    cv_text_add(out, "Stdout%cStderr\n", between);
}

static void add_row(const struct row *row, char between, struct cv_text *out)
{
    for (int i = 0; i < NCOLUMNS; i++) {
        struct cv_text value = { NULL, 0, 0, false };

        add_value(i, &row->entry, &value);
        add_column(out, value.bytes, value.length, between, between);
        cv_text_end(&value, out);
    }
    for (size_t i = 0; i < row->arguments.count; i++)
        add_column(out, row->arguments.items[i], strlen(row->arguments.items[i]), between,
                   between);
    add_column(out, row->output.bytes, row->output.length, between, between);
    add_column(out, row->errors.bytes, row->errors.length, between, '\n');
}

static void add_object(const struct row *row, struct cv_text *out)
{
    cv_text_add(out, "{");
    for (int i = 0; i < NCOLUMNS; i++) {
        struct cv_text value = { NULL, 0, 0, false };

        add_value(i, &row->entry, &value);
        cv_text_add(out, " \"%s\": ", columns[i].title);
        if (columns[i].text)
            add_json(out, value.bytes, value.length);
        else
            add_bytes(out, value.bytes, value.length);
        cv_text_add(out, ",");
        cv_text_end(&value, out);
    }
    cv_text_add(out, " \"V\": [ ");
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
    enum cleave_status status;

    row.entry = (struct entry){ &rows->last, item + 1, &row.command };
    status = collect(rows, item, fd, begin, end, &row, err);
    if (status == CLEAVE_OK && rows->kind == CV_ROWS_JSON)
        add_object(&row, &text);
    else if (status == CLEAVE_OK) {
        if (!rows->begun && (item == 0 || rows->unordered)) {
            add_titles(rows, &row, between, &text);
            rows->begun = true;
        }
        add_row(&row, between, &text);
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
