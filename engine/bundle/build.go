package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing/fstest"

	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/winnow-reaper/winnow/engine/policy"
)

// BuildOptions say what a bundle is made of and called.
type BuildOptions struct {
	Tree policy.Tree
	// Revision and Serial stand over those of the tree's own manifest; "" and 0 leave these.
	Revision string
	Serial   int64
	// Tests puts the tests in as well.
	Tests bool
	// Signing is nil for a bundle that is not signed.
	Signing *Signing
}

// Signing says who signs a bundle.
type Signing struct {
	KeyID, Algorithm, Scope string
	// Key is the private key as PEM, or the path of the file that has the secret of an HS algorithm.
	Key string
}

// Written is what the manifest of a tree says by itself.
type Written struct {
	Revision string
	Serial   int64
}

// Manifest gives what the manifest of a tree says.
func Manifest(files []policy.File) (Written, error) {
	b := &Bundle{tree: map[string]*fstest.MapFile{}}
	for _, f := range files {
		if f.Path == manifestName {
			b.Files = append(b.Files, f.Path)
			if err := b.readManifest(map[string]file{f.Path: {f.Path, f.Data()}}); err != nil {
				return Written{}, err
			}
		}
	}
	return Written{b.Revision, b.Serial}, nil
}

// Build makes a bundle of a tree: the same files and options give the same bytes, but for signatures of the ES and PS algorithms, which have
// chance in them. Files stand in it by their path below package policies, as `opa build --bundle .` puts them.
func Build(ctx context.Context, o BuildOptions) ([]byte, *Bundle, error) {
	files, err := policy.ReadFiles(ctx, o.Tree, o.Tests)
	if err != nil {
		return nil, nil, err
	}
	b := bundle.Bundle{Data: map[string]any{}}
	var layer []byte
	for _, f := range files {
		switch f.Path {
		case manifestName:
			if err := json.Unmarshal(f.Data(), &b.Manifest); err != nil {
				return nil, nil, fmt.Errorf("read %s: %w", f.Name, err)
			}
		case policy.ExceptionsName:
			if err := addExceptions(&b, f); err != nil {
				return nil, nil, err
			}
		case policy.LayerFile:
			layer = f.Data()
		default:
			b.Modules = append(b.Modules, bundle.ModuleFile{URL: "/" + f.Path, Path: "/" + f.Path, Raw: f.Data()})
		}
	}
	if layer != nil {
		if b.Manifest.Metadata == nil {
			b.Manifest.Metadata = map[string]any{}
		}
		policy.WithLayer(b.Manifest.Metadata, layer)
	}
	o.describe(&b.Manifest)
	coverExceptions(&b)
	if o.Signing != nil {
		if err := o.Signing.sign(&b); err != nil {
			return nil, nil, err
		}
	}
	var out bytes.Buffer
	if err := bundle.NewWriter(&out).UseModulePath(true).DisableFormat(true).Write(b); err != nil {
		return nil, nil, fmt.Errorf("write the bundle: %w", err)
	}
	made, err := Read(out.Bytes(), nil)
	return out.Bytes(), made, err
}

func (o BuildOptions) describe(m *bundle.Manifest) {
	if m.Roots == nil || len(*m.Roots) == 0 {
		m.Roots = &[]string{"policies"}
	}
	if m.RegoVersion == nil {
		m.RegoVersion = new(1)
	}
	if o.Revision != "" {
		m.Revision = o.Revision
	}
	if o.Serial == 0 {
		return
	}
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	own, _ := m.Metadata[policy.MetadataKey].(map[string]any)
	if own == nil {
		own = map[string]any{}
	}
	own["serial"] = o.Serial
	m.Metadata[policy.MetadataKey] = own
}

// sign adds OPA's own signature: a JSON Web Token over the digests of all files, with the key's id in its header.
func (s Signing) sign(b *bundle.Bundle) error {
	key, err := s.key()
	if err != nil {
		return err
	}
	claims, err := s.claims()
	if err != nil {
		return fmt.Errorf("sign the bundle: %w", err)
	}
	err = b.GenerateSignature(bundle.NewSigningConfig(key, s.Algorithm, claims), s.KeyID, true)
	if claims != "" {
		err = errors.Join(err, os.Remove(claims))
	}
	if err != nil {
		return refuse("name a private key of that algorithm", "it cannot be signed with %s (%v)", s.Algorithm, err)
	}
	return nil
}

// key is the private key as OPA takes it. openssl writes a block with parameters before some keys.
func (s Signing) key() (string, error) {
	if Secret(s.Algorithm) {
		return s.Key, nil
	}
	for rest := []byte(s.Key); ; {
		var block *pem.Block
		switch block, rest = pem.Decode(rest); {
		case block == nil:
			return "", refuse("name the file of the private key", "the key is no private key in PEM, and %s wants one", s.Algorithm)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return string(pem.EncodeToMemory(block)), nil
		}
	}
}

// claims is the path of a file with what the token says besides: OPA takes it in no other form. "" where there is nothing to say.
func (s Signing) claims() (path string, err error) {
	if s.Scope == "" {
		return "", nil
	}
	f, err := os.CreateTemp("", "winnow-claims-*.json")
	if err != nil {
		return "", err
	}
	err = errors.Join(json.NewEncoder(f).Encode(map[string]string{"scope": s.Scope, "keyid": s.KeyID}), f.Close())
	return f.Name(), err
}
