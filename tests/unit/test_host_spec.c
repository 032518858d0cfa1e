/* test_host_spec.c -- hosts as people write them. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "run/hosts/host_spec.h"

/* --- ranges ------------------------------------------------------------------------------- */

/* All names with a blank between them, or the error. */
static void check_range(const char *list, const char *expected)
{
    struct cv_arena arena;
    struct cv_host_names names = { NULL, 0, 0 };
    struct cleave_error err;
    struct cv_text text = { NULL, 0, 0, false };

    cv_arena_init(&arena);
    if (cv_host_list_expand(list, &arena, &names, &err) != CLEAVE_OK)
        cv_text_add(&text, "%s", err.text);
    else
        for (size_t i = 0; i < names.count; i++)
            cv_text_add(&text, i > 0 ? " %s" : "%s", names.items[i]);
    assert_string_equal(text.bytes, expected);
    cv_text_done(&text);
    free(names.items);
    cv_arena_done(&arena);
}

static void ranges_agree_with_slurm(void **state)
{
    (void)state;
    check_range("login", "login");
    check_range("node[01-03,07],x[1-2]y", "node01 node02 node03 node07 x1y x2y");
    check_range("n[8-11]", "n8 n9 n10 n11");
    check_range("n[08-11]", "n08 n09 n10 n11");
    check_range("n[098-101]", "n098 n099 n100 n101");
    check_range("n[0]", "n0");
    check_range("r[1-2]n[1-2,4]", "r1n1 r1n2 r1n4 r2n1 r2n2 r2n4");
    check_range("[1-2]", "1 2");
    check_range("n[999999999]", "n999999999");
}

