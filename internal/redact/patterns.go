package redact

import (
	"cmp"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// pattern is something that a name is compared with. A name and its stand-in match the same patterns.
type pattern struct {
	// text is the pattern as it was written.
	text    string
	matches func(name string) bool
	// parts are the parts of a name that match because of what they are, as pairs of offsets; nil where that is unknown for the pattern.
	parts func(name string) [][2]int
}

// patterns are what the names of a snapshot are compared with, by the configuration, by policies and by projects' files.
type patterns struct {
	// words are whole names, or parts of paths.
	words map[string]bool
	// names are compared with one name, paths with a whole path.
	names, paths []pattern
	have         map[string]bool
}

// commLen is how many bytes of a process's name the kernel keeps.
const commLen = 15

// patternsOf gathers them. literals are the texts that policies hold, and are a person's own where own is set.
func patternsOf(c *subject.Config, projects []snapshot.Project, literals, own []string) *patterns {
	p := &patterns{words: map[string]bool{}, have: map[string]bool{}}
	if c != nil {
		p.config(c)
	}
	for i := range projects {
		for _, k := range projects[i].Entries() {
			for part := range strings.SplitSeq(k.Match.Path+"/"+k.Match.Label+"/"+k.Match.Owner, "/") {
				if wildcard(part) {
					p.globPart(part)
				}
			}
		}
	}
	for _, l := range literals {
		p.literal(l)
	}
	for _, l := range own {
		p.loose(l)
	}
	return p
}

// config takes every text of the configuration, so that a parameter that is added later is among them.
func (p *patterns) config(c *subject.Config) {
	for _, re := range c.DisposableDirs {
		p.regexp(re)
	}
	for _, n := range []subject.Names{c.HelperLabels, c.EditorNames, c.SessionNames, c.ToolSessions} {
		for _, prefix := range n.Prefix {
			p.prefix(prefix)
		}
	}
	for _, g := range slices.Concat(c.Protected, c.DisposableContent, c.Rebuildable, c.DaemonFolders) {
		p.glob(g)
	}
	for _, v := range c.Custom {
		texts(reflect.ValueOf(v), p.loose)
	}
	for _, e := range c.Exceptions {
		for _, g := range []string{e.Match.ID, e.Match.Path, e.Match.Label, e.Match.Owner} {
			p.glob(g)
		}
	}
	rest := *c
	rest.Exceptions = nil
	rest.DisposableDirs, rest.Protected, rest.DisposableContent, rest.Rebuildable, rest.Custom = nil, nil, nil, nil, nil
	rest.DaemonFolders = nil
	rest.HelperLabels.Prefix, rest.EditorNames.Prefix = nil, nil
	rest.SessionNames.Prefix, rest.ToolSessions.Prefix = nil, nil
	for _, g := range slices.Concat(rest.OwnSockets, rest.DrivenPrograms) {
		p.paths = append(p.paths, starred(g))
	}
	texts(reflect.ValueOf(rest), p.literal)
}

// texts gives every text in a value.
func texts(v reflect.Value, add func(string)) {
	switch v.Kind() {
	case reflect.String:
		add(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			texts(v.Field(i), add)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			texts(v.Index(i), add)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			texts(k, add)
			texts(v.MapIndex(k), add)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			texts(v.Elem(), add)
		}
	}
}

// literal takes a text that names are compared with: as a whole, and part by part where it is a path. A * in it stands for any text.
func (p *patterns) literal(text string) {
	for _, part := range append(strings.Split(text, "/"), text) {
		if strings.Contains(part, "*") {
			p.add(starred(part))
		} else {
			p.word(part)
		}
	}
}

// word keeps a name, and what the kernel keeps of it.
func (p *patterns) word(w string) {
	p.words[w] = true
	for _, end := range []string{"", ".exe"} {
		if name := w + end; len(name) > commLen {
			p.words[name[:commLen]] = true
		}
	}
}

// loose takes a text of a person's own rule or parameter, of which it is not known how it is compared.
func (p *patterns) loose(text string) {
	p.literal(text)
	if strings.ContainsAny(text, "*?[{") {
		p.glob(text)
	}
	if strings.ContainsAny(text, `\.^$[(|+`) {
		p.regexp(text)
	}
	if len(text) < 3 || strings.ContainsAny(text, " *") && len(text) > 40 { // a sentence for a person
		return
	}
	for _, part := range append(strings.Split(text, "/"), text) {
		if len(part) >= 3 {
			p.add(pattern{part, func(name string) bool { return strings.Contains(name, part) }, func(name string) [][2]int { return found(name, part) }})
			p.prefix(part)
			p.add(pattern{"*" + part, func(name string) bool { return strings.HasSuffix(name, part) }, func(name string) [][2]int { return found(name, part) }})
		}
	}
}

func (p *patterns) prefix(prefix string) {
	p.add(pattern{prefix + "*", func(name string) bool { return strings.HasPrefix(name, prefix) }, func(string) [][2]int { return [][2]int{{0, len(prefix)}} }})
}

// regexp takes an expression on one name. An invalid one matches nothing anywhere.
func (p *patterns) regexp(text string) {
	if re, err := regexp.Compile(text); err == nil {
		p.add(pattern{text, re.MatchString, func(name string) [][2]int {
			at := re.FindStringIndex(name)
			return [][2]int{{at[0], at[1]}}
		}})
	}
}

// glob takes a glob as policies match it: on a name, on an id or on a path, with a slash between parts.
func (p *patterns) glob(text string) {
	for _, g := range []string{text, text + "/**"} {
		if whole, err := glob.Compile(g, '/'); err == nil {
			one := pattern{g, whole.Match, nil}
			if !strings.ContainsAny(g, `/?[{\`) {
				one.parts = starred(g).parts
			}
			p.add(one)
			p.paths = append(p.paths, one)
		}
	}
	for part := range strings.SplitSeq(text, "/") {
		if wildcard(part) {
			p.globPart(part)
		} else {
			p.word(part)
		}
	}
}

// wildcard reports whether a part of a glob stands for more than itself.
func wildcard(part string) bool { return strings.ContainsAny(part, `*?[{\`) }

// globPart takes the part of a glob between two slashes.
func (p *patterns) globPart(part string) {
	if !strings.ContainsAny(part, `?[{\`) {
		p.add(starred(part))
	} else if g, err := glob.Compile(part, '/'); err == nil {
		p.add(pattern{part, g.Match, nil})
	}
}

func (p *patterns) add(one pattern) {
	if !p.have[one.text] && strings.Trim(one.text, "*") != "" {
		p.have[one.text] = true
		p.names = append(p.names, one)
	}
}

// starred is a pattern in which a * stands for any text, as engine/subject compares names.
func starred(text string) pattern {
	parts := strings.Split(text, "*")
	at := func(name string) [][2]int {
		if !strings.HasPrefix(name, parts[0]) {
			return nil
		}
		spans, from := [][2]int{{0, len(parts[0])}}, len(parts[0])
		for _, part := range parts[1 : len(parts)-1] {
			i := strings.Index(name[from:], part)
			if i < 0 {
				return nil
			}
			spans = append(spans, [2]int{from + i, from + i + len(part)})
			from += i + len(part)
		}
		last := parts[len(parts)-1]
		if !strings.HasSuffix(name[from:], last) {
			return nil
		}
		return append(spans, [2]int{len(name) - len(last), len(name)})
	}
	return pattern{text, func(name string) bool { return at(name) != nil }, at}
}

func found(name, part string) (all [][2]int) {
	for from := 0; ; {
		i := strings.Index(name[from:], part)
		if i < 0 {
			return all
		}
		all = append(all, [2]int{from + i, from + i + len(part)})
		from += i + len(part)
	}
}

// keeps reports whether a name is kept whole because something names it.
func (p *patterns) keeps(name string) bool {
	if p.words[name] || len(name) > commLen && p.words[name[:commLen]] {
		return true
	}
	end := path.Ext(name) // an interpreter's program is known without it
	return end != "" && end != name && p.words[strings.TrimSuffix(name, end)]
}

// alike reports whether a stand-in matches what the name matches.
func alike(all []pattern, name, standIn string) bool {
	return !slices.ContainsFunc(all, func(p pattern) bool { return p.matches(name) != p.matches(standIn) })
}

// parted cuts a name into the parts that patterns need and those between them.
func (p *patterns) parted(name string) (needed [][2]int, by []string) {
	for i := range p.names {
		if one := &p.names[i]; one.matches(name) {
			by = append(by, one.text)
			if one.parts != nil {
				needed = append(needed, one.parts(name)...)
			}
		}
	}
	slices.SortFunc(needed, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	return needed, by
}
