/* argument.h -- checks of what callers of the library pass. SPDX-License-Identifier: MIT
 *
 * Asserts are for mistakes of the library. A mistake of its caller is CLEAVE_EINPUT, and err->field
 * names the argument or the member. */
#ifndef CV_ARGUMENT_H
#define CV_ARGUMENT_H
#include <math.h>
#include "base/fail.h"

/* Return the failure "FIELD: expected ..." unless the condition holds. */
#define CV_EXPECT(condition, err, name, ...)                              \
    do {                                                                  \
        if (!(condition))                                                 \
            return cv_fail_at(err, &(struct cv_place){ .field = (name) }, \
                              "expected " __VA_ARGS__);                   \
    } while (0)
#define CV_EXPECT_POINTER(pointer, err, name) \
    CV_EXPECT((pointer) != NULL, err, name, "a pointer, got NULL")
/* A finite number of at least 0; one above 0; one of the values [0, count) of an enum. */
#define CV_EXPECT_SIZE(value, err, name)                     \
    CV_EXPECT((value) >= 0 && (value) < INFINITY, err, name, \
              "a number of at least 0, got %g", (double)(value))
#define CV_EXPECT_ABOVE(value, err, name)                                                \
    CV_EXPECT((value) > 0 && (value) < INFINITY, err, name, "a positive number, got %g", \
              (double)(value))
#define CV_EXPECT_ENUM(value, count, err, name)                 \
    CV_EXPECT((unsigned)(value) < (unsigned)(count), err, name, \
              "a value from 0 to %u, got %u", (unsigned)(count)-1u, (unsigned)(value))

#endif
