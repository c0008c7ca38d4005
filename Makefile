# What can be done here. `make` alone lists it.
GO ?= go
GOLANGCI_LINT ?= $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## every rung in every scenario, proven: the matrix
	$(GO) run ./loadtest all

.PHONY: explore
explore: ## every order of two clients' commands, on each rung: the shortest that goes wrong
	$(GO) run ./cmd/explore

.PHONY: build
build: ## both programs, into bin/
	$(GO) build -trimpath -o bin/stockapi ./cmd/stockapi
	$(GO) build -trimpath -o bin/loadtest ./loadtest

.PHONY: test
test: ## all tests; with redis-server on PATH, on that too
	$(GO) test ./...

.PHONY: go-alone
go-alone: ## go test ./... and go run ./loadtest, with nothing but Go on PATH
	scripts/go-alone

.PHONY: race
race: ## all tests under the race detector (needs a C compiler)
	$(GO) test -race ./...

.PHONY: lint
lint: ## go vet and golangci-lint
	$(GO) vet ./...
	$(GOLANGCI_LINT) run ./...

PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: cross
cross: ## build for all systems that a workshop brings, or for PLATFORMS="linux/arm64 ..."
	@for p in $(PLATFORMS); do \
		echo "$$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -tags nomsgpack ./... || exit 1; \
		done

.PHONY: dist
dist: ## archives for machines without Go into dist/, both programs and the workshop in each; or for PLATFORMS
	$(GO) run scripts/dist.go $(PLATFORMS)

.PHONY: bench
bench: ## each rung: acquire + release, and a whole sale, with allocations
	$(GO) test -run '^$$' -bench . -benchtime 300ms ./internal/sale

.PHONY: bench-peers
bench-peers: ## our rungs beside redsync, redislock, rueidislock and Redisson: docs/bench.md; ARGS="--rounds 5 ..."
	$(GO) -C bench build -trimpath -o ../bin/bench-peers . && bin/bench-peers $(ARGS)

.PHONY: league
league: ## locks that people install, on trial: docs/league.md; ARGS="redis-py redsync" for some
	league/run $(ARGS)
	$(if $(ARGS),,STOCKAPI_REQUIRE=league $(GO) test -timeout 25m -run 'TrialsOf|TrialOf|ShopsSell|EveryOrderFinds' ./loadtest/trial)

.PHONY: fuzz
fuzz: ## what a client may send, for a minute
	$(GO) test -run '^$$' -fuzz FuzzDecreaseRequest -fuzztime 1m ./internal/handlers

.PHONY: mutants
mutants: ## break the code on purpose: does a run, a test, or the explorer notice?
	$(GO) run ./scripts/mutants

.PHONY: compose-test
compose-test: ## bring docker-compose.yml up for real, sell through it, take it down
	scripts/compose-test

.PHONY: picture
picture: ## docs/sold-twice.svg: run a lock whose lease is too short, and draw the unit that it sells twice
	@out=$$(mktemp -d) && trap 'rm -rf "$$out"' EXIT && \
		$(GO) run ./loadtest --scenarios slow-work --rungs v4 --out "$$out" && \
		STOCKAPI_REQUIRE=chromium STOCKAPI_RESULTS="$$out" STOCKAPI_PICTURE="$(CURDIR)/docs/sold-twice.svg" \
		$(GO) test -count=1 -run Picture ./loadtest/report/drawing

.PHONY: diff
diff: ## what changes between two rungs: make diff A=v3 B=v4; COMMENTS=1 shows their comments
	@scripts/rung-diff $(A) $(B)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
