package bundle_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// pair is a key in files, and as PEM.
type pair struct{ private, public, privatePEM, publicPEM string }

func newPair(t *testing.T, key crypto.Signer) pair {
	t.Helper()
	dir := t.TempDir()
	p := pair{private: filepath.Join(dir, "private.pem"), public: filepath.Join(dir, "public.pem")}
	p.privatePEM = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(key))(t)}))
	p.publicPEM = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must.Get(x509.MarshalPKIXPublicKey(key.Public()))(t)}))
	for path, text := range map[string]string{p.private: p.privatePEM, p.public: p.publicPEM} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return p
}

func newEC(t *testing.T) pair {
	t.Helper()
	return newPair(t, must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t))
}

func newRSA(t *testing.T) pair {
	t.Helper()
	return newPair(t, must.Get(rsa.GenerateKey(rand.Reader, 2048))(t))
}
