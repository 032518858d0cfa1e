! faces.f90 -- the calls from Fortran, with handles of mpi_f08. SPDX-License-Identifier: MIT
program faces
    use mpi_f08
    use cleave_mpi
    implicit none
    integer :: rank, n, code, i
    double precision :: own(3000), total(3000), one

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, n)
    call cleave_tune(MPI_COMM_WORLD%MPI_VAL, "segment=4KiB ")
    call cleave_prepare(MPI_COMM_WORLD%MPI_VAL, code)
    do i = 1, 3000
        own(i) = rank + i
    end do
    call cleave_reduce(own, total, 3000, MPI_DOUBLE_PRECISION%MPI_VAL, MPI_SUM%MPI_VAL, 0, &
        MPI_COMM_WORLD%MPI_VAL, code, "tree-dyn ")
    if (code /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1)
    do i = 1, 3000
        if (rank == 0 .and. total(i) /= n * (n - 1) / 2 + n * i) call MPI_Abort(MPI_COMM_WORLD, 1)
    end do
    total = own
    call cleave_allreduce(MPI_IN_PLACE, total, 3000, MPI_DOUBLE_PRECISION%MPI_VAL, MPI_MAX%MPI_VAL, &
        MPI_COMM_WORLD%MPI_VAL, policy="ordered-tree-dyn")
    do i = 1, 3000
        if (total(i) /= n - 1 + i) call MPI_Abort(MPI_COMM_WORLD, 1)
    end do
    one = rank
    call cleave_allreduce(one, total, 1, MPI_DOUBLE_PRECISION%MPI_VAL, MPI_SUM%MPI_VAL, &
        MPI_COMM_WORLD%MPI_VAL)
    if (total(1) /= n * (n - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 1)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call cleave_reduce(own, total, 1, MPI_DOUBLE_PRECISION%MPI_VAL, MPI_SUM%MPI_VAL, 0, &
        MPI_COMM_WORLD%MPI_VAL, code, "tree-din")
    if (code == MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1)
    if (rank == 0) print '(a)', 'the face is right'
    call MPI_Finalize()
end program faces
