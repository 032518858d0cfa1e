# A Spack recipe, for a repository of your own: put it into packages/cleave/.
# SPDX-License-Identifier: MIT
#
# Untried: it was written after Spack's documentation, on a machine without Spack. There is no
# address to download from yet: `spack develop --path /path/to/source cleave@0.2.0` builds from
# a clone.
from spack.package import *


class Cleave(CMakePackage):
    """Shares one large job over workers that are not equal, so that all of them finish
    together: plans, simulates and runs, and reduces results along the best tree."""

    license("MIT")

    version("0.2.0")

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

    generator("ninja")
    build_targets = ["product"]

    def cmake_args(self):
        return [self.define("CLEAVE_WERROR", False)]
