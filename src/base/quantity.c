/* quantity.c -- numbers that may carry a unit. SPDX-License-Identifier: MIT
 *
 * The digits are collected as an integer and a power of ten. Units (ms, MB, min, ...) are
 * applied to these exactly, so that strtod rounds once: "0.1ms" is the double next to
 * 0.0001. strtod never sees a decimal point, so it does not depend on the locale. */
#include "base/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- writing 17 digits, faster than printf ------------------------------------------ */

/* A double is m 2^e with m < 2^53. Its 17 digits are the integer next to m 2^e 10^p = m
 * 5^p 2^(e+p), with the largest p that leaves 17 digits. For numbers from 1e-4 to 1e17, p
 * is 0 to 21, so m 5^p has at most 102 bits and all is exact; ties go to the even
 * integer, as in printf. Traces hold tens of millions of numbers. */

__extension__ typedef unsigned __int128 wide;

enum { DIGITS = 17, BITS = 53 };

static const uint64_t too_many = 100000000000000000; /* 18 digits */
static const double log10_of_2 = 0.30102999566398120;

/* The integer next to m 2^e 10^p. */
static uint64_t round_scaled(uint64_t m, int e, int p)
{
    static const uint64_t fives[] = { 1, 5, 25, 125, 625, 3125, 15625, 78125 };
    static const uint64_t more[] = { 1, 390625, 152587890625 }; /* 5^8, 5^16 */
    const wide product = (wide)m * fives[p % 8] * more[p / 8];
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

/* `point` digits precede the decimal point; if negative, -point zeros follow it. */
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

/* Write the number as "%.17g" does, with a full stop. For numbers below 1e-4 and numbers
 * of at least 1e17 nothing is written and the result is false. */
static bool write_number(double value, char buffer[CV_NUMBER_SIZE])
{
    const double size = fabs(value);
    char digits[DIGITS];
    int e, point, count = DIGITS;
    uint64_t m, whole;

    if (!(size >= 1e-4 && size < 1e17))
        return false;
    m = (uint64_t)ldexp(frexp(size, &e), BITS);
    point = (int)floor((e - 1) * log10_of_2) + 1; /* or one more */
    whole = round_scaled(m, e - BITS, DIGITS - point);
    if (whole >= too_many)
        whole = round_scaled(m, e - BITS, DIGITS - ++point);
    for (int i = DIGITS; i-- > 0; whole /= 10)
        digits[i] = (char)('0' + whole % 10);
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (value < 0)
        *buffer++ = '-';
    write_digits(digits, count, point, buffer);
    return true;
}

/* --- reading ------------------------------------------------------------------------ */

enum {
    DIGITS_MOST = 800,       /* more than any double has */
    EXPONENT_MOST = 1000000, /* far above the exponents of double, far below INT_MAX */
};

struct decimal {
    char digits[DIGITS_MOST + 2]; /* no leading zeros; two more for a multiplied number */
    size_t count;
    long exponent; /* value = digits * 10^exponent */
    bool negative;
};

struct scale {
    unsigned times; /* a factor below 100       */
    int tens, twos; /* powers of 10 and 2       */
    unsigned divisor;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* An exponent such as "e12". Else nothing is read: a unit follows. */
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

/* `factor` is below 100, so that at most two digits are added. */
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

static double evaluate(struct decimal *decimal, const struct scale *scale)
{
    char text[DIGITS_MOST + 32];
    double value;

    if (decimal->count == 0)
        return decimal->negative ? -0.0 : 0.0;
    if (scale->times != 1)
        multiply(decimal, scale->times);
    memcpy(text, decimal->digits, decimal->count);
    snprintf(text + decimal->count, sizeof text - decimal->count, "e%ld",
             decimal->exponent + scale->tens);
    value = strtod(text, NULL);
    if (decimal->negative)
        value = -value;
    return ldexp(value, scale->twos) / scale->divisor;
}

static bool read_time_unit(const char *unit, size_t length, struct scale *scale)
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
            scale->times = units[i].times;
            scale->tens = units[i].tens;
            return true;
        }
    return false;
}

