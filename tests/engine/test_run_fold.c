/* test_run_fold.c -- partial results folded by a command equal one command on all of the
 * input. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cleave/execute.h>

#include "run/fold/fold.h"
#include "run_check.h"

/* --- which are folded --------------------------------------------------------------------- */

enum { CHUNKS = 60, MOST_AT_WORK = 4 };

/* A result: which chunks it is made of, one character each. Its address is the store. */
struct label {
    char text[CHUNKS + 1];
};

static struct cv_chunk_output *as_store(struct label *label)
{
    return (struct cv_chunk_output *)(void *)label;
}

static const char *text_of(const struct cv_partial *partial)
{
    return (const char *)(const void *)partial->store;
}

static struct cv_partial chunk_partial(struct label *label, uint64_t index,
                                       uint64_t bytes)
{
    snprintf(label->text, sizeof label->text, "%c", (char)('0' + index));
    return (struct cv_partial){ .begin = 10 * index,
                                .end = 10 * index + 10,
                                .bytes = bytes,
                                .store = as_store(label),
                                .covers = 10 };
}

static void add(struct cv_fold_set *set, struct cv_partial partial)
{
    assert_ok(cv_fold_set_add(set, &partial, &err));
}

static void test_neighbours(void **state)
{
    struct cv_partial out[16];
    struct cv_fold_set set;
    struct label labels[6];

    (void)state;
    set = (struct cv_fold_set){ .commutative = false };
    assert_int_equal(cv_fold_set_take(&set, 16, out), 0);
    add(&set, chunk_partial(&labels[0], 4, 1));
    add(&set, chunk_partial(&labels[1], 2, 1));
    assert_int_equal(set.ready, 0);
    assert_int_equal(cv_fold_set_take(&set, 16, out), 0);
    assert_false(cv_fold_set_last(&set, out)); /* there are two */
    add(&set, chunk_partial(&labels[2], 1, 1));
    assert_int_equal(set.ready, 2);
    add(&set, chunk_partial(&labels[3], 3, 1));
    assert_int_equal(set.ready, 4);
    assert_int_equal(cv_fold_set_take(&set, 3, out), 3);
    assert_string_equal(text_of(&out[0]), "1");
    assert_string_equal(text_of(&out[1]), "2");
    assert_string_equal(text_of(&out[2]), "3");
    /* Folds in progress keep others apart. */
    add(&set, chunk_partial(&labels[4], 0, 1));
    assert_int_equal(set.ready, 0);
    assert_int_equal(cv_fold_set_take(&set, 16, out), 0);
    cv_fold_set_done(&set);
}

static void test_gaps(void **state)
{
    struct cv_partial out[16];
    struct cv_fold_set set;
    struct label labels[2];

    (void)state;
    set = (struct cv_fold_set){ .commutative = false };
    add(&set, (struct cv_partial){ .begin = 0, .end = 10 });
    add(&set, (struct cv_partial){ .begin = 30, .end = 40 });
    add(&set, (struct cv_partial){ .begin = 20, .end = 30 });
    assert_int_equal(cv_fold_set_take(&set, 16, out), 0);
    assert_false(cv_fold_set_last(&set, out));
    add(&set, chunk_partial(&labels[0], 4, 1));
    assert_int_equal(set.ready, 0);
    add(&set, chunk_partial(&labels[1], 1, 1));
    assert_int_equal(set.ready, 2);
    assert_int_equal(cv_fold_set_take(&set, 2, out), 2);
    assert_int_equal(out[0].begin, 0);
    assert_string_equal(text_of(&out[0]), "1");
    assert_string_equal(text_of(&out[1]), "4");
    assert_int_equal(out[1].end, 50);
    assert_false(cv_fold_set_pop(&set, out));
    cv_fold_set_done(&set);
}

