! plain.f90 -- a Fortran program that knows nothing of cleave, for the preload.
! SPDX-License-Identifier: MIT
program plain
    use mpi
    implicit none
    integer :: rank, n, code, i
    double precision :: own(100), total(100)

    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, n, code)
    do i = 1, 100
        own(i) = rank + i
    end do
    call MPI_Reduce(own, total, 100, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, code)
    do i = 1, 100
        if (rank == 0 .and. total(i) /= n * (n - 1) / 2 + n * i) call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end do
    total = own
    call MPI_Allreduce(MPI_IN_PLACE, total, 100, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, code)
    do i = 1, 100
        if (total(i) /= n - 1 + i) call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end do
    if (rank == 0) print '(a)', 'fortran is right'
    call MPI_Finalize(code)
end program plain
