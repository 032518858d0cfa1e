/* bridge_end.c -- the user's end of a link. SPDX-License-Identifier: MIT
 *
 * Four counts of buffers only rise: `filled` by the user and `freed` by the bridge in one
 * direction, `came` from the bridge and `taken` by the user in the other. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_internal.h"

static void ring(int fd)
{
    const uint64_t one = 1;

    /* Fails only if the counter is full: then the event is pending anyway. */
    if (write(fd, &one, sizeof one) < 0)
        return;
}

void cv_bridge_clear_event(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof count) < 0)
        return; /* not set */
}

static struct cv_bridge_end *end_of(struct cleave_channel *channel)
{
    return (struct cv_bridge_end *)channel;
}

/* --- what the user calls ------------------------------------------------------------ */

static void heed(struct cleave_channel *channel)
{
    cv_bridge_clear_event(channel->fd);
}

static void remind(struct cleave_channel *channel)
{
    ring(channel->fd);
}

static const unsigned char *peek(struct cleave_channel *channel, size_t *out_length,
                                 bool *out_ended)
{
    struct cv_bridge_end *end = end_of(channel);
    const struct cv_bridge_buffer *buffer = NULL;

    pthread_mutex_lock(&end->lock);
    if (end->taken != end->came)
        buffer = cv_ring_buffer(end->in, end->taken);
    *out_ended = end->ended && buffer == NULL;
    *out_length = buffer != NULL ? buffer->length : 0;
    pthread_mutex_unlock(&end->lock);
    return buffer != NULL ? buffer->bytes : NULL;
}

static void done(struct cleave_channel *channel)
{
    struct cv_bridge_end *end = end_of(channel);

    pthread_mutex_lock(&end->lock);
    end->taken++;
    pthread_mutex_unlock(&end->lock);
    ring(end->bell);
}

static unsigned char *place(struct cleave_channel *channel, bool *out_deaf)
{
    struct cv_bridge_end *end = end_of(channel);
    unsigned char *bytes = NULL;

    pthread_mutex_lock(&end->lock);
    *out_deaf = end->deaf;
    if (!end->deaf && end->filled - end->freed < CV_BRIDGE_BUFFERS)
        bytes = cv_ring_buffer(end->out, end->filled)->bytes;
    end->wanted = bytes == NULL;
    pthread_mutex_unlock(&end->lock);
    return bytes;
}

static void send_buffer(struct cleave_channel *channel, size_t length)
{
    struct cv_bridge_end *end = end_of(channel);

    pthread_mutex_lock(&end->lock);
    cv_ring_buffer(end->out, end->filled)->length = length;
    end->filled++;
    pthread_mutex_unlock(&end->lock);
    ring(end->bell);
}

static void leave(struct cleave_channel *channel)
{
    struct cv_bridge_end *end = end_of(channel);

    pthread_mutex_lock(&end->lock);
    end->left = true;
    end->taken = end->came;
    pthread_mutex_unlock(&end->lock);
    ring(end->bell);
}

static void say_end(struct cleave_channel *channel)
{
    struct cv_bridge_end *end = end_of(channel);

    pthread_mutex_lock(&end->lock);
    end->left = end->said = true;
    end->taken = end->came;
    pthread_mutex_unlock(&end->lock);
    ring(end->bell);
}

static const struct cv_channel_calls calls = {
    .heed = heed,
    .remind = remind,
    .peek = peek,
    .done = done,
    .place = place,
    .send = send_buffer,
    .leave = leave,
    .end = say_end,
};

/* --- what the bridge calls ---------------------------------------------------------- */

enum cleave_status cv_bridge_end_open(struct cv_bridge_end *end, struct cv_ring *out,
                                      struct cv_ring *in, size_t room, int bell,
                                      struct cleave_error *err)
{
    end->channel = (struct cleave_channel){
        .calls = &calls,
        .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .room = room,
    };
    if (end->channel.fd < 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot open a link: %s", strerror(errno));
    end->out = out;
    end->in = in;
    end->bell = bell;
    pthread_mutex_init(&end->lock, NULL);
    end->open = true;
    return CLEAVE_OK;
}

void cv_bridge_end_close(struct cv_bridge_end *end)
{
    if (!end->open)
        return;
    close(end->channel.fd);
    pthread_mutex_destroy(&end->lock);
    end->open = false;
}

struct cv_end_events cv_bridge_end_look(struct cv_bridge_end *end)
{
    struct cv_end_events events;

    pthread_mutex_lock(&end->lock);
    if (end->left)
        end->taken = end->came;
    events = (struct cv_end_events){ .filled = end->filled,
                                     .taken = end->taken,
                                     .said = end->said };
    pthread_mutex_unlock(&end->lock);
    return events;
}

void cv_bridge_end_tell(struct cv_bridge_end *end, unsigned freed, unsigned came,
                        bool ended, bool deaf)
{
    bool rings;

    pthread_mutex_lock(&end->lock);
    rings = came != end->came || (end->wanted && freed != end->freed) ||
            ended != end->ended || deaf != end->deaf;
    end->freed = freed;
    end->came = came;
    end->ended = ended;
    end->deaf = deaf;
    rings = rings && !end->left;
    pthread_mutex_unlock(&end->lock);
    if (rings)
        ring(end->channel.fd);
}