/* Large ones are left alone while there are small ones. */
static void test_smallest(void **state)
{
    static const uint64_t sizes[] = { 9, 1, 8, 2, 3, 2, 7 };
    struct cv_partial out[16];
    struct label labels[7];
    struct cv_fold_set set;

    (void)state;
    set = (struct cv_fold_set){ .commutative = false };
    for (size_t i = 0; i < 7; i++)
        add(&set, chunk_partial(&labels[i], i, sizes[i]));
    assert_int_equal(cv_fold_set_take(&set, 3, out), 3);
    assert_string_equal(text_of(&out[0]), "3");
    cv_fold_set_done(&set);

    set = (struct cv_fold_set){ .commutative = true };
    for (size_t i = 0; i < 7; i++)
        add(&set, chunk_partial(&labels[i], i, sizes[i]));
    assert_int_equal(cv_fold_set_take(&set, 3, out), 3);
    assert_string_equal(text_of(&out[0]), "1");
    assert_string_equal(text_of(&out[1]), "3");
    assert_string_equal(text_of(&out[2]), "5");
    cv_fold_set_done(&set);
}

/* Folds in progress: their results. */
struct work {
    struct cv_partial results[MOST_AT_WORK];
    size_t count;
    struct label labels[3 * CHUNKS];
    size_t nlabels;
};

static void begin_fold(struct cv_fold_set *set, struct work *work, size_t max)
{
    struct cv_partial group[16];
    const size_t n = cv_fold_set_take(set, max, group);
    struct label *label = &work->labels[work->nlabels];

    if (n == 0)
        return;
    assert_in_range(n, 2, max);
    work->nlabels++;
    label->text[0] = '\0';
    work->results[work->count] = (struct cv_partial){ .begin = group[0].begin,
                                                      .end = group[n - 1].end,
                                                      .store = as_store(label) };
    for (size_t i = 0; i < n; i++) {
        if (!set->commutative && i > 0)
            assert_int_equal(group[i].begin, group[i - 1].end);
        strcat(label->text, text_of(&group[i]));
        work->results[work->count].bytes += group[i].bytes;
    }
    work->count++;
}

