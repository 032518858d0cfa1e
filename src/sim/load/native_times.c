/* native_times.c -- when an activity ends under noise and profiles, and the pool of chunks.
 * SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "base/fail.h"
#include "model/platform/profile.h"
#include "sim/load/native_queues.h"

double cv_native_end_of(const struct native *native, const struct chunk *chunk,
                        enum cv_activity activity, double latency_s, double work_s)
{
    double factor = 1;
    struct cleave_profile profile;

    if (native->noisy)
        factor = cv_noise_factor(&native->run->noise, activity,
                                 native->run->items ? 0 : chunk->worker, chunk->nth,
                                 chunk->number);
    if (native->steady)
        return native->now_s + factor * (latency_s + work_s);
    profile = cv_profile_of(native->platform, chunk->worker);
    return cv_profile_end(&profile, native->now_s + factor * latency_s, factor * work_s);
}

enum cleave_status cv_native_new_chunk(struct native *native, uint32_t *out,
                                       struct cleave_error *err)
{
    if (native->free_chunk != NONE) {
        *out = native->free_chunk;
        native->free_chunk = native->chunks[*out].next;
        return CLEAVE_OK;
    }
    if (native->nchunks >= NONE ||
        !CV_ROOM(native->chunks, &native->chunk_room, native->nchunks + 1))
        return cv_fail_memory(err, "the chunks under way");
    *out = (uint32_t)native->nchunks++;
    return CLEAVE_OK;
}
