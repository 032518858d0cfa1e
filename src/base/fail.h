/* fail.h -- fill an error record and return its status. SPDX-License-Identifier: MIT */
#ifndef CV_FAIL_H
#define CV_FAIL_H
#include <cleave/error.h>

/* A position in an input. */
struct cv_place {
    const char *file;      /* borrowed; may be NULL             */
    unsigned line, column; /* from 1; 0 = unknown               */
    const char *field;     /* borrowed; "" or NULL when none    */
};
/* Somewhere in a file. */
#define CV_FILE(name) (&(struct cv_place){ .file = (name) })

#if defined(__GNUC__)
#define CV_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define CV_PRINTF(at, first)
#endif

/* Both return `status` (cv_fail_at: CLEAVE_EINPUT), so that they can end a function.
 * `err` may be NULL. */
enum cleave_status cv_fail(struct cleave_error *err, enum cleave_status status,
                           const char *format, ...) CV_PRINTF(3, 4);
enum cleave_status cv_fail_at(struct cleave_error *err, const struct cv_place *place,
                              const char *format, ...) CV_PRINTF(3, 4);
/* "out of memory for WHAT". */
enum cleave_status cv_fail_memory(struct cleave_error *err, const char *what);
/* Stopped by a signal. */
enum cleave_status cv_fail_stopped(struct cleave_error *err);
/* "WHAT: ...", with the text of an errno: CLEAVE_EENGINE. */
enum cleave_status cv_fail_errno(struct cleave_error *err, int error, const char *what);
/* Report a failure again, and change the status of one that was reported. */
enum cleave_status cv_fail_again(struct cleave_error *err,
                                 const struct cleave_error *failure);
enum cleave_status cv_fail_as(struct cleave_error *err, enum cleave_status status);

#ifdef __clang_analyzer__
/* The analyzer does not look into other files: tell it that these never return OK. */
#define cv_fail(err, status, ...) (cv_fail(err, status, __VA_ARGS__), (status))
#define cv_fail_at(...) (cv_fail_at(__VA_ARGS__), CLEAVE_EINPUT)
#define cv_fail_memory(...) (cv_fail_memory(__VA_ARGS__), CLEAVE_ENOMEM)
#define cv_fail_stopped(err) (cv_fail_stopped(err), CLEAVE_ESTOPPED)
#define cv_fail_errno(...) (cv_fail_errno(__VA_ARGS__), CLEAVE_EENGINE)
#endif

/* Return the status of a call that did not succeed. */
#define CV_TRY(call)                               \
    do {                                           \
        enum cleave_status cv_try_status = (call); \
        if (cv_try_status != CLEAVE_OK)            \
            return cv_try_status;                  \
    } while (0)

/* The next step, unless a step before it has failed. */
#define CV_THEN(status, call) ((status) = (status) == CLEAVE_OK ? (call) : (status))

#endif
