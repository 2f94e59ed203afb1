# What people run by hand; .ci/run is the whole of it.
tool   = go tool -modfile=tools/go.mod
regal  = go tool -modfile=tools/regal/go.mod regal
out    = packaging/out
# Where make install puts things, as install.sh does.
PREFIX = $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
share  = $(DESTDIR)$(PREFIX)/share
stamp  = $(patsubst v%,%,$(or $(VERSION),0.0.0-$(shell git rev-parse --short HEAD)))

.PHONY: build install deb rpm pictures release test check ci

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.stamped=v$(stamp)" -o $(out)/winnow ./cmd/winnow
	packaging/linux/generate.sh $(out)/winnow $(out)

install: build
	install -Dm755 $(out)/winnow $(DESTDIR)$(PREFIX)/bin/winnow
	install -Dm644 -t $(share)/man/man1 $(out)/man/*.1.gz
	install -Dm644 $(out)/completions/winnow.bash $(share)/bash-completion/completions/winnow
	install -Dm644 $(out)/completions/_winnow $(share)/zsh/site-functions/_winnow
	install -Dm644 $(out)/completions/winnow.fish $(share)/fish/vendor_completions.d/winnow.fish

# make deb VERSION=1.2.3; the package lies in packaging/out.
deb rpm: build
	OUT=$(out) VERSION=$(stamp) GOARCH=$$(go env GOARCH) go tool -modfile=tools/nfpm/go.mod nfpm package -f packaging/linux/nfpm.yaml -p $@ -t $(out)/

# The pictures of the README and the docs, from real runs; that of the companion needs the network, for VS Code and a browser.
pictures:
	TEST_STAGE=2 go test ./test/kit/pictures -count=1 -run PicturesAreCurrent -update
	WINNOW_E2E_PICTURE=1 editors/vscode/e2e/run -run WhatAPersonSees

# All that a release has, in dist/, with nothing published.
release:
	go tool -modfile=tools/goreleaser/go.mod goreleaser release --snapshot --clean --skip=docker

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
