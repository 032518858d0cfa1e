#!/bin/sh
# launch.sh -- run an MPI program as a test. SPDX-License-Identifier: MIT
#
# usage: launch.sh FLAVOUR RANKS [-- OPTION...] PROGRAM [ARGUMENT...]
#
# FLAVOUR is openmpi or mpich. Options up to the program go to mpirun. LAUNCH_ENV, if set,
# is a list of NAME=VALUE for the ranks. Exit status 77: that MPI is not here.
flavour=$1 ranks=$2
shift 2
mpirun=$(command -v "mpirun.$flavour") || {
    echo "mpirun.$flavour is not here" >&2
    exit 77
}
case $flavour in
openmpi)
    # Several ranks share a core here, and containers have no user but root.
    set -- --allow-run-as-root --oversubscribe -n "$ranks" "$@"
    ;;
mpich)
    set -- -n "$ranks" "$@"
    ;;
esac
if [ -n "$LAUNCH_ENV" ]; then
    for setting in $LAUNCH_ENV; do
        export "$setting"
        test "$flavour" = mpich || set -- -x "${setting%%=*}" "$@"
    done
fi
exec "$mpirun" "$@"
