/* mpi.hpp -- reductions for MPI programs in C++ (17). SPDX-License-Identifier: MIT
 *
 * The calls of <cleave/mpi.h> for containers and values, with the datatype of their elements.
 * What goes wrong is thrown as cleave::mpi_error, where the communicator's error handler
 * returns (MPI_ERRORS_RETURN).
 *
 *     std::vector<double> sum = cleave::reduce(own, MPI_SUM, 0, MPI_COMM_WORLD, "tree-dyn");
 *     double most = cleave::allreduce(mine, MPI_MAX, MPI_COMM_WORLD);  */
#ifndef CLEAVE_MPI_HPP
#define CLEAVE_MPI_HPP
#include <complex>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/* The classes that MPI once had for C++ would have to be linked with. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <cleave/mpi.h>

namespace cleave {

/* What MPI has to say of an error code. */
class mpi_error : public std::runtime_error {
public:
    explicit mpi_error(int code) : std::runtime_error(text(code)), code_(code) {}
    int code() const noexcept { return code_; }

private:
    static std::string text(int code)
    {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;

        MPI_Error_string(code, text, &length);
        return std::string(text, static_cast<std::size_t>(length));
    }
    int code_;
};

namespace detail {

inline void check(int code)
{
    if (code != MPI_SUCCESS)
        throw mpi_error(code);
}

inline int count_of(std::size_t size)
{
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw mpi_error(MPI_ERR_COUNT);
    return static_cast<int>(size);
}

template <class> inline constexpr bool known = false;

} // namespace detail

/* The datatype of T. For types of your own: specialise it. */
template <class T> MPI_Datatype mpi_type()
{
    if constexpr (std::is_same_v<T, char>)
        return MPI_CHAR;
    else if constexpr (std::is_same_v<T, signed char>)
        return MPI_SIGNED_CHAR;
    else if constexpr (std::is_same_v<T, unsigned char>)
        return MPI_UNSIGNED_CHAR;
    else if constexpr (std::is_same_v<T, short>)
        return MPI_SHORT;
    else if constexpr (std::is_same_v<T, unsigned short>)
        return MPI_UNSIGNED_SHORT;
    else if constexpr (std::is_same_v<T, int>)
        return MPI_INT;
    else if constexpr (std::is_same_v<T, unsigned>)
        return MPI_UNSIGNED;
    else if constexpr (std::is_same_v<T, long>)
        return MPI_LONG;
    else if constexpr (std::is_same_v<T, unsigned long>)
        return MPI_UNSIGNED_LONG;
    else if constexpr (std::is_same_v<T, long long>)
        return MPI_LONG_LONG;
    else if constexpr (std::is_same_v<T, unsigned long long>)
        return MPI_UNSIGNED_LONG_LONG;
    else if constexpr (std::is_same_v<T, float>)
        return MPI_FLOAT;
    else if constexpr (std::is_same_v<T, double>)
        return MPI_DOUBLE;
    else if constexpr (std::is_same_v<T, long double>)
        return MPI_LONG_DOUBLE;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return MPI_C_FLOAT_COMPLEX;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return MPI_C_DOUBLE_COMPLEX;
    else
        static_assert(detail::known<T>, "specialise cleave::mpi_type for this type");
}

/* The result at the root; elsewhere an empty vector. All vectors have the same length. */
template <class T>
std::vector<T> reduce(const std::vector<T> &own, MPI_Op op, int root, MPI_Comm comm,
                      const char *policy = nullptr)
{
    std::vector<T> result;
    int rank = 0;

    detail::check(MPI_Comm_rank(comm, &rank));
    if (rank == root)
        result.resize(own.size());
    detail::check(cleave_mpi_reduce(own.data(), result.data(),
                                    detail::count_of(own.size()), mpi_type<T>(), op, root,
                                    comm, policy));
    return result;
}

template <class T>
std::vector<T> allreduce(const std::vector<T> &own, MPI_Op op, MPI_Comm comm,
                         const char *policy = nullptr)
{
    std::vector<T> result(own.size());

    detail::check(cleave_mpi_allreduce(own.data(), result.data(),
                                       detail::count_of(own.size()), mpi_type<T>(), op,
                                       comm, policy));
    return result;
}

/* Of one value each. */
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
T allreduce(T own, MPI_Op op, MPI_Comm comm, const char *policy = nullptr)
{
    T result{};

    detail::check(cleave_mpi_allreduce(&own, &result, 1, mpi_type<T>(), op, comm, policy));
    return result;
}

/* A reduction that goes on while you compute. It is waited for at the latest when the
 * object goes; the buffers must live as long. */
class pending_reduce {
public:
    template <class T>
    pending_reduce(const std::vector<T> &own, std::vector<T> &result, MPI_Op op, int root,
                   MPI_Comm comm, const char *policy = nullptr)
    {
        detail::check(cleave_mpi_ireduce(own.data(), result.data(),
                                         detail::count_of(own.size()), mpi_type<T>(), op,
                                         root, comm, policy, &request_));
    }
    pending_reduce(const pending_reduce &) = delete;
    pending_reduce &operator=(const pending_reduce &) = delete;
    ~pending_reduce() { cleave_mpi_wait(&request_); }

    bool test()
    {
        int flag = 0;

        detail::check(cleave_mpi_test(&request_, &flag));
        return flag != 0;
    }
    void wait() { detail::check(cleave_mpi_wait(&request_)); }

private:
    cleave_mpi_request *request_ = nullptr;
};

} // namespace cleave
#endif
