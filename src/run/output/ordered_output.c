/* ordered_output.c -- write the outputs of chunks to the sink in the order of the input.
 * SPDX-License-Identifier: MIT
 *
 * Finished outputs wait in a heap by their place in the input (unordered: by the time they were
 * finished). The first output is written once nothing is missing before it. If an output that is
 * still being filled is in front and was offered, its complete lines are written. */
#include "run/output/ordered_output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/execute.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/heap.h"
#include "base/text.h"
#include "run/output/ordered_output_internal.h"
#include "run/split/split.h"

enum {
    TURN = 4 << 20,         /* written in one turn of the poller */
    TURN_BLOCKS = 32 << 20, /* written of blocks: links may bring more in a turn */
    FILE_STEP = 1 << 20,    /* written to a file at a time, as this can take a while */
    COPY = 64 * 1024,       /* read and written at a time */
    WINDOW = 16 * 1024,     /* compared at a time */
    LOOK = 4096,            /* bytes examined first */
    SHOWN = 100,            /* characters of a line in a message */
    CONTEXT = 30,           /* characters before the difference, if the line is long */
};

/* --- headers ------------------------------------------------------------------------- */

/* Lines that a program writes differently each time, and the remedy. */
/* clang-format off */
static const struct {
    const char *begin, *has, *what;
} fickle[] = {
    { "##bcftools_", "Date=",
      "; bcftools writes the time into it: type 'bcftools COMMAND "
      CV_LONG_OPTION("no-version") "'" },
    { "@PG\t", "PN:samtools",
      "; samtools writes its command into it: type 'samtools COMMAND "
      CV_LONG_OPTION("no-PG") "'" },
};
/* clang-format on */

/* Without the newline. */
static size_t line_length(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);

    return newline != NULL ? (size_t)(newline - bytes) : length;
}

static const char *advice(const char *line, size_t length)
{
    for (size_t i = 0; i < sizeof fickle / sizeof *fickle; i++) {
        const size_t begin = strlen(fickle[i].begin);

        if (length > begin && memcmp(line, fickle[i].begin, begin) == 0 &&
            memmem(line, length, fickle[i].has, strlen(fickle[i].has)) != NULL)
            return fickle[i].what;
    }
    return "";
}

/* Show the first line that differs, around the difference if it is long. */
static enum cleave_status refuse(const struct cv_ordered_output *outputs,
                                 const char *bytes, size_t length,
                                 struct cleave_error *err)
{
    const char *const both[] = { outputs->head, bytes };
    const size_t ends[] = { outputs->head_length, length };
    char shown[2][SHOWN];
    size_t line = 0, at = 0, from;

    for (; at < length && at < outputs->head_length && bytes[at] == outputs->head[at];
         at++)
        line = bytes[at] == '\n' ? at + 1 : line;
    from = at > line + SHOWN / 2 ? at - CONTEXT : line;
    for (size_t i = 0; i < 2; i++)
        cv_shown(both[i] + from, line_length(both[i] + from, ends[i] - from), shown[i],
                 sizeof shown[i]);
    return cv_fail(err, CLEAVE_EENGINE,
                   "output.header: expected the header '%s%s', as in the first output, "
                   "got '%s%s'%s",
                   from > line ? "..." : "", shown[0], from > line ? "..." : "", shown[1],
                   advice(bytes + line, line_length(bytes + line, length - line)));
}

/* Compare with the header of the first output, or store it. */
static enum cleave_status judge(struct cv_ordered_output *outputs,
                                struct cv_chunk_output *store, const char *bytes,
                                size_t length, struct cleave_error *err)
{
    if (outputs->head == NULL) {
        outputs->head = malloc(length > 0 ? length : 1);
        if (outputs->head == NULL)
            return cv_fail_memory(err, "the header of outputs");
        memcpy(outputs->head, bytes, length);
        outputs->head_length = length;
        return CLEAVE_OK;
    }
    if (length == outputs->head_length && memcmp(bytes, outputs->head, length) == 0) {
        cv_chunk_output_drop_front(store, length);
        return CLEAVE_OK;
    }
    return refuse(outputs, bytes, length, err);
}

