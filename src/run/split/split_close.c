/* split_close.c -- the end of a last record that lacks it. SPDX-License-Identifier: MIT
 *
 * A file boundary is a record boundary. Who reads one file behind the other sees none
 * there, though, if the last record of the first is not ended: `y` and `z` are `yz`. */
#include "run/split/split_kind.h"

/* Whether the last line, which has its newline, is empty. */
static bool ends_empty(const char *last, size_t length)
{
    length--;
    if (length > 0 && last[length - 1] == '\r')
        length--;
    return length == 0 || last[length - 1] == '\n';
}

enum cv_closing cv_splitter_closing(const struct cv_splitter *splitter, const char *last,
                                    size_t length)
{
    const struct cv_split_kind *kind = splitter->kind;

    if (splitter->record_bytes > 0 || kind->eats != NULL)
        return CV_CLOSING_NONE; /* what is short of a record cannot be made one */
    if (kind->ends_in_byte && splitter->byte == '\0')
        return last[length - 1] == '\0' ? CV_CLOSING_NONE : CV_CLOSING_ZERO;
    if (last[length - 1] != '\n')
        return kind->parted ? CV_CLOSING_EMPTY : CV_CLOSING_LINE;
    return kind->parted && !ends_empty(last, length) ? CV_CLOSING_LINE : CV_CLOSING_NONE;
}
