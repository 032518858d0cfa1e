/* test_split_binary.c -- splitters of binary inputs. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "base/random.h"
#include "split_check.h"
#include "split_reference.h"

enum { MOST = 24 * 1024, TURNS = 40 };

struct made {
    char bytes[MOST];
    size_t n;
};

static unsigned chance(struct cv_random *random, unsigned sides)
{
    return (unsigned)(cv_random_bits(random) % sides);
}

static void fill(struct cv_random *random, struct made *made, size_t length)
{
    for (size_t i = 0; i < length; i++)
        made->bytes[made->n++] = (char)chance(random, 256);
}

static void check(const char *name, struct cv_random *random, const struct made *made,
                  reference *truth)
{
    struct cv_splitter *splitter = NULL;
    struct split_input input;

    assert_int_equal(cv_splitter_parse(name, &splitter, NULL), CLEAVE_OK);
    split_input_open(&input, splitter, made->bytes, made->n);
    assert_true(truth(made->bytes, made->n, input.is));
    check_file(&input, 4096, 1 + made->n / 50);
    check_file(&input, 30, 1 + made->n / 200);
    check_stream(&input, 1 + chance(random, 3000), chance(random, 5000));
    split_input_close(&input);
    cv_splitter_free(splitter);
}

/* --- tar -------------------------------------------------------------------------------------- */

enum numbers { OCTAL, BINARY, LOOSE /* blanks before, and other digits after */ };

static void add_head(struct made *made, const char *name, size_t size, char type,
                     enum numbers numbers)
{
    char *head = made->bytes + made->n;
    unsigned sum = 0;

    memset(head, 0, 512);
    snprintf(head, 100, "%s", name);
    if (numbers == BINARY) {
        head[124] = (char)0x80;
        head[134] = (char)(size >> 8);
        head[135] = (char)size;
    } else {
        snprintf(head + 124, 12, numbers == OCTAL ? "%011zo" : "%8zo 77", size);
    }
    head[156] = type;
    memset(head + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    if (numbers == LOOSE)
        head[155] = '7';
    made->n += 512;
}

static void any_members(void **state)
{
    static const char types[] = "0005125LKx";

    (void)state;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        static struct made made;
        struct cv_random random;
        size_t members = 0;

        cv_random_at(&random, 31, turn, 0, 0);
        memset(&made, 0, sizeof made);
        while (made.n < MOST / 2) {
            const char type = types[chance(&random, sizeof types - 1)];
            const size_t size = chance(&random, 3) == 0 ? 0 : chance(&random, 1500);

            add_head(&made, "name", size, type, chance(&random, 2) == 0 ? OCTAL : LOOSE);
            if (type >= '1' && type <= '6')
                continue;
            fill(&random, &made, size);
            made.n = (made.n + 511) / 512 * 512;
            members++;
        }
        add_head(&made, "last", 0, '0', OCTAL);
        made.n += 512 * (size_t)chance(&random, 4); /* blocks of zeros */
        assert_true(members > 0);
        check("tar", &random, &made, reference_tar);
    }
}

/* --- BAM -------------------------------------------------------------------------------------- */

static void add_number(struct made *made, size_t number)
{
    for (unsigned i = 0; i < 4; i++)
        made->bytes[made->n++] = (char)(number >> (8 * i));
}

static void any_alignments(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        static struct made made;
        struct cv_random random;
        unsigned references;

        cv_random_at(&random, 32, turn, 0, 0);
        made.n = 0;
        memcpy(made.bytes, "BAM\1", 4);
        made.n = 4;
        references = chance(&random, 300);
        add_number(&made, references);
        fill(&random, &made, references);
        references = chance(&random, 4);
        add_number(&made, references);
        for (; references > 0; references--) {
            const unsigned name = chance(&random, 20);

            add_number(&made, name);
            fill(&random, &made, name);
            add_number(&made, 1000);
        }
        while (made.n < (turn % 4 == 0 ? 0 : MOST / 3)) {
            const size_t length = 32 + chance(&random, 300);

            add_number(&made, length);
            fill(&random, &made, length);
        }
        check("bam", &random, &made, reference_bam);
    }
}

