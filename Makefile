# The two commands are `make demo` and `make test`; `make help` lists the rest.

CARGO ?= cargo
# One profile and one selection of packages everywhere: another selection would unify features
# anew and build the machine-learning crates a second time.
ALL := --release --workspace
# An example makes cargo choose the features that the tests have; without one the crates would be built once more.
BUILD := $(CARGO) build $(ALL) --bins --example timelines

.DEFAULT_GOAL := help
.PHONY: help demo test lint models suite slow interop quick bench scale cloud setup browser fuzz fuzz-api crash load docs pictures cuda dist container container-check

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: ## from nothing to a video: sets up, renders the made-up library, makes a demonstration
	@scripts/demo.sh

test: setup models suite ## all tests; `make lint` checks the rest

setup: ## check what is needed and install what is missing where that is allowed
	@scripts/setup.sh

lint: ## format, clippy without warnings, and the rules of ARCHITECTURE.md
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(ALL) --all-targets -- -D warnings
	$(CARGO) xtask tidy
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --all-features check; else \
		echo "lint: without cargo-deny, advisories about dependencies are not checked"; fi

models: ## fetch the small models that tests run on
	$(BUILD)
	@for model in onnxruntime ppocr-v6; do \
		$${CARGO_TARGET_DIR:-target}/release/stitch models pull $$model || \
			echo "models: the tests that need $$model are skipped"; done

suite: ## the tests and the examples in the documentation
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run $(ALL) && $(CARGO) test $(ALL) --doc; \
	else \
		$(CARGO) test $(ALL); \
	fi

slow: ## tests that take minutes: six hours of sound
	$(CARGO) test $(ALL) slow_ -- --ignored

cuda: ## clippy of the GPU code, which `make lint` leaves out; builds the workspace again
	$(CARGO) clippy $(ALL) --all-targets --features stitch-cli/cuda -- -D warnings

interop: ## open the timelines for editors with the readers of other projects
	$(BUILD)
	@tests/interop/run.sh

quick: ## every experiment of the paper on a toy; fails where search-space reduction loses truths
	$(BUILD)
	@$${CARGO_TARGET_DIR:-target}/release/stitch eval --quick --quiet --out $${CARGO_TARGET_DIR:-target}/quick

bench: ## ours against what a user would pick instead, as ratios
	$(CARGO) xtask bench

scale: ## queries among 10^3 to 10^6 made-up clips against faiss; needs 12 GB of memory and of disk
	$(CARGO) xtask bench scale

cloud: ## shards and videos in a bucket of a local S3 server: workers race and are killed; builds with the feature cloud
	$(CARGO) build $(ALL) --features stitch-cli/cloud
	@scripts/cloud.sh

browser: ## the page in Chromium: watch, swap, export, the study; screenshots in target/browser
	$(BUILD)
	@scripts/browser.sh

fuzz: SECONDS := 4
fuzz: ## every parser of foreign bytes under libFuzzer, SECONDS=n for each
	@scripts/fuzz.sh $(SECONDS)

crash: KILLS := 10
crash: CUTS := 10
crash: FAULTS := all
crash: MUTATIONS := 500
crash: ## every write, sync and rename fails; KILLS=n kills and CUTS=n power cuts of each command; MUTATIONS=n mutated files
	STITCH_FAULTS=$(FAULTS) STITCH_KILLS=$(KILLS) STITCH_CUTS=$(CUTS) STITCH_MUTATIONS=$(MUTATIONS) \
		$(CARGO) test $(ALL) --test crash --test mutations -- --nocapture

fuzz-api: ## the server against its own OpenAPI description, by schemathesis
	$(BUILD)
	@scripts/fuzz-api.sh

load: SECONDS := 60
load: KILLS := 1
load: ## 200 readers of video ranges and 20 jobs for SECONDS=n; the server is killed KILLS=n times
	$(BUILD)
	@python3 tests/browser/load.py $${CARGO_TARGET_DIR:-target}/release/stitch $${CARGO_TARGET_DIR:-target}/load \
		--seconds $(SECONDS) --kills $(KILLS)

dist: ## pack the program for other machines: completions, manual pages, unit, SBOM, checksums, formula
	$(BUILD)
	@scripts/dist.sh

container: dist ## a container image of the program, ffmpeg and the default models; downloads 700 MB
	@scripts/container.sh $(BUILD_ARGUMENTS)

container-check: ## run the image: self-check, serve on a read-only file system, health check
	@scripts/container-check.sh $(RUN_ARGUMENTS)

.PHONY: wheel python-test ray-test
wheel: ## build the Python package, into target/wheels; builds the engine once more
	@scripts/wheel.sh

python-test: ## the Python package against a small made-up library, and its notebook
	$(BUILD)
	@scripts/wheel.sh --test

ray-test: ## indexing into a bucket on a Ray cluster of four nodes on this machine, of which five are lost; takes minutes
	$(CARGO) build $(ALL) --features stitch-cli/cloud
	@scripts/wheel.sh --ray

pictures: demo ## make the pictures of the guide again, from the library of `make demo`; needs Chromium
	@scripts/setup.sh --browser
	@$${CARGO_TARGET_DIR:-target}/release/stitch models pull ppocr-v6
	@python3 scripts/pictures.py $${CARGO_TARGET_DIR:-target}/release/stitch $${STITCH_DEMO:-demo} $${CARGO_TARGET_DIR:-target}/pictures

docs: ## build the documentation as a book, into docs/book
	@command -v mdbook >/dev/null || $(CARGO) install mdbook --version 0.4.52 --locked
	mdbook build docs