/* "MB", "Ki", "u": moves *at to its end. *out_amount: B or u was read. */
static void read_amount_unit(const char **at, struct scale *scale, bool *out_amount)
{
    static const char prefixes[] = "KMGT";
    const char *unit = *at;
    const char *found =
        *unit != '\0' ? strchr(prefixes, *unit == 'k' ? 'K' : *unit) : NULL;

    if (found != NULL && *unit != 'k' && unit[1] == 'i') {
        scale->twos = 10 * (int)(found - prefixes + 1);
        unit += 2;
    } else if (found != NULL) {
        scale->tens = 3 * (int)(found - prefixes + 1);
        unit++;
    }
    *out_amount = *unit == 'B' || *unit == 'u';
    *at = unit + *out_amount;
}

static bool read_unit(const char *unit, enum cv_quantity kind, struct scale *scale)
{
    bool amount;

    if (kind == CV_SECONDS || kind == CV_DURATION)
        return read_time_unit(unit, strlen(unit), scale);
    if (kind == CV_NUMBER)
        return false;
    read_amount_unit(&unit, scale, &amount);
    if (kind == CV_UNITS)
        return *unit == '\0';
    if (strcmp(unit, "/min") == 0)
        scale->divisor = 60;
    else if (strcmp(unit, "/h") == 0)
        scale->divisor = 3600;
    else if (strcmp(unit, "/s") != 0)
        return *unit == '\0' && !amount;
    return true;
}

/* Also "m" and "d", as in sleep(1); in a file an m could be a metre or a thousandth. */
static bool read_long_unit(const char *unit, size_t length, struct scale *scale)
{
    if (length != 1 || (*unit != 'm' && *unit != 'd'))
        return read_time_unit(unit, length, scale);
    scale->times = *unit == 'm' ? 6 : 27;
    scale->tens = *unit == 'm' ? 1 : 2;
    scale->twos = *unit == 'm' ? 0 : 5;
    return true;
}

/* A sum such as "1h30m": each time has a unit and no sign. */
static bool read_time_sum(const char *text, double *out)
{
    double sum = 0;

    while (*text != '\0') {
        struct scale scale = { .times = 1, .divisor = 1 };
        struct decimal decimal;
        size_t length;

        if ((*text != '.' && !is_digit(*text)) || !read_decimal(&text, &decimal))
            return false;
        length = strcspn(text, ".0123456789");
        if (!read_long_unit(text, length, &scale))
            return false;
        sum += evaluate(&decimal, &scale);
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
    struct scale scale = { .times = 1, .divisor = 1 };
    const char *at = text;
    struct decimal decimal;
    double value;

    if (!read_decimal(&at, &decimal))
        return expected[kind];
    at += at[0] == ' ' && at[1] != '\0';
    if (*at == '\0' || read_unit(at, kind, &scale))
        value = evaluate(&decimal, &scale);
    else if (kind != CV_DURATION || !read_time_sum(text, &value))
        return expected[kind];
    if (!isfinite(value))
        return "expected a number below 1.8e308";
    *out = value;
    return NULL;
}

/* Replaces the decimal point of the locale, which may have several bytes, by a full
 * stop. */
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
    if (write_number(value, buffer) || print_not_finite(value, buffer))
        return buffer;
    snprintf(buffer, CV_NUMBER_SIZE, "%.17g", value);
    return clean_point(buffer);
}

const char *cv_number_short(double value, char buffer[CV_NUMBER_SIZE])
{
    if (print_not_finite(value, buffer))
        return buffer;
    /* Decimals of up to 15 digits survive the way to a double and back, and %g drops
     * trailing zeros. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, CV_NUMBER_SIZE, "%.*g", digits, value);
        if (digits == 17 || strtod(buffer, NULL) == value)
            break;
    }
    return clean_point(buffer);
}
