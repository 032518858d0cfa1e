/* item_placeholder.h -- places for items in a command: what "{.}" and its like stand for.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_PLACEHOLDER_H
#define CV_ITEM_PLACEHOLDER_H
#include <stdbool.h>
#include "base/text.h"

/* What is put in a place; of a/b.c.d for instance. */
#define CV_ITEM_PART_MAP(ROW)                                                    \
    ROW(WHOLE, "")               /* a/b.c.d */                                   \
    ROW(NO_ENDING, ".")          /* a/b.c   */                                   \
    ROW(NO_TWO_ENDINGS, "..")    /* a/b     */                                   \
    ROW(NO_THREE_ENDINGS, "...") /* a/b.c.d: there are not as many */            \
    ROW(FILE, "/")               /* b.c.d   */                                   \
    ROW(FOLDER, "//")            /* a       */                                   \
    ROW(STEM, "/.")              /* b.c     */                                   \
    ROW(STEM_OF_TWO, "/..")      /* b       */                                   \
    ROW(STEM_OF_THREE, "/...")   /* b.c.d   */                                   \
    ROW(BEFORE_FILE, "+/")       /* a, but nothing where there is no slash */    \
    ROW(ENDING, "+.")            /* d       */                                   \
    ROW(TWO_ENDINGS, "+..")      /* c.d     */                                   \
    ROW(THREE_ENDINGS, "+...")   /* nothing */                                   \
    ROW(NUMBER, "#")             /* of the command, from 1 */                    \
    ROW(SLOT, "%")               /* of the worker, from 1  */                    \
    ROW(TOTAL, "##")             /* of commands: with --plus, as what follows */ \
    ROW(PADDED, "0#")            /* the number, with zeros before it */          \
    ROW(SLOT_NAMED, "slot")

enum cv_item_part {
#define CV_ITEM_PART_NAME(name, text) CV_ITEM_##name,
    CV_ITEM_PART_MAP(CV_ITEM_PART_NAME)
#undef CV_ITEM_PART_NAME
        CV_ITEM_PARTS
};

/* A place at the beginning of `text`: "{}", "{3/.}", "{-1}", "{#}". */
struct cv_item_placeholder {
    size_t length; /* of what stands for it; 0: there is none */
    int position;  /* of the argument, from 1, or from -1 backwards; 0: all */
    enum cv_item_part part;
};
struct cv_item_placeholder cv_item_place_at(const char *text);
/* The same for "{NAME.}", with the position of that name. */
struct cv_item_placeholder cv_item_place_named(const char *text, const char *name,
                                               int position);

/* Whether it is the same for all arguments: NUMBER, SLOT and their like. */
bool cv_item_part_is_number(enum cv_item_part part);
/* Add the part of a value; not for those. */
void cv_item_part_add(struct cv_text *out, enum cv_item_part part, const char *value);

#endif
