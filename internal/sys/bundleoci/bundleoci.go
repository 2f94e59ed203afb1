// Package bundleoci gets a bundle out of an OCI registry, where OPA's tools put it: an image manifest whose first compressed layer is the
// bundle (https://www.openpolicyagent.org/docs/management-bundles#oci-registry).
//
// It reads, and judges nothing of what it gets. OPA's own downloader for registries is not used: it keeps a store on the disk, and parses what
// it gets in this process, without a bound.
package bundleoci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// Scheme begins the address of a bundle in a registry.
const Scheme = "oci://"

// maxManifest is how many bytes an image manifest may have.
const maxManifest = 1 << 20

// Request is one question.
type Request struct {
	// Address is oci://REGISTRY/REPOSITORY:TAG, or with @DIGEST.
	Address string
	// Digest is that of the layer that is there already, "" for none.
	Digest string
	// Token is a bearer token, or USER:PASSWORD; "" means missing. It is sent to the registry alone.
	Token string
	// Within bounds the whole exchange. Max is how many bytes a bundle may have.
	Within time.Duration
	Max    int64
}

// Answer is what the registry has.
type Answer struct {
	// Unchanged is true where the layer is the request's; then there are no Data.
	Unchanged bool
	Data      []byte
	Digest    string
}

// Check refuses an address that cannot be asked.
func Check(address string) error {
	_, err := parse(address)
	return err
}

func parse(address string) (registry.Reference, error) {
	rest, ok := strings.CutPrefix(address, Scheme)
	ref, err := registry.ParseReference(rest)
	if !ok || err != nil || ref.Reference == "" || strings.ContainsAny(rest, "?# ") {
		return ref, errors.New("name a registry, a repository and a tag, such as oci://registry.example.com/policies/winnow:stable")
	}
	return ref, nil
}

// Get asks once. Only a registry on this machine is asked without encryption.
func Get(ctx context.Context, r Request) (Answer, error) {
	ref, err := parse(r.Address)
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Within)
	defer cancel()
	a, err := get(ctx, ref, r)
	if err == nil {
		return a, nil
	}
	var answered *errcode.ErrorResponse
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%s did not answer whole within %s", ref.Registry, r.Within)
	case errors.Is(err, errdef.ErrNotFound):
		err = fmt.Errorf("%s has no %s: correct the address, or push the bundle there", ref.Registry, ref.Repository+":"+ref.Reference)
	case errors.As(err, &answered) && (answered.StatusCode == http.StatusUnauthorized || answered.StatusCode == http.StatusForbidden):
		err = fmt.Errorf("%s answers %d %s: give it a token that it takes (token_file)", ref.Registry, answered.StatusCode, http.StatusText(answered.StatusCode))
	case errors.As(err, &answered):
		err = fmt.Errorf("%s answers %d %s", ref.Registry, answered.StatusCode, http.StatusText(answered.StatusCode))
	}
	return Answer{}, err
}

func get(ctx context.Context, ref registry.Reference, r Request) (Answer, error) {
	repo := &remote.Repository{Reference: ref, PlainHTTP: loopback(ref.Host()), Client: client(ref, r.Token), MaxMetadataBytes: maxManifest}
	desc, body, err := repo.FetchReference(ctx, ref.Reference)
	if err != nil {
		return Answer{}, err
	}
	if desc.MediaType == ocispec.MediaTypeImageIndex || desc.MediaType == "application/vnd.docker.distribution.manifest.list.v2+json" {
		return Answer{}, errors.Join(errors.New("it is an index of images: name the tag or the digest of one image"), body.Close())
	}
	text, err := readAll(body, desc, maxManifest)
	if err != nil {
		return Answer{}, err
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return Answer{}, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType != ocispec.MediaTypeImageLayerGzip {
			continue
		}
		if r.Digest != "" && layer.Digest.String() == r.Digest {
			return Answer{Unchanged: true, Digest: r.Digest}, nil
		}
		body, err := repo.Blobs().Fetch(ctx, layer)
		if err != nil {
			return Answer{}, err
		}
		data, err := readAll(body, layer, r.Max)
		return Answer{Data: data, Digest: layer.Digest.String()}, err
	}
	return Answer{}, fmt.Errorf("no layer of it is a compressed tar (%s): push the bundle as one", ocispec.MediaTypeImageLayerGzip)
}

// readAll reads what a descriptor describes: as long as it says, with its digest, and no longer than most.
func readAll(body io.ReadCloser, desc ocispec.Descriptor, most int64) ([]byte, error) {
	if desc.Size > most {
		return nil, errors.Join(errors.New("its layer is longer than a bundle may be: see what the registry has there"), body.Close())
	}
	data, err := content.ReadAll(body, desc)
	return data, errors.Join(err, body.Close())
}

// client asks without trying again: the next look does that, after a while.
func client(ref registry.Reference, token string) *auth.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives, t.MaxResponseHeaderBytes = true, 64<<10
	c := &auth.Client{Client: &http.Client{Transport: t, CheckRedirect: follow}}
	c.SetUserAgent("winnow")
	if user, password, ok := strings.Cut(token, ":"); ok {
		c.Credential = auth.StaticCredential(ref.Registry, auth.Credential{Username: user, Password: password})
	} else if token != "" {
		c.Credential = auth.StaticCredential(ref.Registry, auth.Credential{AccessToken: token})
	}
	return c
}

// follow goes to the store that a registry keeps its layers in, and never from encryption to none.
func follow(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 5:
		return errors.New("more than 5 redirects")
	case req.URL.Scheme != "https" && via[0].URL.Scheme == "https":
		return errors.New("a redirect leads from https to http, which was not followed")
	}
	return nil
}

// loopback reports whether a registry is on this machine.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
