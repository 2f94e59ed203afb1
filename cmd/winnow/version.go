package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	extension "github.com/winnow-reaper/winnow/editors/vscode"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Version is what winnow version prints as JSON.
type Version struct {
	// Version is the release's or the module's, "(devel)" for a build of a working folder. Commit is the revision that it was built from, "" where the build
	// does not know one; Modified is true where files had changed since.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OPA      string `json:"opa"`
	// Companion is the extension for editors that is a part of the program (winnow editor install).
	Companion *CompanionVersion `json:"companion,omitempty"`
	// Policy are the policies that decide here: those that the configuration and the flags name.
	Policy *PolicyVersion `json:"policy,omitempty"`
}

// CompanionVersion names the packaged extension.
type CompanionVersion struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// PolicyVersion names the loaded policies.
type PolicyVersion struct {
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest"`
	Rules    int    `json:"rules"`
}

// stamped is the version of a release, which its build writes here (-ldflags "-X main.stamped=v1.2.3"); "" in every other build.
var stamped string

// build is what the build knows of itself.
func build() Version {
	v := Version{Version: cmp.Or(stamped, "(devel)"), Go: "unknown", OPA: "unknown"}
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version, v.Go = cmp.Or(stamped, bi.Main.Version, v.Version), bi.GoVersion
	for _, s := range bi.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, d := range bi.Deps {
		if d.Path == "github.com/open-policy-agent/opa" {
			v.OPA = d.Version
		}
	}
	return v
}

// String is the version in one line.
func (v Version) String() string {
	s := v.Version
	if v.Commit != "" {
		s += " " + v.Commit[:min(12, len(v.Commit))]
		if v.Modified {
			s += "+"
		}
	}
	return fmt.Sprintf("%s (opa %s, %s)", s, v.OPA, v.Go)
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "The version of the program, of OPA and of the policies that decide here",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, p, err := a.engine(cmd.Context())
			if err != nil {
				return err
			}
			if err := e.Close(); err != nil {
				return err
			}
			v := build()
			companion, err := extension.Version()
			if err != nil {
				return err
			}
			v.Companion = &CompanionVersion{companion, extension.Digest()}
			v.Policy = &PolicyVersion{Revision: p.Revision, Digest: p.Digest, Rules: len(p.Rules())}
			return a.show(v, "  ", func(w io.Writer) {
				fmt.Fprintf(w, "winnow %s\n", text.Clean(v.String()))
				fmt.Fprintf(w, "policies %s, %s\n", strings.TrimSpace(text.Clean(p.Revision+" "+p.Digest)), text.Plural(v.Policy.Rules, "rule"))
				fmt.Fprintf(w, "companion in editors %s, sha256:%s\n", companion, v.Companion.SHA256)
			})
		},
	}
}
