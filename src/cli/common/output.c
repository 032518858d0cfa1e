/* output.c -- messages, results and what the terminal can show.
 * SPDX-License-Identifier: MIT */
#include "cli/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/write_all.h"

void cv_guard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        /* The wrong way round on purpose: a write to a closed stdout must not succeed. */
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
    signal(SIGXFSZ, SIG_IGN);
    /* The parent process may ignore it, and then no command has an exit status. */
    signal(SIGCHLD, SIG_DFL);
}

int cv_start_program(const char *program, const char *const *words, int in, int out,
                     int errors, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    union {
        const char *const *in;
        char *const *out;
    } argv = { words };
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed != 0)
        return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (failed == 0 && errors >= 0)
        failed = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    if (failed == 0)
        failed = posix_spawnp(pid, program, &actions, NULL, argv.out, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

void cv_print_line(const char *text)
{
    struct cv_text named = { NULL, 0, 0, false }, line = { NULL, 0, 0, false };
    char piece[CV_SHOWN_ROOM];

    cv_fields_translate(text, &named);
    if (!named.failed)
        text = named.bytes;
    cv_text_add(&line, "cleave: ");
    for (size_t left = strlen(text), used; left > 0; left -= used, text += used) {
        used = cv_show_one(text, left, piece);
        cv_text_add(&line, "%s", piece);
    }
    cv_text_add(&line, "\n");
    cv_print_raw(&line);
    cv_text_done(&named);
}

/* One write: commands use standard error as well. */
void cv_print_raw(struct cv_text *text)
{
    static const char none[] = "cleave: out of memory for a message\n";
    const bool failed = text->failed;

    fflush(stdout);
    (void)cv_write_all(STDERR_FILENO, failed ? none : text->bytes,
                       failed ? sizeof none - 1 : text->length);
    cv_text_done(text);
}

int cv_print_error(int status, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    cv_print_line(text != NULL ? text : format);
    free(text);
    return status;
}

int cv_name_find(const char *what, const char *word, size_t count,
                 const char *(*name_at)(const void *context, size_t index),
                 const void *context, size_t *out)
{
    char hint[512], shown[CV_ECHO_ROOM];

    for (*out = 0; *out < count; ++*out)
        if (strcmp(name_at(context, *out), word) == 0)
            return CV_EXIT_DONE;
    cv_echo(word, shown);
    cv_suggest(shown, count, name_at, context, hint, sizeof hint);
    return cv_refuse("%s '%s'%s", what, shown, hint);
}

int cv_no_memory(const char *what)
{
    return cv_print_error(CV_EXIT_FAILED, "out of memory for %s", what);
}

void *cv_need(struct cv_arena *arena, size_t count, size_t size, const char *what)
{
    void *memory = cv_array(arena, count, size);

    if (memory == NULL)
        exit(cv_no_memory(what));
    return memory;
}

char *cv_need_text(struct cv_arena *arena, const char *text, const char *what)
{
    const size_t size = strlen(text) + 1;

    return memcpy(cv_need(arena, size, 1, what), text, size);
}

int cv_print_status(const struct cleave_error *err)
{
    char line[sizeof *err + 64];

    cleave_error_format(err, line, sizeof line);
    cv_print_line(line);
    switch (err->status) {
    case CLEAVE_OK:
        return CV_EXIT_DONE;
    case CLEAVE_EINPUT:
        return CV_EXIT_USAGE;
    case CLEAVE_EENGINE:
    case CLEAVE_ECLOSED:
    case CLEAVE_ELOST:
    case CLEAVE_EREFUSED:
    case CLEAVE_ERESOURCES:
        return CV_EXIT_ENGINE;
    case CLEAVE_ESTOPPED: /* the signal sets the status */
    case CLEAVE_ENOMEM:
    case CLEAVE_EPOLICY:
    case CLEAVE_EACCOUNT:
        break;
    }
    return CV_EXIT_FAILED;
}

char *cv_arena_print(struct cv_arena *arena, const char *format, ...)
{
    va_list arguments;
    char *text, *kept = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) >= 0) {
        kept = cv_arena_text(arena, text);
        free(text);
    }
    va_end(arguments);
    return kept;
}

