/* page_text.h -- the script and the style of reports. SPDX-License-Identifier: MIT */
#ifndef CV_PAGE_TEXT_H
#define CV_PAGE_TEXT_H

/* Lines, each with its newline; the last is NULL. */
extern const char *const cv_page_style[];
extern const char *const cv_page_script[];

#endif
