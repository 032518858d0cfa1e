/* partial_transfer.c -- buffers of a reduction, and transfers of partials.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/reduction.h"

int cv_reduction_combine(struct cv_reduction *r, const void *in, void *inout, int count)
{
    const struct cv_vector *vector = &r->vector;
    double since = PMPI_Wtime();
    int code = PMPI_Reduce_local(in, inout, count, vector->type, vector->op);

    r->combine_s += PMPI_Wtime() - since;
    r->combined_bytes += vector->bytes * count / vector->count;
    return code;
}

int cv_reduction_recv_buffers(struct cv_reduction *r)
{
    size_t span = cv_vector_segment_span(&r->vector);

    if (r->recv_buffers == NULL)
        r->recv_buffers = cv_scratch_get(&r->state->recv_buffers,
                                         (span + 63) / 64 * 64 * (CV_DEPTH + 1));
    return r->recv_buffers != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

char *cv_reduction_recv_buffer(const struct cv_reduction *r, long i)
{
    size_t span = (cv_vector_segment_span(&r->vector) + 63) / 64 * 64;

    return r->recv_buffers + (size_t)(i % (CV_DEPTH + 1)) * span - r->vector.lower;
}

int cv_reduction_whole(struct cv_reduction *r)
{
    if (r->whole == NULL && r->state->rank == r->root)
        r->whole = r->recv;
    return r->whole != NULL ? MPI_SUCCESS
                            : cv_scratch_vector(&r->state->whole, &r->vector, &r->whole);
}

/* --- transfers ---------------------------------------------------------------------- */

enum { HEADER_INTS = sizeof(struct cv_header) / sizeof(int) };

/* The receiver waits for it, so this does not block long. */
int cv_partial_transfer_tell(struct cv_reduction *r, int to, enum cv_header_kind kind,
                             int lo, int hi)
{
    const struct cv_header header = { (int)kind, lo, hi };

    return PMPI_Send(&header, HEADER_INTS, MPI_INT, to, CV_TAG_HEADER, r->state->comm);
}

int cv_partial_transfer_listen(struct cv_reduction *r, MPI_Request **out)
{
    *out = &r->request;
    return PMPI_Irecv(&r->header, HEADER_INTS, MPI_INT, MPI_ANY_SOURCE, CV_TAG_HEADER,
                      r->state->comm, &r->request);
}

static void stream_begin(struct cv_segment_stream *stream, int peer)
{
    stream->peer = peer;
    stream->posted = stream->done = 0;
    stream->waiting = false;
}

void cv_partial_transfer_send(struct cv_reduction *r, int to)
{
    stream_begin(&r->out, to);
}

/* Send the first `ready` segments of `from`. */
static int post_sends(struct cv_reduction *r, const char *from, int ready)
{
    const struct cv_vector *vector = &r->vector;
    struct cv_segment_stream *stream = &r->out;

    while (stream->posted < ready && stream->posted < stream->done + CV_DEPTH) {
        int i = stream->posted++;

        CV_MPI_TRY(PMPI_Isend(from + cv_vector_offset(vector, i),
                              cv_vector_part(vector, i), vector->type, stream->peer,
                              CV_TAG_DATA, r->state->comm, &stream->ring[i % CV_DEPTH]));
    }
    return MPI_SUCCESS;
}

/* Wait for the oldest segment of a stream. */
static MPI_Request *await(struct cv_segment_stream *stream)
{
    stream->waiting = true;
    return &stream->ring[stream->done % CV_DEPTH];
}

int cv_partial_transfer_send_on(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_segment_stream *stream = &r->out;

    if (stream->waiting)
        stream->done++;
    stream->waiting = false;
    CV_MPI_TRY(post_sends(r, r->held, r->vector.segments));
    *out = stream->done < r->vector.segments ? await(stream) : NULL;
    return MPI_SUCCESS;
}

