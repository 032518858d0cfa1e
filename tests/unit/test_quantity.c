/* test_quantity.c -- numbers with units, read and written.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <locale.h>
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/quantity.h"
#include "base/random.h"

struct example {
    const char *text;
    double value;
};

static void check_examples(const struct example *examples, size_t count,
                           enum cv_quantity kind)
{
    for (size_t i = 0; i < count; i++) {
        double value = NAN;

        if (cv_quantity_parse(examples[i].text, kind, &value) != NULL)
            fail_msg("'%s' was refused", examples[i].text);
        if (value != examples[i].value)
            fail_msg("'%s' gave %.17g, not %.17g", examples[i].text, value,
                     examples[i].value);
    }
}

static void check_refused(const char *const *texts, size_t count, enum cv_quantity kind,
                          const char *expected)
{
    for (size_t i = 0; i < count; i++) {
        double value = 42;
        const char *said = cv_quantity_parse(texts[i], kind, &value);

        if (said == NULL)
            fail_msg("'%s' was taken as %g", texts[i], value);
        assert_string_equal(said, expected);
        assert_true(value == 42);
    }
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void numbers(void **state)
{
    static const struct example good[] = {
        { "0", 0 },
        { "7", 7 },
        { "-2", -2 },
        { "+2.5", 2.5 },
        { ".5", 0.5 },
        { "5.", 5 },
        { "1e3", 1000 },
        { "1E-3", 0.001 },
        { "1e+2", 100 },
        { "0.1", 0.1 },
        { "000123", 123 },
        { "0.30000000000000004", 0.1 + 0.2 },
        { "123456789012345678901234567890", 123456789012345678901234567890. },
        { "1.7976931348623157e308", DBL_MAX },
        { "2.2250738585072014e-308", DBL_MIN },
        { "5e-324", 5e-324 },
        { "1e-400", 0 },
        { "0e999999999999999999999", 0 },
        { "9007199254740993", 9007199254740992. }, /* a tie goes to even */
        { "9007199254740993.00000000000000000000000001", 9007199254740994. },
    };
    static const char *const bad[] = {
        "",     " ",     "--2",  "+-2",  "-",   "+",     ".",     "e5",   "1e",
        "1e+",  "1.2.3", "0x10", "1p3",  "nan", ".nan",  "inf",   "-inf", "infinity",
        "1,5",  " 5",    "5 ",   "5\n",  "5  ", "1_000", "1'000", "5 m",  "5s",
        "five", "1e5.0", "\t5",  "5e 3", "5k",  "0b1",   "1f",    "1.0L", "\xef\xbc\x95",
    };

    (void)state;
    check_examples(good, COUNT(good), CV_NUMBER);
    check_refused(bad, COUNT(bad), CV_NUMBER, "expected a number");
}

static void overflow_is_refused(void **state)
{
    static const char *const bad[] = { "1e400", "-1e309", "1.7976931348623159e308",
                                       "1e999999999999999999999" };
    static const char *const bad_units[] = { "1e308k", "1e307 Ki" };

    (void)state;
    check_refused(bad, COUNT(bad), CV_NUMBER, "expected a number below 1.8e308");
    check_refused(bad_units, COUNT(bad_units), CV_UNITS,
                  "expected a number below 1.8e308");
}

static void times(void **state)
{
    static const struct example good[] = {
        { "5", 5 },       { "500ms", 0.5 },    { "500 ms", 0.5 }, { "2min", 120 },
        { "2 min", 120 }, { "0.1ms", 1e-4 },   { "3us", 3e-6 },   { "7ns", 7e-9 },
        { "1.5h", 5400 }, { "-5ms", -5e-3 },   { "1e3s", 1000 },  { "0.7min", 42 },
        { "0.1h", 360 },  { "99.9h", 359640 }, { "0ms", 0 },      { "1e-3ms", 1e-6 },
    };
    static const char *const bad[] = {
        "",    "ms", "5 m", "5m",  "5  ms", "5 ms ", "5MS", "5Min", "5sec",
        "5/s", "5k", "5ks", "5 d", "5s5",   "5 ",    "5e",  "1:30", "5 s s",
    };

    (void)state;
    check_examples(good, COUNT(good), CV_SECONDS);
    check_refused(bad, COUNT(bad), CV_SECONDS,
                  "expected a time such as 0.5, 500ms or 2min");
}

