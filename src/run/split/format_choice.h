/* format_choice.h -- the format of an input, by its name and first bytes. SPDX-License-Identifier: MIT
 *
 * No choice changes the bytes that a command gets, except that a header precedes each chunk. A name
 * and first bytes that disagree are an error. The same bytes give the same choice, however they
 * arrive. */
#ifndef CV_FORMAT_CHOICE_H
#define CV_FORMAT_CHOICE_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

enum { CV_CHOICE_LOOK = 64 * 1024 }; /* bytes that are enough to decide */

struct cv_splitter;

struct cv_format_choice {
    const char *what; /* the format, for messages; NULL: lines, and not worth a message */
    const char
        *split; /* as for cv_splitter_parse                                       */
    const char
        *header; /* as for cv_splitter_set_header; NULL: none                      */
    const char
        *advice; /* part of the message; NULL                                      */
};

/* The choice for an input: its name (NULL: none), and its first bytes, decoded. `ends`: those are all.
 * *decided: false if more bytes are needed, never if there are CV_CHOICE_LOOK. */
enum cleave_status cv_format_choose(const char *name, const char *bytes, size_t length,
                                    bool ends, struct cv_format_choice *out,
                                    bool *decided, struct cleave_error *err);
/* A message that names the choice for an input and the way to another one; `header`: the choice adds a
 * header. False: there is no message. */
bool cv_format_tell(const struct cv_format_choice *choice, bool header, const char *name,
                    char *out, size_t size);
/* Fails if the name or the first bytes of another file make another choice. */
enum cleave_status cv_format_agree(const struct cv_format_choice *choice,
                                   const char *first, const char *name, const char *bytes,
                                   size_t length, struct cleave_error *err);
/* Whether a header of csv is names of columns; true for other splitters. */
bool cv_format_has_names(const struct cv_splitter *splitter, const char *header,
                         size_t length);

#endif
