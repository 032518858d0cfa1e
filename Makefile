# The usual ways in; CMakeLists.txt does the work. `make help` lists them.
# SPDX-License-Identifier: MIT
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 10
# Most of the longer tests wait for clocks and processes, and leave their core to others.
TESTS_AT_ONCE ?= $(shell expr 2 \* $(JOBS) + 1)
CHAOS ?= 200
SEED ?= 1
TESTS_ON = -DCLEAVE_TESTS=ON -DCLEAVE_WITH_CLP=ON
# These spend their time in a browser, in ssh, in a solver or in SimGrid, or do not start a
# program of ours, or take minutes for what others go through as well.
NOT_UNDER_ASAN = cli/report_page|cli/package|cli/release|cli/container|cli/mpich_suite|cli/slurm|^python$$|cli/run_ssh|vectors/returns_open|vectors/rounds_open|^layers$$|^man/|^mutants$$|cli/mutants|cli/figures|cli/documents|parity_simgrid|parity_open|cli/chaos|unit/test_returns_search|policy/bounds_hold|policy/random_ends|policy/random_truth|policy/random_platforms|cli/reads|cli/usage|cli/returns|cli/plan_reduce|cli/simgrid|cli/replay|cli/tools|cli/report|cli/run_mpi_outputs
# These test texts, scripts and benches, or go through code with larger numbers that others of the same
# room go through with smaller ones: `make check-asan-all` runs them.
NIGHTLY_UNDER_ASAN = cli/benches|cli/run_auto|cli/run_mpi$$|unit/test_led_tree|unit/test_item_loads|cli/compare_html|cli/completions|cli/layers|cli/man_pages|cli/mistakes|cli/price|cli/run_host_words|cli/run_leaders_lines|cli/run_scarce|cli/run_slots|cli/run_summary|policy/conformance|unit/test_gamma_sampler|unit/test_lifespan|unit/test_returns$$|unit/test_returns_bounds|unit/test_rounds$$|unit/test_rounds_links|vectors/reductions_open|preload$$
CONFIGURE = cmake >/dev/null --preset

.NOTPARALLEL:
.PHONY: build demo check check-asan check-asan-all check-tsan check-threads \
        check-clang check-fuzz check-faults check-mpich-suite check-ends check-truth check-platforms chaos chaos-ssh mutants lint lint-changed format bench benches bench-plan bench-reduce \
	bench-returns bench-rounds bench-learn bench-streams bench-run bench-starts bench-item-sizes bench-sim bench-hosts bench-slots bench-scenes bench-leaders bench-recovery bench-mpi bench-smpi bench-mpi-run bench-decode bench-split bench-inflate bench-arrivals bench-ssh accept \
        install uninstall deb check-deb check-bare image check-image dist release check-release wheel site cast clean help tests

build: ## the command build/cleave, the libraries in build/lib/ (the default)
	@tools/install-deps build
	@test -f build/build.ninja || $(CONFIGURE) default
	@cmake --build build -j $(JOBS) --target product

demo: build ## a guided tour
	@test ! -f tools/demo || sh tools/demo

tests:
	@tools/install-deps check
	@$(CONFIGURE) default $(TESTS_ON)
	@cmake --build build -j $(JOBS)

check: tests ## all tests, and the rule of which folder may include which
	@tools/run-tests build -j $(TESTS_AT_ONCE)

check-asan: ## tests of all rooms under AddressSanitizer and UBSan
	@tools/install-deps check
	@$(CONFIGURE) asan $(TESTS_ON)
	@cmake --build build-asan -j $(JOBS)
	@tools/run-tests build-asan -j $(TESTS_AT_ONCE) -E "$(NOT_UNDER_ASAN)|$(NIGHTLY_UNDER_ASAN)"

check-asan-all: check-asan ## and those that only take longer (for a night)
	@tools/run-tests build-asan -j $(TESTS_AT_ONCE) -R "$(NIGHTLY_UNDER_ASAN)"

check-tsan: ## all tests under ThreadSanitizer
	@tools/install-deps check
	@$(CONFIGURE) tsan $(TESTS_ON)
	@cmake --build build-tsan -j $(JOBS)
	@tools/no-aslr tools/run-tests build-tsan -j $(TESTS_AT_ONCE)

check-threads: ## tests that have several threads, under ThreadSanitizer
	@tools/install-deps check
	@$(CONFIGURE) tsan $(TESTS_ON)
	@cmake --build build-tsan -j $(JOBS) --target threaded
	@tools/no-aslr tools/run-tests build-tsan -j $(TESTS_AT_ONCE) -L threads

