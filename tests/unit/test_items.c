/* test_items.c -- lists of items and the commands that they make.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/random.h"
#include "run/items/item_commands.h"
#include "run/items/item_template.h"
#include "run/items/item_lists.h"

/* --- quoting ------------------------------------------------------------------------------ */

enum { QUOTED = 2000, MOST = 12 };

/* 2000 values of any bytes except NUL and the slash; half of them only have bytes with a
 * meaning in a shell. */
static void make_values(char values[QUOTED][MOST + 1])
{
    static const char special[] = " \t\n'\"\\$`*?[]{}()<>|&;#~!=%^-a";
    struct cv_random random;

    cv_random_at(&random, 1, 2, 3, 4);
    for (size_t i = 0; i < QUOTED; i++) {
        const size_t length = cv_random_bits(&random) % (MOST + 1);

        for (size_t k = 0; k < length; k++) {
            const uint64_t bits = cv_random_bits(&random);
            const char byte = (char)(1 + bits % 255);

            values[i][k] = i % 2 == 0    ? special[bits % (sizeof special - 1)]
                           : byte == '/' ? '.'
                                         : byte;
        }
        values[i][length] = '\0';
    }
}

/* The shell runs the script, which writes each value, ended by a NUL. */
static void expect_values(const char *shell, const char *path,
                          char values[QUOTED][MOST + 1], size_t count)
{
    FILE *read = tmpfile();
    pid_t child;
    int status;

    assert_non_null(read);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        setenv("LC_ALL", "C", 1);
        dup2(fileno(read), STDOUT_FILENO);
        execlp(shell, shell, path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rewind(read);
    for (size_t i = 0; i < count; i++) {
        char got[MOST + 2] = "";
        size_t length = 0;
        int byte;

        while ((byte = getc(read)) != EOF && byte != '\0' && length <= MOST)
            got[length++] = (char)byte;
        got[length] = '\0';
        assert_string_equal(got, values[i]);
    }
    assert_int_equal(getc(read), EOF);
    fclose(read);
}

/* The line of the command, given the values, is what the shell reads. */
static void expect_read(const char *shell, const char *command)
{
    const char *const words[] = { command, NULL };
    /* Where each takes the shell a process or more. */
    const bool dear = strpbrk(command, "(<") != NULL;
    const size_t count = dear ? QUOTED / 10 : QUOTED;
    static char values[QUOTED][MOST + 1];
    char path[] = "/tmp/cleave-quote.XXXXXX";
    struct cv_text line = { NULL, 0, 0, false };
    struct cv_item_template template;
    FILE *script = fdopen(mkstemp(path), "w");

    assert_non_null(script);
    make_values(values);
    assert_int_equal(
        cv_item_template_init(&template, words, CV_ITEM_LINE,
                              &(struct cv_item_replacements){ .plus = false }, NULL),
        CLEAVE_OK);
    for (size_t i = 0; i < count; i++) {
        const char *const argument = values[i];

        line.length = 0;
        assert_int_equal(cv_item_template_line(&template,
                                               &(struct cv_item_values){
                                                   &argument, 1, i + 1, 1, count },
                                               &line, NULL),
                         CLEAVE_OK);
        fwrite(line.bytes, 1, line.length, script);
        fputc('\n', script);
    }
    cv_text_done(&line);
    cv_item_template_done(&template);
    assert_int_equal(fclose(script), 0);
    expect_values(shell, path, values, count);
    unlink(path);
}

/* A shell gives back the values in its line, for any quotes around the placeholder.
 * Newlines at the end of $(...), which it removes itself,have a byte after them. */
static void a_shell_reads_quoted_words_back(void **state)
{
    static const char *const commands[] = {
        "printf '%s\\0' {}",
        "printf '%s\\0' '{}'",
        "printf '%s\\0' \"{}\"",
        "x=\"$(printf %s. {})\"; printf '%s\\0' \"${x%.}\"",
        "x=\"$(printf %s. \"$(printf %s \"{}\".)\")\"; printf '%s\\0' \"${x%..}\"",
        "x=$(printf %s. '{}'); (printf '%s\\0' \"${x%.}\") # it's",
        "printf '%s\\0' \"\\\"$(echo \"(\")\" >/dev/null; printf '%s\\0' '{}'",
        "printf '%s\\0' \"\\$(\"'' >/dev/null; printf '%s\\0' \"{}\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        expect_read("sh", commands[i]);
    expect_read("bash", "printf '%s\\0' $'{}'");
    /* If only a whole shell could decide, placeholders are treated as unquoted. */
    expect_read("sh", "cat <<X >/dev/null\nit's\nX\nprintf '%s\\0' {}");
    expect_read("sh", "cat <<'X' >/dev/null\nit's\nX\nprintf '%s\\0' {}");
    expect_read("sh", "exec 3>&1; : \"$(case x in x) printf '%s\\0' {} >&3;; esac)\"");
}

/* --- lists -------------------------------------------------------------------------------- */

static void add_list(struct cv_item_lists *lists, bool linked, const char *values)
{
    assert_int_equal(cv_item_lists_begin(lists, linked, NULL), CLEAVE_OK);
    for (; *values != '\0'; values++)
        assert_int_equal(cv_item_lists_add(lists, values, 1, NULL), CLEAVE_OK);
}

static void expect_rows(struct cv_item_lists *lists, const char *expected)
{
    struct cv_text rows = { NULL, 0, 0, false };
    const char *row[8];

    assert_int_equal(cv_item_lists_close(lists, NULL), CLEAVE_OK);
    for (uint64_t i = 0; i < lists->rows; i++) {
        cv_item_lists_row(lists, i, row);
        for (size_t k = 0; k < lists->count; k++)
            cv_text_add(&rows, "%s", row[k]);
        cv_text_add(&rows, " ");
    }
    assert_string_equal(rows.bytes != NULL ? rows.bytes : "", expected);
    cv_text_done(&rows);
    cv_item_lists_done(lists);
}

static void rows_are_combinations(void **state)
{
    struct cv_item_lists lists = { .items = NULL };

    (void)state;
    add_list(&lists, false, "ab");
    add_list(&lists, false, "12");
    expect_rows(&lists, "a1 a2 b1 b2 ");
    add_list(&lists, false, "abc");
    add_list(&lists, true, "12");
    add_list(&lists, false, "xy");
    expect_rows(&lists, "a1x a1y b2x b2y ");
    lists.link = true;
    add_list(&lists, false, "abc");
    add_list(&lists, false, "12");
    expect_rows(&lists, "a1 b2 c1 ");
    add_list(&lists, false, "ab");
    add_list(&lists, false, "");
    expect_rows(&lists, "");
}

/* None of 2^60 rows is made before it is requested; more than 2^53 are refused. */
static void a_product_takes_no_memory(void **state)
{
    struct cv_item_lists lists = { .items = NULL };
    const char *row[64];

    (void)state;
    for (int i = 0; i < 53; i++)
        add_list(&lists, false, "01");
    assert_int_equal(cv_item_lists_close(&lists, NULL), CLEAVE_OK);
    assert_true(lists.rows == UINT64_C(1) << 53);
    cv_item_lists_row(&lists, lists.rows - 2, row);
    assert_string_equal(row[0], "1");
    assert_string_equal(row[52], "0");
    add_list(&lists, false, "01");
    assert_int_equal(cv_item_lists_close(&lists, NULL), CLEAVE_EINPUT);
    cv_item_lists_done(&lists);
}

/* --- lists that come ------------------------------------------------------------------------ */

/* Arrived values are available, without the unfinished last one, and released ones are
 * freed; names of columns come first. */
static void a_list_is_used_while_it_comes(void **state)
{
    static const char *const words[] = { "cat", "{b}", NULL };
    struct cv_item_lists lists = { .items = NULL };
    struct cv_item_commands commands;
    struct cv_item_stream *stream;
    struct cv_splitter *splitter;
    struct cv_text line = { NULL, 0, 0, false };
    char path[40];
    bool ended = false;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_true(cv_item_list_is_streamed(path));
    assert_int_equal(cv_splitter_parse("lines", &splitter, NULL), CLEAVE_OK);
    assert_int_equal(cv_item_stream_new((const char *const[]){ path }, 1,
                                        &(struct cv_source_options){ .raw = true },
                                        splitter, &stream, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_item_lists_begin(&lists, false, NULL), CLEAVE_OK);
    assert_int_equal(write(ends[1], "a,b\n1,2\n3", 9), 9);
    assert_int_equal(cv_item_stream_read(stream, &lists, &ended, NULL), CLEAVE_OK);
    assert_int_equal(cv_item_commands_init(&commands, &lists, stream,
                                           &(struct cv_item_options){ .words = words,
                                                                      .separator = ",",
                                                                      .header = true,
                                                                      .per = 2 },
                                           NULL),
                     CLEAVE_OK);
    assert_false(ended);
    assert_int_equal(commands.lists.rows, 1);
    assert_int_equal(commands.count, 0); /* another row belongs to the first command */
    assert_int_equal(write(ends[1], ",4\n5,6", 6), 6);
    assert_int_equal(cv_item_commands_more(&commands, &ended, NULL), CLEAVE_OK);
    assert_int_equal(commands.count, 1);
    assert_int_equal(cv_item_commands_line(&commands, 0, 1, &line, NULL), CLEAVE_OK);
    assert_string_equal(line.bytes, "cat 2");
    cv_item_commands_release(&commands, 0);
    close(ends[1]);
    assert_int_equal(cv_item_commands_more(&commands, &ended, NULL), CLEAVE_OK);
    assert_true(ended);
    assert_int_equal(commands.count, 2);
    line.length = 0;
    assert_int_equal(cv_item_commands_line(&commands, 1, 1, &line, NULL), CLEAVE_OK);
    assert_string_equal(line.bytes, "cat 6");
    cv_text_done(&line);
    close(ends[0]);
    cv_item_commands_done(&commands);
}

/* With a million values, one of them never released, no more than three blocks stay. */
static void released_values_take_no_memory(void **state)
{
    enum { VALUES = 1000000, BEHIND = 100, KEPT = 7 };
    struct cv_item_lists lists = { .items = NULL };
    const char *value;
    char text[24];

    (void)state;
    assert_int_equal(cv_item_lists_begin(&lists, false, NULL), CLEAVE_OK);
    for (size_t i = 0; i < VALUES; i++) {
        const int length = snprintf(text, sizeof text, "%zu", i);

        assert_int_equal(cv_item_lists_add(&lists, text, (size_t)length, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_item_lists_close(&lists, NULL), CLEAVE_OK);
        cv_item_lists_row(&lists, i, &value);
        assert_string_equal(value, text);
        if (i >= BEHIND && i - BEHIND != KEPT)
            cv_item_lists_release(&lists, i - BEHIND);
        assert_true(lists.items[0].nblocks <= 3);
    }
    cv_item_lists_row(&lists, KEPT, &value);
    assert_string_equal(value, "7");
    cv_item_lists_row(&lists, VALUES - BEHIND, &value);
    assert_string_equal(value, "999900");
    cv_item_lists_done(&lists);
}

/* --- commands ----------------------------------------------------------------------------- */

/* The words of the command, each followed by '|'; text for a shell is between <>. */
static void expect_words(const char *const *words, bool literal, const char *expected)
{
    struct cv_item_lists lists = { .items = NULL };
    struct cv_item_commands commands;
    struct cv_text got = { NULL, 0, 0, false };
    char **argv = NULL;

    assert_int_equal(cv_item_lists_begin(&lists, false, NULL), CLEAVE_OK);
    assert_int_equal(cv_item_lists_add(&lists, "a b", 3, NULL), CLEAVE_OK);
    assert_int_equal(cv_item_commands_init(&commands, &lists, NULL,
                                           &(struct cv_item_options){
                                               .words = words, .literal = literal },
                                           NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_item_commands_words(&commands, 0, 7, &argv, NULL), CLEAVE_OK);
    if (commands.shell != NULL)
        cv_text_add(&got, "<%s>", argv[2]);
    for (size_t i = 0; commands.shell == NULL && argv[i] != NULL; i++)
        cv_text_add(&got, "%s|", argv[i]);
    assert_string_equal(got.bytes, expected);
    cv_text_done(&got);
    free(argv);
    cv_item_commands_done(&commands);
}

static void a_shell_is_used_only_if_needed(void **state)
{
    static const struct {
        const char *words[6];
        bool literal;
        const char *expected;
    } cases[] = {
        { { "cat" }, false, "cat|a b|" },
        { { "cat {} x {%}{#}" }, false, "cat|a b|x|71|" },
        { { " cat  -n --x={}" }, false, "cat|-n|--x=a b|" },
        { { "cat", "{2}", "{}" }, false, "cat|a b|" },
        { { "cat", "", "{}" }, false, "cat||a b|" },
        { { "grep", "-c", "^x" }, false, "grep|-c|^x|a b|" },
        { { "cat '{}' \"{}\"" }, false, "<cat 'a b' \"a b\">" },
        { { "cat", "'{}' \"{}\"" }, false, "cat|'a b' \"a b\"|" },
        { { "cat", "", "{2}", "b  {}" }, true, "cat||b  a b|" },
        { { "cat > x" }, false, "<cat > x 'a b'>" },
        { { "cat", ">", "x{}" }, false, "<cat > 'xa b'>" },
        { { "cat", "a  b", "|", "cat" }, false, "<cat 'a  b' | cat 'a b'>" },
        { { "cat", "{}", ";", "cat", "{}" }, false, "<cat 'a b' ; cat 'a b'>" },
        { { "cat", "|", "cat" }, true, "cat|||cat|a b|" },
        { { "cut", "-d", "|", "-f2" }, false, "cut|-d|||-f2|a b|" },
        { { "grep", "-c", ">" }, false, "grep|-c|>|a b|" },
        { { "tr", "<", ">" }, false, "tr|<|>|a b|" },
        { { "cat", "2>&1" }, false, "<cat 2>&1 'a b'>" },
        { { "x=1 cat" }, false, "<x=1 cat 'a b'>" },
        { { "cat", "=ls" }, false, "cat|=ls|a b|" },
        { { "cat =ls" }, false, "<cat =ls 'a b'>" },
        { { "cat", "~" }, false, "cat|~|a b|" },
        { { "cat", "a\nb" }, false, "cat|a\nb|a b|" },
        { { "exit", "3" }, false, "<exit 3 'a b'>" },
        { { "{}" }, false, "<a b>" },
        { { "cat{}" }, false, "<cata b>" },
        { { "cat", "$x", "{}" }, true, "cat|$x|a b|" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_words(cases[i].words, cases[i].literal, cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_reads_quoted_words_back),
        cmocka_unit_test(rows_are_combinations),
        cmocka_unit_test(a_product_takes_no_memory),
        cmocka_unit_test(a_list_is_used_while_it_comes),
        cmocka_unit_test(released_values_take_no_memory),
        cmocka_unit_test(a_shell_is_used_only_if_needed),
    };

    return cmocka_run_group_tests_name("items", tests, NULL, NULL);
}
