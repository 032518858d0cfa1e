! cleave_mpi.f90 -- reductions for MPI programs in Fortran. SPDX-License-Identifier: MIT
!
! What a compiler makes of a module is of no use to another one, so this is compiled with
! the program, and linked with libcleave-mpi of the MPI in use. Handles are those of `use mpi`
! and mpif.h; of mpi_f08, their MPI_VAL. `policy` is as in <cleave/mpi.h>, "auto" without it.
!
!     use cleave_mpi
!     call cleave_reduce(own, total, n, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr, "tree-dyn")
module cleave_mpi
    use, intrinsic :: iso_c_binding, only: c_int, c_char, c_null_char
    implicit none
    private
    public :: cleave_reduce, cleave_allreduce, cleave_prepare, cleave_tune

    interface
        function c_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, policy) &
            bind(c, name="cleave_mpi_fortran_reduce") result(code)
            import :: c_int, c_char
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
            !DIR$ IGNORE_TKR sendbuf, recvbuf
            type(*), dimension(*) :: sendbuf, recvbuf
            integer(c_int), value :: count, root
            integer, value :: datatype, op, comm
            character(kind=c_char), intent(in) :: policy(*)
            integer(c_int) :: code
        end function c_reduce

        function c_allreduce(sendbuf, recvbuf, count, datatype, op, comm, policy) &
            bind(c, name="cleave_mpi_fortran_allreduce") result(code)
            import :: c_int, c_char
            !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
            !DIR$ IGNORE_TKR sendbuf, recvbuf
            type(*), dimension(*) :: sendbuf, recvbuf
            integer(c_int), value :: count
            integer, value :: datatype, op, comm
            character(kind=c_char), intent(in) :: policy(*)
            integer(c_int) :: code
        end function c_allreduce

        function c_prepare(comm) bind(c, name="cleave_mpi_fortran_prepare") result(code)
            import :: c_int
            integer, value :: comm
            integer(c_int) :: code
        end function c_prepare

        function c_tune(comm, settings) bind(c, name="cleave_mpi_fortran_tune") result(code)
            import :: c_int, c_char
            integer, value :: comm
            character(kind=c_char), intent(in) :: settings(*)
            integer(c_int) :: code
        end function c_tune
    end interface

contains

    ! MPI_Reduce, by a policy. MPI_IN_PLACE is taken.
    subroutine cleave_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, ierror, policy)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: count, datatype, op, root, comm
        integer, intent(out), optional :: ierror
        character(len=*), intent(in), optional :: policy
        integer :: code

        code = c_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, as_c(policy))
        if (present(ierror)) ierror = code
    end subroutine cleave_reduce

    ! MPI_Allreduce, by a policy.
    subroutine cleave_allreduce(sendbuf, recvbuf, count, datatype, op, comm, ierror, policy)
        !GCC$ ATTRIBUTES NO_ARG_CHECK :: sendbuf, recvbuf
        !DIR$ IGNORE_TKR sendbuf, recvbuf
        type(*), dimension(*) :: sendbuf, recvbuf
        integer, intent(in) :: count, datatype, op, comm
        integer, intent(out), optional :: ierror
        character(len=*), intent(in), optional :: policy
        integer :: code

        code = c_allreduce(sendbuf, recvbuf, count, datatype, op, comm, as_c(policy))
        if (present(ierror)) ierror = code
    end subroutine cleave_allreduce

    ! Set up what the first reduction would set up. Collective.
    subroutine cleave_prepare(comm, ierror)
        integer, intent(in) :: comm
        integer, intent(out), optional :: ierror
        integer :: code

        code = c_prepare(comm)
        if (present(ierror)) ierror = code
    end subroutine cleave_prepare

    ! Settings of a communicator: "segment=64KiB", ... Collective.
    subroutine cleave_tune(comm, settings, ierror)
        integer, intent(in) :: comm
        character(len=*), intent(in) :: settings
        integer, intent(out), optional :: ierror
        integer :: code

        code = c_tune(comm, trim(settings)//c_null_char)
        if (present(ierror)) ierror = code
    end subroutine cleave_tune

    function as_c(policy) result(text)
        character(len=*), intent(in), optional :: policy
        character(len=:), allocatable :: text

        text = "auto"//c_null_char
        if (present(policy)) text = trim(policy)//c_null_char
    end function as_c
end module cleave_mpi
