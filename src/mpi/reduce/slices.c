/* slices.c -- each of some ranks combines one slice of all vectors.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/slices.h"

#include "mpi/memory/mpi_try.h"

static bool is_root(const struct cv_slices *slices)
{
    return slices->own == 0;
}

static const char *place(const struct cv_slices *slices, const void *of, int slice)
{
    return (const char *)of + cv_vector_offset(&slices->cut, slice);
}

/* Where the own slice is combined. */
static char *sum(const struct cv_slices *slices)
{
    return slices->r->whole + cv_vector_offset(&slices->cut, slices->own);
}

static char *berth(const struct cv_slices *slices, int i)
{
    const size_t span = (cv_vector_segment_span(&slices->cut) + 63) / 64 * 64;

    return slices->berths + (size_t)i * span - slices->cut.lower;
}

static int receive(struct cv_slices *slices, int i)
{
    slices->posted++;
    return PMPI_Irecv(berth(slices, i), cv_vector_part(&slices->cut, slices->own),
                      slices->cut.type, MPI_ANY_SOURCE, CV_TAG_SLICE,
                      slices->r->state->comm, &slices->requests[i]);
}

static int keep(struct cv_slices *slices)
{
    struct cv_reduction *r = slices->r;
    const size_t span = (cv_vector_segment_span(&slices->cut) + 63) / 64 * 64;

    CV_MPI_TRY(cv_reduction_whole(r));
    slices->berths = cv_scratch_get(&r->state->berths, span * CV_SLICE_BERTHS);
    if (slices->berths == NULL)
        return MPI_ERR_NO_MEM;
    if (!r->in_place)
        CV_MPI_TRY(cv_vector_copy(&r->vector, place(slices, r->send, slices->own),
                                  sum(slices), cv_vector_part(&slices->cut, slices->own),
                                  r->state->comm, r->state->rank));
    slices->left += r->state->size - 1;
    for (int i = 0; i < CV_SLICE_BERTHS && slices->posted < r->state->size - 1; i++)
        CV_MPI_TRY(receive(slices, i));
    return MPI_SUCCESS;
}

/* Not all begin with the same keeper. */
static int send_slices(struct cv_slices *slices)
{
    struct cv_reduction *r = slices->r;
    const int count = slices->cut.segments;

    for (int k = 0; k < count; k++) {
        const int slice = (r->state->rank + k) % count;

        if (slice == slices->own)
            continue;
        slices->sending++;
        slices->left++;
        CV_MPI_TRY(PMPI_Isend(place(slices, r->send, slice),
                              cv_vector_part(&slices->cut, slice), slices->cut.type,
                              slices->keepers[slice], CV_TAG_SLICE, r->state->comm,
                              &slices->requests[CV_SLICE_BERTHS + slice]));
    }
    return MPI_SUCCESS;
}

int cv_slices_begin(struct cv_slices *slices, struct cv_reduction *r, const int *keepers,
                    int count, MPI_Request *requests)
{
    *slices = (struct cv_slices){
        .r = r, .cut = r->vector, .keepers = keepers, .own = -1, .requests = requests
    };
    cv_vector_slice(&slices->cut, count);
    for (int i = 0; i < CV_SLICE_REQUESTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < count; i++)
        if (keepers[i] == r->state->rank)
            slices->own = i;
    if (slices->own >= 0)
        CV_MPI_TRY(keep(slices));
    if (slices->own > 0)
        slices->left++; /* the result */
    if (is_root(slices))
        slices->left += count - 1;
    return send_slices(slices);
}

/* Where the root's own values lie in place the result takes their room, so not before they
 * have been sent. */
static int await_results(struct cv_slices *slices)
{
    for (int i = 1; i < slices->cut.segments; i++)
        CV_MPI_TRY(PMPI_Irecv((char *)slices->r->recv + cv_vector_offset(&slices->cut, i),
                              cv_vector_part(&slices->cut, i), slices->cut.type,
                              slices->keepers[i], CV_TAG_RESULT, slices->r->state->comm,
                              &slices->requests[CV_SLICE_BERTHS + CV_MOST_SLICES + i]));
    return MPI_SUCCESS;
}

static int combine(struct cv_slices *slices, int i)
{
    struct cv_reduction *r = slices->r;
    const int count = cv_vector_part(&slices->cut, slices->own);

    CV_MPI_TRY(cv_reduction_combine(r, berth(slices, i), sum(slices), count));
    slices->arrived++;
    if (slices->posted < r->state->size - 1)
        return receive(slices, i);
    if (slices->arrived < r->state->size - 1 || is_root(slices))
        return MPI_SUCCESS;
    return PMPI_Isend(sum(slices), count, slices->cut.type, r->root, CV_TAG_RESULT,
                      r->state->comm,
                      &slices->requests[CV_SLICE_BERTHS + CV_MOST_SLICES]);
}

int cv_slices_take(struct cv_slices *slices, int which)
{
    slices->left--;
    if (which < CV_SLICE_BERTHS)
        return combine(slices, which);
    if (which < CV_SLICE_BERTHS + CV_MOST_SLICES && --slices->sending == 0 &&
        is_root(slices))
        return await_results(slices);
    return MPI_SUCCESS;
}

int cv_slices_run(struct cv_reduction *r, const int *keepers, int count,
                  MPI_Request *requests)
{
    struct cv_slices slices;
    int which;

    CV_MPI_TRY(cv_slices_begin(&slices, r, keepers, count, requests));
    while (!cv_slices_are_done(&slices)) {
        CV_MPI_TRY(PMPI_Waitany(CV_SLICE_REQUESTS, requests, &which, MPI_STATUS_IGNORE));
        CV_MPI_TRY(cv_slices_take(&slices, which));
    }
    return MPI_SUCCESS;
}