/* Chunks arrive in any order, some fail, folds take any time. */
static void fold_at_random(struct cv_random *random, bool commutative)
{
    const size_t n = 1 + below(random, CHUNKS), max = 2 + below(random, 15);
    size_t order[CHUNKS] = { 0 }, arrived = 0, kept = 0;
    char expected[CHUNKS + 1] = "";
    struct work *work = calloc(1, sizeof *work);
    struct cv_partial last;
    struct cv_fold_set set;

    assert_non_null(work);
    set = (struct cv_fold_set){ .commutative = commutative };
    for (size_t i = 0; i < n; i++) {
        const size_t j = below(random, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    while (arrived < n || work->count > 0 || set.ready > 0) {
        const size_t choice = below(random, 3);

        if (choice == 0 && arrived < n) {
            const uint64_t i = order[arrived++];
            struct cv_partial partial =
                chunk_partial(&work->labels[work->nlabels++], i, below(random, 9));

            if (below(random, 5) == 0)
                partial.store = NULL;
            else
                expected[i] = (char)('0' + i);
            add(&set, partial);
        } else if (choice == 1 && work->count < MOST_AT_WORK) {
            begin_fold(&set, work, max);
        } else if (choice == 2 && work->count > 0) {
            const size_t i = below(random, work->count);

            add(&set, work->results[i]);
            work->results[i] = work->results[--work->count];
        }
    }
    for (size_t i = 0; i < n; i++)
        if (expected[i] != '\0')
            expected[kept++] = expected[i];
    expected[kept] = '\0';
    if (cv_fold_set_last(&set, &last)) {
        if (!commutative)
            assert_string_equal(text_of(&last), expected);
        assert_int_equal(strlen(text_of(&last)), kept);
        for (size_t i = 0; i < kept; i++)
            assert_non_null(strchr(text_of(&last), expected[i]));
    } else {
        assert_int_equal(kept, 0);
    }
    cv_fold_set_done(&set);
    free(work);
}

static void test_any_schedule(void **state)
{
    struct cv_random random;

    (void)state;
    cv_random_at(&random, 7, 0, 0, 0);
    for (size_t i = 0; i < 3000; i++)
        fold_at_random(&random, i % 2 == 1);
}

/* --- with commands ------------------------------------------------------------------------ */

static char folder[] = "/tmp/cleave-fold-XXXXXX";
static char input[64], output[64], mark[64], database[64];

/* Lines of the input, and into how many chunks it is cut at about 44 bytes each. */
enum { LINES = 2000, CHUNKS_OF_44 = 200 };

static int make_folder(void **state)
{
    FILE *file;

    (void)state;
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(input, sizeof input, "%s/input", folder);
    snprintf(output, sizeof output, "%s/output", folder);
    snprintf(mark, sizeof mark, "%s/mark", folder);
    snprintf(database, sizeof database, "%s/journal.db", folder);
    file = fopen(input, "w");
    if (file == NULL)
        return 1;
    for (int i = 1; i <= LINES; i++)
        fprintf(file, "%d\n", i);
    return fclose(file);
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(input);
    unlink(output);
    unlink(mark);
    unlink(database);
    return rmdir(folder);
}

/* Where the result is read to. */
static char result_bytes[1 << 16];

static const char *read_output(void)
{
    const int fd = open(output, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    assert_true(fd >= 0);
    n = read(fd, result_bytes, sizeof result_bytes - 1);
    assert_true(n >= 0);
    result_bytes[n] = '\0';
    close(fd);
    return result_bytes;
}

/* Every byte of the input, as the result of `cat` on all of it. */
static const char *whole_input(void)
{
    static char bytes[1 << 16];
    FILE *file = fopen(input, "r");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, sizeof bytes - 1, file);
    bytes[n] = '\0';
    fclose(file);
    return bytes;
}

static enum cleave_status execute(struct cleave_execution *execution, const char *command,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err)
{
    static const char *const inputs[] = { input };
    const char *const words[] = { "/bin/sh", "-c", command, NULL };
    const size_t before = open_descriptors();
    enum cleave_status status;

    execution->command = words;
    if (execution->input.files == NULL) {
        execution->input.files = inputs;
        execution->input.count = 1;
    }
    execution->output.name = output;
    execution->output.descriptor =
        open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(execution->output.descriptor >= 0);
    status = cleave_execute(execution, out, err);
    close(execution->output.descriptor);
    execution->command = NULL; /* its words were freed */
    assert_int_equal(open_descriptors(), before);
    return status;
}

/* It succeeds and gives `expected`; returns the number of commands that reduced. */
static uint64_t gives(struct cleave_execution execution, const char *command,
                      const char *expected)
{
    struct cleave_execution_result *result = NULL;
    uint64_t folds;

    assert_ok(execute(&execution, command, &result, &err));
    assert_non_null(result);
    folds = result->folds;
    assert_int_equal(result->failed, 0);
    cleave_execution_free(result);
    assert_string_equal(read_output(), expected);
    return folds;
}

#define SUM "awk '{ s += $1 } END { print s }'"
#define TOTAL "2001000\n" /* 1 + ... + LINES */

static void test_sums(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers += 2)
        for (int commutative = 0; commutative < 2; commutative++) {
            const struct cleave_execution few = { .reduce.command = SUM,
                                                  .reduce.commutative = commutative == 1,
                                                  .workers.count = workers,
                                                  .policy.block = 2000 };

            assert_true(gives(few, SUM, TOTAL) >= 1);
        }
}

/* Many chunks, order kept: the result is the input. With files, exactly two at a time. */
static void test_order(void **state)
{
    struct cleave_execution many = { .workers.count = 3, .policy.block = 44 };
    uint64_t folds;

    (void)state;
    many.reduce.command = "cat";
    folds = gives(many, "cat", whole_input());
    assert_in_range(folds, (CHUNKS_OF_44 - 1) / 15, CHUNKS_OF_44 - 1); /* 2 to 16 each */
    many.reduce.command = "cat {1} {2}";
    folds = gives(many, "cat", whole_input());
    assert_int_equal(folds, CHUNKS_OF_44 - 1);
    many.output.unordered = true; /* no meaning here */
    gives(many, "cat", whole_input());
}

/* Workers with one slow one: neighbours are missing for long. */
static void test_unequal(void **state)
{
    struct cleave_execution slow = { .workers.count = 3, .policy.block = 300 };

    (void)state;
    slow.reduce.command = "cat {1} {2}";
    gives(slow, "case $CLEAVE_WORKER in *0) sleep 0.2;; esac; cat", whole_input());
    slow.reduce.command = "cat";
    gives(slow, "case $CLEAVE_WORKER in *0) sleep 0.2;; esac; cat", whole_input());
}

/* Results that differ in size and do not fit into memory. */
static void test_spilled(void **state)
{
    struct cleave_execution small = { .workers.count = 2,
                                      .policy.block = 100,
                                      .output.memory = 1000 };

    (void)state;
    small.output.directory = folder;
    small.reduce.command = "cat";
    gives(small, "cat", whole_input());
    small.reduce.command = "cat {1} {2}";
    gives(small, "cat", whole_input());
}

/* A chunk that waits for a fold gets one: partials are folded while the split runs, also
 * if no worker is ever idle. */
static void test_while_it_runs(void **state)
{
    const struct cleave_execution busy = { .workers.count = 1, .policy.block = 100 };
    struct cleave_execution execution = busy;
    char command[300], reduce[200];

    (void)state;
    snprintf(reduce, sizeof reduce, ": >%s; cat", mark);
    snprintf(command, sizeof command,
             "if grep -x 2000; then i=0; until [ -e %s ] || [ $i -gt 200 ]; do "
             "i=$((i + 1)); sleep 0.1; done; [ -e %s ] && echo folded; fi; :",
             mark, mark);
    execution.reduce.command = reduce;
    gives(execution, command, "2000\nfolded\n");
    unlink(mark);
}

/* One output is copied; none is nothing. */
static void test_few(void **state)
{
    const struct cleave_execution one = { .workers.count = 2,
                                          .reduce.command = "echo reduced",
                                          .policy.block = 1e6 };
    const char *const nothing[] = { "/dev/null" };
    struct cleave_execution none = one;

    (void)state;
    assert_int_equal(gives(one, "wc -l", "2000\n"), 0);
    none.input.files = nothing;
    none.input.count = 1;
    none.policy.block = 0;
    assert_int_equal(gives(none, "wc -l", ""), 0);
}

/* An empty output is a result as well: of sets without a common element, say. */
static void test_empty_results(void **state)
{
    struct cleave_execution sets = { .workers.count = 2, .policy.block = 2000 };

    (void)state;
    sets.reduce.command = "comm -12 {1} {2}";
    gives(sets, "grep -qx 1 || printf 'a\\nb\\n'", "");
    gives(sets, "printf 'a\\nb\\n'", "a\nb\n");
}

static void test_failure(void **state)
{
    struct cleave_execution failures = { .workers.count = 2,
                                         .policy.block = 500,
                                         .reduce.command = "exit 7" };
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;

    (void)state;
    assert_int_equal(execute(&failures, "cat", &result, &err), CLEAVE_EENGINE);
    assert_non_null(result);
    assert_true(result->reduce_failed);
    assert_non_null(strstr(err.text, "the command that reduces exited with status 7"));
    cleave_execution_free(result);
    assert_string_equal(read_output(), "");

    failures.reduce.command = "sleep 20";
    failures.failures.timeout_s = 0.2;
    failures.failures.retries = 1;
    assert_int_equal(execute(&failures, "cat", &result, &err), CLEAVE_EENGINE);
    assert_true(result->reduce_failed);
    assert_true(result->retries >= 1);
    assert_non_null(strstr(err.text, "took longer than 0.2 s"));
    assert_non_null(strstr(err.text, "also when tried again"));
    cleave_execution_free(result);
}

/* The first attempt fails after half of its output. */
static void test_retry(void **state)
{
    struct cleave_execution retried = { .workers.count = 2,
                                        .policy.block = 500,
                                        .failures.retries = 1 };
    struct cleave_execution_result *result = NULL;
    char reduce[200];

    (void)state;
    retried.reduce.command = reduce;
    for (int files = 0; files < 2; files++) {
        snprintf(reduce, sizeof reduce,
                 "if mkdir %s 2>&-; then echo wrong; exit 1; fi; cat%s", mark,
                 files ? " {1} {2}" : "");
        assert_ok(execute(&retried, "cat", &result, &err));
        assert_int_equal(result->retries, 1);
        cleave_execution_free(result);
        assert_string_equal(read_output(), whole_input());
        assert_int_equal(rmdir(mark), 0);
    }
}

/* After a failed chunk the rest is still reduced, as neighbours. */
static void test_failed_chunk(void **state)
{
    struct cleave_execution execution = { .workers.count = 2,
                                          .policy.block = 100,
                                          .reduce.command = SUM };
    struct cleave_execution_result *result = NULL;

    (void)state;
    for (int commutative = 0; commutative < 2; commutative++) {
        execution.reduce.commutative = commutative == 1;
        assert_ok(execute(&execution,
                          "awk '$1 == 1000 { exit 1 } { s++ } END { print s }'", &result,
                          &err));
        assert_int_equal(result->failed, 1);
        cleave_execution_free(result);
        assert_in_range(strtol(read_output(), NULL, 10), 1900, 1990);
    }
}

static void test_bad_commands(void **state)
{
    static const char *const commands[] = { "", "cat {1}", "cat {2}" };
    struct cleave_execution execution = { .workers.count = 1 };
    struct cleave_execution_result *result = NULL;
    struct cleave_error err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        execution.reduce.command = commands[i];
        assert_int_equal(execute(&execution, "cat", &result, &err), CLEAVE_EINPUT);
        assert_null(result);
        assert_non_null(strstr(err.text, "command that reduces, got '"));
    }
}

