/* split_pcap.c -- packets of a capture, as tcpdump -w writes them. SPDX-License-Identifier: MIT
 *
 * A head of 24 bytes, which every chunk is given: its first four tell the order of bytes of all
 * numbers, and whether times have micro- or nanoseconds. Then packets: four numbers of four
 * bytes, of which the third is how many bytes of the packet follow. */
#include "run/split/split_kind.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"

/* walk->form; walk->line: bytes of a packet's numbers that have come, walk->quality: the third
 * of them. */
enum { UNKNOWN, LITTLE, BIG };
enum { NUMBER = 4, FILE_HEAD = 24, LENGTH = 8, PACKET_HEAD = 16 };
static const uint64_t PCAPNG = 0x0a0d0d0a;
static const uint64_t MOST = INT32_MAX; /* bytes of a packet */

static int form_pcap(const char *bytes, size_t length)
{
    static const struct {
        char bytes[NUMBER];
        int form;
    } magics[] = {
        { { '\xd4', '\xc3', '\xb2', '\xa1' }, LITTLE }, /* microseconds */
        { { '\x4d', '\x3c', '\xb2', '\xa1' }, LITTLE }, /* nanoseconds  */
        { { '\xa1', '\xb2', '\xc3', '\xd4' }, BIG },
        { { '\xa1', '\xb2', '\x3c', '\x4d' }, BIG },
    };

    for (size_t i = 0; length >= NUMBER && i < sizeof magics / sizeof *magics; i++)
        if (memcmp(bytes, magics[i].bytes, NUMBER) == 0)
            return magics[i].form;
    return UNKNOWN;
}

/* A byte of the first number of the file. */
static enum cleave_status magic_byte(struct cv_walk *walk, unsigned char byte,
                                     struct cleave_error *err)
{
    char bytes[NUMBER];

    walk->quality = walk->quality << 8 | byte;
    if (++walk->at < NUMBER)
        return CLEAVE_OK;
    for (unsigned i = 0; i < NUMBER; i++)
        bytes[i] = (char)(walk->quality >> 8 * (NUMBER - 1 - i));
    walk->form = form_pcap(bytes, NUMBER);
    if (walk->form == UNKNOWN) {
        walk->bad = true;
        return cv_fail(err, CLEAVE_EINPUT,
                       "byte 0: expected the first bytes of pcap, got %08" PRIx64 "%s",
                       walk->quality,
                       walk->quality == PCAPNG
                           ? ", which is pcapng: put 'editcap -F pcap - - |' before it"
                           : "");
    }
    walk->quality = 0;
    walk->at = FILE_HEAD;
    return CLEAVE_OK;
}

/* A byte of the numbers of a packet. */
static enum cleave_status packet_byte(struct cv_walk *walk, unsigned char byte,
                                      struct cleave_error *err)
{
    const uint64_t place = walk->line - LENGTH;

    if (walk->line >= LENGTH && place < NUMBER)
        walk->quality |= (uint64_t)byte
                         << 8 * (walk->form == BIG ? NUMBER - 1 - place : place);
    walk->at++;
    if (++walk->line < LENGTH + NUMBER)
        return CLEAVE_OK;
    if (walk->quality > MOST) {
        walk->bad = true;
        return cv_fail(err, CLEAVE_EINPUT,
                       "byte %" PRIu64 ": expected the length of a packet, got %" PRIu64,
                       walk->at - NUMBER, walk->quality);
    }
    walk->at += PACKET_HEAD - (LENGTH + NUMBER) + walk->quality;
    walk->line = walk->quality = 0;
    walk->begun = true;
    return CLEAVE_OK;
}

static enum cleave_status walk_pcap(const struct cv_splitter *splitter,
                                    struct cv_walk *walk, const char *bytes,
                                    size_t length, struct cleave_error *err)
{
    const uint64_t begin = walk->at;

    (void)splitter;
    while (walk->at - begin < length) {
        const unsigned char byte = (unsigned char)bytes[walk->at - begin];

        if (walk->at < NUMBER) {
            CV_TRY(magic_byte(walk, byte, err));
            continue;
        }
        if (walk->line == 0 && walk->begun) {
            walk->boundary = walk->at;
            walk->found++;
            walk->begun = false;
            if (walk->at >= walk->until)
                break;
        }
        CV_TRY(packet_byte(walk, byte, err));
    }
    return CLEAVE_OK;
}

static bool whole_pcap(const struct cv_walk *walk)
{
    return walk->line == 0 && (walk->at == 0 || walk->at >= FILE_HEAD);
}

static bool head_pcap(const struct cv_splitter *splitter, const char *bytes,
                      size_t length, size_t *out)
{
    (void)splitter;
    *out = 0;
    if (length >= NUMBER && form_pcap(bytes, length) == UNKNOWN)
        return true; /* the walk will say so */
    if (length < FILE_HEAD)
        return false;
    *out = FILE_HEAD;
    return true;
}

const struct cv_split_kind cv_split_pcap = {
    .name = "pcap",
    .eats = "pcap",
    .needs_pass = true,
    .leaps = true,
    .frames = true,
    .bare = true,
    .ahead = 1,
    .form = form_pcap,
    .walk = walk_pcap,
    .head = head_pcap,
    .whole = whole_pcap,
};