check-clang: ## build all by clang, warnings are errors; exact cases must come out the same
	@tools/install-deps clang
	@$(CONFIGURE) clang $(TESTS_ON)
	@cmake --build build-clang -j $(JOBS)
	@ctest --test-dir build-clang --output-on-failure -j $(TESTS_AT_ONCE) -R '^vectors/' -E returns_open

check-fuzz: ## every fuzz target for FUZZ_SECONDS (10)
	@tools/install-deps fuzz
	@$(CONFIGURE) fuzz
	@cmake --build build-fuzz -j $(JOBS) --target fuzzers
	@tools/fuzz $(FUZZ_SECONDS)

check-mpich-suite: build ## MPICH's own tests of reductions, preloaded; MPICH_SOURCES is a source tree of MPICH
	@tools/check-mpich-suite "$(MPICH_SOURCES)" build

check-faults: tests ## every allocation and every system call of runs fails in turn, all formats (for a night)
	@CLEAVE_FAULTS=all ctest --test-dir build --output-on-failure --timeout 0 -j $(JOBS) -R '^fault/'

chaos: tests ## CHAOS (200) random faults of SEED (1) happen to runs, and nothing may be lost
	@build/chaos -n $(CHAOS) -s $(SEED) -j $(TESTS_AT_ONCE) --cleave build/cleave

chaos-ssh: build ## the same by ssh, on four hosts in network namespaces; 200 trials take half an hour
	@tests/chaos/ssh-faults $(CHAOS) $(SEED)

check-ends: tests ## PLATFORMS (10000) random platforms from FIRST (0) on: every run ends, no bound is beaten
	@tools/random-platforms build/tests/policy/random_ends $(or $(FIRST),0) $(or $(PLATFORMS),10000) $(JOBS)

check-truth: tests ## PLATFORMS (10000) of all kinds from FIRST (0) on: bounds hold, optimal is optimal; how near plans are
	@rm -f build/gaps; CLEAVE_GAPS=build/gaps tools/random-platforms build/tests/policy/random_truth $(or $(FIRST),0) $(or $(PLATFORMS),10000) $(JOBS)
	@tools/gaps build/gaps

check-platforms: tests ## the same platforms: auto against every policy, which takes far longer
	@tools/random-platforms build/tests/policy/random_platforms $(or $(FIRST),0) $(or $(PLATFORMS),10000) $(JOBS)

mutants: ## break the code one line at a time, and see a test fail each time (AREA=...)
	@tools/install-deps check
	@tools/mutants $(AREA)

lint: ## clang-format, clang-tidy and cppcheck
	@tools/install-deps lint
	@$(CONFIGURE) default $(TESTS_ON)
	@tools/lint build

lint-changed: ## the same, but clang-tidy only on what changed (LINT_BASE=COMMIT, LINT_MOST=40)
	@tools/install-deps lint
	@$(CONFIGURE) default $(TESTS_ON)
	@tools/lint build changed

format: ## lay out all C files as .clang-format says
	@tools/install-deps lint
	@tools/lint --format

benches:
	@tools/install-deps bench
	@test -f build/build.ninja || $(CONFIGURE) default
	@cmake --build build -j $(JOBS) --target benches

bench: benches build ## one table of speed against peers, in less than 15 minutes (bench/bench-table --help)
	@bench/bench-table

bench-plan: benches ## how fast plans are made
	@build/bench_plan

bench-reduce: benches ## how fast reductions are simulated and planned
	@build/bench_reduce
	@build/bench_reduce_plan

bench-returns: benches ## how fast and how good rounds with results are planned
	@build/bench_returns

bench-rounds: benches ## how fast and how good several rounds with results, and their bound, are
	@build/bench_rounds

bench-learn: benches ## sizes learnt on the way, against what nobody can beat (BENCH_LEARN=quick: a part; other: another grid)
	@build/bench_learn

bench-streams: benches ## how fast machines are chosen for streams, and streams simulated
	@build/bench_knapsack
	@build/bench_streams

bench-run: benches build ## real runs beside GNU parallel, xargs and split
	@bash bench/bench_run.sh

bench-starts: benches build ## what one start costs, beside xargs and a bare loop, on all cores
	@bash bench/bench_starts.sh

bench-item-sizes: benches build ## files of very different sizes on workers 4:1, beside xargs and GNU parallel
	@bash bench/bench_item_sizes.sh

bench-decode: build ## compressed inputs, beside bgzip, zstd, xz, lz4 and gzip
	@bash bench/bench_decode.sh

bench-split: build ## how fast records are found by each splitter, and pieces written, beside split and seqkit
	@bash bench/bench_split.sh

bench-inflate: benches ## how fast gzip is decoded, beside libdeflate, zlib and ISA-L, whichever are there
	@build/bench_inflate

