/* output.h -- messages, results and what the terminal can show.
 * SPDX-License-Identifier: MIT
 *
 * Results go to stdout and everything else to stderr. Only this room and figures print. */
#ifndef CV_OUTPUT_H
#define CV_OUTPUT_H
#include <cleave/error.h>
#include <cleave/run.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"
#include "io/json_out.h"
#include "report/terminal/table.h"

/* X(name, status, verb, meaning); `verb` is the only one with this status, or NULL. */
#define CV_EXIT_MAP(X)                                                                  \
    X(DONE, 0, NULL, "done")                                                            \
    X(FAILED, 1, NULL, "the work failed, a check said no, or a result was not written") \
    X(USAGE, 2, NULL, "bad input or usage")                                             \
    X(ENGINE, 3, NULL,                                                                  \
      "what should do the work is missing or failed: an engine, a host")                \
    X(LATER, 75, "run",                                                                 \
      "stopped by SIGUSR1 when the journal had got further: --resume goes on")          \
    X(LACKS, 113, "worker",                                                             \
      "worker --hash: this program is not the one that was asked for")                  \
    X(INTERRUPTED, 130, "run", "stopped by SIGINT; a journal holds what was finished")  \
    X(UNREAD, 141, NULL, "nobody read the output any more (SIGPIPE)")                   \
    X(TERMINATED, 143, "run", "stopped by SIGTERM; a journal holds what was finished")

enum cv_exit {
#define X(name, status, verb, meaning) CV_EXIT_##name = (status),
    CV_EXIT_MAP(X)
#undef X
};

/* Shells report a command killed by signal S as 128 + S. */
enum { CV_EXIT_BY_SIGNAL = 128 };

/* Statuses for --help. Ends with a NULL name; the row before is for other signals. */
struct cv_fact {
    const char *name, *meaning;
    const char *verb; /* the only verb it applies to; NULL: all */
};
extern const struct cv_fact cv_exit_facts[];

/* Start a program, looked for in PATH, with these descriptors for standard input, output and,
 * unless it is -1, error. Returns 0 or an errno. */
int cv_start_program(const char *program, const char *const *words, int in, int out,
                     int errors, pid_t *pid);

/* Open descriptors 0, 1 and 2 if they are closed, so that no other file gets their
 * numbers; writing to them fails. A write past RLIMIT_FSIZE is an error, not a signal.
 * SIGCHLD is not ignored. */
void cv_guard_streams(void);

/* Add `text`, a message of the library, to `out`. Every field that it names, such as input.fetch,
 * becomes an option: --fetch. Text in single quotes is copied unchanged. (fields.c) */
void cv_fields_translate(const char *text, struct cv_text *out);
/* The translated text in the arena; NULL: no memory. */
const char *cv_fields_text(const char *text, struct cv_arena *arena);

/* Print "cleave: TEXT" on stderr in one line. Control bytes of names are shown as
 * \xNN, and fields of the library as options. */
void cv_print_line(const char *text);
/* Write a text unchanged to stderr by one write(2), and release it. */
void cv_print_raw(struct cv_text *text);
/* Returns `status`. */
int cv_print_error(int status, const char *format, ...) CV_PRINTF(2, 3);
/* Print why a command line or its files are refused; returns CV_EXIT_USAGE. */
#define cv_refuse(...) cv_print_error(CV_EXIT_USAGE, __VA_ARGS__)
/* Print a message that does not end anything. */
#define cv_print_note(...) ((void)cv_print_error(CV_EXIT_DONE, __VA_ARGS__))
/* Find a word among `count` names. Refuses one that is not there, with the nearest, as
 * cv_suggest; `what` is "unknown policy". Returns an exit status. */
int cv_name_find(const char *what, const char *word, size_t count,
                 const char *(*name_at)(const void *context, size_t index),
                 const void *context, size_t *out);
/* Print "out of memory for WHAT"; returns CV_EXIT_FAILED. */
int cv_no_memory(const char *what);
/* Zeroed memory, and a copy of a text, in the arena, for use before the work begins:
 * without memory the program prints the message of cv_no_memory() and exits. */
void *cv_need(struct cv_arena *arena, size_t count, size_t size, const char *what)
    __attribute__((returns_nonnull));
char *cv_need_text(struct cv_arena *arena, const char *text, const char *what)
    __attribute__((returns_nonnull));
/* Print an error of the library; returns its exit status. */
int cv_print_status(const struct cleave_error *err);

