/* wire_feed.h -- frames out of fuzzed bytes, into a link without descriptors.
 * SPDX-License-Identifier: MIT
 *
 * The frames have right checksums, so that later code is reached. */
#ifndef WIRE_FEED_H
#define WIRE_FEED_H
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "run/wire/frame.h"
#include "run/wire/link.h"
#include "fuzz_target.h"

/* --- fuzzed bytes ------------------------------------------------------------------------- */

struct bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t next_byte(struct bytes *bytes)
{
    if (bytes->left == 0)
        return 0;
    bytes->left--;
    return *bytes->at++;
}

static inline uint64_t next_number(struct bytes *bytes)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number = number << 8 | next_byte(bytes);
    return number;
}

/* Up to `most` of them. */
static inline const uint8_t *next_some(struct bytes *bytes, size_t max, size_t *length)
{
    const uint8_t *at = bytes->at;

    *length = bytes->left < max ? bytes->left : max;
    bytes->at += *length;
    bytes->left -= *length;
    return at;
}

/* --- a channel ---------------------------------------------------------------------------- */

/* One message to be read at a time; sent frames are dropped. */
struct writer {
    struct cleave_channel channel;
    unsigned char message[CV_FRAME_HEAD + CV_FRAME_MOST],
        sent[CV_FRAME_HEAD + (64 << 10)];
    size_t length;
    bool waits, ended, left;
    /* Called when no input waits; may be NULL. */
    void (*more)(void *context);
    void *context;
};

static inline struct writer *feed_of(struct cleave_channel *channel)
{
    return (struct writer *)channel; /* it is its first member */
}

static inline void feed_nothing(struct cleave_channel *channel)
{
    (void)channel;
}

static inline const unsigned char *feed_peek(struct cleave_channel *channel,
                                             size_t *out_length, bool *out_ended)
{
    struct writer *writer = feed_of(channel);

    if (!writer->waits && !writer->ended && writer->more != NULL)
        writer->more(writer->context);
    *out_ended = !writer->waits && writer->ended;
    *out_length = writer->length;
    return writer->waits ? writer->message : NULL;
}

static inline void feed_done(struct cleave_channel *channel)
{
    feed_of(channel)->waits = false;
}

static inline unsigned char *feed_place(struct cleave_channel *channel, bool *out_deaf)
{
    (void)out_deaf;
    return feed_of(channel)->sent;
}

static inline void feed_send(struct cleave_channel *channel, size_t length)
{
    struct writer *writer = feed_of(channel);
    struct cv_frame_head head;

    /* Sent frames are valid as well. */
    require(length >= CV_FRAME_HEAD && length <= channel->room);
    require(cv_frame_decode(writer->sent, &head, NULL) == CLEAVE_OK);
    require(head.length + CV_FRAME_HEAD == length);
}

static inline void feed_leave(struct cleave_channel *channel)
{
    feed_of(channel)->left = true;
}

static const struct cv_channel_calls feed_calls = {
    .heed = feed_nothing,
    .remind = feed_nothing,
    .peek = feed_peek,
    .done = feed_done,
    .place = feed_place,
    .send = feed_send,
    .leave = feed_leave,
    .end = feed_nothing,
};

/* Its descriptor is always readable. */
static inline void feed_open(struct writer *writer)
{
    if (writer->channel.calls == NULL) {
        writer->channel.fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
        require(writer->channel.fd >= 0);
    }
    writer->channel.calls = &feed_calls;
    writer->channel.room = sizeof writer->sent;
    writer->waits = writer->ended = writer->left = false;
    writer->more = NULL;
}

/* A frame is the next message; checksums are made here. */
static inline void feed_frame(struct writer *writer, struct cv_frame_head head,
                              const void *payload, size_t length)
{
    head.length = (uint32_t)length;
    head.checksum = cv_frame_checksum(&head, payload);
    cv_frame_encode(&head, writer->message);
    if (length > 0)
        memcpy(writer->message + CV_FRAME_HEAD, payload, length);
    writer->length = CV_FRAME_HEAD + length;
    writer->waits = true;
}

#endif
