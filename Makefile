# What people run by hand; .ci/run is the whole of it.
tool  = go tool -modfile=tools/go.mod
regal = go tool -modfile=tools/regal/go.mod regal

.PHONY: test check ci

test:
	go test ./...

check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { printf 'run gofmt -w on:\n%s\n' "$$unformatted"; exit 1; }
	go vet ./...
	$(tool) staticcheck ./...
	@unformatted=$$($(tool) opa fmt --list policies); [ -z "$$unformatted" ] || { printf 'run opa fmt -w on:\n%s\n' "$$unformatted"; exit 1; }
	$(tool) opa check --strict --schema policies/schemas/subject.json policies
	$(tool) opa test policies
	$(regal) lint policies

ci:
	bash .ci/run