/* Return the exit status of `step` from this function unless it is CV_EXIT_DONE. */
#define CV_DO(step)                     \
    do {                                \
        const int cv_status_ = (step);  \
        if (cv_status_ != CV_EXIT_DONE) \
            return cv_status_;          \
    } while (0)

/* Call the library, which fills `err`; print an error and return its exit status from this
 * function. */
#define CV_CALL(step)                     \
    do {                                  \
        struct cleave_error err;          \
        if ((step) != CLEAVE_OK)          \
            return cv_print_status(&err); \
    } while (0)

/* A formatted text in the arena; NULL: no memory. */
char *cv_arena_print(struct cv_arena *arena, const char *format, ...) CV_PRINTF(2, 3);
/* Release a part of `out`, which has failed if memory was too short for the part. */
void cv_text_end(struct cv_text *part, struct cv_text *out);
/* Print and release a text; returns an exit status. */
int cv_print_take(struct cv_text *text);
/* The JSON object that is the result, on stdout. Write errors are printed when stdout
 * is closed. */
void cv_result_open(struct cv_json *json);
int cv_result_close(struct cv_json *json);
/* Flush and close stdout. Returns `status`, or CV_EXIT_FAILED after a failed write. */
int cv_finish_output(int status);

/* A word of the user for a message: cut when long, control bytes visible. Returns
 * `buffer`. */
enum { CV_ECHO_ROOM = 80 };
const char *cv_echo(const char *text, char buffer[CV_ECHO_ROOM]);
/* A buffer of the current block. */
#define CV_ECHO(text) cv_echo(text, (char[CV_ECHO_ROOM]){ 0 })

/* Whether a word is in the list that follows. */
#define CV_IS_ONE_OF(word, ...)                              \
    cv_is_one_of(word, (const char *const[]){ __VA_ARGS__ }, \
                 sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))
/* Read one of `count` words into *out, by number. Returns an exit status. */
int cv_word_read(const char *option, const char *text, const char *const *words,
                 size_t count, int *out);

/* Properties of a terminal. */
struct cv_screen {
    unsigned width;  /* columns                                        */
    unsigned height; /* lines; 24 by default */
    bool utf8;       /* by the locale                                  */
    bool moves;      /* a terminal whose lines can be replaced; TERM=dumb cannot */
    bool colour;     /* ... and NO_COLOR is unset or empty     */
};

struct cv_screen cv_screen_facts(void);
struct cv_screen cv_screen_of(int fd);
/* Apply --width; without it (0), at least 40 columns. */
void cv_screen_narrow(struct cv_screen *screen, uint64_t width);

struct cv_output_file {
    const char *option, *path; /* borrowed, for messages                              */
    FILE *file;                /* to write to; owned unless it is stdout              */
    struct cv_new_file made;
};

/* `how` is of enum cv_new_file_how. Returns an exit status, as all here. */
int cv_output_open(struct cv_output_file *out, const char *option, const char *path,
                   unsigned how);
/* Remove what killed runs have left of a file of this name, and print that. `alone`: refuse a second
 * run that writes such a file. */
int cv_output_clear(const struct cv_new_file *file, const char *option, bool alone);
/* Give the file its name although more will be written. */
int cv_output_place(struct cv_output_file *out);
/* Give the file its name and close it. `failed`: an error was printed, and an older
 * file stays. */
int cv_output_close(struct cv_output_file *out, bool failed);
void cv_output_drop(struct cv_output_file *out);

struct cv_progress {
    const char *what; /* borrowed: shown before the bar           */
    uint64_t total;
    unsigned shown; /* percent shown last                       */
    bool on;        /* stderr is a terminal that can redraw     */
    bool drawn;
};

void cv_progress_init(struct cv_progress *progress, const char *what, uint64_t total);
/* Fits cleave_trial.progress with the struct as context. */
void cv_progress_show(void *progress, uint64_t done);
void cv_progress_done(struct cv_progress *progress);

/* "1 worker", "8 workers"; returns `buffer`. */
enum { CV_COUNTED_ROOM = 48 };
const char *cv_counted(uint64_t count, const char *noun, char buffer[CV_COUNTED_ROOM]);
/* Counts and numbers with a buffer of the current block. */
#define CV_COUNTED(count, noun) cv_counted(count, noun, (char[CV_COUNTED_ROOM]){ 0 })
#define CV_SHOW_NUMBER(value) cv_show_number(value, (char[CV_NUMBER_ROOM]){ 0 })
#define CV_SHOW_UNITS(value) cv_show_units(value, (char[CV_NUMBER_ROOM]){ 0 })

#endif
