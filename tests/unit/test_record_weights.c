/* test_record_weights.c -- weights of records, and a source that is cut by them.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cleave/execute.h>

#include "base/random.h"
#include "run/input/record_weight.h"
#include "run/input/source.h"
#include "run/input/weight_index.h"

static struct cv_splitter *parse(const char *text)
{
    struct cv_splitter *splitter;

    assert_int_equal(cv_splitter_parse(text, &splitter, NULL), CLEAVE_OK);
    return splitter;
}

/* --- texts and fields ----------------------------------------------------------------------- */

static void the_kind_depends_on_the_text_alone(void **state)
{
    (void)state;
    assert_int_equal(cv_weight_kind_of(".tokens"), CV_WEIGHT_FIELD);
    assert_int_equal(cv_weight_kind_of(".a.b_c-d"), CV_WEIGHT_FIELD);
    assert_int_equal(cv_weight_kind_of("3"), CV_WEIGHT_COLUMN);
    assert_int_equal(cv_weight_kind_of("tokens"), CV_WEIGHT_WORD);
    assert_int_equal(cv_weight_kind_of("wc -c"), CV_WEIGHT_COMMAND);
    assert_int_equal(cv_weight_kind_of("./weigh"), CV_WEIGHT_COMMAND);
    assert_int_equal(cv_weight_kind_of("a|b"), CV_WEIGHT_COMMAND);
    assert_int_equal(cv_weight_kind_of(""), CV_WEIGHT_ONE);
}

static void assert_field(const char *record, const char *path, const char *expected)
{
    struct cv_key_text text;

    assert_true(cv_weight_find_field(record, strlen(record), path, &text));
    assert_int_equal(text.length, strlen(expected));
    assert_memory_equal(text.bytes, expected, text.length);
}

static void a_field_of_json_is_found_at_any_depth(void **state)
{
    struct cv_key_text text;

    (void)state;
    assert_field("{\"t\": 12}\n", ".t", "12");
    assert_field(", {\"a\":\"}\\\"{\",\"b\":[{\"t\":1}],\"t\":-3.5e2 }", ".t", "-3.5e2");
    assert_field("{\"a\":{\"t\":1,\"b\":{\"t\":7}},\"t\":2}", ".a.b.t", "7");
    assert_field("{\"t\":\"12\"}", ".t", "\"12\"");
    assert_field("{\"t\":null}", ".t", "");
    assert_field("{\"tt\":1}", ".t", "");
    assert_field("{}", ".t", "");
    assert_field("{\"a\":1}", ".a.t", "");
    for (const char *const *bad =
             (const char *const[]){ "", "12", "{\"t\"", "{\"a\" 1}", "{\"a\":1",
                                    "{\"a\":\"x}", "{t:1}", NULL };
         *bad != NULL; bad++)
        assert_false(cv_weight_find_field(*bad, strlen(*bad), ".t", &text));
}

/* The message for a record, or "" and *out. */
static const char *weigh(const char *split, const char *how, double missing,
                         const char *head, const char *record, double *out)
{
    static struct cleave_error err;
    struct cv_splitter *splitter = parse(split);
    struct cv_record_weight weight;
    enum cleave_status status =
        cv_record_weight_init(&weight, how, CV_VALUE_WEIGHT, missing, splitter, head,
                              strlen(head), "in", &err);

    if (status == CLEAVE_OK)
        status =
            cv_record_weight_read(&weight, record, strlen(record), "in", 7, out, &err);
    cv_splitter_free(splitter);
    return status == CLEAVE_OK ? "" : err.text;
}

static void assert_weight(const char *split, const char *how, const char *head,
                          const char *record, double expected)
{
    double weight = NAN;

    assert_string_equal(weigh(split, how, 0, head, record, &weight), "");
    assert_true(fabs(weight - expected) < 1e-12);
}

