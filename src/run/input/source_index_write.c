/* source_index_write.c -- keep boundaries beside a file. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/file_target.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/input/source_internal.h"
#include "run/split/split_kind.h"

static enum cleave_status write_text(const char *name, const struct cv_text *text,
                                     bool force, struct cleave_error *err)
{
    struct cv_new_file out;
    struct cleave_error why;
    char shown[200];
    enum cleave_status status =
        cv_new_file_open(name, force ? 0 : CV_NEW_FILE_ONLY, &out, &why);
    const bool opened = status == CLEAVE_OK;

    if (opened) {
        const int error = cv_write_all(out.fd, text->bytes, text->length);

        if (error != 0)
            status = cv_fail(&why, CLEAVE_EENGINE, "%s", strerror(error));
    }
    if (status == CLEAVE_OK)
        status = cv_new_file_place(&out, &why);
    if (opened)
        cv_new_file_drop(&out);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    return cv_fail(err, status == CLEAVE_EREFUSED ? CLEAVE_EINPUT : status,
                   "cannot write '%s': %s",
                   cv_shown(name, strlen(name), shown, sizeof shown),
                   status == CLEAVE_EREFUSED ? "it exists; use --force to replace it"
                                             : why.text);
}

/* Find all boundaries that are kept, and keep them. */
static enum cleave_status make_index(struct cv_source_file *file, bool force,
                                     uint64_t *slots, struct cleave_error *err)
{
    struct cv_text text = { .bytes = NULL };
    char *name = cv_index_name(file);
    enum cleave_status status = CLEAVE_OK;
    uint64_t cut;

    if (file->size > 1)
        status = cv_cut_file_at(&file->cut, file->size - 1, &cut, err);
    if (status == CLEAVE_OK && cv_cut_file_incomplete_record(&file->cut) != UINT64_MAX)
        status = cv_source_say_torn(file->name, cv_cut_file_incomplete_record(&file->cut),
                                    err);
    cv_index_add_head(&text, file);
    cv_text_add(&text, "slots %" PRIu64 " %zu\n", file->cut.grain,
                file->cut.nslots > 0 ? file->cut.nslots : 1);
    for (size_t i = 0; i < file->cut.nslots; i++)
        cv_text_add(&text, "%" PRIu64 "\n", file->cut.slots[i]);
    if (file->cut.nslots == 0)
        cv_text_add(&text, "0\n");
    if (!text.failed)
        cv_text_add(&text, "end %016" PRIx64 "\n",
                    (uint64_t)XXH3_64bits(text.bytes, text.length));
    *slots += file->cut.nslots;
    if (status == CLEAVE_OK && (name == NULL || text.failed))
        status = cv_fail_memory(err, "an index of the input");
    if (status == CLEAVE_OK)
        status = write_text(name, &text, force, err);
    cv_text_done(&text);
    free(name);
    return status;
}

/* Whether an index would take the place of an input: its name may be a link. */
static enum cleave_status check_inputs(const struct cv_source *source, size_t index,
                                       struct cleave_error *err)
{
    char *name = cv_index_name(&source->files[index]), shown[200];
    struct cv_file_identity identity = { .known = false };
    enum cleave_status status = CLEAVE_OK;

    if (name == NULL)
        return cv_fail_memory(err, "an index of the input");
    cv_file_identify(name, &identity);
    for (size_t i = 0;
         identity.known && identity.name[0] == '\0' && i < cv_source_inputs(source);
         i++) {
        const struct cv_input input = cv_source_input(source, i);

        if ((uint64_t)identity.device == input.device &&
            (uint64_t)identity.number == input.inode)
            status = cv_fail(err, CLEAVE_EINPUT, "cannot write '%s': it is an input",
                             cv_shown(name, strlen(name), shown, sizeof shown));
    }
    free(name);
    return status;
}

enum cleave_status cv_source_index(struct cv_source *source, bool force, uint64_t *slots,
                                   struct cleave_error *err)
{
    *slots = 0;
    if (!cv_index_is_useful(source->splitter))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--index: expected records that are found from the start of a file "
            "on, as of csv or with --records; of %s they are found anywhere",
            source->splitter->kind->name);
    if (source->stream != NULL || source->files[0].borrowed)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--index: expected files that can be read from any place on, got "
                       "a stream");
    for (size_t i = 0; i < source->nfiles; i++)
        CV_TRY(check_inputs(source, i, err));
    for (size_t i = 0; i < source->nfiles; i++) {
        CV_TRY(cv_source_use(source, i, err));
        CV_TRY(make_index(&source->files[i], force, slots, err));
    }
    return CLEAVE_OK;
}
