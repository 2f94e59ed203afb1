package gitsafe

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// settings are those that change what git answers and run nothing. They are carried over, each checked for its few values:
//
//   - core.fileMode: on file systems without an executable bit each file would count as changed
//   - core.autocrlf, core.eol: how line ends are compared
//   - core.sparseCheckout: git then compares files that are there although they were left out
//   - core.excludesFile: the user's own patterns of what is ignored; they are copied, and read as data
//
// core.symlinks, core.ignoreCase, core.trustctime, core.checkStat and core.ignoreStat are fixed so that no change is overlooked;
// core.precomposeUnicode means nothing on Linux. core.attributesFile is left out: attributes without it convert less, so that at most
// more counts as changed.
type settings map[string]string

// extend gives s with what vars set besides.
func (s settings) extend(vars []Variable) settings {
	out := settings{}
	maps.Copy(out, s)
	for _, v := range vars {
		switch v.Name {
		case "core.filemode", "core.sparsecheckout":
			if on, err := v.Bool(); err == nil {
				out[v.Name] = strconv.FormatBool(on)
			}
		case "core.autocrlf":
			if strings.EqualFold(v.Value, "input") {
				out[v.Name] = "input"
			} else if on, err := v.Bool(); err == nil {
				out[v.Name] = strconv.FormatBool(on)
			}
		case "core.eol":
			if value := strings.ToLower(v.Value); value == "lf" || value == "crlf" || value == "native" {
				out[v.Name] = value
			}
		case "core.excludesfile":
			out[v.Name] = v.Value
		}
	}
	return out
}

// unsure takes away, where vars include another file, what that file could set: the defaults then overlook nothing.
func (s settings) unsure(vars []Variable) settings {
	for _, v := range vars {
		if v.Includes() {
			for _, name := range []string{"core.filemode", "core.autocrlf", "core.eol", "core.excludesfile"} {
				delete(s, name)
			}
		}
	}
	return s
}

// drivers adds the names of the content filters that a configuration defines: programs that git would run on
// files.
func drivers(into map[string]bool, vars []Variable) {
	for _, v := range vars {
		if section, name, _ := v.Parts(); section == "filter" && name != "" {
			into[name] = true
		}
		if v.Includes() {
			into[anyDriver] = true
		}
	}
}

// anyDriver stands for all that an included file may define.
const anyDriver = ""

// maxIncludes is how deep files may include one another, as in git (MAX_INCLUDE_DEPTH).
const maxIncludes = 10

// userConfig reads the user's own configuration: the machine's, that in XDG_CONFIG_HOME, that in HOME. It follows what they include
// without a condition. A condition would have to be judged for each repository, so what it includes is left out. So is a file that
// cannot be read. Without them at most more counts as changed, or as untracked instead of ignored.
func userConfig(ctx context.Context) []Variable {
	home := os.Getenv("HOME")
	paths := []string{"/etc/gitconfig"}
	if dir := xdg(home); dir != "" {
		paths = append(paths, filepath.Join(dir, "git", "config"))
	}
	if home != "" {
		paths = append(paths, filepath.Join(home, ".gitconfig"))
	}
	var vars []Variable
	for _, path := range paths {
		vars = append(vars, included(ctx, home, path, maxIncludes)...)
	}
	return vars
}

func xdg(home string) string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config")
}

func included(ctx context.Context, home, path string, depth int) []Variable {
	data, err := readLinked(ctx, path, maxConfig)
	if err != nil {
		return nil
	}
	vars, err := ParseConfig(data)
	if err != nil {
		return nil
	}
	var all []Variable
	for _, v := range vars {
		all = append(all, v)
		if v.Name == "include.path" && depth > 0 {
			inner := expandHome(home, v.Value)
			if !filepath.IsAbs(inner) {
				inner = filepath.Join(filepath.Dir(path), inner)
			}
			all = append(all, included(ctx, home, inner, depth-1)...)
		}
	}
	return all
}

func expandHome(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// excludes reads the patterns that the settings name, or those that git reads where they name none. What cannot be read excludes
// nothing: what would be ignored then counts as untracked.
func (s settings) excludes(ctx context.Context) []byte {
	home := os.Getenv("HOME")
	path, named := s["core.excludesfile"]
	if path = expandHome(home, path); !named {
		if dir := xdg(home); dir != "" {
			path = filepath.Join(dir, "git", "ignore")
		}
	}
	if !filepath.IsAbs(path) {
		return nil
	}
	data, err := readLinked(ctx, path, maxPattern)
	if err != nil {
		return nil
	}
	return data
}

// readLinked reads a file of the user's own settings. Those are often links into a folder that is kept under version control; a link
// is followed where no other user can change what it leads to.
func readLinked(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := safeopen.Read(ctx, path, safeopen.Want{Max: most})
	if errors.Is(err, safeopen.ErrLink) {
		var real string
		if real, err = safeopen.Path(path); err == nil {
			f, err = safeopen.Read(ctx, real, safeopen.Want{Max: most})
		}
	}
	return f.Data, err
}
