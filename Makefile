# The whole life of the repository; `make help` lists it.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION     = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZTIME    = 10m

.PHONY: help build demo test test-all test-deps test-unit test-live test-peer test-vm check fuzz bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

build: ## the static binary ./ringtap
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.release=$(VERSION)' -o ringtap ./cmd/ringtap

demo: build ## profile this host for 5 seconds beside a small workload: tables, demo.html (root)
	scripts/demo

test: ## install what the tests need (root), check, and test on this kernel and in three guests: minutes
	$(MAKE) -j2 --output-sync test-deps check
	go run ./scripts/tiers

test-all: ## what a release needs: every test, on every kernel and for both architectures: hours
	scripts/install-test-deps all
	$(MAKE) check
	go run ./scripts/tiers all

test-deps: # installs what make test needs; a machine that has it loses no time
	scripts/install-test-deps

test-unit: ## tests that run anywhere
	go run ./scripts/tiers unit

test-live: ## tests on the running kernel (root)
	go run ./scripts/tiers live

test-peer: ## tests beside perf, gdb, pprof, a browser (root)
	go run ./scripts/tiers peer

test-vm: ## all live tests on other kernels, under QEMU; built and fetched once, kept in ~/.cache/ringtap/vm
	scripts/install-test-deps all
	go run ./scripts/tiers vm

check: ## format, vet for both architectures, staticcheck, modules
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	GOARCH=arm64 go vet ./...
	go run $(STATICCHECK) ./...
	go mod verify
	go mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME=10m each
	scripts/fuzz $(FUZZTIME)

bench: build ## ringtap beside perf and bpftrace, on this machine (root; FLAMEGRAPH_DIR=… PERF_TOOLS_DIR=…)
	go run ./scripts/bench $(BENCHFLAGS)

clean: ## remove what the targets above made; "rm -r ~/.cache/ringtap" what tests keep: programs, kernels
	rm -f ringtap demo.html
