# Two commands do everything: `make demo` and `make test`.
.PHONY: demo test ci bench mutants packages semver install lighttpd traces tables page pictures site simulated-time

# Builds, then moves a file across a bad link, without and with local retransmission.
demo:
	@.ci/prepare demo
	@echo 'Building windfall as target/demo/windfall: some minutes the first time.'
	@cargo build --profile demo --locked --package windfall-cli
	@demo/run

# Runs every test; the last line counts them.
test:
	@.ci/prepare tests
	@cargo xtask test

# What is checked before a change goes in: format, lints, rules, documents, and `make test`.
ci:
	@.ci/run

# Measures speed, each time beside the peer or the bound that it is compared with.
bench:
	@cargo bench --package windfall-bench

# Breaks a crate in every small way, one after another, and lists what its own tests don't notice:
# `make mutants CRATE=queue`, or a fixed sample, `make mutants CRATE=tcp SHARD=0/20`.
mutants:
	@cargo mutants --version >/dev/null 2>&1 || \
	  { echo 'make mutants needs cargo-mutants: cargo install cargo-mutants --locked' >&2; exit 1; }
	@test -n "$(CRATE)" || { echo 'which crate? make mutants CRATE=queue' >&2; exit 1; }
	@CARGO_TARGET_DIR='$(CURDIR)/target/mutants' cargo mutants --output target \
	  --package windfall-$(CRATE) --sharding round-robin $(SHARD:%=--shard %)

# Packages the crates for a registry, without uploading them, and checks what the packages contain.
packages:
	@cargo xtask publish --dry-run

# Compares the interfaces of the published crates with those of the last version that has a tag, or
# with those of a revision: `make semver SINCE=v0.1.0`.
semver:
	@cargo xtask semver $(SINCE)

# Installs libsap for C, with its header, pkg-config file and manual, below PREFIX (/usr/local).
install:
	@crates/faces/c/install

# Builds the module of lighttpd, which apt has to fetch the source of, as target/lighttpd/mod_sap.so.
lighttpd:
	@crates/faces/c/lighttpd/build

# Writes the shipped error traces anew, and checks that they are what the generator makes.
traces:
	@WINDFALL_BLESS=1 cargo test --quiet --package windfall-channel --test environments shipped

# Measures the error events of every rate at every ratio, and writes the shipped tables anew.
tables:
	@cargo run --release --locked --quiet --package windfall-phy --example tables

# Makes all figures of the papers with few and short runs, and their page, docs/reproduction.html.
page:
	@cargo run --release --locked --quiet --package windfall-cli -- \
	  reproduce all --quick --page docs/reproduction.html

# Draws the pictures of the documents in Chromium without a screen: the live view of a run for half
# a minute, the page of the demonstration, and the report on a page in a browser.
pictures:
	@cargo run --quiet --package windfall-cli -- demo --ber 1e-6 --out target/pictures/demo
	@chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1000,880 \
	  --user-data-dir=target/pictures/profile --allow-file-access-from-files \
	  --screenshot=docs/pictures/one-picture.png \
	  'file://$(CURDIR)/target/pictures/demo/pictures.html'
	@WINDFALL_TEST_PICTURES='$(CURDIR)/target/pictures' cargo test --quiet --package windfall-cli \
	  --test cli a_browser_shows -- --nocapture
	@cp target/pictures/live-view-light.png target/pictures/live-view-dark.png docs/pictures/
	@WINDFALL_TEST_BROWSER='$(CURDIR)/target/pictures' cargo test --quiet --package windfall-cli \
	  --test cli a_page_in_a_browser -- --nocapture
	@cp target/pictures/report.png docs/pictures/one-page.png

# Builds a site of docs/, with search, as target/site/index.html.
site:
	@python3 -c 'import material' 2>/dev/null || \
	  { echo 'make site needs MkDocs: python3 -m pip install mkdocs-material' >&2; exit 1; }
	@NO_MKDOCS_2_WARNING=1 python3 -m mkdocs build --quiet --strict --config-file packaging/site/mkdocs.yml
	@echo target/site/index.html

# Runs the links of examples/simulated-time: their tests, then QUIC over a thousand seeds.
simulated-time:
	@cargo test --quiet --locked --target-dir target/simulated-time --manifest-path examples/simulated-time/Cargo.toml --workspace
	@cargo run --quiet --locked --target-dir target/simulated-time --manifest-path examples/simulated-time/Cargo.toml --package quic-over-links
