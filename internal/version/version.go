// Package version tells which build of the program this is.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
)

// Build is what winnow version prints as JSON.
type Build struct {
	// Version is the release's or the module's, "(devel)" for a build of a working folder. Commit is the revision that it was built from, "" where the build
	// does not know one; Modified is true where files had changed since.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OPA      string `json:"opa"`
	// Companion is the extension for editors that is a part of the program (winnow editor install).
	Companion *Companion `json:"companion,omitempty"`
	// Policy are the policies that decide here: those that the configuration and the flags name.
	Policy *Policy `json:"policy,omitempty"`
}

// Companion names the packaged extension.
type Companion struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// Policy names the loaded policies.
type Policy struct {
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest"`
	Rules    int    `json:"rules"`
}

// Release is the version of a release, "" in every other build.
var Release string

// Read is what the build knows of itself.
func Read() Build {
	v := Build{Version: cmp.Or(Release, "(devel)"), Go: "unknown", OPA: "unknown"}
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version, v.Go = cmp.Or(Release, bi.Main.Version, v.Version), bi.GoVersion
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
func (v Build) String() string {
	s := v.Version
	if v.Commit != "" {
		s += " " + v.Commit[:min(12, len(v.Commit))]
		if v.Modified {
			s += "+"
		}
	}
	return fmt.Sprintf("%s (opa %s, %s)", s, v.OPA, v.Go)
}
