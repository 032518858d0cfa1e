# A Spack recipe, for a repository of your own: put it into packages/cleave/.
# SPDX-License-Identifier: MIT
#
# Checked only against a stand-in for Spack's names (tests/cli/package.bats). There is no address to download from:
# `spack develop --path /path/to/source cleave@0.2.0` and `spack install cleave` build from a clone.
from spack.package import *


class Cleave(CMakePackage):
    """Shares one large job over workers that are not equal, so that all of them finish
    together: plans, simulates and runs, and reduces results along the best tree."""

    homepage = "https://cleave.example.org"

    license("MIT", checked_by="the cleave developers")

    version("0.2.0")

    variant("mpi", default=False, description="reductions and runs of MPI programs")
    variant("simgrid", default=False, description="the SimGrid engine")

    depends_on("c", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("random123", type="build")
    depends_on("libyaml")
    depends_on("sqlite")
    depends_on("xxhash")
    depends_on("zstd")
    depends_on("xz")
    depends_on("lz4")
    depends_on("bzip2")
    depends_on("libdeflate")
    depends_on("pcre2+jit")
    depends_on("openssl@3:")
    depends_on("mpi", when="+mpi")
    depends_on("simgrid", when="+simgrid")

    conflicts("platform=darwin", msg="cleave uses calls of Linux")
    conflicts("platform=windows", msg="cleave uses calls of Linux")

    generator("ninja")
    build_targets = ["product"]
    sanity_check_is_file = ["bin/cleave", "include/cleave/cleave.h"]

    def cmake_args(self):
        return [self.define("CLEAVE_WERROR", False), self.define("CMAKE_INSTALL_LIBDIR", "lib")]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_run(self):
        cleave = Executable(self.prefix.bin.cleave)
        cleave("sample", "numbers", "-o", "try")
        cleave("run", "-q", "-i", "try/numbers", "--reduce", "sum", "--", "wc", "-l")