/* A run whose reduction failed is resumed: only that is done again. */
static void test_resumed(void **state)
{
    struct cleave_execution first = { .workers.count = 2,
                                      .policy.block = 44,
                                      .journal.path = database };
    struct cleave_execution second = first;
    struct cleave_execution_result *result = NULL;
    struct cleave_error failure;

    (void)state;
    for (int files = 0; files < 2; files++) {
        first.reduce.command = "sleep 0.1; exit 1";
        first.journal.overwrite = true;
        assert_int_equal(execute(&first, "cat", &result, &failure), CLEAVE_EENGINE);
        assert_true(result->unwritten > 0);
        assert_int_equal(result->chunks, 0);
        cleave_execution_free(result);
        second.journal.resume = true;
        second.reduce.command = files ? "cat {1} {2}" : "cat";
        assert_ok(execute(&second, "cat", &result, &err));
        assert_true(result->resumed > 0);
        cleave_execution_free(result);
        assert_string_equal(read_output(), whole_input());
        assert_ok(execute(&second, "cat", &result, &err));
        assert_int_equal(result->chunks, 0);
        assert_int_equal(result->resumed, CHUNKS_OF_44);
        cleave_execution_free(result);
        assert_string_equal(read_output(), whole_input());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours),    cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_smallest),      cmocka_unit_test(test_any_schedule),
        cmocka_unit_test(test_sums),          cmocka_unit_test(test_order),
        cmocka_unit_test(test_unequal),       cmocka_unit_test(test_spilled),
        cmocka_unit_test(test_while_it_runs), cmocka_unit_test(test_few),
        cmocka_unit_test(test_empty_results), cmocka_unit_test(test_failure),
        cmocka_unit_test(test_retry),         cmocka_unit_test(test_failed_chunk),
        cmocka_unit_test(test_bad_commands),  cmocka_unit_test(test_resumed),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
