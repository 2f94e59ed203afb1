package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/text"
)

// BuiltText says what was packed.
func (p Paint) BuiltText(w io.Writer, b document.BuiltBundle) {
	fmt.Fprintf(w, "%s: %s in %s, %s\n", text.Clean(b.File), text.Plural(b.Rules, "rule"), text.Plural(b.Files, "file"), text.Size(int64(b.Bytes)))
	p.bundleText(w, b.BundleContent, map[string]string{
		"flag": " (--revision)", "manifest": " (the manifest's)", "git": " (the commit)", "digest": " (a digest: the folder is in no repository, or differs from its commit)",
	}[b.RevisionFrom])
	if b.Serial == 0 {
		p.Indented(w, 2, "no serial: a machine cannot tell whether it is older than what ran there; --serial N gives it one")
	}
}

// bundleText says what is in a bundle. from says where its revision is from.
func (p Paint) bundleText(w io.Writer, b document.BundleContent, from string) {
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

// VerifiedText says what a signature was found to be over.
func (p Paint) VerifiedText(w io.Writer, b document.VerifiedBundle) {
	fmt.Fprintf(w, "%s: verified, and it loads: %s in %s\n", text.Clean(b.File), text.Plural(b.Rules, "rule"), text.Plural(b.Files, "file"))
	p.bundleText(w, b.BundleContent, "")
}