static void durations(void **state)
{
    static const struct example good[] = {
        { "5", 5 },         { "500 ms", 0.5 }, { "5m", 300 },         { "2d", 172800 },
        { "1h30m", 5400 },  { "1m30s", 90 },   { "1d1h1m1s", 90061 }, { "1.5h.5m", 5430 },
        { "1s500ms", 1.5 }, { "0.1d", 8640 },  { "-5s", -5 },         { "1e3m", 60000 },
    };
    static const char *const bad[] = {
        "",   "m",   "1h30",   "1h 30m", "1h-30m", "30m+1h", "5 m",   "5M",
        "5D", "1hm", "1h30m ", "-1h30m", "5mm",    "1:30",   "1h30x", "h1",
    };

    (void)state;
    check_examples(good, COUNT(good), CV_DURATION);
    check_refused(bad, COUNT(bad), CV_DURATION,
                  "expected a time such as 0.5, 500ms, 2min or 1h30m");
}

static void amounts(void **state)
{
    static const struct example good[] = {
        { "2000", 2000 },   { "3 GB", 3e9 },        { "10k", 1e4 },
        { "64K", 64000 },   { "64 KB", 64000 },     { "1.5M", 1.5e6 },
        { "2T", 2e12 },     { "1Ki", 1024 },        { "1 KiB", 1024 },
        { "3Mi", 3145728 }, { "1GiB", 1073741824 }, { "1TiB", 1099511627776. },
        { "5B", 5 },        { "5 u", 5 },           { "7ku", 7000 },
        { "0.1k", 100 },    { "1e3k", 1e6 },
    };
    static const char *const bad[] = { "",   "k",   "5KK",  "5kK",  "5kb", "5Gi B",
                                       "5i", "5Bk", "5GBB", "5B/s", "5/s", "5 ",
                                       "5s", "5ki", "5P",   "5E",   "5kM" };

    (void)state;
    check_examples(good, COUNT(good), CV_UNITS);
    check_refused(bad, COUNT(bad), CV_UNITS,
                  "expected an amount such as 2000, 10k or 3GB");
}

static void rates(void **state)
{
    static const struct example good[] = {
        { "20", 20 },       { "10 MB/s", 1e7 },
        { "10MB/s", 1e7 },  { "600/min", 10 },
        { "600 /min", 10 }, { "7200/h", 2 },
        { "2k", 2000 },     { "2k/s", 2000 },
        { "1KiB/s", 1024 }, { "60 Mi/min", 1048576 },
        { "5u/s", 5 },      { "3.6 GB/h", 1e6 },
        { "0.1M/s", 1e5 },  { "-3/s", -3 },
    };
    static const char *const bad[] = { "",      "/s",   "5 MB", "5B",       "5u",
                                       "5/",    "5/ms", "5/d",  "5 MB / s", "5MB/s ",
                                       "5Mb/s", "5ms",  "5//s", "5/s/s",    "5 s",
                                       "5/S",   "5MBps" };

    (void)state;
    check_examples(good, COUNT(good), CV_RATE);
    check_refused(bad, COUNT(bad), CV_RATE,
                  "expected a rate such as 20, 600/min or 10MB/s");
}

static void long_texts(void **state)
{
    char digits[4000];
    double value;

    (void)state;
    memset(digits, '0', sizeof digits);
    digits[sizeof digits - 1] = '\0';
    assert_null(cv_quantity_parse(digits, CV_NUMBER, &value));
    assert_true(value == 0);
    digits[1] = '.';
    digits[700] = '1'; /* 1e-699 and more digits of 0 */
    assert_non_null(cv_quantity_parse(digits, CV_NUMBER, &value));
    memset(digits, '9', 300);
    digits[300] = '\0';
    assert_null(cv_quantity_parse(digits, CV_SECONDS, &value));
    assert_true(value == 1e300);
    memset(digits, '9', sizeof digits - 1);
    digits[300] = '9';
    assert_string_equal(cv_quantity_parse(digits, CV_NUMBER, &value),
                        "expected a number");
}

/* Doubles of any size, sign and bit pattern. */
static double any_double(struct cv_random *random)
{
    for (;;) {
        uint64_t bits = cv_random_bits(random);
        double value;

        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            return value;
    }
}