static void weights_are_fields_and_columns(void **state)
{
    double weight = NAN;

    (void)state;
    assert_weight("lines", ".t", "", "{\"t\": 0}\n", 0);
    assert_weight("lines", "2", "", "a\t10k\n", 10000);
    assert_weight("csv", "cost", "id,cost\n", "1,\"2.5\"\r\n", 2.5);
    assert_weight("csv:tab", "cost", "id\t\"cost\"\n", "\"a\tb\"\t3\n", 3);
    assert_string_equal(weigh("lines", ".t", 4, "", "{\"t\": null}\n", &weight), "");
    assert_true(fabs(weight - 4) < 1e-12);
}

static void bad_weights_name_record_and_place(void **state)
{
    static const struct {
        const char *split, *how, *head, *record, *text;
    } cases[] = {
        { "lines", ".t", "", "{}\n",
          "record 7: no weight in .t; input.weight_default sets one for such records" },
        { "lines", ".t", "", "[1]\n",
          "record 7: expected a JSON object with .t, got '[1]\\x0a'" },
        { "lines", ".t", "", "{\"t\":-1}\n",
          "record 7: expected a weight of 0 or more from .t, got '-1'" },
        { "lines", ".t", "", "{\"t\":nan}\n",
          "record 7: expected a weight of 0 or more from .t, got 'nan'" },
        { "lines", ".t", "", "{\"t\":1e999}\n",
          "record 7: expected a weight of 0 or more from .t, got '1e999'" },
        { "lines", ".t", "", "{\"t\":\"1\"}\n",
          "record 7: expected a weight of 0 or more from .t, got '\"1\"'" },
        { "lines", "3", "", "a\tb\n",
          "record 7: no weight in column 3; input.weight_default sets one for such "
          "records" },
        { "csv", "2", "", "1,x\n",
          "record 7: expected a weight of 0 or more from column 2, got 'x'" },
        { "csv", "x", "a,b\n", "1,2\n",
          "input.weight: no column 'x' in the header (a command needs a blank or a "
          "slash: './x')" },
        { "csv", "x", "", "1,2\n",
          "input.weight x: the input has no header that names columns; expected the "
          "number of a column" },
        { "lines", ".a..b", "", "{}\n",
          "input.weight: expected a field such as .tokens or .usage.tokens, got "
          "'.a..b'" },
        { "lines", "0", "", "1\n",
          "input.weight: expected a column from 1 to 9999, got '0'" },
        { "lines", "no-such-program-here", "", "1\n",
          "input.weight: expected .FIELD of JSON, a column or a command, got "
          "'no-such-program-here', which is not a program" },
    };
    double weight;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(weigh(cases[i].split, cases[i].how, 0, cases[i].head,
                                  cases[i].record, &weight),
                            cases[i].text);
}

/* --- a source that is cut by weights --------------------------------------------------------- */

enum { RECORDS = 2000 };

static const struct cv_taker any = { .fast = false }, fast = { .fast = true };

struct made {
    char path[64];
    double weights[RECORDS];
    uint64_t ends[RECORDS];
};

static void make_input(struct made *made, uint64_t seed, bool zeros)
{
    struct cv_random random;
    FILE *file;

    cv_random_at(&random, seed, 0, 0, 0);
    strcpy(made->path, "/tmp/test_record_weights.XXXXXX");
    file = fdopen(mkstemp(made->path), "w");
    assert_non_null(file);
    for (size_t i = 0; i < RECORDS; i++) {
        const double draw = cv_random_uniform(&random);

        made->weights[i] = zeros && draw < 0.3 ? 0 : floor(1 + 50 * draw * draw * draw);
        fprintf(file, "%.0f\t%.*s\n", made->weights[i], (int)(20 * draw),
                "xxxxxxxxxxxxxxxxxxxx");
        made->ends[i] = (uint64_t)ftell(file);
    }
    assert_int_equal(fclose(file), 0);
}

static struct cv_source *open_weighed(const struct made *made,
                                      struct cv_splitter *splitter, bool heavy_first)
{
    struct cv_source *source;