bench-sim: benches build ## the native engine against SimGrid
	@build/bench_events
	@build/bench_sim

bench-slots: build ## one master and a thousand slots
	@bash bench/bench_slots.sh

bench-scenes: build ## real runs of CONTENDERS in alternation, as multiples of the ideal (bench/bench-scenes --help)
	@bench/bench-scenes $(or $(CONTENDERS),--contender cleave=build/cleave) $(SCENES)

bench-leaders: build ## sixteen hosts, by one master and behind four leaders
	@bash bench/bench_leaders.sh

bench-recovery: build ## the time that is lost when one of four hosts dies
	@bash bench/bench_recovery.sh

bench-ssh: build ## sixteen machines in network namespaces, beside GNU parallel
	@tools/install-deps bench check
	@bash bench/bench_ssh.sh

bench-hosts: build ## four unequal machines in network namespaces, beside GNU parallel
	@tools/install-deps bench check
	@bash bench/bench_hosts.sh

bench-mpi: build ## reductions of MPI programs beside those of the MPI library
	@tools/install-deps bench check
	@cmake --build build -j $(JOBS) --target benches-mpi
	@sh bench/bench_mpi.sh build

bench-arrivals: build ## reductions under patterns of arrival, Reduce and Allreduce, both MPIs (bench/bench_arrivals.sh)
	@tools/install-deps bench check
	@cmake --build build -j $(JOBS) --target benches-mpi
	@sh bench/bench_arrivals.sh build

bench-smpi: build ## the same library in SimGrid's MPI, 64 and 256 ranks, against its algorithms
	@tools/install-deps bench check
	@sh bench/bench_smpi.sh build

bench-mpi-run: build ## runs under MPI beside local ones
	@tools/install-deps bench check
	@bash bench/bench_mpi_run.sh

accept: tests ## take what the command line prints now as what the tests expect
	@CLEAVE_ACCEPT=1 CLEAVE="$(CURDIR)/build/cleave" CLEAVE_SOURCE_DIR="$(CURDIR)" bats tests/cli

install: build ## into PREFIX (/usr/local), below DESTDIR if given
	@$(CONFIGURE) default -DCMAKE_INSTALL_PREFIX="$(PREFIX)"
	@cmake --build build -j $(JOBS) --target product
	@DESTDIR="$(DESTDIR)" cmake --install build --strip
	@cp build/install_manifest.txt build/installed.txt

uninstall: ## what `make install` has put there from this folder, below DESTDIR if given
	@tools/uninstall build/installed.txt "$(DESTDIR)"

deb: build ## Debian packages, in build/
	@tools/install-deps package
	@$(CONFIGURE) default
	@cmake --build build -j $(JOBS) --target product
	@cd build && cpack -G DEB >cpack.log || { cat cpack.log; exit 1; }
	@ls build/*.deb build/*.ddeb

check-deb: deb ## install the packages in a clean Debian below build/, and try them
	@tools/check-deb build

image: ## a container image with cleave, by podman, buildah or docker (BASE=image to begin with)
	@tools/make-image

check-image: build ## the same from a Debian that is made here, and a run with a worker in it (minutes)
	@BASE=made MASTER="$(CURDIR)/build/cleave" tools/make-image cleave-check

release: ## programs without libraries for x86_64 and aarch64 in build-release/ (PROCESSORS=...)
	@tools/install-deps release
	@JOBS=$(JOBS) tools/make-release build-release $(PROCESSORS)

check-bare: ## make demo and make check in a Debian that has only git and make (as root, 25 minutes)
	@tools/install-deps bare
	@tools/check-bare build-bare

check-release: release check-bare ## are the archives the same bytes when made in another directory? Does a bare Debian pass?
	@tools/check-release build-release $(PROCESSORS)

site: ## the documents as pages with a search: build/site/index.html
	@tools/make-site build/site

cast: build ## record two unequal workers beside xargs again: docs/guide/unequal.cast and .svg
	@tools/make-cast record docs/guide/unequal.cast
	@tools/make-cast svg docs/guide/unequal.cast docs/guide/unequal.svg

wheel: build ## packages for Python in build/: one with the command for this processor, one without
	@cmake --build build -j $(JOBS) --target cleave-portable --target cleave-tls-portable
	@tools/licenses build/licenses || [ $$? = 77 ]
	@tools/make-wheel build
	@tools/make-wheel build "$$(uname -m)" build

dist: ## a release: build/cleave-VERSION.tar.gz
	@tools/make-dist build

clean: ## remove everything that was built
	rm -rf build build-asan build-tsan build-clang build-fuzz build-mutants build-release

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile
