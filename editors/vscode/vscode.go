// Package vscode has the extension for VS Code, and for editors made of it, as a part of the program: the Go build needs no Node.js.
package vscode

import (
	_ "embed"
)

// Package is the packaged extension, winnow.vsix, which scripts/package.mjs writes with the same bytes each time.
//
//go:embed winnow.vsix
var Package []byte
