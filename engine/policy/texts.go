package policy

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quoted finds a text of Rego, raw or not, and a comment, in which quotes mean nothing.
var quoted = regexp.MustCompile("#[^\n]*|`[^`]*`|\"(?:[^\"\\\\\n]|\\\\.)*\"")

// Texts gives every text that stands in the policies, sorted, each once: what names may be compared with. The files are not parsed for it.
func (p *Policy) Texts() []string {
	var out []string
	for _, f := range p.Files {
		if path.Ext(f.Path) == ".rego" {
			out = texts(out, f.data)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TextsIn is Texts of the policies in a folder that the program brings itself, its tests left out.
func TextsIn(files fs.FS) ([]string, error) {
	var out []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".rego" || strings.HasSuffix(name, "_test.rego") {
			return err
		}
		data, err := fs.ReadFile(files, name)
		out = texts(out, data)
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

func texts(out []string, data []byte) []string {
	for _, lit := range quoted.FindAllString(string(data), -1) {
		switch {
		case strings.HasPrefix(lit, "#"):
		case strings.HasPrefix(lit, "`"):
			out = append(out, strings.Trim(lit, "`"))
		default:
			if text, err := strconv.Unquote(lit); err == nil {
				out = append(out, text)
			}
		}
	}
	return out
}
