/* trace_export.c -- a trace in the formats of other viewers. SPDX-License-Identifier: MIT */
#include "io/trace_export.h"

#include <errno.h>
#include <string.h>

#include "base/fail.h"
#include "base/file_target.h"
#include "io/chrome_trace.h"
#include "io/paje_trace.h"
#include "io/trace_file.h"

enum cv_trace_format cv_trace_format_of(const char *path)
{
    if (cv_name_ends_in(path, ".chrome.json") || cv_name_ends_in(path, ".perfetto.json"))
        return CV_TRACE_CHROME;
    return cv_name_ends_in(path, ".paje") ? CV_TRACE_PAJE : CV_TRACE_OWN;
}

static enum cleave_status write_own(const struct cv_trace_context *context, FILE *file,
                                    struct cleave_error *err)
{
    if (context->platform != NULL)
        return cleave_trace_save(context->trace, context->platform, context->policy,
                                 context->load, file, err);
    return cleave_trace_save_reduce(context->trace, context->nodes, context->policy, file,
                                    err);
}

/* What holds for our own format holds for all. */
static enum cleave_status check_entries(const struct cv_trace_context *context,
                                        struct cleave_error *err)
{
    for (size_t i = 0; i < cleave_trace_count(context->trace); i++) {
        const char *fault =
            cv_trace_fault(cleave_trace_at(context->trace, i), context->platform,
                           context->platform != NULL
                               ? cleave_platform_nworkers(context->platform)
                               : context->nodes);

        if (fault != NULL)
            return cv_fail(err, CLEAVE_EINPUT, "entry %zu of the trace has %s", i, fault);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_trace_export(const struct cv_trace_context *context,
                                   enum cv_trace_format format, FILE *file,
                                   struct cleave_error *err)
{
    if (format == CV_TRACE_OWN)
        return write_own(context, file, err);
    CV_TRY(check_entries(context, err));
    errno = 0;
    if (format == CV_TRACE_CHROME)
        CV_TRY(cv_chrome_write(context, file, err));
    else
        CV_TRY(cv_paje_write(context, file, err));
    if (fflush(file) != 0 || ferror(file))
        return cv_fail(err, CLEAVE_EINPUT, "cannot write: %s",
                       strerror(errno != 0 ? errno : EIO));
    return CLEAVE_OK;
}