/* Whether a field of a line, of more than digits, is one of another line. */
static bool has_field(const char *line, size_t length, const char *field, size_t size)
{
    static const char ends[] = ",;|\t\"\r\n";
    const char *const end = line + length;

    if (strcspn(field, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") >= size)
        return false;
    for (const char *at = line;
         (at = memmem(at, (size_t)(end - at), field, size)) != NULL; at++)
        if ((at == line || strchr(ends, at[-1]) != NULL) &&
            (at + size == end || strchr(ends, at[size]) != NULL))
            return true;
    return false;
}

static bool shares_field(const char *line, const char *head, size_t length)
{
    static const char ends[] = ",;|\t\"\r\n";

    for (size_t size; *line != '\0'; line += size + (line[size] != '\0')) {
        size = strcspn(line, ends);
        if (size > 0 && has_field(head, length, line, size))
            return true;
    }
    return false;
}

/* Some commands write the header only with a record, and so in every output but that for the header
 * alone. No data begin twice with names of columns. */
static enum cleave_status refuse_repeated(const struct cv_ordered_output *outputs,
                                          struct cleave_error *err)
{
    const struct cv_repeated_header *alike = &outputs->alike;
    const char *head = outputs->options.input_head;
    char shown[SHOWN];

    if (alike->outputs < 2 || alike->differ || head == NULL ||
        !shares_field(alike->line, head,
                      line_length(head, (size_t)outputs->options.head_alone)))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EENGINE,
        "every output begins with '%s', but the command writes nothing for the "
        "header alone: output.header writes it once, output.header 0 each time",
        cv_shown(alike->line, strlen(alike->line), shown, sizeof shown));
}

/* The empty block at the end of a file of BGZF. */
static const char eof_block[] =
    "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0"
    "\0\0\0\0";
enum { EOF_BLOCK = sizeof eof_block - 1, BGZF_MAGIC = 4 };

static void drop_eof_block(struct cv_ordered_output *outputs,
                           struct cv_chunk_output *store)
{
    const uint64_t size = cv_chunk_output_size(store);
    char bytes[EOF_BLOCK];

    if (size < EOF_BLOCK || !cv_chunk_output_peek(store, 0, bytes, BGZF_MAGIC) ||
        memcmp(bytes, eof_block, BGZF_MAGIC) != 0 ||
        !cv_chunk_output_peek(store, size - EOF_BLOCK, bytes, EOF_BLOCK) ||
        memcmp(bytes, eof_block, EOF_BLOCK) != 0)
        return;
    cv_chunk_output_drop_back(store, EOF_BLOCK);
    outputs->lacks_end = true;
}

enum cleave_status cv_ordered_output_end(struct cv_ordered_output *outputs,
                                         struct cleave_error *err)
{
    struct cv_chunk_output *store;
    enum cleave_status status;

    if (!outputs->lacks_end)
        return CLEAVE_OK;
    outputs->lacks_end = false;
    outputs->options.head_alone = 0;
    CV_TRY(cv_chunk_output_open(outputs, &store, err));
    status = cv_chunk_output_write(store, eof_block, EOF_BLOCK, err);
    CV_THEN(status, cv_ordered_output_finish(outputs, store, outputs->position,
                                             outputs->position + 1, err));
    if (status != CLEAVE_OK)
        cv_chunk_output_drop(store);
    return status;
}

/* Keep the output of the header alone. */
static enum cleave_status keep_head(struct cv_ordered_output *outputs,
                                    const struct cv_chunk_output *store,
                                    struct cleave_error *err)
{
    const uint64_t size = cv_chunk_output_size(store);

    outputs->head = malloc((size_t)size + 1);
    if (outputs->head == NULL)
        return cv_fail_memory(err, "the header of outputs");
    outputs->head_length = (size_t)size;
    return cv_chunk_output_peek(store, 0, outputs->head, (size_t)size)
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE, "cannot read an output again");
}

/* Drop the output of the header alone from the front of another output. */
static enum cleave_status drop_head(const struct cv_ordered_output *outputs,
                                    struct cv_chunk_output *store,
                                    struct cleave_error *err)
{
    const size_t head = outputs->head_length;
    char bytes[WINDOW], shown[2][SHOWN];
    size_t at = 0, some;

    for (; at < head; at += some) {
        some = head - at < WINDOW ? head - at : WINDOW;
        if (at + some > cv_chunk_output_size(store) ||
            !cv_chunk_output_peek(store, at, bytes, some) ||
            memcmp(bytes, outputs->head + at, some) != 0)
            break;
    }
    cv_chunk_output_drop_front(store, at < head ? 0 : head);
    if (at >= head)
        return CLEAVE_OK;
    some =
        cv_chunk_output_size(store) < LOOK ? (size_t)cv_chunk_output_size(store) : LOOK;
    if (!cv_chunk_output_peek(store, 0, bytes, some))
        some = 0;
    return cv_fail(err, CLEAVE_EENGINE,
                   "for the header alone the command writes '%s', and an output begins "
                   "with '%s': it does not work record by record: use %s",
                   cv_shown(outputs->head, line_length(outputs->head, head), shown[0],
                            sizeof shown[0]),
                   cv_shown(bytes, line_length(bytes, some), shown[1], sizeof shown[1]),
                   outputs->options.input_head != NULL
                       ? "input.no_header"
                       : "output.header 0 for outputs unchanged");
}

/* The output is the next to be written: drop its header unless it is the first. Fails if the
 * headers differ. */
static enum cleave_status check_header(struct cv_ordered_output *outputs,
                                       struct cv_chunk_output *store,
                                       struct cleave_error *err)
{
    const uint64_t size = cv_chunk_output_size(store);
    enum cleave_status status = CLEAVE_OK;
    char *bytes = NULL;
    bool found = false;