    assert_int_equal(cv_source_open((const char *const[]){ made->path }, 1,
                                    &(struct cv_source_options){ .splitter = splitter },
                                    &source, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_source_weigh(source, "1", 0, heavy_first, NULL, 0, NULL),
                     CLEAVE_OK);
    return source;
}

static size_t record_at(const struct made *made, uint64_t begin)
{
    size_t i = 0;

    while (i < RECORDS && (i == 0 ? 0 : made->ends[i - 1]) != begin)
        i++;
    assert_true(i < RECORDS);
    return i;
}

/* Take pieces of random sizes and put some back: each has at most the ordered weight, or one record,
 * and at most the records of the taker; nothing is lost, and sums are exact. */
static void take_all(uint64_t seed, bool heavy_first, bool zeros)
{
    struct made made;
    struct cv_splitter *splitter = parse("lines");
    struct cv_source *source;
    struct cv_random random;
    double total = 0, left;
    bool taken[RECORDS] = { false };

    cv_random_at(&random, seed, 1, 0, 0);
    make_input(&made, seed, zeros);
    source = open_weighed(&made, splitter, heavy_first);
    assert_true(cv_source_is_weighed(source));
    for (size_t i = 0; i < RECORDS; i++)
        total += fmax(made.weights[i], cv_source_grain(source));
    left = total;
    assert_true(!(fabs(cv_source_left(source) - total) > 0));
    for (;;) {
        const double wanted = 1 + floor(200 * cv_random_uniform(&random));
        const struct cv_taker few = { .most =
                                          (uint64_t)(9 * cv_random_uniform(&random)) };
        struct cv_piece piece;
        enum cv_take state;
        size_t i, first;
        double units = 0;

        assert_int_equal(cv_source_take_units(source, wanted, &few, &state, &piece, NULL),
                         CLEAVE_OK);
        if (state == CV_TAKE_END)
            break;
        assert_int_equal(state, CV_TAKE_PIECE);
        first = record_at(&made, piece.begin);
        for (i = first; i < RECORDS && made.ends[i] <= piece.end; i++) {
            assert_false(taken[i]);
            units += fmax(made.weights[i], cv_source_grain(source));
        }
        assert_int_equal(made.ends[i - 1], piece.end);
        assert_int_equal(cv_source_count(source, &piece), i - first);
        assert_true(few.most == 0 || i - first <= few.most);
        assert_true(!(fabs(units - piece.units) > 0));
        assert_true(units <= wanted || i == first + 1);
        left -= units;
        assert_true(!(fabs(cv_source_left(source) - left) > 0));
        if (cv_random_uniform(&random) < 0.2) {
            assert_int_equal(cv_source_put_back(source, &piece, NULL), CLEAVE_OK);
            left += units;
            continue;
        }
        for (size_t k = first; k < i; k++)
            taken[k] = true;
        assert_int_equal(cv_source_finish(source, &piece, NULL), CLEAVE_OK);
    }
    assert_true(!(fabs(cv_source_left(source)) > 0));
    for (size_t i = 0; i < RECORDS; i++)
        assert_true(taken[i]);
    cv_source_free(source);
    cv_splitter_free(splitter);
    unlink(made.path);
}

static void pieces_have_at_most_the_ordered_weight(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++)
        take_all(seed, seed % 2 > 0, seed % 4 > 1);
}