static void bad_ranges_are_refused(void **state)
{
    static const struct {
        const char *list, *said;
    } cases[] = {
        { "", "expected a host before and after each comma" },
        { "a,,b", "expected a host before and after each comma" },
        { "a,", "expected a host before and after each comma" },
        { "n[1-3", "expected a ']' after the numbers, got 'n[1-3'" },
        { "n[1-3,", "expected a ']' after the numbers, got 'n[1-3,'" },
        { "n1-3]", "expected a '[' before the ']', got 'n1-3]'" },
        { "n[]", "expected numbers of at most 9 digits in brackets, as in "
                 "node[01-16,20], got 'n[]'" },
        { "n[a-b]", "expected numbers of at most 9 digits in brackets, as in "
                    "node[01-16,20], got 'n[a-b]'" },
        { "n[1-]", "expected a number of at most 9 digits at the end of a range, got "
                   "'n[1-]'" },
        { "n[1:3]", "expected a ']' after the numbers, got 'n[1:3]'" },
        { "n[3-1]", "expected ranges that count up, got 'n[3-1]'" },
        { "n[1-65537]", "expected at most 65536 hosts in a range, got 'n[1-65537]'" },
        { "n[1234567890]", "expected numbers of at most 9 digits in brackets, as in "
                           "node[01-16,20], got 'n[1234567890]'" },
        { "n[1-65536],m", "more than 65536 hosts" },
        { "n[1-300][1-300]", "more than 65536 hosts" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_range(cases[i].list, cases[i].said);
}

static void names_are_not_longer_than_names_are(void **state)
{
    char list[400], said[400];

    (void)state;
    memset(list, 'x', 255);
    list[255] = '\0';
    check_range(list, list);
    memset(list, 'x', 256);
    list[256] = '\0';
    snprintf(said, sizeof said, "expected a name of at most 255 bytes, got '%.76s...'",
             list);
    check_range(list, said);
    memcpy(list + 250, "[1]", 4);
    check_range(list, said);
    list[0] = '\0';
    for (int i = 0; i < 60; i++)
        strcat(list, "[7]"); // NOLINT: 181 bytes
    memset(said, '7', 60);
    said[60] = '\0';
    check_range(list, said);
}

/* --- words -------------------------------------------------------------------------------- */

enum form { PLAIN, PARALLEL, LINES, COUNTED };

/* "login*slots" of each, this machine as ":", its own words of ssh in parentheses. */
static void check(enum form form, const char *input, const char *expected)
{
    struct cv_arena arena;
    struct cv_host_spec words = { NULL, 0, 0 };
    struct cleave_error err;
    struct cv_text text = { NULL, 0, 0, false };
    enum cleave_status status;

    cv_arena_init(&arena);
    status =
        form == PLAIN || form == PARALLEL
            ? cv_host_words_add(input, form == PLAIN ? CV_HOSTS_PLAIN : CV_HOSTS_PARALLEL,
                                "--here", &arena, &words, &err)
            : cv_host_lines_add(input, "file", &arena, &words, &err);
    if (status == CLEAVE_OK)
        status = cv_host_words_settle(&words, form == COUNTED, "all", &err);
    cv_text_add(&text, "%s", status != CLEAVE_OK ? err.text : "");
    for (size_t i = 0; status == CLEAVE_OK && i < words.count; i++) {
        const struct cv_host_spec_item *word = &words.items[i];

        cv_text_add(&text, "%s%s*%u", i > 0 ? " " : "",
                    word->login != NULL ? word->login : ":", word->slots);
        if (word->ssh != NULL)
            cv_text_add(&text, "(%s)", word->ssh);
        if (word->rate != NULL)
            cv_text_add(&text, "@%s", word->rate);
        if (word->login != NULL) {
            const char *at = strchr(word->login, '@');

            if (strncmp(word->login, "ssh://", 6) != 0)
                assert_string_equal(word->name, at != NULL ? at + 1 : word->login);
            else
                cv_text_add(&text, "<%s>", word->name);
        }
    }
    assert_string_equal(text.bytes, expected);
    cv_text_done(&text);
    free(words.items);
    cv_arena_done(&arena);
}

static void lists_of_the_command_line(void **state)
{
    (void)state;
    check(PLAIN, "a,b:4,me@c,node[01-03]", "a*0 b*4 me@c*0 node01*0 node02*0 node03*0");
    check(PLAIN, ":,a", ":*0 a*0");
    check(PLAIN, "::3", ":*3");
    check(PLAIN, "me@n[1-2]:8", "me@n1*8 me@n2*8");
    check(PLAIN, " a , b.example.org:2 ", "a*0 b.example.org*2");
    check(PARALLEL, "4/a,b,me@c,8/:,2/n[1-2]", "a*4 b*0 me@c*0 :*8 n1*2 n2*2");
    check(PARALLEL, "3/ssh -p 2222 me@a,/usr/bin/ssh -4 b",
          "me@a*3(ssh -p 2222) b*0(/usr/bin/ssh -4)");
    /* Digits before a path are not slots. */
    check(PARALLEL, "99999sh -i /k a", "a*0(99999sh -i /k)");
    /* Groups are for items that ask for one; 4 slots may have blanks around the slash. */
    check(PARALLEL, "@g1/a,@g1+g2/4/b,3 / c", "a*0 b*4 c*3");
    /* The same where slots follow the host. */
    check(PLAIN, "4/a,b:2,ssh -p 2222 c,@g1/d", "a*4 b*2 c*0(ssh -p 2222) d*0");
}

static void rates_follow_hosts(void **state)
{
    static const char *const bad[] = { "a@5/",   "a:2@5/fortnight", "me@a@0/s", "a@0.5/s",
                                       "a@5x/s", "a@5/-1s",         "2/a@5/s/s" };

    (void)state;
    check(PLAIN, "a@60/min,me@b:4@90w/h,:@5/10s,n[1-2]:2@1/s",
          "a*0@60/min me@b*4@90w/h :*0@5/10s n1*2@1/s n2*2@1/s");
    check(PARALLEL, "4/me@b@5/s,ssh -p 2 c@5/s,2/:@5/s,@g/4/d@5/s",
          "me@b*4@5/s c*0(ssh -p 2)@5/s :*2@5/s d*4@5/s");
    check(PLAIN, "[::1]:2@5/s,ssh://me@a:22@5/s,4/b@5/s",
          "::1*2@5/s ssh://me@a:22*0@5/s<a> b*4@5/s");
    check(LINES, "a:2@5/s # comment\nb@5/s slots=3\n2/c@5/s\nd@5/s,e\n",
          "a*2@5/s b*3@5/s c*2@5/s d*0@5/s e*0");
    check(LINES, "a:1@5/s\na:2@5/s\n", "a*3@5/s");
    check(PLAIN, "a:1@5/s,a:1",
          "all: host 'a' is named twice, and not with the same rate");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char said[200];

        snprintf(
            said, sizeof said,
            "--here: expected a rate such as @60/min or @9000w/h after the host, got "
            "'%s'",
            bad[i]);
        check(PLAIN, bad[i], said);
    }
}

static void addresses(void **state)
{
    (void)state;
    check(PLAIN, "[::1],[fe80::1%eth0]:4,me@[2001:db8::5]:2,n[1-2]:3",
          "::1*0 fe80::1%eth0*4 me@2001:db8::5*2 n1*3 n2*3");
    check(PARALLEL, "2/[::1],me@[fe80::1]", "::1*2 me@fe80::1*0");
    check(PLAIN, "::1", ":*1");
    check(PLAIN, "ssh://me@a:2222,ssh://[::1]:22,ssh://b",
          "ssh://me@a:2222*0<a> ssh://[::1]:22*0<::1> ssh://b*0<b>");
    check(PARALLEL, "4/ssh://a:22", "ssh://a:22*4<a>");
    check(LINES, "[::1]:2\n[fe80::2] slots=3\nssh://me@a:2222\n",
          "::1*2 fe80::2*3 ssh://me@a:2222*0<a>");
    for (int i = 0; i < 4; i++) {
        static const char *const bare[] = { "fe80::1", "fe80::1:2", "2001:db8::5",
                                            "a:4:2" };
        char said[200];

        snprintf(said, sizeof said,
                 "--here: expected host:SLOTS, or an address of IPv6 in brackets, as in "
                 "[fe80::1]:4, got '%s'",
                 bare[i]);
        check(PLAIN, bare[i], said);
        check(PARALLEL, bare[i], said);
    }
    for (int i = 0; i < 5; i++) {
        static const char *const bad[] = { "ssh://a:0", "ssh://a:65536", "ssh://a b",
                                           "ssh://me:secret@a", "ssh://-x" };
        char said[200];

        snprintf(said, sizeof said,
                 "--here: expected ssh://user@host:port, or the host alone, got '%s'",
                 bad[i]);
        check(PLAIN, bad[i], said);
    }
    check(PLAIN, "[::x]",
          "--here: expected an address of IPv6 in the brackets, as in "
          "[fe80::1], got '[::x]'");
}

static void files_of_others(void **state)
{
    (void)state;
    check(LINES, "# comment\n\na\n4/b # four\n  ssh -o Port=22 me@c\n:\nn[1-2]\r\n",
          "a*0 b*4 me@c*0(ssh -o Port=22) :*0 n1*0 n2*0");
    check(LINES, "a slots=4\nb slots=2 max_slots=3\nc max-slots=5", "a*4 b*2 c*0");
    check(LINES, "a:4\nb:2", "a*4 b*2");
    check(LINES, "", "");
    /* Lines count slots where one is repeated, and in the file of PBS anyway. */
    check(LINES, "a\nb\na\na\n", "a*3 b*1");
    check(LINES, "a\nb\na\n", "a*2 b*1");
    check(COUNTED, "a\nb\n", "a*1 b*1");
    check(LINES, "a\nb\n", "a*0 b*0");
    /* Open MPI, MPICH, Torque. */
    check(LINES, "a cpu=2\nb count=3\nc np=4\nd slots = 5\ne user=me slots=6\n",
          "a*2 b*3 c*4 d*5 me@e*6");
    check(LINES, "a:2 binding=user:0,1\nb ifhn=b-ib\n", "a*2 b*0");
    /* LSF, Grid Engine. */
    check(LINES, "a 4\nb.example.org 2 all.q@b.example.org UNDEFINED\nc 3 q@c 0,0:0,1\n",
          "a*4 b.example.org*2 c*3");
    /* Lists of Slurm, in one line, and what Windows leaves in a file. */
    check(LINES, "n[1-2],login:3\n", "n1*0 n2*0 login*3");
    check(LINES,
          "\xef\xbb\xbf"
          "4/a\r\nb slots=2\r\n\r\n# c\r\n",
          "a*4 b*2");
    check(LINES, "@g1/a\n@g1/2/b\n", "a*0 b*2");
    /* Numbers add up. */
    check(LINES, "a:4\nb slots=1\n3/a\n", "a*7 b*1");
}

static void bad_words_are_refused(void **state)
{
    (void)state;
    check(PLAIN, "a,,b", "--here: expected a host before and after each comma, got ',b'");
    check(PLAIN, "", "--here: expected a host before and after each comma, got ''");
    check(PLAIN, "a:0",
          "--here: expected a number of slots, 1 to 4096, after the ':', or neither for "
          "all "
          "its cores, got "
          "'a:0'");
    check(PLAIN, "a:4097",
          "--here: expected a number of slots, 1 to 4096, after the ':', "
          "or neither for all its cores, got 'a:4097'");
    check(PLAIN, "a:x",
          "--here: expected a number of slots, 1 to 4096, after the ':', or neither for "
          "all "
          "its cores, got "
          "'a:x'");
    check(PLAIN, "-oProxyCommand=x",
          "--here: expected the name of a host: letters, digits, '.', '_', '-', got "
          "'-oProxyCommand=x'");
    check(PLAIN, "me@-x",
          "--here: expected the name of a host: letters, digits, '.', '_', "
          "'-', got 'me@-x'");
    check(PLAIN, "a!b@c", "--here: expected a user before the '@', got 'a!b@c'");
    check(PLAIN, "n[1-",
          "--here: expected a number of at most 9 digits at the end of a "
          "range, got 'n[1-'");
    check(PARALLEL, "x/a",
          "--here: expected a number of slots, 1 to 4096, before the '/', "
          "or neither for all its cores, got 'x/a'");
    check(PARALLEL, "a:22",
          "--here: expected N/host for slots, 'ssh -p PORT host' for a "
          "port, and no password, got 'a:22'");
    check(PARALLEL, "..",
          "--here: expected a host; files are named by hosts.file, such "
          "as ~/.parallel/sshloginfile, got '..'");
    check(LINES, "a\nb c\n",
          "file:2: expected one host, or 'ssh' and its options before "
          "it, got 'b c'");
    check(LINES, "a slot=3", "file:1: expected 'host slots=N', got 'a slot=3'");
    check(LINES, "a slots=x",
          "file:1: expected 'host slots=N', with 1 to 4096, got 'a "
          "slots=x'");
    check(PLAIN, "a,a:2",
          "all: host 'a' is named twice, with a number of slots and "
          "without");
    check(PLAIN, "me@a,a", "all: host 'a' is named twice and reached in different ways");
    check(PLAIN, "a:4000,a:97", "all: host 'a' has more than 4096 slots");
}

/* Other spellings are answered by the one to type. */
static void other_ways_are_answered(void **state)
{
    static const struct {
        const char *typed, *expected;
    } cases[] = {
        { "-", "a host; hosts.file - reads them from standard input" },
        { "@list", "the hosts of a group by their names, or hosts.file FILE for those of "
                   "a file" },
        { "n{1..4}", "a range in brackets, as in node[1-4]" },
        { "n1..4", "a range in brackets, as in node[1-4]" },
        { ":4", "'::4' for 4 slots of this machine" },
        { "4", "a host before a number of slots, as in host:4" },
        { "a*4", "host:4 for 4 slots" },
        { "a=4", "host:4 for 4 slots" },
        { "a(4)", "host:4 for 4 slots" },
        { "a slots=4", "host:4 for 4 slots" },
        { "a b", "commas between hosts, as in a,b:4,me@c" },
        { "a;b", "commas between hosts, as in a,b:4,me@c" },
        { "'a'", "hosts without quotes" },
        { "a#b", "the name of a host: letters, digits, '.', '_', '-'" },
    };
    char said[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(said, sizeof said, "--here: expected %s, got '%s'", cases[i].expected,
                 cases[i].typed);
        check(PLAIN, cases[i].typed, said);
    }
    check(PARALLEL, "tcp://a:8786",
          "--here: expected ssh://user@host:port, or the host alone, got 'tcp://a:8786'");
    check(PARALLEL, "4/", "--here: expected a host after the '/', got '4/'");
    check(LINES, "workers:\n",
          "file:1: expected a host in each line; a platform file is named by hosts.list, "
          "got "
          "'workers:'");
    check(LINES, "a -p 2222\n",
          "file:1: expected options before the host, as in 'ssh -p 2222 host', got "
          "'a -p 2222'");
    check(LINES, "host,slots\na,4\n",
          "file:2: expected a host before a number of slots, as in host:4, got '4'");
    check(LINES, "a 4 b 2\n",
          "file:1: expected one host, or 'ssh' and its options before it, got 'a 4 b 2'");
    check(LINES, "..\n",
          "file:1: expected a host; files are named by hosts.file, such as "
          "~/.parallel/sshloginfile, got '..'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_agree_with_slurm),
        cmocka_unit_test(bad_ranges_are_refused),
        cmocka_unit_test(names_are_not_longer_than_names_are),
        cmocka_unit_test(lists_of_the_command_line),
        cmocka_unit_test(rates_follow_hosts),
        cmocka_unit_test(addresses),
        cmocka_unit_test(files_of_others),
        cmocka_unit_test(bad_words_are_refused),
        cmocka_unit_test(other_ways_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