    if (outputs->options.head_alone > 0)
        drop_eof_block(outputs, store);
    if (store->is_head)
        return keep_head(outputs, store, err);
    if (outputs->options.head_alone > 0)
        return size == 0                  ? CLEAVE_OK
               : outputs->head_length > 0 ? drop_head(outputs, store, err)
                                          : refuse_repeated(outputs, err);
    if (outputs->options.head == NULL || size == 0)
        return CLEAVE_OK;
    for (size_t look = LOOK; !found && status == CLEAVE_OK; look *= 4) {
        const size_t length = look < size ? look : (size_t)size;
        size_t end = 0;

        free(bytes);
        bytes = calloc(1, length);
        if (bytes == NULL) {
            status = cv_fail_memory(err, "the header of an output");
            break;
        }
        status = !cv_chunk_output_peek(store, 0, bytes, length)
                     ? cv_fail(err, CLEAVE_EENGINE, "cannot read an output again")
                     : cv_splitter_head(outputs->options.head, bytes, length,
                                        length == size, &found, &end, err);
        if (found && end < length && bytes[end] == bytes[0] &&
            (bytes[0] == '@' || bytes[0] == '#'))
            outputs->head_goes_on = bytes[0];
        if (status == CLEAVE_OK && found)
            status = judge(outputs, store, bytes, end, err);
    }
    free(bytes);
    return status;
}

enum { CONTAINER_LOOK = 68 * 1024 }; /* more than a block of BGZF */

/* Outputs that are files of a format with a beginning and an end are not one file together. */
static enum cleave_status check_container(struct cv_ordered_output *outputs,
                                          const struct cv_chunk_output *store,
                                          struct cleave_error *err)
{
    const uint64_t size = cv_chunk_output_size(store);
    const size_t length = size < CONTAINER_LOOK ? (size_t)size : CONTAINER_LOOK;
    const char *name = NULL;
    char *bytes;

    if (outputs->options.container == NULL || size == 0 || store->passed > 0 ||
        store->is_head)
        return CLEAVE_OK;
    bytes = malloc(length);
    if (bytes == NULL)
        return cv_fail_memory(err, "an output");
    if (cv_chunk_output_peek(store, 0, bytes, length))
        name = outputs->options.container(bytes, length);
    free(bytes);
    if (name == NULL || outputs->container == NULL) {
        outputs->container = name != NULL ? name : outputs->container;
        return CLEAVE_OK;
    }
    return cv_fail(
        err, CLEAVE_EENGINE,
        "each output is %s, and several cannot be concatenated: reduce.command "
        "makes one of them, or output.keep 'DIR/part-{chunk}' writes a file for each",
        name);
}

/* '0' or '1' if the first two lines begin with it and the next number; else '\0'. */
static char counts_from(const char *line)
{
    static const char ends[] = " ,;:\t)\r\n";
    const char *next = strchr(line, '\n');

    line += strspn(line, " ");
    next = next != NULL ? next + 1 + strspn(next + 1, " ") : "";
    return (*line == '0' || *line == '1') && *next == *line + 1 &&
                   strcspn(line, ends) == 1 && strcspn(next, ends) == 1
               ? *line
               : '\0';
}

/* The lines of an output, perhaps with a header before them. */
static void compare_numbers(struct cv_repeated_header *alike, const char *lines,
                            bool header)
{
    const char *end = header ? strchr(lines, '\n') : NULL;
    const char number = counts_from(end != NULL ? end + 1 : lines);

    alike->uncounted = alike->uncounted || number == '\0' ||
                       (alike->counted > 0 && number != alike->number);
    alike->number = number;
    alike->counted++;
}

/* The output is complete: compare its first line and the number of its lines with other outputs. A
 * command that writes a header, or one result, writes it once per chunk, and a user may not know. */
static void compare_lines(struct cv_ordered_output *outputs,
                          const struct cv_chunk_output *store)
{
    struct cv_repeated_header *alike = &outputs->alike;
    const uint64_t size = cv_chunk_output_size(store);
    const size_t length = size < CV_FEW_BYTES ? (size_t)size : CV_FEW_BYTES;
    char bytes[CV_FEW_BYTES + 1];
    uint32_t lines = 0;
    size_t first;

    if (store->is_head || outputs->options.keep != NULL)
        return;
    alike->lines_differ = alike->lines_differ || size == 0 || size > CV_FEW_BYTES;
    if ((alike->differ && alike->lines_differ && alike->uncounted) || size == 0)
        return;
    if (store->passed > 0 || !cv_chunk_output_peek(store, 0, bytes, length)) {
        alike->differ = alike->lines_differ = alike->uncounted = true; /* unknown */
        return;
    }
    bytes[length] = '\0';
    compare_numbers(alike, bytes,
                    outputs->options.head != NULL || outputs->options.head_alone > 0);
    if (outputs->options.head != NULL)
        return;
    for (size_t i = 0; i < length; i++)
        lines += bytes[i] == '\n' || i + 1 == length;
    first = strnlen(bytes, length < CV_ALIKE ? length : CV_ALIKE - 1);
    for (size_t i = 0; i < first; i++)
        first = bytes[i] == '\n' ? i : first;
    bytes[first] = '\0';
    if (alike->outputs == 0) {
        memcpy(alike->line, bytes, first + 1);
        alike->lines = lines;
    }
    alike->differ = alike->differ || strcmp(alike->line, bytes) != 0;
    alike->lines_differ =
        alike->lines_differ || lines != alike->lines || lines > CV_FEW_LINES;
    alike->outputs++;
}