void cv_text_end(struct cv_text *part, struct cv_text *out)
{
    out->failed = out->failed || part->failed;
    cv_text_done(part);
}

int cv_print_take(struct cv_text *text)
{
    const bool failed = text->failed;

    if (!failed && text->length > 0)
        fwrite(text->bytes, 1, text->length, stdout);
    cv_text_done(text);
    return failed ? cv_no_memory("the output") : CV_EXIT_DONE;
}

void cv_result_open(struct cv_json *json)
{
    cv_json_init(json, stdout, true);
    cv_json_object(json);
}

int cv_result_close(struct cv_json *json)
{
    cv_json_end(json);
    return cv_json_close(json) ? CV_EXIT_DONE : CV_EXIT_FAILED;
}

int cv_finish_output(int status)
{
    int error = ferror(stdout) != 0 ? errno : -1;

    if (fclose(stdout) != 0)
        error = errno;
    if (error < 0)
        return status;
    if (error == EPIPE)
        return CV_EXIT_FAILED;
    return cv_print_error(CV_EXIT_FAILED, "cannot write to standard output: %s",
                          error != 0 ? strerror(error) : "write failed");
}

const char *cv_echo(const char *text, char buffer[CV_ECHO_ROOM])
{
    return cv_shown(text, strlen(text), buffer, CV_ECHO_ROOM);
}

int cv_word_read(const char *option, const char *text, const char *const *words,
                 size_t count, int *out)
{
    struct cv_text list = { NULL, 0, 0, false };
    int status;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (int)i;
            cv_text_done(&list);
            return CV_EXIT_DONE;
        }
        cv_text_add(&list, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", words[i]);
    }
    status = cv_refuse("%s: expected %s, got '%s'", option,
                       list.failed ? "another word" : list.bytes, CV_ECHO(text));
    cv_text_done(&list);
    return status;
}

/* setlocale() needs the locale to be installed, and may bring a decimal comma. */
static bool locale_is_utf8(void)
{
    static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);

        if (value != NULL && value[0] != '\0')
            return strcasestr(value, "UTF-8") != NULL ||
                   strcasestr(value, "UTF8") != NULL;
    }
    return false;
}

/* The number in COLUMNS; 80 without. */
static unsigned usual_width(void)
{
    const char *columns = getenv("COLUMNS");
    char *end;
    const unsigned long value = columns != NULL && columns[0] >= '1' && columns[0] <= '9'
                                    ? strtoul(columns, &end, 10)
                                    : 0;

    return value > 0 && *end == '\0' && value <= 1000 ? (unsigned)value : 80;
}

struct cv_screen cv_screen_of(int fd)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    struct winsize size = { .ws_col = 0 };
    struct cv_screen screen = { .utf8 = locale_is_utf8() };

    (void)ioctl(fd, TIOCGWINSZ, &size);
    screen.width = size.ws_col > 0 ? size.ws_col : usual_width();
    screen.height = size.ws_row > 0 ? size.ws_row : 24;
    screen.moves = isatty(fd) && terminal != NULL && strcmp(terminal, "dumb") != 0;
    screen.colour = screen.moves && (no_colour == NULL || no_colour[0] == '\0');
    return screen;
}

struct cv_screen cv_screen_facts(void)
{
    return cv_screen_of(STDOUT_FILENO);
}

void cv_screen_narrow(struct cv_screen *screen, uint64_t width)
{
    if (width > 0)
        screen->width = (unsigned)width;
    else if (screen->width < 40)
        screen->width = 40;
}

static int cannot_write(const struct cv_output_file *out, int status, const char *why)
{
    return cv_print_error(status, "%s: cannot write '%s': %s", out->option,
                          CV_ECHO(out->path), why);
}

