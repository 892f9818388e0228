# make demo: build, then titrate a capped glutamic acid in water
# make test: every test
# make docs: the manual, in target/manual
# make keys: the chapter of the manual about keys, written again from the program
# make prepare-tools: what `octitrate prepare` needs, into .tools/
# make ci:   what the continuous integration does
# Everything uses the release profile, so that nothing is built twice. Tools that setup had to fetch lie in .tools/.

export PATH := $(CURDIR)/.tools/bin:$(PATH):$(HOME)/.cargo/bin

.PHONY: demo test docs keys ci setup prepare-tools

demo:
	scripts/setup.sh build
	cargo run --release --locked -- titrate inputs/01-glu/titrate.toml

test: setup
	scripts/test.sh

docs:
	scripts/docs.sh

keys:
	scripts/docs.sh keys

ci:
	.ci/run

setup:
	scripts/setup.sh

prepare-tools:
	scripts/prepare_tools.sh