int cv_partial_transfer_receive(struct cv_reduction *r, int from, enum cv_side side)
{
    bool keeps_right = r->keeps_order && side == CV_RIGHT;

    stream_begin(&r->in, from);
    if (!r->writable) {
        CV_MPI_TRY(cv_reduction_whole(r));
        if (!r->keeps_order || keeps_right) {
            r->in.way = CV_WAY_INTO_WHOLE;
            return MPI_SUCCESS;
        }
        CV_MPI_TRY(cv_vector_copy(&r->vector, r->held, r->whole, r->vector.count,
                                  r->state->comm, r->state->rank));
        r->held = r->whole;
        r->writable = true;
    }
    r->in.way = keeps_right ? CV_WAY_AND_BACK : CV_WAY_INTO_HELD;
    return cv_reduction_recv_buffers(r);
}

/* Where segment i arrives. */
static char *arrives_at(const struct cv_reduction *r, int i)
{
    if (r->in.way == CV_WAY_INTO_WHOLE)
        return r->whole + cv_vector_offset(&r->vector, i);
    return cv_reduction_recv_buffer(r, i);
}

static int combine_segment(struct cv_reduction *r, int i)
{
    int count = cv_vector_part(&r->vector, i);
    MPI_Aint offset = cv_vector_offset(&r->vector, i);
    char *arrived = arrives_at(r, i);

    if (r->in.way == CV_WAY_INTO_HELD)
        /* `held` is writable in this case. */
        return cv_reduction_combine(r, arrived, (char *)r->held + offset, count);
    CV_MPI_TRY(cv_reduction_combine(r, r->held + offset, arrived, count));
    if (r->in.way == CV_WAY_INTO_WHOLE)
        return MPI_SUCCESS;
    return cv_vector_copy(&r->vector, arrived, (char *)r->held + offset, count,
                          r->state->comm, r->state->rank);
}

/* Combine the segment that was waited for, and post further receives. */
static int take_segments(struct cv_reduction *r)
{
    const struct cv_vector *vector = &r->vector;
    struct cv_segment_stream *stream = &r->in;

    if (stream->waiting)
        CV_MPI_TRY(combine_segment(r, stream->done++));
    stream->waiting = false;
    while (stream->posted < vector->segments &&
           stream->posted < stream->done + CV_DEPTH) {
        int i = stream->posted++;

        CV_MPI_TRY(PMPI_Irecv(arrives_at(r, i), cv_vector_part(vector, i), vector->type,
                              stream->peer, CV_TAG_DATA, r->state->comm,
                              &stream->ring[i % CV_DEPTH]));
    }
    return MPI_SUCCESS;
}

int cv_partial_transfer_receive_on(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_segment_stream *stream = &r->in;

    CV_MPI_TRY(take_segments(r));
    *out = stream->done < r->vector.segments ? await(stream) : NULL;
    if (*out == NULL && stream->way == CV_WAY_INTO_WHOLE) {
        r->held = r->whole;
        r->writable = true;
    }
    return MPI_SUCCESS;
}

bool cv_partial_transfer_may_overlap(const struct cv_reduction *r)
{
    const struct cv_vector *vector = &r->vector;
    double d, c;

    if (!r->in.waiting || r->in.done != vector->segments - 1 ||
        (!r->state->costs.known && r->state->settings.transfer_s == 0))
        return false;
    cv_link_costs_hop(r->state, vector->bytes, &d, &c);
    if (r->combined_bytes > 0)
        c = r->combine_s / r->combined_bytes * vector->bytes;
    return c * cv_vector_part(vector, vector->segments - 1) / vector->count <= d;
}

int cv_partial_transfer_forward_on(struct cv_reduction *r, MPI_Request **out)
{
    const char *from = r->in.way == CV_WAY_INTO_WHOLE ? r->whole : r->held;
    struct cv_segment_stream *to = &r->out;

    if (to->waiting)
        to->done++;
    to->waiting = false;
    CV_MPI_TRY(take_segments(r));
    CV_MPI_TRY(post_sends(r, from, r->in.done));
    if (to->posted < r->in.done || r->in.done == r->vector.segments)
        *out = to->done < r->vector.segments ? await(to) : NULL;
    else
        *out = await(&r->in);
    return MPI_SUCCESS;
}
