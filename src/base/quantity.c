/* quantity.c -- numbers that may carry a unit. SPDX-License-Identifier: MIT
 *
 * The digits are collected as a whole number and a power of ten. Units that are whole
 * multiples (ms, MB, min, ...) are applied to these exactly, so that strtod rounds once:
 * "0.1ms" is the double next to 0.0001. strtod never sees a decimal point and so does not
 * depend on the locale. */
#include "base/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the 17 digits of a number, faster than printf --------------------------------- */

/* A double is m 2^e with an m of 53 bits. Its 17 digits are the whole number next to
 * m 2^e 10^p = m 5^p 2^(e+p), where p is as large as leaves 17 digits. For the numbers that are
 * taken here p is 0 to 21, so that m 5^p has at most 102 bits and all is exact; a tie goes to the even
 * one, as in printf. Traces hold tens of millions of numbers. */

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

/* Write what "%.17g" writes, with a full stop, for numbers from 1e-4 to below 1e17. False: it is
 * another one, and nothing is written. */
static bool number_digits(double value, char buffer[CV_NUMBER_SIZE])
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

/* --- numbers that may carry a unit ------------------------------------------------- */

enum {
    DIGITS_MOST = 800,       /* more than any double has */
    EXPONENT_MOST = 1000000, /* far beyond what a double holds, far below INT_MAX */
};

struct decimal {
    char digits[DIGITS_MOST + 2]; /* no leading zeros; two more for a multiplied number */
    size_t count;
    long exponent; /* value = digits * 10^exponent */
    bool negative;
};

struct quantity_scale {
    unsigned times; /* a whole factor below 100 */
    int tens, twos; /* powers of 10 and 2       */
    unsigned divisor;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "e12" at `*at`, if it is one; otherwise nothing is read and it must be a unit. */
static void read_exponent(const char **at, struct decimal *decimal)
{
    const char *c = *at;
    bool negative;
    long exponent = 0;

    if (*c != 'e' && *c != 'E')
        return;
    c++;
    negative = *c == '-';
    if (*c == '+' || *c == '-')
        c++;
    if (!is_digit(*c))
        return;
    for (; is_digit(*c); c++)
        if (exponent < EXPONENT_MOST)
            exponent = exponent * 10 + (*c - '0');
    decimal->exponent += negative ? -exponent : exponent;
    *at = c;
}

static bool read_decimal(const char **at, struct decimal *decimal)
{
    const char *c = *at;
    bool any = false, point = false;

    decimal->count = 0;
    decimal->exponent = 0;
    decimal->negative = *c == '-';
    if (*c == '+' || *c == '-')
        c++;
    for (;; c++) {
        if (*c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(*c))
            break;
        any = true;
        if (point)
            decimal->exponent--;
        if (*c == '0' && decimal->count == 0)
            continue;
        if (decimal->count == DIGITS_MOST || decimal->exponent < -EXPONENT_MOST)
            return false;
        decimal->digits[decimal->count++] = *c;
    }
    if (!any)
        return false;
    read_exponent(&c, decimal);
    *at = c;
    return true;
}

/* Multiply by a whole number below 100, so that at most two digits are added. */
static void multiply(struct decimal *decimal, unsigned factor)
{
    unsigned carry = 0;
    size_t extra;

    for (size_t i = decimal->count; i-- > 0;) {
        unsigned product = (unsigned)(decimal->digits[i] - '0') * factor + carry;

        decimal->digits[i] = (char)('0' + product % 10);
        carry = product / 10;
    }
    extra = carry == 0 ? 0 : carry < 10 ? 1 : 2;
    memmove(decimal->digits + extra, decimal->digits, decimal->count);
    decimal->count += extra;
    for (; extra > 0; carry /= 10)
        decimal->digits[--extra] = (char)('0' + carry % 10);
}

static double evaluate(struct decimal *decimal,
                       const struct quantity_scale *quantity_scale)
{
    char text[DIGITS_MOST + 32];
    double value;

    if (decimal->count == 0)
        return decimal->negative ? -0.0 : 0.0;
    if (quantity_scale->times != 1)
        multiply(decimal, quantity_scale->times);
    memcpy(text, decimal->digits, decimal->count);
    snprintf(text + decimal->count, sizeof text - decimal->count, "e%ld",
             decimal->exponent + quantity_scale->tens);
    value = strtod(text, NULL);
    if (decimal->negative)
        value = -value;
    return ldexp(value, quantity_scale->twos) / quantity_scale->divisor;
}

static bool read_time_unit(const char *unit, size_t length,
                           struct quantity_scale *quantity_scale)
{
    static const struct {
        const char *name;
        unsigned times;
        int tens;
    } units[] = {
        { "ns", 1, -9 }, { "us", 1, -6 }, { "ms", 1, -3 },
        { "s", 1, 0 },   { "min", 6, 1 }, { "h", 36, 2 },
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == length &&
            strncmp(unit, units[i].name, length) == 0) {
            quantity_scale->times = units[i].times;
            quantity_scale->tens = units[i].tens;
            return true;
        }
    return false;
}

/* "MB", "Ki", "u": leaves *at behind it. *out_amount tells whether B or u was there. */
static void read_amount_unit(const char **at, struct quantity_scale *quantity_scale,
                             bool *out_amount)
{
    static const char prefixes[] = "KMGT";
    const char *unit = *at;
    const char *found =
        *unit != '\0' ? strchr(prefixes, *unit == 'k' ? 'K' : *unit) : NULL;

    if (found != NULL && *unit != 'k' && unit[1] == 'i') {
        quantity_scale->twos = 10 * (int)(found - prefixes + 1);
        unit += 2;
    } else if (found != NULL) {
        quantity_scale->tens = 3 * (int)(found - prefixes + 1);
        unit++;
    }
    *out_amount = *unit == 'B' || *unit == 'u';
    *at = unit + *out_amount;
}

static bool read_unit(const char *unit, enum cv_quantity kind,
                      struct quantity_scale *quantity_scale)
{
    bool amount;

