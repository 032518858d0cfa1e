/* fuzz_frame.c -- any bytes from a link. SPDX-License-Identifier: MIT
 *
 * As a head, as the payload of every kind of frame, and as a stream of frames, once
 * unchanged and once with corrected checksums, so that later code is reached as well. */
#include <stdint.h>

#include "run/wire/protocol.h"
#include "wire_feed.h"
#include "fuzz_target.h"

enum { STREAM = 60000 };

static void check_head(const uint8_t *data, size_t size)
{
    unsigned char bytes[CV_FRAME_HEAD] = { 0 }, again[CV_FRAME_HEAD];
    struct cv_frame_head head;

    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    if (cv_frame_decode(bytes, &head, NULL) != CLEAVE_OK)
        return;
    require(head.length <= CV_FRAME_MOST);
    cv_frame_encode(&head, again);
    require(memcmp(bytes, again, sizeof bytes) == 0);
}

/* An accepted payload is equal after it is packed again. */
static void check_payloads(const uint8_t *data, size_t size)
{
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_remote_piece piece;
    struct cv_remote_job job;
    struct cv_remote_end end;
    struct cv_hello hello;
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (cv_unpack_hello(data, size, &arena, &hello))
        cv_pack_hello(&packer, &hello);
    else if (cv_unpack_job(data, size, &arena, &job))
        cv_pack_job(&packer, &job);
    if (packer.length > 0)
        require(packer.length == size);
    cv_pack_done(&packer);
    if (cv_unpack_piece(data, size, NULL, &piece))
        cv_pack_piece(&packer, &piece);
    else if (cv_unpack_end(data, size, &arena, &end))
        cv_pack_end(&packer, &end);
    if (packer.length > 0)
        require(packer.length == size);
    cv_pack_done(&packer);
    cv_arena_done(&arena);
}

struct listener {
    struct cv_link link;
    uint64_t bytes;
    int broke;
};

static void take(void *context, const struct cv_frame_head *head,
                 const unsigned char *payload)
{
    struct listener *listener = context;

    require(head->length <= CV_FRAME_MOST);
    for (uint32_t i = 0; i < head->length; i++)
        listener->bytes += payload[i];
}

static void broke(void *context, const struct cleave_error *err)
{
    struct listener *listener = context;

    require(err->text[0] != '\0');
    listener->broke++;
}

/* A message of the stream, which is put together again. */
static void put(struct listener *listener, struct writer *writer, const uint8_t *data,
                size_t size)
{
    if (listener->broke > 0 || size == 0)
        return;
    memcpy(writer->message, data, size);
    writer->length = size;
    writer->waits = true;
    cv_link_receive(&listener->link, 0);
}

/* In two messages, then its end. */
static void check_stream(const uint8_t *data, size_t size, size_t cut)
{
    static struct cv_poller *poller;
    static struct writer writer;
    struct listener listener = { .link = { .in = -1, .out = -1 } };

    if (poller == NULL)
        require(cv_poller_new(&poller, NULL) == CLEAVE_OK);
    feed_open(&writer);
    listener.link.poller = poller;
    listener.link.frame = take;
    listener.link.broke = broke;
    listener.link.context = &listener;
    listener.link.silence_s = 60;
    require(cv_link_open_channel(&listener.link, &writer.channel, NULL) == CLEAVE_OK);
    put(&listener, &writer, data, cut);
    put(&listener, &writer, data + cut, size - cut);
    writer.ended = true;
    if (listener.broke == 0)
        cv_link_receive(&listener.link, 0);
    require(listener.broke == 1);
    cv_link_close(&listener.link);
}

/* The same frames, whole. */
static size_t mend(const uint8_t *data, size_t size, uint8_t *out)
{
    size_t at = 0, done = 0;

    while (size - at > 2 && done + CV_FRAME_HEAD + 255 < STREAM) {
        struct cv_frame_head head = { .type = data[at], .flags = data[at + 1] & 3 };

        head.length = data[at + 2];
        at += 3;
        if (head.length > size - at)
            head.length = (uint32_t)(size - at);
        memcpy(out + done + CV_FRAME_HEAD, data + at, head.length);
        head.checksum = cv_frame_checksum(&head, data + at);
        cv_frame_encode(&head, out + done);
        done += CV_FRAME_HEAD + head.length;
        at += head.length;
    }
    return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t mended[STREAM];
    const size_t some = size < STREAM ? size : STREAM;
    const size_t cut = some > 0 ? data[some - 1] % (some + 1) : 0;

    check_head(data, size);
    check_payloads(data, size);
    check_stream(data, some, cut);
    check_stream(mended, mend(data, size, mended), 0);
    return 0;
}
