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

#define CLEAVE_STATUS_MAP(X)                       \
    X(OK, "success")                               \
    X(ENOMEM, "out of memory")                     \
    X(EINPUT, "bad input")                         \
    X(EPOLICY, "policy broke its contract")        \
    X(EENGINE, "engine failed or was not built")   \
    X(ESTOPPED, "stopped by a signal")             \
    X(ECLOSED, "closed by the other side")         \
    X(ELOST, "lost: the other side is gone")       \
    X(EREFUSED, "refused by the other side")       \
    X(EACCOUNT, "input that is not accounted for") \
    X(ERESOURCES, "no more processes or open files to be had")

enum cleave_status {
#define X(name, text) CLEAVE_##name,
    CLEAVE_STATUS_MAP(X)
#undef X
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
