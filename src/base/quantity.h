/* quantity.h -- numbers that may carry a unit: "10 MB/s", "500ms", "2k".
 * SPDX-License-Identifier: MIT
 *
 * A bare number is in units, units per second or seconds. SI prefixes k (or K), M, G, T
 * are powers of 1000, Ki, Mi, Gi, Ti powers of 1024. Amounts may end in B or u, rates in
 * /s, /min or /h after that (a rate with B or u must have it); times are ns, us, ms, s,
 * min, h. One space may precede the unit. Reading and writing ignore the locale. */
#ifndef CV_QUANTITY_H
#define CV_QUANTITY_H
#include <stddef.h>

enum cv_quantity {
    CV_NUMBER,   /* no unit allowed       */
    CV_SECONDS,  /* 5, 500ms, 2 min       */
    CV_UNITS,    /* 2000, 3 GB, 10k       */
    CV_RATE,     /* 20, 10 MB/s, 600/min  */
    CV_DURATION, /* also 5m, 2d, 1h30m: options */
};

/* Parse all of `text`. Returns NULL and sets *out, or returns a static text such as
 * "expected a time such as 0.5, 500ms or 2min". NaN, infinities and overflow are errors;
 * the sign is not checked. The value is the double next to the exact one, except for
 * rates per minute or hour, which are rounded twice, and for sums such as 1h30m. */
const char *cv_quantity_parse(const char *text, enum cv_quantity kind, double *out);

enum { CV_NUMBER_SIZE = 32 };

/* Write a number that reads back as the same double, with 17 significant digits or with
 * as few as needed; or "nan", "inf", "-inf". Both return `buffer`. */
const char *cv_number_full(double value, char buffer[CV_NUMBER_SIZE]);
const char *cv_number_short(double value, char buffer[CV_NUMBER_SIZE]);

#endif
