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
#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"
#include "io/json_out.h"

/* X(name, status, verb, meaning), in the order of the statuses; `verb` is the only one that
 * answers so, or NULL. */
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

/* A command killed by signal S is reported by shells as 128 + S; so are we. */
enum { CV_EXIT_BY_SIGNAL = 128 };

/* The same for those who print it. Ends with a NULL name; the row before stands for all
 * signals that have none of their own. */
struct cv_fact {
    const char *name, *meaning;
    const char *verb; /* the only one it is true of; NULL: all are */
};
extern const struct cv_fact cv_exit_facts[];

struct cv_json;

/* Make sure that descriptors 0, 1 and 2 are taken, so that no file opened later can be
 * mistaken for one of them. Writing to one that was closed fails, as it should, and so
 * does writing past the limit of a file's size (RLIMIT_FSIZE), which would otherwise end
 * the program without a word. Also, the ends of commands are told, whatever the one who
 * started us thinks of SIGCHLD. */
void cv_guard_streams(void);

/* Print "cleave: TEXT" on stderr. All messages come this way: names of files and what hosts
 * say may hold anything, but a message is one line, and cannot move the cursor. What does not
 * show is shown as \xNN. */
void cv_print_line(const char *text);
/* The same with a format; returns `status`, so that it can end a verb. */
int cv_print_error(int status, const char *format, ...) CV_PRINTF(2, 3);
/* Print why a command line or its files are refused; returns CV_EXIT_USAGE. */
int cv_refuse(const char *format, ...) CV_PRINTF(1, 2);
/* Print "out of memory for WHAT"; returns CV_EXIT_FAILED. */
int cv_no_memory(const char *what);
/* The same for an error of the library, with the exit status that goes with it. */
int cv_print_status(const struct cleave_error *err);

/* Return the exit status of `step` from this function unless it is CV_EXIT_DONE. */
#define CV_DO(step)                     \
    do {                                \
        const int cv_status_ = (step);  \
        if (cv_status_ != CV_EXIT_DONE) \
            return cv_status_;          \
    } while (0)

/* Print text that was put together, release it and return the exit status. */
int cv_print_take(struct cv_text *text);
/* Begin the object that is the whole result, on stdout; end it. Ending returns an exit
 * status; why a write failed is told when stdout is closed. */
void cv_result_open(struct cv_json *json);
int cv_result_close(struct cv_json *json);
/* Flush and close stdout. Returns `status`, or CV_EXIT_FAILED after a message when
 * something could not be written; a reader that went away gets no message. */
int cv_finish_output(int status);

/* What a user typed, for a message: cut when long, control bytes made visible. Returns
 * `buffer`. */
enum { CV_ECHO_ROOM = 80 };
const char *cv_echo(const char *text, char buffer[CV_ECHO_ROOM]);
/* The same with a buffer of the block in which it is used. */
#define CV_ECHO(text) cv_echo(text, (char[CV_ECHO_ROOM]){ 0 })

/* What a terminal can show. */
struct cv_screen {
    unsigned width;  /* columns                                        */
    unsigned height; /* lines; 24 where nothing tells                 */
    bool utf8;       /* the locale says so                             */
    bool colour;     /* a terminal, and NO_COLOR is unset or empty     */
};

/* Of stdout; of another descriptor. */
struct cv_screen cv_screen_facts(void);
struct cv_screen cv_screen_of(int fd);
/* Take the width that --width asked for; without (0), at least 40 columns. */
void cv_screen_narrow(struct cv_screen *screen, uint64_t width);

struct cv_output_file {
    const char *option, *path; /* borrowed, for messages                              */
    FILE *file;                /* to write to; owned unless it is stdout              */
    struct cv_new_file made;
};

/* `how` is of enum cv_new_file_how: with CV_NEW_FILE_ONLY a regular file that exists is
 * kept. Returns an exit status, as all here; what is wrong has been told. */
int cv_output_open(struct cv_output_file *out, const char *option, const char *path,
                   unsigned how);
/* Let it have its name from here on, although more is to come. */
int cv_output_place(struct cv_output_file *out);
/* Give it its name and close it; what could not be written is told. `failed`: something
 * was not, and has been told; then nothing takes the place of an older file. */
int cv_output_close(struct cv_output_file *out, bool failed);
/* Forget it. */
void cv_output_drop(struct cv_output_file *out);

struct cv_progress {
    const char *what; /* borrowed: shown before the bar           */
    uint64_t total;
    unsigned shown; /* percent shown last                       */
    bool on;        /* stderr is a terminal                     */
    bool drawn;
};

void cv_progress_init(struct cv_progress *progress, const char *what, uint64_t total);
/* Fits cleave_trial.progress with the struct as context. */
void cv_progress_show(void *progress, uint64_t done);
/* Take the bar away. */
void cv_progress_done(struct cv_progress *progress);

/* "1 worker", "8 workers": a count with its noun; `buffer` is returned. */
enum { CV_COUNTED_ROOM = 48 };
const char *cv_counted(uint64_t count, const char *noun, char buffer[CV_COUNTED_ROOM]);
/* Counts and numbers with a buffer of the block in which they are used. */
#define CV_COUNTED(count, noun) cv_counted(count, noun, (char[CV_COUNTED_ROOM]){ 0 })
#define CV_SHOW_NUMBER(value) cv_show_number(value, (char[CV_NUMBER_ROOM]){ 0 })
#define CV_SHOW_UNITS(value) cv_show_units(value, (char[CV_NUMBER_ROOM]){ 0 })

#endif
