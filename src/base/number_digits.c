/* number_digits.c -- the 17 digits of a number, faster than printf. SPDX-License-Identifier: MIT
 *
 * A double is m 2^e with an m of 53 bits. Its 17 digits are the whole number next to
 * m 2^e 10^p = m 5^p 2^(e+p), where p is as large as leaves 17 digits. For the numbers that are
 * taken here p is 0 to 21, so that m 5^p has at most 102 bits and all is exact; a tie goes to the even
 * one, as in printf. Traces hold tens of millions of numbers. */
#include "base/number_digits.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { DIGITS = 17, BITS = 53 };

static const uint64_t too_many = 100000000000000000; /* 18 digits */
static const double log10_of_2 = 0.30102999566398120;

/* The whole number next to m 2^e 10^p. */
static uint64_t scale(uint64_t m, int e, int p)
{
    static const uint64_t fives[] = {
        1,
        5,
        25,
        125,
        625,
        3125,
        15625,
        78125,
        390625,
        1953125,
        9765625,
        48828125,
        244140625,
        1220703125,
        6103515625,
        30517578125,
        152587890625,
        762939453125,
        3814697265625,
        19073486328125,
        95367431640625,
        476837158203125,
    };
    const wide product = (wide)m * fives[p];
    const int shift = -(e + p);
    uint64_t whole;
    wide rest, half;

    if (shift <= 0)
        return (uint64_t)(product << -shift);
    whole = (uint64_t)(product >> shift);
    rest = product & (((wide)1 << shift) - 1);
    half = (wide)1 << (shift - 1);
    return whole + (rest > half || (rest == half && whole % 2 == 1));
}

/* `point` of the digits stand before the point; below 0: so many zeros stand behind it. */
static void write_digits(const char *digits, int count, int point, char *to)
{
    if (point <= 0) {
        memcpy(to, "0.000", (size_t)(2 - point));
        to += 2 - point;
        memcpy(to, digits, (size_t)count);
        to += count;
    } else {
        memcpy(to, digits, (size_t)point);
        to += point;
        if (count > point) {
            *to++ = '.';
            memcpy(to, digits + point, (size_t)(count - point));
            to += count - point;
        }
    }
    *to = '\0';
}

bool cv_number_digits(double value, char buffer[CV_NUMBER_SIZE])
{
    const double size = fabs(value);
    char digits[DIGITS];
    int e, point, count = DIGITS;
    uint64_t m, whole;

    if (!(size >= 1e-4 && size < 1e17))
        return false;
    m = (uint64_t)ldexp(frexp(size, &e), BITS);
    point = (int)floor((e - 1) * log10_of_2) + 1; /* or one more */
    whole = scale(m, e - BITS, DIGITS - point);
    if (whole >= too_many)
        whole = scale(m, e - BITS, DIGITS - ++point);
    for (int i = DIGITS; i-- > 0; whole /= 10)
        digits[i] = (char)('0' + whole % 10);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (value < 0)
        *buffer++ = '-';
    write_digits(digits, count, point, buffer);
    return true;
}
