# Everything below works on a machine that has R (>= 4.1, with its recommended packages), a C++17 compiler and make.
# R packages that are missing are installed first, into a library of the user if the site's is not writable.

RSCRIPT ?= Rscript
# One BLAS thread: small factorisations on shared cores are faster, and timings mean something.
ONE_THREAD = OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help demo test fuzz prose check check-quick bench docs site install sanitize sanitize-quick mutants clean

help:
	@echo "make demo      classify the ionosphere data: progress, summary, bound, test scores, two plots"
	@echo "make test      run all tests; the last line counts them"
	@echo "make fuzz      fit N=2000 random models from seed SEED=1 on, hostile data among them, and count what fails"
	@echo "make prose     list words that no dictionary has and phrases that nobody says, in help, vignettes and messages"
	@echo "make check     the same, then R CMD build and R CMD check --as-cran --no-manual (needs pandoc for the vignettes)"
	@echo "make check-quick  R CMD check without words, tests and vignettes"
	@echo "make bench     run the measurements in bench/ (FILES=\"a.R b.R\" for some of them)"
	@echo "make docs      rewrite help pages, NAMESPACE, RcppExports and Makevars"
	@echo "make site      build the web site in site/ and check its links (needs pandoc; five to ten minutes)"
	@echo "make install   build and install galvi and what it needs"
	@echo "make sanitize  run the tests of a build with sanitizers and assertions on (FILES=\"a b\" for some; hours)"
	@echo "make sanitize-quick  the same for a few parts of the core and a few files, after \`make test\`: some minutes"
	@echo "make mutants   break the package in one place after the other: do the tests notice? (NAMES=\"a b\" for some; hours)"
	@echo "make clean     remove what building left in the tree"

demo:
	@$(RSCRIPT) tools/install.R
	@$(RSCRIPT) tools/demo.R

test:
	@$(RSCRIPT) tools/install.R test
	@$(ONE_THREAD) $(RSCRIPT) tools/test.R $(FILES)

# A hundred models take ten to twenty minutes; WORKERS=2 uses two cores.
N ?= 2000
SEED ?= 1
WORKERS ?= 1

fuzz:
	@$(RSCRIPT) tools/install.R test
	@$(ONE_THREAD) $(RSCRIPT) tools/fuzz.R --models $(N) --seed $(SEED) --workers $(WORKERS)

prose:
	@$(RSCRIPT) tools/prose.R

check:
	@$(RSCRIPT) tools/check.R

check-quick:
	@$(ONE_THREAD) $(RSCRIPT) tools/check.R quick

bench:
	@$(RSCRIPT) tools/install.R bench
	@$(ONE_THREAD) OMP_NUM_THREADS=1 $(RSCRIPT) tools/bench.R $(FILES)

docs:
	@$(RSCRIPT) tools/docs.R

site:
	@$(RSCRIPT) tools/install.R
	@$(ONE_THREAD) $(RSCRIPT) tools/site.R

install:
	@$(RSCRIPT) tools/install.R

sanitize:
	@$(ONE_THREAD) $(RSCRIPT) tools/sanitize.R $(FILES)

# Takes the objects that `make test` left; "$" ends a name, so that one file is meant.
sanitize-quick: FILES = '^expectation$$' '^likelihood$$' '^numeric$$' '^class-points$$'
sanitize-quick:
	@$(ONE_THREAD) $(RSCRIPT) tools/sanitize.R quick $(FILES)

mutants:
	@$(RSCRIPT) tools/install.R test
	@$(ONE_THREAD) $(RSCRIPT) tools/mutants/run.R $(NAMES)

clean:
	find src tests/probes '(' -name '*.o' -o -name '*.so' -o -name '*.dll' ')' -delete
	rm -rf src/.built-with galvi.Rcheck galvi_*.tar.gz demo-output bench/output site sanitized
