/* chaos_records.c -- inputs of every kind, and what commands make of them.
 * SPDX-License-Identifier: MIT
 *
 * A record begins with a byte that begins no other line or wrong place for a cut, so that
 * a command can detect partial records. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "chaos/chaos.h"

const char *const kind_names[KINDS] = { "lines",     "nul",      "csv",
                                        "jsonl",     "fasta",    "fastq",
                                        "paragraph", "fixed:32", "regex:R[0-9]+ " };
static const char begins[KINDS] = { 'L', 'N', 'C', '{', '>', '@', 'P', 'F', 'R' };

const char HEADER[] = "Number,Text,Value\n";
const char POISON[] = "P0ISON"; /* letters that come by chance are small */

static void letters(struct bytes *bytes, const char *alphabet, size_t count,
                    struct chance *chance)
{
    const size_t different = strlen(alphabet);

    for (size_t i = 0; i < count; i++)
        bytes_add(bytes, &alphabet[chance_below(chance, different)], 1);
}

static void fastq_add(struct bytes *bytes, uint64_t number, const char *word,
                      struct chance *chance)
{
    const size_t length = 8 + chance_below(chance, 60);

    bytes_print(bytes, "@r%" PRIu64 " %s\n", number, word);
    letters(bytes, "ACGT", length, chance);
    bytes_print(bytes, "\n+\n");
    /* Qualities may begin with @. */
    letters(bytes, "@IJK", length, chance);
    bytes_print(bytes, "\n");
}

void record_add(struct bytes *bytes, enum kind kind, uint64_t number, bool poison,
                struct chance *chance)
{
    static const char small[] = "abcdefghijklmnopqrstuvwxyz ";
    const char *word = poison ? POISON : "x";
    const size_t length = chance_below(chance, 60);
    const uint64_t value = number * 7 + 3;
    const size_t before = bytes->length;

    switch (kind) {
    case LINES:
        bytes_print(bytes, "L%" PRIu64 " %" PRIu64 " %s", number, value, word);
        letters(bytes, small, length, chance);
        bytes_print(bytes, "\n");
        break;
    case NUL:
        bytes_print(bytes, "N%" PRIu64 " %s\nn ", number, word);
        letters(bytes, small, length, chance);
        bytes_add(bytes, "", 1);
        break;
    case CSV:
        bytes_print(bytes, "C%" PRIu64 ",\"c %s, \"\"and\"\"\nc ", number, word);
        letters(bytes, small, length, chance);
        bytes_print(bytes, "\",%" PRIu64 "\n", value);
        break;
    case JSONL:
        bytes_print(bytes, "{\"n\":%" PRIu64 ",\"%s\":\"", number, word);
        letters(bytes, small, length, chance);
        bytes_print(bytes, "\"}\n");
        break;
    case FASTA:
        bytes_print(bytes, ">s%" PRIu64 " %s\n", number, word);
        letters(bytes, "ACGT", length, chance);
        bytes_print(bytes, "\nACGT\n");
        break;
    case FASTQ:
        fastq_add(bytes, number, word, chance);
        break;
    case PARAGRAPH:
        bytes_print(bytes, "P%" PRIu64 " %s\np ", number, word);
        letters(bytes, small, length, chance);
        bytes_print(bytes, "\n\n");
        break;
    case FIXED:
        bytes_print(bytes, "F%" PRIu64 " %s\n", number, word);
        letters(bytes, small, FIXED_BYTES - (bytes->length - before), chance);
        break;
    default:
        bytes_print(bytes, "R%" PRIu64 " %s\nr ", number, word);
        letters(bytes, small, length, chance);
        bytes_print(bytes, "\nr\n");
        break;
    }
}

bool records_are_whole(enum kind kind, const char *at, size_t length)
{
    size_t quotes = 0, lines = 0;

    if (length == 0)
        return true;
    for (size_t i = 0; i < length; i++) {
        quotes += at[i] == '"';
        lines += at[i] == '\n';
    }
    if (at[0] != begins[kind] || (kind == CSV && quotes % 2 != 0) ||
        (kind == FASTQ && lines % 4 != 0) || (kind == FASTA && lines % 3 != 0))
        return false;
    if (kind == FIXED)
        return length % FIXED_BYTES == 0;
    if (kind == PARAGRAPH && (length < 2 || at[length - 2] != '\n'))
        return false;
    return at[length - 1] == (kind == NUL ? '\0' : '\n');
}

/* --- what commands do --------------------------------------------------------------------- */

/* Letters change their case: as long as before, and no longer the same. */
void work_map(const char *at, size_t length, struct bytes *out)
{
    const size_t before = out->length;

    bytes_add(out, at, length);
    for (size_t i = before; i < out->length; i++)
        if ((out->at[i] | 0x20) >= 'a' && (out->at[i] | 0x20) <= 'z')
            out->at[i] ^= 0x20;
}

/* Lines "WORD NUMBER ...": how many lines, and the sum of the numbers; lines that begin with
 * = are such results. */
void work_sum(const char *at, size_t length, struct bytes *out)
{
    uint64_t count = 0, sum = 0;

    for (const char *line = at, *end = at + length; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        char *rest;
        const uint64_t first = strtoull(line + 1, &rest, 10);

        count += *line == '=' ? first : 1;
        sum += strtoull(rest, NULL, 10);
        line = stop != NULL ? stop + 1 : end;
    }
    bytes_print(out, "=%" PRIu64 " %" PRIu64 "\n", count, sum);
}

static const char *line_end(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));

    return stop != NULL ? stop + 1 : end;
}

/* Name and sequence of each record, and the sequence of its mate. */
void work_pairs(const struct bytes *one, const struct bytes *two, struct bytes *out)
{
    const char *a = one->at, *a_end = a + one->length;
    const char *b = two->at, *b_end = b + two->length;

    while (a < a_end || b < b_end) {
        for (int line = 0; line < 4; line++) {
            const char *a_next = line_end(a, a_end), *b_next = line_end(b, b_end);

            if (line < 2)
                bytes_add(out, a, (size_t)(a_next - a));
            if (line < 2)
                bytes_add(out, b, (size_t)(b_next - b));
            a = a_next;
            b = b_next;
        }
    }
}