static void writing_round_trips(void **state)
{
    char full[CV_NUMBER_SIZE], brief[CV_NUMBER_SIZE];
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 1, 0, 0, 0);
    for (int i = 0; i < 100000; i++) {
        double value = i % 2 == 0 ? any_double(&random) : cv_random_uniform(&random);
        double again = NAN;

        assert_null(cv_quantity_parse(cv_number_full(value, full), CV_NUMBER, &again));
        assert_true(again == value);
        assert_null(cv_quantity_parse(cv_number_short(value, brief), CV_NUMBER, &again));
        assert_true(again == value);
    }
    assert_string_equal(cv_number_short(0.1, brief), "0.1");
    assert_string_equal(cv_number_full(0.1, full), "0.10000000000000001");
    assert_string_equal(cv_number_short(20, brief), "20");
    assert_string_equal(cv_number_full(20, full), "20");
    assert_string_equal(cv_number_short(-1.0 / 3, brief), "-0.3333333333333333");
    assert_string_equal(cv_number_full(-DBL_MAX, full), "-1.7976931348623157e+308");
    assert_string_equal(cv_number_short(NAN, brief), "nan");
    assert_string_equal(cv_number_short(-INFINITY, brief), "-inf");
}

static void assert_as_printf(double value)
{
    char full[CV_NUMBER_SIZE], printed[64];

    snprintf(printed, sizeof printed, "%.17g", value);
    assert_string_equal(cv_number_full(value, full), printed);
}

/* All numbers of usual sizes, with few digits and with many, ties and what rounds up to another
 * power of ten among them. */
static void writing_agrees_with_printf(void **state)
{
    char few[64];
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 2, 0, 0, 0);
    for (int i = 0; i < 100000; i++) {
        const double value = pow(10, -6 + 25 * cv_random_uniform(&random));

        assert_as_printf(value);
        assert_as_printf(-value);
        assert_as_printf(floor(value) + ldexp(1, -i % 60));
        snprintf(few, sizeof few, "%.*g", 1 + i % 17, value);
        assert_as_printf(strtod(few, NULL));
    }
    for (int power = -6; power < 20; power++) {
        double value = pow(10, power);

        for (int i = 0; i < 20; i++) {
            assert_as_printf(value);
            assert_as_printf(2 * pow(10, power) - value);
            value = nextafter(value, 0);
        }
    }
}

/* The reader must agree with strtod to the last bit. */
static void reading_agrees_with_strtod(void **state)
{
    struct cv_random random;
    char text[64];

    (void)state;
    cv_random_at(&random, 2, 0, 0, 0);
    for (int i = 0; i < 100000; i++) {
        unsigned long long digits =
            cv_random_bits(&random) >> (cv_random_bits(&random) % 64);
        int exponent = (int)(cv_random_bits(&random) % 640) - 330;
        double value = NAN, expected;

        snprintf(text, sizeof text, "%llu.%llue%d", digits, digits % 1000003, exponent);
        expected = strtod(text, NULL);
        if (isinf(expected)) {
            assert_non_null(cv_quantity_parse(text, CV_NUMBER, &value));
            continue;
        }
        assert_null(cv_quantity_parse(text, CV_NUMBER, &value));
        assert_true(value == expected);
    }
}

static void locale_does_not_matter(void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                         "fr_FR.utf8",  "de_DE",      "fr_FR" };
    char text[CV_NUMBER_SIZE];
    double value;
    bool comma = false;

    (void)state;
    for (size_t i = 0; i < COUNT(names) && !comma; i++)
        comma =
            setlocale(LC_ALL, names[i]) != NULL && *localeconv()->decimal_point == ',';
    if (!comma) {
        setlocale(LC_ALL, "C");
        skip(); /* no such locale is installed */
    }
    assert_null(cv_quantity_parse("1.5ms", CV_SECONDS, &value));
    assert_true(value == 1.5e-3);
    assert_non_null(cv_quantity_parse("1,5", CV_NUMBER, &value));
    assert_string_equal(cv_number_short(2.5, text), "2.5");
    assert_string_equal(cv_number_full(0.1, text), "0.10000000000000001");
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(overflow_is_refused),
        cmocka_unit_test(times),
        cmocka_unit_test(durations),
        cmocka_unit_test(amounts),
        cmocka_unit_test(rates),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(writing_round_trips),
        cmocka_unit_test(writing_agrees_with_printf),
        cmocka_unit_test(reading_agrees_with_strtod),
        cmocka_unit_test(locale_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
