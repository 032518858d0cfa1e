/* error.h -- status codes and the record of an error. SPDX-License-Identifier: MIT A call
 * that fails fills *err, its last argument, which may be NULL, and leaves its outputs
 * unchanged. The library never prints and never exits. */
#ifndef CLEAVE_ERROR_H
#define CLEAVE_ERROR_H
#include <stddef.h>
#ifdef __cplusplus
#define CLEAVE_BEGIN_C /* some functions have the name of a struct, as stat has */ \
    _Pragma("GCC diagnostic push")                                                 \
        _Pragma("GCC diagnostic ignored \"-Wshadow\"") extern "C"                  \
    {
#define CLEAVE_END_C \
    }                \
    _Pragma("GCC diagnostic pop")
#else
#define CLEAVE_BEGIN_C
#define CLEAVE_END_C
#endif

CLEAVE_BEGIN_C

enum cleave_status {
    CLEAVE_OK,
    CLEAVE_ENOMEM,     /* out of memory */
    CLEAVE_EINPUT,     /* an argument or a file is wrong */
    CLEAVE_EPOLICY,    /* the policy gave an invalid order */
    CLEAVE_EENGINE,    /* an engine, a file or a process failed, or is missing */
    CLEAVE_ESTOPPED,   /* a signal or cleave_cancel stopped the run */
    CLEAVE_ECLOSED,    /* the reader closed the output */
    CLEAVE_ELOST,      /* the last host is lost */
    CLEAVE_EREFUSED,   /* the other side refused */
    CLEAVE_EACCOUNT,   /* a defect of the library: input that was lost or counted twice */
    CLEAVE_ERESOURCES, /* no more processes or open files */
};

struct cleave_error {
    enum cleave_status status;
    char file[256];  /* input file, "" when there is none      */
    unsigned line;   /* from 1; 0 = unknown                    */
    unsigned column; /* from 1; 0 = unknown                    */
    char field[96];  /* "workers[3].bandwidth", "" when none   */
    char text[512];  /* "expected a positive number, got '-2'" */
};

/* Short text of a status: borrowed, static. */
const char *cleave_status_text(enum cleave_status status);

/* Fill `err`, which may be NULL, and return `status`: for functions that callers write,
 * such as the calls of a policy. The text is copied, and truncated if it is too long. */
enum cleave_status cleave_error_set(struct cleave_error *err, enum cleave_status status,
                                    const char *text);

/* Write "file:line:column: field: text" with the parts that are known. Returns the length
 * of the complete text, like snprintf. */
int cleave_error_format(const struct cleave_error *err, char *buffer, size_t size);

CLEAVE_END_C
#endif
