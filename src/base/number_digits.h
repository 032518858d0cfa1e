/* number_digits.h -- the 17 digits of a number, faster than printf. SPDX-License-Identifier: MIT */
#ifndef CV_NUMBER_DIGITS_H
#define CV_NUMBER_DIGITS_H
#include <stdbool.h>
#include "base/quantity.h"

/* Write what "%.17g" writes, with a full stop, for numbers from 1e-4 to below 1e17. False: it is
 * another one, and nothing is written. */
bool cv_number_digits(double value, char buffer[CV_NUMBER_SIZE]);

#endif
