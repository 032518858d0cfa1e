/* fortran_address.h -- what Fortran passes for a buffer. SPDX-License-Identifier: MIT */
#ifndef CV_FORTRAN_ADDRESS_H
#define CV_FORTRAN_ADDRESS_H

/* An address as C knows it: MPI_IN_PLACE and MPI_BOTTOM of Fortran are those of C. */
void *cv_fortran_address(void *address);

#endif