    if (kind == CV_SECONDS || kind == CV_DURATION)
        return read_time_unit(unit, strlen(unit), quantity_scale);
    if (kind == CV_NUMBER)
        return false;
    read_amount_unit(&unit, quantity_scale, &amount);
    if (kind == CV_UNITS)
        return *unit == '\0';
    if (strcmp(unit, "/min") == 0)
        quantity_scale->divisor = 60;
    else if (strcmp(unit, "/h") == 0)
        quantity_scale->divisor = 3600;
    else if (strcmp(unit, "/s") != 0)
        return *unit == '\0' && !amount;
    return true;
}

/* "m" and "d" too, as sleep(1) has them; in a file an m could be a metre or a thousandth. */
static bool read_long_unit(const char *unit, size_t length,
                           struct quantity_scale *quantity_scale)
{
    if (length != 1 || (*unit != 'm' && *unit != 'd'))
        return read_time_unit(unit, length, quantity_scale);
    quantity_scale->times = *unit == 'm' ? 6 : 27;
    quantity_scale->tens = *unit == 'm' ? 1 : 2;
    quantity_scale->twos = *unit == 'm' ? 0 : 5;
    return true;
}

/* "1h30m": times, each with a unit and without a sign, that are added up. */
static bool read_time_sum(const char *text, double *out)
{
    double sum = 0;

    while (*text != '\0') {
        struct quantity_scale quantity_scale = { .times = 1, .divisor = 1 };
        struct decimal decimal;
        size_t length;

        if ((*text != '.' && !is_digit(*text)) || !read_decimal(&text, &decimal))
            return false;
        length = strcspn(text, ".0123456789");
        if (!read_long_unit(text, length, &quantity_scale))
            return false;
        sum += evaluate(&decimal, &quantity_scale);
        text += length;
    }
    *out = sum;
    return true;
}

const char *cv_quantity_parse(const char *text, enum cv_quantity kind, double *out)
{
    static const char *const expected[] = {
        [CV_NUMBER] = "expected a number",
        [CV_SECONDS] = "expected a time such as 0.5, 500ms or 2min",
        [CV_DURATION] = "expected a time such as 0.5, 500ms, 2min or 1h30m",
        [CV_UNITS] = "expected an amount such as 2000, 10k or 3GB",
        [CV_RATE] = "expected a rate such as 20, 600/min or 10MB/s",
    };
    struct quantity_scale quantity_scale = { .times = 1, .divisor = 1 };
    const char *at = text;
    struct decimal decimal;
    double value;

    if (!read_decimal(&at, &decimal))
        return expected[kind];
    at += at[0] == ' ' && at[1] != '\0';
    if (*at == '\0' || read_unit(at, kind, &quantity_scale))
        value = evaluate(&decimal, &quantity_scale);
    else if (kind != CV_DURATION || !read_time_sum(text, &value))
        return expected[kind];
    if (!isfinite(value))
        return "expected a number below 1.8e308";
    *out = value;
    return NULL;
}

/* printf writes the decimal point of the locale; whatever stands in its place becomes a
 * full stop. */
static const char *clean_point(char buffer[CV_NUMBER_SIZE])
{
    char *to = buffer;

    for (const char *from = buffer; *from != '\0'; from++) {
        if (is_digit(*from) || strchr("+-e", *from) != NULL)
            *to++ = *from;
        else if (to == buffer || to[-1] != '.')
            *to++ = '.';
    }
    *to = '\0';
    return buffer;
}

static bool print_not_finite(double value, char buffer[CV_NUMBER_SIZE])
{
    if (isfinite(value))
        return false;
    strcpy(buffer, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return true;
}

const char *cv_number_full(double value, char buffer[CV_NUMBER_SIZE])
{
    if (number_digits(value, buffer) || print_not_finite(value, buffer))
        return buffer;
    snprintf(buffer, CV_NUMBER_SIZE, "%.17g", value);
    return clean_point(buffer);
}

const char *cv_number_short(double value, char buffer[CV_NUMBER_SIZE])
{
    if (print_not_finite(value, buffer))
        return buffer;
    /* A decimal of up to 15 digits survives the way to a double and back, and %g drops
     * trailing zeros, so fewer need not be tried. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, CV_NUMBER_SIZE, "%.*g", digits, value);
        if (digits == 17 || strtod(buffer, NULL) == value)
            break;
    }
    return clean_point(buffer);
}
