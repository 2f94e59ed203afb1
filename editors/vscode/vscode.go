// Package vscode has the extension for VS Code, and for editors made of it, as a part of the program: the Go build needs no Node.js.
package vscode

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Package is the packaged extension, winnow.vsix, which scripts/package.mjs writes with the same bytes each time.
//
//go:embed winnow.vsix
var Package []byte

// Digest is the SHA-256 of the package, in hexadecimal digits.
func Digest() string {
	sum := sha256.Sum256(Package)
	return hex.EncodeToString(sum[:])
}

// Version is the extension's own version, as the package's manifest says it.
func Version() (string, error) {
	z, err := zip.NewReader(bytes.NewReader(Package), int64(len(Package)))
	if err != nil {
		return "", fmt.Errorf("read the packaged extension: %w", err)
	}
	f, err := z.Open("extension/package.json")
	if err != nil {
		return "", fmt.Errorf("read the packaged extension: %w", err)
	}
	defer f.Close()
	var manifest struct{ Version string }
	text, err := io.ReadAll(f)
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil {
		return "", fmt.Errorf("read the packaged extension: %w", err)
	}
	return manifest.Version, nil
}
