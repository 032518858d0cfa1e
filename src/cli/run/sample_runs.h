/* sample_runs.h -- run a command on parts of a sample of its input. SPDX-License-Identifier: MIT
 *
 * The sample is the beginning of the input, cut into records as by cleave run. The command gets parts of
 * it on standard input and runs in an empty temporary directory, which is removed at the end. */
#ifndef CV_SAMPLE_RUNS_H
#define CV_SAMPLE_RUNS_H
#include <limits.h>
#include "cli/run/run_parts.h"
#include "run/slot/slot.h"

struct cv_sample_output {
    char *bytes; /* owned */
    size_t length;
    char failed[64]; /* how the command failed; "": it succeeded */
};

/* Two ranges of records, from 0, that are one input in this order: neighbours, or the same records
 * twice, or the second before the first. */
struct cv_record_pair {
    size_t begin[2], end[2];
};

/* `call`, `until_s`, `no_header` and `nowhere` (-1) are set by the user before cv_sample_runs_open, and
 * the slot is initialized. The rest is read only. */
struct cv_sample_runs {
    const struct cv_call *call; /* borrowed: of a verb with struct cv_run_options */
    const struct cv_run_options *values; /* borrowed */
    double until_s;                      /* when the last run has to end */
    bool no_header;               /* the header of a format that was chosen is a record */
    bool headed;                  /* the input has a header, which every piece gets */
    struct cv_splitter *splitter; /* owned, as all below */
    struct cv_source *source;
    struct cv_poller *poller;
    struct cv_ordered_output *outputs;
    struct cv_command command;
    bool has_command;
    char directory[PATH_MAX]; /* "": not made */
    int nowhere;              /* /dev/null; -1 */

    struct cv_slot slot;
    enum cv_slot_end end;
    bool over, broken;
    struct cleave_error broke; /* if `broken` */
    bool timed_out;            /* the last run was stopped at until_s */
    int signal;                /* that stops the runs; 0: none */

    struct cv_piece sample;
    uint64_t *bounds; /* offsets in the file of all records, and the end */
    size_t nrecords, room;
    struct cv_sample_output header; /* output of the command for the header alone */
};

void cv_sample_output_done(struct cv_sample_output *output);

enum cleave_status cv_sample_runs_open(struct cv_sample_runs *runs,
                                       struct cleave_error *err);
/* Also after a failure. */
void cv_sample_runs_close(struct cv_sample_runs *runs);
/* Take the sample. */
enum cleave_status cv_sample_runs_take(struct cv_sample_runs *runs,
                                       struct cleave_error *err);

/* Run a command on the concatenated parts. `loud`: its standard error is shown. Fails if the command
 * cannot be started or is stopped, not if it fails. */
enum cleave_status cv_sample_run_command(struct cv_sample_runs *runs,
                                         const struct cv_command *command,
                                         const struct cv_part *parts, size_t count,
                                         bool loud, struct cv_sample_output *out,
                                         struct cleave_error *err);
/* Run the command on records [begin, end). */
enum cleave_status cv_sample_run_records(struct cv_sample_runs *runs, size_t begin,
                                         size_t end, bool loud,
                                         struct cv_sample_output *out,
                                         struct cleave_error *err);
/* Run the command on both ranges as one input, with one header. */
enum cleave_status cv_sample_run_pair(struct cv_sample_runs *runs,
                                      const struct cv_record_pair *pair,
                                      struct cv_sample_output *out,
                                      struct cleave_error *err);
/* Run the command on the header alone, if there is one. cleave run writes this output once. */
enum cleave_status cv_sample_run_header(struct cv_sample_runs *runs,
                                        struct cleave_error *err);

#endif
