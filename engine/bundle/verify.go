package bundle

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/keys"
)

// Algorithms are those that OPA signs and verifies bundles with. The first is its default.
var Algorithms = []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "HS256", "HS384", "HS512"}

// Verification says which signature a bundle must carry.
type Verification struct {
	// KeyID names the key. It is the operator's choice which key counts, never the bundle's.
	KeyID string
	// Key is the public key as PEM, or the secret of an HS algorithm.
	Key string
	// Algorithm is one of Algorithms.
	Algorithm string
	// Scope is what the signature must say that it is for; "" is a signature without a scope.
	Scope string
}

// Check refuses a verification that could trust nothing, or anything.
func (v Verification) Check() error {
	switch block, _ := pem.Decode([]byte(v.Key)); {
	case v.KeyID == "":
		return refuse("name the key", "the id of the key is empty")
	case !slices.Contains(Algorithms, v.Algorithm):
		return refuse("write one of "+strings.Join(Algorithms, ", "), "the algorithm %q is not known", v.Algorithm)
	case v.Key == "":
		return refuse("name the file of the key", "the key is empty")
	case Secret(v.Algorithm) && block != nil:
		return refuse("write the algorithm of that key, such as ES256 or RS256", "the key is PEM, and %s wants a secret", v.Algorithm)
	case !Secret(v.Algorithm) && block == nil:
		return refuse("name the file of the public key", "the key is not PEM, and %s wants a public key", v.Algorithm)
	case !Secret(v.Algorithm) && strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return refuse("name the file of the public key: openssl pkey -in KEY -pubout", "the key is a private one, which who verifies must not have")
	}
	return nil
}

// Secret reports whether both sides of an algorithm have the same key.
func Secret(algorithm string) bool { return strings.HasPrefix(algorithm, "HS") }

// verify holds the signature against the files, as OPA does: one token, made by the one key, over each file and over no other.
func (v Verification) verify(signatures []byte, files map[string]file) error {
	if signatures == nil {
		return refuse("sign it: winnow policy bundle --signing-key, or opa sign", "it is not signed, and key %s must have signed it", shown(v.KeyID))
	}
	if err := v.Check(); err != nil {
		return err
	}
	var sc bundle.SignaturesConfig
	if err := json.Unmarshal(signatures, &sc); err != nil {
		return refuse("sign it again", "its %s cannot be read (%v)", signaturesName, err)
	}
	config := bundle.NewVerificationConfig(map[string]*keys.Config{
		v.KeyID: {Key: v.Key, Algorithm: v.Algorithm, Scope: v.Scope},
	}, v.KeyID, v.Scope, nil)
	signed, err := bundle.VerifyBundleSignature(sc, config)
	switch {
	case err != nil && strings.Contains(err.Error(), "scope mismatch"):
		return refuse("sign it for this scope, or correct the scope", "its signature is not for the scope %s", shown(v.Scope))
	case err != nil:
		return refuse("see that it was signed with key "+shown(v.KeyID)+" and "+v.Algorithm, "its signature is not of key %s (%v)", shown(v.KeyID), err)
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		f := files[p]
		if path := strings.TrimPrefix(p, "./"); len(f.data) > maxManifest && bundle.IsStructuredDoc(path) {
			return refuse(again, "%s in it has %d bytes, and %d are the most", p, len(f.data), maxManifest)
		}
		if err := bundle.VerifyBundleFile(f.name, *bytes.NewBuffer(f.data), signed); err != nil {
			return refuse("get it again from who signed it", "its signature does not cover what is in it (%v)", err)
		}
	}
	if len(signed) > 0 {
		return refuse("get it again from who signed it", "its signature covers %s, which is not in it", shown(slices.Min(slices.Collect(maps.Keys(signed)))))
	}
	return nil
}