const char *cv_ordered_output_same_line(const struct cv_ordered_output *outputs)
{
    const struct cv_repeated_header *alike = &outputs->alike;

    if (alike->outputs > 1 && !alike->differ && outputs->head_length == 0)
        return alike->line;
    return "";
}

bool cv_ordered_output_numbered_alike(const struct cv_ordered_output *outputs)
{
    return outputs->alike.counted > 1 && !outputs->alike.uncounted;
}

uint32_t cv_ordered_output_same_lines(const struct cv_ordered_output *outputs)
{
    return outputs->alike.outputs > 1 && !outputs->alike.lines_differ
               ? outputs->alike.lines
               : 0;
}

/* --- the sink ------------------------------------------------------------------------ */

/* A pipe takes references to pages and never blocks. A file is written within the kernel. For all
 * others (terminal, socket, file opened for appending, which splice refuses) bytes are read and
 * written. */
static void open_sink(struct cv_ordered_output *outputs)
{
    const int sink = outputs->options.sink;
    struct stat info;

    outputs->kind = sink < 0 ? CV_SINK_NONE : CV_SINK_OTHER;
    outputs->copy_bytes = COPY;
    if (sink < 0 || fstat(sink, &info) != 0)
        return;
    if (S_ISFIFO(info.st_mode)) {
        outputs->kind = CV_SINK_PIPE;
        outputs->copy_bytes = PIPE_BUF;
    } else if (S_ISSOCK(info.st_mode)) {
        outputs->socket = true;
    } else if (isatty(sink)) {
        outputs->copy_bytes = PIPE_BUF;
    } else {
        outputs->kind = CV_SINK_FILE;
    }
}

/* Whether the sink takes copy_bytes without waiting; else errno is EAGAIN. */
static bool has_room(const struct cv_ordered_output *outputs)
{
    struct pollfd wait = { .fd = outputs->options.sink, .events = POLLOUT };

    if (poll(&wait, 1, 0) != 0)
        return true;
    errno = EAGAIN;
    return false;
}

/* Whether another system call should be tried. */
static bool is_unsupported(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EXDEV ||
           error == EBADF;
}

static int64_t write_file(const struct cv_ordered_output *outputs,
                          const struct cv_output_span *span, size_t length)
{
    off_t offset = (off_t)span->begin;
    ssize_t got = 0;

    length = length < FILE_STEP ? length : FILE_STEP;
    if (span->spill->disk)
        got = copy_file_range(span->spill->fd, &offset, outputs->options.sink, NULL,
                              length, 0);
    if (got == 0 || (got < 0 && is_unsupported(errno)))
        got = sendfile(outputs->options.sink, span->spill->fd, &offset, length);
    return got;
}

static int64_t copy(const struct cv_ordered_output *outputs,
                    const struct cv_output_span *span, size_t length)
{
    char room[COPY];
    const void *bytes = span->bytes;

    if (!has_room(outputs))
        return -1;
    length = length < outputs->copy_bytes ? length : outputs->copy_bytes;
    if (bytes == NULL) {
        const ssize_t got = pread(span->spill->fd, room, length, (off_t)span->begin);

        if (got <= 0)
            return got;
        bytes = room;
        length = (size_t)got;
    }
    return outputs->socket ? send(outputs->options.sink, bytes, length, MSG_DONTWAIT)
                           : write(outputs->options.sink, bytes, length);
}