int cv_output_open(struct cv_output_file *out, const char *option, const char *path,
                   unsigned how)
{
    struct cleave_error err;

    *out = (struct cv_output_file){ .option = option, .path = path, .made.fd = -1 };
    if (strcmp(path, "-") == 0) {
        out->file = stdout;
        return CV_EXIT_DONE;
    }
    switch (cv_new_file_open(path, how, &out->made, &err)) {
    case CLEAVE_OK:
        break;
    case CLEAVE_EREFUSED:
        return cv_refuse("%s: '%s' exists; use --force to replace it", option,
                         CV_ECHO(path));
    default:
        return cannot_write(out, CV_EXIT_USAGE, err.text);
    }
    out->file = fdopen(out->made.fd, "w");
    if (out->file != NULL)
        return CV_EXIT_DONE;
    cv_new_file_drop(&out->made);
    return cannot_write(out, CV_EXIT_USAGE, strerror(errno));
}

static void report_removed(const char *name, uint64_t bytes)
{
    cv_print_note("removed '%s', %llu bytes of a run that was killed", CV_ECHO(name),
                  (unsigned long long)bytes);
}

int cv_output_clear(const struct cv_new_file *file, const char *option, bool alone)
{
    bool busy = false;

    if (file->beside != NULL)
        CV_CALL(cv_new_file_clear(file, report_removed, &busy, &err));
    return busy && alone
               ? cv_refuse("%s: another run writes '%s'", option, CV_ECHO(file->path))
               : CV_EXIT_DONE;
}

int cv_output_place(struct cv_output_file *out)
{
    struct cleave_error err;

    if (fflush(out->file) != 0)
        return cannot_write(out, CV_EXIT_FAILED, strerror(errno));
    if (ferror(out->file)) /* the reason is lost */
        return cannot_write(out, CV_EXIT_FAILED, "not all of it was taken");
    if (cv_new_file_place(&out->made, &err) != CLEAVE_OK)
        return cannot_write(out, CV_EXIT_FAILED, err.text);
    return CV_EXIT_DONE;
}

int cv_output_close(struct cv_output_file *out, bool failed)
{
    int status = failed ? CV_EXIT_FAILED : CV_EXIT_DONE;

    if (out->file == stdout) /* closed at the end, with its errors */
        return status;
    if (!failed)
        status = cv_output_place(out);
    out->made.fd = -1; /* the stream closes it */
    if (fclose(out->file) != 0 && status == CV_EXIT_DONE)
        status = cannot_write(out, CV_EXIT_FAILED, strerror(errno));
    cv_new_file_drop(&out->made);
    return status;
}

void cv_output_drop(struct cv_output_file *out)
{
    (void)cv_output_close(out, true);
}

enum { BAR = 30 };

void cv_progress_init(struct cv_progress *progress, const char *what, uint64_t total)
{
    *progress = (struct cv_progress){ .what = what,
                                      .total = total,
                                      .on = cv_screen_of(STDERR_FILENO).moves };
}

void cv_progress_show(void *context, uint64_t done)
{
    struct cv_progress *progress = context;
    unsigned percent, filled;
    char bar[BAR + 1];

    if (!progress->on || progress->total == 0)
        return;
    percent = (unsigned)(100.0 * (double)done / (double)progress->total);
    if (percent > 100)
        percent = 100;
    if (progress->drawn && percent == progress->shown)
        return;
    filled = percent * BAR / 100;
    for (unsigned i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %3u%%", progress->what, bar, percent);
    fflush(stderr);
    progress->shown = percent;
    progress->drawn = true;
}

void cv_progress_done(struct cv_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

const char *cv_counted(uint64_t count, const char *noun, char buffer[CV_COUNTED_ROOM])
{
    snprintf(buffer, CV_COUNTED_ROOM, "%llu %s%s", (unsigned long long)count, noun,
             count == 1 ? "" : "s");
    return buffer;
}