/* With heavy_first the heaviest record that fits comes first, unless all are light. */
static void heavy_records_are_taken_first(void **state)
{
    struct made made;
    struct cv_splitter *splitter = parse("lines");
    struct cv_source *source;
    double heaviest = 0, second = 0;
    enum cv_take taken;
    struct cv_piece piece;

    (void)state;
    make_input(&made, 3, false);
    for (size_t i = 0; i < RECORDS; i++)
        heaviest = fmax(heaviest, made.weights[i]);
    for (size_t i = 0; i < RECORDS; i++)
        if (made.weights[i] < heaviest)
            second = fmax(second, made.weights[i]);
    source = open_weighed(&made, splitter, true);
    assert_true(!(fabs(cv_source_heaviest(source) - heaviest) > 0));
    assert_int_equal(cv_source_take_units(source, second, &any, &taken, &piece, NULL),
                     CLEAVE_OK);
    assert_true(!(fabs(made.weights[record_at(&made, piece.begin)] - second) > 0));
    assert_int_equal(cv_source_take_units(source, 5, &fast, &taken, &piece, NULL),
                     CLEAVE_OK);
    assert_true(!(fabs(made.weights[record_at(&made, piece.begin)] - heaviest) > 0));
    assert_int_equal(cv_source_take_units(source, 5 * heaviest, &any, &taken, &piece,
                                          NULL),
                     CLEAVE_OK);
    assert_int_equal(piece.begin, 0);
    assert_int_equal(cv_source_take_units(source, 0.5, &any, &taken, &piece, NULL),
                     CLEAVE_OK);
    assert_true(!(fabs(piece.units - 1) > 0)); /* none fits: the lightest */
    cv_source_free(source);
    cv_splitter_free(splitter);
    unlink(made.path);
}

/* The tail that a recall takes has at most the weight asked for. */
static void the_tail_of_a_piece_is_cut_by_weight(void **state)
{
    struct made made;
    struct cv_splitter *splitter = parse("lines");
    struct cv_source *source;
    struct cv_piece piece, head, tail;
    enum cv_take taken;

    (void)state;
    make_input(&made, 4, true);
    source = open_weighed(&made, splitter, false);
    assert_int_equal(cv_source_take_units(source, 1000, &any, &taken, &piece, NULL),
                     CLEAVE_OK);
    for (uint64_t units = 0; (double)units < piece.units; units += 7) {
        const uint64_t bytes = cv_source_tail(source, &piece, (double)units);

        if (bytes == 0)
            continue;
        assert_int_equal(cv_source_part(source, &piece, piece.body.end - bytes, &head,
                                        &tail, NULL),
                         CLEAVE_OK);
        assert_int_equal(tail.end - tail.begin, bytes);
        assert_true(tail.units <= (double)units);
        assert_true(!(fabs(head.units + tail.units - piece.units) > 0));
    }
    assert_int_equal(cv_source_tail(source, &piece, piece.units),
                     piece.end - piece.begin);
    cv_source_free(source);
    cv_splitter_free(splitter);
    unlink(made.path);
}