/* The number of bytes written, or -1 with errno; EAGAIN: wait until the sink is writable. */
static int64_t write_span(struct cv_ordered_output *outputs,
                          const struct cv_output_span *span)
{
    const size_t length = span->length < INT_MAX ? (size_t)span->length : INT_MAX;
    off_t offset = (off_t)span->begin;
    int64_t got;

    if (span->bytes != NULL && cv_sink_takes_bytes(outputs))
        return write(outputs->options.sink, span->bytes, length);
    if (span->bytes != NULL || outputs->kind == CV_SINK_OTHER)
        return copy(outputs, span, length);
    got = outputs->kind == CV_SINK_FILE
              ? write_file(outputs, span, length)
              : splice(span->spill->fd, &offset, outputs->options.sink, NULL, length,
                       SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (got >= 0 || !is_unsupported(errno))
        return got;
    outputs->kind = CV_SINK_OTHER;
    return copy(outputs, span, length);
}

static enum cleave_status fail_sink(struct cv_ordered_output *outputs, int error)
{
    outputs->error = error;
    if (error == EPIPE)
        return cv_fail(&outputs->failure, CLEAVE_EENGINE,
                       "cannot write to %s: its reader has exited",
                       outputs->options.sink_name);
    return cv_fail(&outputs->failure, CLEAVE_EENGINE, "cannot write to %s: %s",
                   outputs->options.sink_name, strerror(error));
}

/* Write bytes, which are subtracted from *max. */
static enum cleave_status write_some(struct cv_ordered_output *outputs,
                                     struct cv_output_span span, uint64_t *max,
                                     uint64_t *out_bytes,
                                     enum cv_ordered_output_state *out)
{
    const int64_t got = write_span(outputs, &span);

    *out_bytes = 0;
    if (got < 0 && errno == EINTR)
        return CLEAVE_OK;
    if (got < 0 && errno == EAGAIN) {
        *out = CV_GATHER_BLOCKED;
        return CLEAVE_OK;
    }
    if (got <= 0)
        return fail_sink(outputs, got < 0 ? errno : EIO);
    outputs->written += (uint64_t)got;
    *max -= (uint64_t)got;
    *out_bytes = (uint64_t)got;
    return CLEAVE_OK;
}

/* --- the output in front ------------------------------------------------------------- */

/* Write the rest of the output in front, at most *max bytes. */
static enum cleave_status write_rest(struct cv_ordered_output *outputs, uint64_t *max,
                                     enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;
    struct cv_output_span span;
    uint64_t done;

    *out = CV_GATHER_BUSY;
    while (*out == CV_GATHER_BUSY &&
           (span = cv_chunk_output_span(store, 0, *max)).length > 0) {
        CV_TRY(write_some(outputs, span, max, &done, out));
        cv_chunk_output_drop_front(store, done);
    }
    if (cv_chunk_output_size(store) == 0)
        *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}

/* Whether an output may be written early now. A command that fails within its first moment leaves
 * nothing in the sink, and the output of a short command is written by one call. */
static bool is_early_ready(struct cv_chunk_output *store)
{
    if (store->due_s > 0 && cv_clock_s() >= store->due_s)
        store->due_s = 0;
    if (store->due_s > 0 || cv_chunk_output_size(store) == store->shown)
        return false;
    cv_chunk_output_find_line(store);
    return store->line_end > store->shown;
}

/* Write complete lines of the output in front, and keep them. */
static enum cleave_status write_early(struct cv_ordered_output *outputs, uint64_t *max,
                                      enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;

    *out = is_early_ready(store) ? CV_GATHER_BUSY : CV_GATHER_IDLE;
    while (*out == CV_GATHER_BUSY && *max > 0) {
        const uint64_t left = store->line_end - store->shown;
        uint64_t done;

        CV_TRY(write_some(outputs,
                          cv_chunk_output_span(store, store->shown,
                                               left < *max ? left : *max),
                          max, &done, out));
        store->shown += done;
        if (store->shown == store->line_end)
            *out = CV_GATHER_IDLE;
    }
    return CLEAVE_OK;
}

static enum cleave_status write_front(struct cv_ordered_output *outputs, uint64_t *max,
                                      enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;
    uint64_t room, left;

    left = *max;
    if (!store->offered) {
        CV_TRY(write_rest(outputs, max, out));
        store->passed += left - *max;
        return CLEAVE_OK;
    }
    if (!outputs->options.lines)
        return write_early(outputs, max, out);
    left = room = store->line_end < *max ? store->line_end : *max;
    CV_TRY(write_rest(outputs, &left, out));
    cv_chunk_output_note_passed(store, room - left);
    if (store->line_end == 0)
        *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}

/* Whether bytes of the output in front can be written. */
static bool has_more(struct cv_chunk_output *store)
{
    if (!store->offered)
        return true;
    return store->outputs->options.lines ? store->line_end > 0 : is_early_ready(store);
}

/* --- order --------------------------------------------------------------------------- */

#define BEFORE(a, b) ((*(a))->begin < (*(b))->begin)
CV_HEAP(finished, struct cv_chunk_output *, BEFORE)

enum cleave_status cv_ordered_output_new(const struct cv_ordered_output_options *options,
                                         struct cv_ordered_output **out,
                                         struct cleave_error *err)
{
    struct cv_ordered_output *outputs = calloc(1, sizeof *outputs);

    if (outputs == NULL)
        return cv_fail_memory(err, "outputs");
    outputs->options = *options;
    if (outputs->options.directory == NULL)
        outputs->options.directory = getenv("TMPDIR");
    if (outputs->options.directory == NULL || outputs->options.directory[0] == '\0')
        outputs->options.directory = "/tmp";
    if (outputs->options.sink_name == NULL)
        outputs->options.sink_name = "stdout";
    outputs->nowhere = -1;
    if (options->keep != NULL) {
        outputs->nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        outputs->options.sink = outputs->nowhere;
        if (outputs->nowhere < 0) {
            free(outputs);
            return cv_fail_errno(err, errno, "cannot open /dev/null");
        }
    }
    open_sink(outputs);
    *out = outputs;
    return CLEAVE_OK;
}

bool cv_ordered_output_expect_taking(struct cv_ordered_output *outputs, bool separate)
{
    outputs->options.files = true;
    if (separate && outputs->spills != NULL)
        return false;
    outputs->options.separate = outputs->options.separate || separate;
    return true;
}

void cv_ordered_output_free(struct cv_ordered_output *outputs)
{
    if (outputs == NULL)
        return;
    cv_ordered_output_detach(outputs);
    cv_chunk_outputs_free(outputs);
    if (outputs->nowhere >= 0)
        close(outputs->nowhere);
    free(outputs->heap);
    free(outputs->head);
    free(outputs);
}

/* The output whose turn it is, or NULL. The list of offered outputs is as long as the number of
 * running commands. */
static struct cv_chunk_output *next_store(struct cv_ordered_output *outputs)
{
    if (outputs->writing == NULL && outputs->count > 0 &&
        outputs->heap[0]->begin <= outputs->position) {
        assert(outputs->heap[0]->begin == outputs->position);
        outputs->writing = finished_pop(outputs->heap, outputs->count--);
    }
    if (outputs->writing == NULL) {
        outputs->writing = outputs->offered;
        while (outputs->writing != NULL && outputs->writing->begin != outputs->position)
            outputs->writing = outputs->writing->next_offered;
    }
    return outputs->writing;
}

/* Pass the output in front to options.keep. A chunk that failed has no output. */
static enum cleave_status keep_front(struct cv_ordered_output *outputs)
{
    struct cv_chunk_output *store = outputs->writing;
    struct cleave_kept_output kept = { .first_byte = store->input.begin,
                                       .end_byte = store->input.end,
                                       .resumed = store->input.resumed };
    struct cv_taken taken;
    enum cleave_status status;

    if (kept.first_byte == kept.end_byte)
        return CLEAVE_OK;
    kept.file = store->file.name;
    taken = (struct cv_taken){ -1, 0, store->file.bytes };
    status = kept.file == NULL ? cv_ordered_output_take(store, &taken, &outputs->failure)
                               : CLEAVE_OK;
    if (status == CLEAVE_OK) {
        kept.descriptor = taken.fd;
        kept.begin = taken.begin;
        kept.end = taken.end;
        status = outputs->options.keep(outputs->options.keep_context, &kept,
                                       &outputs->failure);
    }
    if (status == CLEAVE_OK) {
        outputs->written += taken.end - taken.begin;
        free(store->file.name); /* the file is no longer ours */
        store->file.name = NULL;
    } else {
        outputs->error = EIO;
    }
    return status;
}

static enum cleave_status pump(struct cv_ordered_output *outputs, uint64_t max,
                               enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *written;

    *out = CV_GATHER_IDLE;
    if (outputs->error != 0)
        return outputs->failure.status;
    while (next_store(outputs) != NULL) {
        if (outputs->options.keep != NULL)
            CV_TRY(keep_front(outputs));
        else if (!outputs->headed && (check_header(outputs, outputs->writing,
                                                   &outputs->failure) != CLEAVE_OK ||
                                      check_container(outputs, outputs->writing,
                                                      &outputs->failure) != CLEAVE_OK)) {
            outputs->error = EINVAL;
            return outputs->failure.status;
        }
        outputs->headed =
            !outputs->writing->offered || cv_chunk_output_size(outputs->writing) > 0;
        if (outputs->options.keep == NULL)
            CV_TRY(write_front(outputs, &max, out));
        if (*out != CV_GATHER_IDLE || outputs->writing->offered)
            break;
        written = outputs->writing;
        outputs->position = written->end;
        outputs->writing = NULL;
        outputs->headed = false;
        cv_chunk_output_drop(written);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_pump(struct cv_ordered_output *outputs, uint64_t max,
                                          enum cv_ordered_output_state *out,
                                          struct cleave_error *err)
{
    return pump(outputs, max, out) == CLEAVE_OK
               ? CLEAVE_OK
               : cv_ordered_output_status(outputs, NULL, err);
}

static void turn(struct cv_ordered_output *outputs);

/* Write unless the sink is being waited for. */
static void start_writing(void *context)
{
    struct cv_ordered_output *outputs = context;

    if (outputs->poller != NULL && outputs->error == 0 && outputs->watch.events == 0)
        turn(outputs);
}

/* Arrange for an output in front that may be written early only later; then, if it is made
 * elsewhere, ask for it. */
static void await(struct cv_ordered_output *outputs, struct cv_chunk_output *store)
{
    void (*const call)(void *) = store->call;

    if (outputs->poller == NULL || outputs->options.lines)
        return;
    if (store->due_s == 0) {
        store->call = NULL;
        if (call != NULL)
            call(store->caller);
    } else if (!outputs->ripens.is_set) {
        cv_poller_set(outputs->poller, &outputs->ripens, store->due_s, start_writing,
                      outputs);
    }
}

void cv_ordered_output_make_room(const struct cv_ordered_output *outputs)
{
    if (outputs->options.before != NULL)
        outputs->options.before(outputs->options.context);
}

/* Write for one turn, then wait for the sink or for bytes. A pipe is always watched, as its
 * reader may close it. */
static void turn(struct cv_ordered_output *outputs)
{
    enum cv_ordered_output_state state;
    struct cv_chunk_output *next = next_store(outputs);
    enum cleave_status status;

    if (outputs->blocked_from_s > 0)
        outputs->blocked_s += cv_clock_s() - outputs->blocked_from_s;
    if (next != NULL && has_more(next))
        cv_ordered_output_make_room(outputs);
    status = pump(outputs, next != NULL && next->in_blocks ? TURN_BLOCKS : TURN, &state);
    outputs->blocked_from_s = state == CV_GATHER_BLOCKED ? cv_clock_s() : 0;
    CV_THEN(status, cv_poller_modify(outputs->poller, &outputs->watch,
                                     state == CV_GATHER_IDLE ? 0 : CV_WRITABLE,
                                     &outputs->failure));
    if (status != CLEAVE_OK) {
        outputs->error = outputs->error != 0 ? outputs->error : EIO;
        cv_poller_remove(outputs->poller, &outputs->watch);
    } else if (outputs->writing != NULL && outputs->writing->offered) {
        await(outputs, outputs->writing);
    }
}

static void sink_ready(void *context, unsigned events)
{
    struct cv_ordered_output *outputs = context;

    if (outputs->watch.events == 0 && events != 0) {
        (void)fail_sink(outputs, EPIPE);
        cv_poller_remove(outputs->poller, &outputs->watch);
        return;
    }
    turn(outputs);
}

enum cleave_status cv_ordered_output_attach(struct cv_ordered_output *outputs,
                                            struct cv_poller *poller,
                                            struct cleave_error *err)
{
    assert(outputs->poller == NULL && outputs->options.sink >= 0);
    CV_TRY(cv_poller_add(poller, &outputs->watch, outputs->options.sink,
                         cv_ordered_output_pending(outputs) ? CV_WRITABLE : 0, sink_ready,
                         outputs, err));
    outputs->poller = poller;
    return CLEAVE_OK;
}

void cv_ordered_output_detach(struct cv_ordered_output *outputs)
{
    if (outputs->poller != NULL) {
        cv_poller_remove(outputs->poller, &outputs->watch);
        cv_poller_cancel(outputs->poller, &outputs->ripens);
    }
    outputs->poller = NULL;
}

/* --- offered and finished outputs ---------------------------------------------------- */

void cv_ordered_output_offer(struct cv_chunk_output *store, uint64_t begin,
                             void (*call)(void *context), void *context)
{
    struct cv_ordered_output *outputs = store->outputs;
    const bool lines = outputs->options.lines;

    if (!(lines || outputs->options.early) || outputs->options.unordered ||
        outputs->options.sink < 0)
        return;
    if (cv_ordered_output_remembers(outputs, begin))
        return; /* cv_ordered_output_repeats comes first */
    for (const struct cv_chunk_output *at = outputs->offered; at != NULL;
         at = at->next_offered)
        if (at->begin == begin)
            return; /* cv_ordered_output_replace comes first */
    store->begin = begin;
    store->offered = true;
    if (!lines) {
        store->due_s = cv_clock_s() + CV_EARLY_MOMENT_S;
        store->call = call;
        store->caller = context;
    }
    store->next_offered = outputs->offered;
    outputs->offered = store;
    cv_ordered_output_pass_on(store);
}

void cv_ordered_output_pass_on(struct cv_chunk_output *store)
{
    struct cv_ordered_output *outputs = store->outputs;
    const bool in_front = outputs->writing == store ||
                          (outputs->writing == NULL && store->begin == outputs->position);

    if (!store->offered || !in_front)
        return;
    if (has_more(store))
        start_writing(outputs);
    else
        await(outputs, store);
}

enum cleave_status cv_chunk_output_write_lines(struct cv_chunk_output *store,
                                               const void *bytes, size_t length,
                                               struct cleave_error *err)
{
    CV_TRY(cv_chunk_output_append_lines(store, bytes, length, err));
    cv_ordered_output_pass_on(store);
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_finish(struct cv_ordered_output *outputs,
                                            struct cv_chunk_output *store, uint64_t begin,
                                            uint64_t end, struct cleave_error *err)
{
    assert(outputs->options.sink >= 0 && begin < end);
    store->is_head = outputs->options.head_alone > 0 && begin == 0;
    outputs->head_came = outputs->head_came || store->is_head;
    if (outputs->options
            .unordered) { /* but the output of the header alone is the first */
        begin = store->is_head ? 0
                               : outputs->finished + (outputs->options.head_alone > 0 &&
                                                      !outputs->head_came);
        end = begin + 1;
    }
    assert(begin >= outputs->position);
    store->begin = begin;
    store->end = end;
    if (outputs->writing != store) {
        if (!CV_ROOM(outputs->heap, &outputs->capacity, outputs->count + 1))
            return cv_fail_memory(err, "outputs that wait");
        finished_push(outputs->heap, outputs->count++, store);
    }
    compare_lines(outputs, store);
    cv_chunk_output_take_out(store);
    cv_chunk_output_drop_front(store, store->shown);
    store->passed += store->shown;
    store->shown = 0;
    cv_streamed_output_forget(outputs, begin);
    cv_chunk_output_close(store);
    outputs->finished++;
    start_writing(outputs);
    return CLEAVE_OK;
}

void cv_chunk_output_note_input(struct cv_chunk_output *store,
                                struct cv_unwritten_output input)
{
    store->input = input;
}

bool cv_ordered_output_unwritten(const struct cv_ordered_output *outputs, size_t index,
                                 struct cv_unwritten_output *out)
{
    const struct cv_chunk_output *writing = outputs->writing;
    const struct cv_chunk_output *store =
        index < outputs->count ? outputs->heap[index] : writing;

    *out = (struct cv_unwritten_output){ .begin = 0 };
    if (index > outputs->count || store == NULL)
        return false;
    /* Lines of an output may be in outputs before it. */
    if (!store->offered && (outputs->options.lines || cv_chunk_output_size(store) > 0))
        *out = store->input;
    return true;
}

void cv_ordered_output_write_rest(struct cv_ordered_output *outputs)
{
    const double until_s = cv_clock_s() + CV_REST_S;
    struct cv_chunk_output *store = outputs->writing;
    struct pollfd wait = { .fd = outputs->options.sink, .events = POLLOUT };
    enum cv_ordered_output_state state = CV_GATHER_BUSY;

    if (outputs->error != 0 || store == NULL || store->offered || store->passed == 0)
        return;
    while (state != CV_GATHER_IDLE && outputs->error == 0) {
        const double left_s = until_s - cv_clock_s();
        uint64_t max = TURN;

        if (state == CV_GATHER_BLOCKED &&
            (left_s <= 0 || poll(&wait, 1, (int)(1e3 * left_s) + 1) == 0))
            return;
        if (write_front(outputs, &max, &state) != CLEAVE_OK)
            return;
    }
}

enum cleave_status cv_ordered_output_skip(struct cv_ordered_output *outputs,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err)
{
    struct cv_chunk_output *store;
    enum cleave_status status;

    if (outputs->options.unordered)
        return CLEAVE_OK;
    CV_TRY(cv_chunk_output_open(outputs, &store, err));
    status = cv_ordered_output_finish(outputs, store, begin, end, err);
    if (status != CLEAVE_OK)
        cv_chunk_output_drop(store);
    return status;
}

/* --- repeated after a failure -------------------------------------------------------- */

void cv_streamed_output_remember(struct cv_chunk_output *store)
{
    struct cv_ordered_output *outputs = store->outputs;

    assert(outputs->said == NULL && outputs->writing == store && store->shown > 0);
    cv_chunk_output_note_cut(store);
    outputs->writing = NULL;
    cv_chunk_output_take_out(store);
    cv_chunk_output_close(store);
    outputs->said = store;
}

bool cv_ordered_output_remembers(const struct cv_ordered_output *outputs, uint64_t begin)
{
    return outputs->said != NULL && outputs->said->begin == begin;
}

void cv_streamed_output_forget(struct cv_ordered_output *outputs, uint64_t begin)
{
    struct cv_chunk_output *said = outputs->said;

    if (!cv_ordered_output_remembers(outputs, begin))
        return;
    outputs->said = NULL;
    cv_chunk_output_drop(said);
}

/* Whether a complete output begins with the bytes that were written of another. Reads them. */
static bool begins_with(struct cv_chunk_output *store, const struct cv_chunk_output *said)
{
    char room[WINDOW], bytes[WINDOW];
    struct cleave_error ignored;

    for (uint64_t at = 0; at < said->shown;) {
        const uint64_t left = said->shown - at;
        const void *got;
        size_t length;

        if (cv_chunk_output_read(store, room, left < WINDOW ? (size_t)left : WINDOW, &got,
                                 &length, &ignored) != CLEAVE_OK ||
            length == 0 || !cv_chunk_output_peek(said, at, bytes, length) ||
            memcmp(got, bytes, length) != 0)
            return false;
        at += length;
    }
    cv_chunk_output_read_over(store);
    return true;
}

bool cv_ordered_output_repeats(struct cv_chunk_output *store, uint64_t begin)
{
    const struct cv_chunk_output *said = store->outputs->said;

    if (!cv_ordered_output_remembers(store->outputs, begin))
        return true;
    if (!begins_with(store, said))
        return false;
    store->passed = said->shown;
    cv_streamed_output_forget(store->outputs, begin);
    return true;
}

enum cleave_status cv_ordered_output_replace(struct cv_chunk_output *store,
                                             struct cv_chunk_output **other, bool *out,
                                             struct cleave_error *err)
{
    struct cv_chunk_output *old = *other;

    *out = old == NULL || old->shown == 0 || begins_with(store, old);
    if (old == NULL || !*out || !old->offered)
        return CLEAVE_OK;
    CV_TRY(cv_chunk_output_open(store->outputs, other, err));
    store->passed = old->shown;
    cv_chunk_output_drop(old);
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_status(const struct cv_ordered_output *outputs,
                                            int *out_errno, struct cleave_error *err)
{
    if (out_errno != NULL)
        *out_errno = outputs->error;
    return outputs->error == 0 ? CLEAVE_OK : cv_fail_again(err, &outputs->failure);
}

bool cv_ordered_output_pending(const struct cv_ordered_output *outputs)
{
    return (outputs->writing != NULL && !outputs->writing->offered) || outputs->count > 0;
}

struct cv_ordered_output_usage
cv_ordered_output_usage(const struct cv_ordered_output *outputs)
{
    const struct cv_chunk_output *front = outputs->writing;
    const uint64_t dropped = outputs->cut_at == outputs->position ? outputs->cut : 0;

    return (struct cv_ordered_output_usage){
        outputs->written,
        outputs->memory,
        outputs->disk,
        outputs->most_disk,
        outputs->blocked_s,
        outputs->head_goes_on,
        front == NULL                     ? dropped
        : cv_chunk_output_size(front) > 0 ? cv_chunk_output_passed(front)
                                          : 0,
    };
}