/* --- pcap --------------------------------------------------------------------------------------- */

static void add_ordered(struct made *made, size_t number, bool big)
{
    for (unsigned i = 0; i < 4; i++)
        made->bytes[made->n++] = (char)(number >> 8 * (big ? 3 - i : i));
}

static void any_packets(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        const bool big = turn % 2 == 1;
        static struct made made;
        struct cv_random random;

        cv_random_at(&random, 33, turn, 0, 0);
        made.n = 0;
        add_ordered(&made, turn % 4 < 2 ? 0xa1b2c3d4 : 0xa1b23c4d, big);
        fill(&random, &made, 20);
        while (made.n < (turn % 8 == 0 ? 0 : MOST / 3)) {
            /* Either order of bytes of some of these is a length that fits. */
            const size_t length = chance(&random, 20) == 0 ? 256 : chance(&random, 300);

            fill(&random, &made, 8);
            add_ordered(&made, length, big);
            fill(&random, &made, 4 + length);
        }
        check("pcap", &random, &made, reference_pcap);
    }
}

/* --- what is none of them ----------------------------------------------------------------------------- */

static void other_formats(void **state)
{
    static const struct {
        const char *splitter, *bytes;
        size_t n;
        const char *message;
    } cases[] = {
        { "bam", "BAM\2....", 8,
          "byte 0: expected the first bytes of BAM, got 38617410" },
        { "bam", "BAM\1\0\0\0\0\0\0\0\0\x1f\0\0\0", 16,
          "byte 12: expected the length of a record of BAM, got 31" },
        { "bam", "BAM\1\0\0\0\xff\0\0\0\0", 12,
          "byte 4: expected a length of BAM, got 4278190080" },
        { "pcap", "\xa1\xb2\xcd\x34", 4,
          "byte 0: expected the first bytes of pcap, got a1b2cd34" },
        { "pcap", "\n\r\r\n", 4,
          "byte 0: expected the first bytes of pcap, got 0a0d0d0a, which is pcapng: put "
          "'editcap -F pcap - - |' before it" },
        { "pcap",
          "\xa1\xb2\xc3\xd4"
          "....................--------\x80\0\0\0",
          36, "byte 32: expected the length of a packet, got 2147483648" },
    };
    static struct made made;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cv_splitter *splitter = NULL;
        struct cleave_error err;
        uint64_t records;

        assert_int_equal(cv_splitter_parse(cases[i].splitter, &splitter, NULL),
                         CLEAVE_OK);
        assert_int_equal(cv_splitter_count_from(splitter, 0, 0, cases[i].bytes,
                                                cases[i].n, &records, &err),
                         CLEAVE_EINPUT);
        assert_string_equal(err.text, cases[i].message);
        cv_splitter_free(splitter);
    }
    for (int damage = 0; damage < 2; damage++) {
        struct cv_splitter *splitter = NULL;
        struct cleave_error err;
        uint64_t records;

        made.n = 0;
        add_head(&made, "name", 700, '0', BINARY);
        memset(made.bytes + made.n, 'x', 1024);
        made.n += 1024;
        add_head(&made, "other", 0, '0', OCTAL);
        made.bytes[1536 + 3] += (char)damage;
        assert_int_equal(cv_splitter_parse("tar", &splitter, NULL), CLEAVE_OK);
        assert_int_equal(cv_splitter_count_from(splitter, 0, 0, made.bytes, made.n,
                                                &records, &err),
                         damage ? CLEAVE_EINPUT : CLEAVE_OK);
        if (damage)
            assert_string_equal(
                err.text,
                "byte 1536: expected a head of tar, got bytes that do not fit their sum");
        else
            assert_int_equal(records, 2);
        cv_splitter_free(splitter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_members),
        cmocka_unit_test(any_alignments),
        cmocka_unit_test(any_packets),
        cmocka_unit_test(other_formats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
