/* output.h -- messages, results and what the terminal can show.
 * SPDX-License-Identifier: MIT
 *
 * Results go to stdout and everything else to stderr. Only this room and figures print. */
#ifndef CV_OUTPUT_H
#define CV_OUTPUT_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <cleave/error.h>
#include "base/fail.h"
#include "base/text.h"
#include "cli/common/exit_status.h"

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
/* The same for an error of the library, with the exit status that goes with it. */
int cv_print_status(const struct cleave_error *err);

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

#endif
