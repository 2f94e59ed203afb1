package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/winnow-reaper/winnow/internal/text"
)

// BuiltBundle is what winnow policy bundle prints as JSON.
type BuiltBundle struct {
	File string `json:"file"`
	BundleContent
	// RevisionFrom and SerialFrom say where those are from: flag, manifest, git, or digest. SerialFrom is empty where there is no serial.
	RevisionFrom string `json:"revision_from"`
	SerialFrom   string `json:"serial_from,omitempty"`
	Bytes        int    `json:"bytes"`
}

// BundleContent is what is in a bundle.
type BundleContent struct {
	Revision string   `json:"revision"`
	Serial   int64    `json:"serial,omitempty"`
	Digest   string   `json:"digest"`
	Roots    []string `json:"roots"`
	Files    int      `json:"files"`
	// Rules is how many rules it adds to those that it was loaded with.
	Rules  int  `json:"rules"`
	Signed bool `json:"signed"`
	// KeyID, Algorithm and Scope are those of the signature.
	KeyID     string `json:"key_id,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Scope     string `json:"scope,omitempty"`
}

func (p Paint) BuiltText(w io.Writer, b BuiltBundle) {
	fmt.Fprintf(w, "%s: %s in %s, %s\n", text.Clean(b.File), text.Plural(b.Rules, "rule"), text.Plural(b.Files, "file"), text.Size(int64(b.Bytes)))
	p.BundleText(w, b.BundleContent, map[string]string{
		"flag": " (--revision)", "manifest": " (the manifest's)", "git": " (the commit)", "digest": " (a digest: the folder is in no repository, or differs from its commit)",
	}[b.RevisionFrom])
	if b.Serial == 0 {
		p.Indented(w, 2, "no serial: a machine cannot tell whether it is older than what ran there; --serial N gives it one")
	}
}

// BundleText says what is in a bundle. from says where its revision is from.
func (p Paint) BundleText(w io.Writer, b BundleContent, from string) {
	p.Indented(w, 2, text.Clean("revision "+cmp.Or(b.Revision, "none")+from))
	if b.Serial > 0 {
		p.Indented(w, 2, "serial "+strconv.FormatInt(b.Serial, 10))
	}
	p.Indented(w, 2, "digest "+b.Digest)
	switch {
	case b.KeyID != "":
		scope := ""
		if b.Scope != "" {
			scope = ", for the scope " + b.Scope
		}
		p.Indented(w, 2, text.Clean("signed with key "+b.KeyID+" ("+b.Algorithm+scope+")"))
	case b.Signed:
		p.Indented(w, 2, "signed")
	default:
		p.Indented(w, 2, "not signed: it is loaded from a file, and from a server only with insecure: true")
	}
}
