# The whole life of the repository; `make help` lists it.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION     = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT      = $(shell git rev-parse HEAD 2>/dev/null)
FUZZTIME    = 10m
PREFIX      = /usr/local

.PHONY: help build demo install test test-all test-deps test-unit test-live test-peer test-vm \
	check check-format check-vet check-arm64 check-static check-modules fuzz bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

build: ## the static binary ./ringtap
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.release=$(VERSION) -X main.commit=$(COMMIT)' -o ringtap ./cmd/ringtap

demo: ## profile this host for 5 seconds beside a small workload: a report, demo.html (root)
	scripts/demo

install: ## ringtap, its manual pages and completions below PREFIX=/usr/local; "make build" makes it
	@test -x ringtap || { echo "make install: no ringtap here: run 'make build' first" >&2; exit 1; }
	install -D -m 755 ringtap $(DESTDIR)$(PREFIX)/bin/ringtap
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 docs/completion/ringtap.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ringtap
	install -D -m 644 docs/completion/_ringtap $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ringtap
	install -D -m 644 docs/completion/ringtap.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ringtap.fish

test: ## install what the tests need (root), check, and test on this kernel and in a guest: minutes
	$(MAKE) -j --output-sync test-deps check
	go run ./internal/dev/tiers

test-all: ## what a release needs: every test, on every kernel and for both architectures: hours
	scripts/install-test-deps all
	$(MAKE) check
	GOARCH=arm64 go vet -trimpath ./...
	go run ./internal/dev/tiers all

test-deps: # installs what make test needs; a machine that has it loses no time
	scripts/install-test-deps

test-unit: ## tests that run anywhere
	go run ./internal/dev/tiers unit

test-live: ## tests on the running kernel (root)
	go run ./internal/dev/tiers live

test-peer: ## tests beside perf, gdb, pprof, a browser (root)
	go run ./internal/dev/tiers peer

test-vm: ## all live tests on other kernels, under QEMU; built and fetched once, kept in ~/.cache/ringtap/vm
	scripts/install-test-deps all
	go run ./internal/dev/tiers vm

check: check-format check-vet check-arm64 check-static check-modules ## format, vet, types on arm64, staticcheck, modules

check-format:
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

check-vet:
	go vet -trimpath ./...

check-arm64:
	go run ./internal/dev/typecheck arm64 ./...

check-static: check-vet # whose packages it finds compiled
	GOFLAGS=-trimpath go run $(STATICCHECK) ./...

check-modules:
	go mod verify
	go mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME=10m each
	scripts/fuzz $(FUZZTIME)

bench: build ## ringtap beside perf and bpftrace, on this machine (root; FLAMEGRAPH_DIR=… PERF_TOOLS_DIR=…)
	go run ./internal/dev/bench $(BENCHFLAGS)

clean: ## remove what the targets above made; "rm -r ~/.cache/ringtap" what tests keep: programs, kernels
	rm -f ringtap demo.html