/* A slow worker waits if faster ones will take the last records, which are too heavy for it. */
static void without_a_text_each_record_weighs_1(void **state)
{
    struct made made;
    struct cv_splitter *splitter = parse("lines");
    struct cv_source *source;
    struct cv_piece piece;
    enum cv_take taken;

    (void)state;
    make_input(&made, 8, false);
    assert_int_equal(cv_source_open((const char *const[]){ made.path }, 1,
                                    &(struct cv_source_options){ .splitter = splitter },
                                    &source, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_source_weigh(source, "", 0, false, NULL, 0, NULL), CLEAVE_OK);
    assert_true(!(fabs(cv_source_left(source) - RECORDS) > 0));
    assert_int_equal(cv_source_take_units(source, 7, &any, &taken, &piece, NULL),
                     CLEAVE_OK);
    assert_int_equal(taken, CV_TAKE_PIECE);
    assert_int_equal(piece.end, made.ends[6]);
    assert_int_equal(cv_source_count(source, &piece), 7);
    cv_source_free(source);
    cv_splitter_free(splitter);
    unlink(made.path);
}

static void last_heavy_records_are_left_to_faster_workers(void **state)
{
    const struct cv_taker slow = { .faster = 1 };
    struct made made;
    struct cv_splitter *splitter = parse("lines");
    struct cv_piece piece;
    enum cv_take taken;

    (void)state;
    make_input(&made, 5, false);
    for (int heavy_first = 0; heavy_first < 2; heavy_first++) {
        struct cv_source *source = open_weighed(&made, splitter, heavy_first > 0);
        double last;

        assert_int_equal(cv_source_take_units(source, 1, &slow, &taken, &piece, NULL),
                         CLEAVE_OK);
        assert_int_equal(taken, CV_TAKE_PIECE);
        while (cv_source_left(source) > 0)
            assert_int_equal(cv_source_take_units(source, 1000, &any, &taken, &piece,
                                                  NULL),
                             CLEAVE_OK);
        /* Only one record is left. */
        piece.begin = made.ends[RECORDS - 2];
        piece.end = made.ends[RECORDS - 1];
        assert_int_equal(cv_source_put_back(source, &piece, NULL), CLEAVE_OK);
        last = cv_source_left(source);
        assert_int_equal(cv_source_take_units(source, last / 3, &slow, &taken, &piece,
                                              NULL),
                         CLEAVE_OK);
        assert_int_equal(taken, CV_TAKE_WAIT);
        assert_int_equal(cv_source_take_units(source, last / 3, &any, &taken, &piece,
                                              NULL),
                         CLEAVE_OK);
        assert_int_equal(taken, CV_TAKE_PIECE);
        assert_int_equal(cv_source_put_back(source, &piece, NULL), CLEAVE_OK);
        assert_int_equal(cv_source_take_units(source, last / 2, &slow, &taken, &piece,
                                              NULL),
                         CLEAVE_OK);
        assert_int_equal(taken, CV_TAKE_PIECE);
        cv_source_free(source);
    }
    cv_splitter_free(splitter);
    unlink(made.path);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* The message for the key of a record, or "" and *out. */
static const char *find_key(const char *split, const char *how, const char *head,
                            const char *record, uint64_t *out)
{
    static struct cleave_error err;
    struct cv_splitter *splitter = parse(split);
    struct cv_record_weight key;
    enum cleave_status status =
        cv_record_weight_init(&key, how, CV_VALUE_KEY, 0, splitter, head, strlen(head),
                              "in", &err);

    if (status == CLEAVE_OK)
        status = cv_record_key_read(&key, record, strlen(record), "in", 7, 1, out, &err);
    cv_splitter_free(splitter);
    return status == CLEAVE_OK ? "" : err.text;
}

static void keys_are_the_texts_of_fields_and_columns(void **state)
{
    static const struct {
        const char *split, *how, *head, *one, *other;
        bool same;
    } cases[] = {
        { "lines", ".h", "", "{\"h\": \"a\"}\n", "{\"i\":1,\"h\":\"a\"}", true },
        { "lines", ".h", "", "{\"h\": \"a\"}\n", "{\"h\": \"b\"}\n", false },
        { "lines", ".h", "", "{\"h\": 1}\n", "{\"h\": 12}\n", false },
        { "lines", "2", "", "x\ta\n", "y\ta", true },
        { "lines", "2", "", "x\ta\n", "y\t\n", false },
        { "csv", "host", "id,host\n", "1,\"a\"\r\n", "2,a", true },
    };
    static const struct {
        const char *split, *how, *record, *text;
    } bad[] = {
        { "lines", ".h", "{}\n",
          "record 7: expected a key in .h for input.limits, got none" },
        { "lines", ".h", "{\"h\": null}\n",
          "record 7: expected a key in .h for input.limits, got none" },
        { "lines", "2", "a\n",
          "record 7: expected a key in column 2 for input.limits, got none" },
        { "lines", ".h", "1\n",
          "record 7: expected a JSON object with .h, got '1\\x0a'" },
        { "csv", "h", "1,2\n", "input.limits: no column 'h' in the header" },
        { "lines", "cut -f1", "1\n",
          "input.limits: expected a key such as .host of JSON, column 2, or a name in "
          "csv, "
          "got 'cut -f1'" },
        { "lines", ".a..b", "{}\n",
          "input.limits: expected a field such as .host or .request.host, got '.a..b'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t one = 0, other = 0;

        assert_string_equal(find_key(cases[i].split, cases[i].how, cases[i].head,
                                     cases[i].one, &one),
                            "");
        assert_string_equal(find_key(cases[i].split, cases[i].how, cases[i].head,
                                     cases[i].other, &other),
                            "");
        assert_true(one != 0 && other != 0);
        assert_int_equal(one == other, cases[i].same);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_string_equal(find_key(bad[i].split, bad[i].how, "x,y\n", bad[i].record,
                                     &(uint64_t){ 0 }),
                            bad[i].text);
}

struct blocked {
    uint64_t keys[8];
    size_t count;
};

static bool is_free(const void *context, const uint64_t *keys)
{
    const struct blocked *blocked = context;

    for (size_t i = 0; i < blocked->count; i++)
        if (keys[0] == blocked->keys[i])
            return false;
    return true;
}

/* Random keys are in use: a piece is the first records that may start, and ends before the next one that
 * may not. */
static void pieces_leave_out_records_whose_keys_are_in_use(void **state)
{
    static const struct cleave_key_limit limit = { .key = "1", .max = 1 };
    struct made made;
    struct cv_splitter *splitter = parse("lines");
    struct cv_source *source;
    struct cv_random random;
    bool taken[RECORDS] = { false };
    size_t left = RECORDS, waits = 0;

    (void)state;
    cv_random_at(&random, 6, 1, 0, 0);
    make_input(&made, 6, false);
    assert_int_equal(cv_source_open((const char *const[]){ made.path }, 1,
                                    &(struct cv_source_options){ .splitter = splitter },
                                    &source, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_source_weigh(source, "", 0, false, &limit, 1, NULL), CLEAVE_OK);
    while (left > 0) {
        const double wanted = 1 + floor(9 * cv_random_uniform(&random));
        struct blocked blocked = { .count = (size_t)(9 * cv_random_uniform(&random)) };
        const struct cv_taker taker = { .allows = is_free, .context = &blocked };
        struct cv_piece piece;
        enum cv_take state_of;
        uint64_t count;
        const uint64_t *keys =
            cv_source_keys(source, (struct cv_range){ 0, made.ends[RECORDS - 1] },
                           &count);
        size_t first = 0, end;

        assert_int_equal(count, RECORDS);
        for (size_t i = 0; i < blocked.count; i++)
            blocked.keys[i] = keys[(size_t)(RECORDS * cv_random_uniform(&random))];
        while (first < RECORDS && (taken[first] || !is_free(&blocked, keys + first)))
            first++;
        for (end = first; end < RECORDS && !taken[end] &&
                          (double)(end - first) < wanted &&
                          is_free(&blocked, keys + end);)
            end++;
        assert_int_equal(cv_source_take_units(source, wanted, &taker, &state_of, &piece,
                                              NULL),
                         CLEAVE_OK);
        waits += first == RECORDS;
        assert_int_equal(state_of, first == RECORDS ? CV_TAKE_WAIT : CV_TAKE_PIECE);
        if (first == RECORDS)
            continue;
        assert_int_equal(record_at(&made, piece.begin), first);
        assert_int_equal(piece.end, made.ends[end - 1]);
        assert_int_equal(cv_source_finish(source, &piece, NULL), CLEAVE_OK);
        for (; first < end; first++, left--)
            taken[first] = true;
    }
    assert_true(waits > 0);
    cv_source_free(source);
    cv_splitter_free(splitter);
    unlink(made.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_depends_on_the_text_alone),
        cmocka_unit_test(a_field_of_json_is_found_at_any_depth),
        cmocka_unit_test(weights_are_fields_and_columns),
        cmocka_unit_test(bad_weights_name_record_and_place),
        cmocka_unit_test(pieces_have_at_most_the_ordered_weight),
        cmocka_unit_test(heavy_records_are_taken_first),
        cmocka_unit_test(the_tail_of_a_piece_is_cut_by_weight),
        cmocka_unit_test(without_a_text_each_record_weighs_1),
        cmocka_unit_test(last_heavy_records_are_left_to_faster_workers),
        cmocka_unit_test(keys_are_the_texts_of_fields_and_columns),
        cmocka_unit_test(pieces_leave_out_records_whose_keys_are_in_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
