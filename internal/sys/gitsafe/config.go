package gitsafe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Variable is one line of a git configuration. Name is what git calls it: the section in lower case, the subsection as it is
// written, the key in lower case, dots between them. Assigned is false for a key without an equals sign, which means true.
type Variable struct {
	Name, Value string
	Assigned    bool
}

// Parts are what the name is made of. Only the subsection may have dots, and be missing.
func (v Variable) Parts() (section, subsection, key string) {
	section, rest, _ := strings.Cut(v.Name, ".")
	at := strings.LastIndexByte(rest, '.')
	return section, rest[:max(at, 0)], rest[at+1:]
}

// Includes reports whether the variable has another file read.
func (v Variable) Includes() bool {
	section, _, _ := v.Parts()
	return section == "include" || section == "includeif"
}

// errLine is for a configuration that git would refuse too, and for the few forms of it that are not read here.
var errLine = errors.New("is no git configuration")

// ParseConfig reads a configuration file, sign by sign as git itself does (config.c): what looks like a section to one of them is
// one to the other. Includes are variables like all others. Any doubt is an error.
func ParseConfig(data []byte) ([]Variable, error) {
	r := configReader{rest: strings.TrimPrefix(string(data), "\xef\xbb\xbf"), line: 1}
	if strings.ContainsRune(r.rest, 0) {
		return nil, fmt.Errorf("%w: it holds a zero byte", errLine) // git's strings end there
	}
	var found []Variable
	section, comment := "", false
	for {
		c := r.next()
		switch {
		case c == '\n' && r.eof:
			return found, nil
		case c == '\n':
			comment = false
		case comment || isSpace(c):
		case c == '#' || c == ';':
			comment = true
		case c == '[':
			name, ok := r.section()
			if !ok {
				return nil, r.bad()
			}
			section = name
		default:
			v, ok := r.variable(c)
			if !ok || section == "" {
				return nil, r.bad()
			}
			v.Name = section + "." + v.Name
			found = append(found, v)
		}
	}
}

// configReader hands out one sign after another. A carriage return before a newline is left out, and the end is a newline.
type configReader struct {
	rest string
	line int
	eof  bool
}

func (r *configReader) bad() error { return fmt.Errorf("%w: line %d", errLine, r.line) }

func (r *configReader) next() byte {
	if r.rest == "" {
		r.eof = true
		return '\n'
	}
	if strings.HasPrefix(r.rest, "\r\n") {
		r.rest = r.rest[1:]
	}
	c := r.rest[0]
	r.rest = r.rest[1:]
	if c == '\n' {
		r.line++
	}
	return c
}

// section reads a section's name behind its bracket.
func (r *configReader) section() (string, bool) {
	var name strings.Builder
	for {
		c := r.next()
		switch {
		case r.eof:
			return "", false
		case c == ']':
			return name.String(), name.Len() > 0
		case isSpace(c):
			return r.subsection(name.String(), c)
		case !isKey(c) && c != '.':
			return "", false
		}
		name.WriteByte(lower(c))
	}
}

// subsection reads what stands in quotes behind a section's name. A newline may stand nowhere in it.
func (r *configReader) subsection(section string, c byte) (string, bool) {
	for isSpace(c) {
		if c == '\n' {
			return "", false
		}
		c = r.next()
	}
	if c != '"' {
		return "", false
	}
	var name strings.Builder
	name.WriteString(section + ".")
	for {
		c := r.next()
		if c == '"' {
			return name.String(), section != "" && r.next() == ']'
		}
		if c == '\\' {
			c = r.next()
		}
		if c == '\n' {
			return "", false
		}
		name.WriteByte(c)
	}
}

// variable reads a key that begins with c, and its value.
func (r *configReader) variable(c byte) (Variable, bool) {
	if !isAlpha(c) {
		return Variable{}, false
	}
	var name strings.Builder
	for ; isKey(c) && !r.eof; c = r.next() {
		name.WriteByte(lower(c))
	}
	for c == ' ' || c == '\t' {
		c = r.next()
	}
	v := Variable{Name: name.String()}
	if c == '\n' {
		return v, true
	}
	if c != '=' {
		return Variable{}, false
	}
	value, ok := r.value()
	v.Value, v.Assigned = value, true
	return v, ok
}

// value reads to the end of the line, or further where the line's end is escaped. Each space inside stands for one blank, as in git
// before 2.46; later ones keep it as it is, which does not change the values that are read here.
func (r *configReader) value() (string, bool) {
	var value strings.Builder
	quoted, comment, spaces := false, false, 0
	for {
		c := r.next()
		if c == '\n' {
			return value.String(), !quoted
		}
		if comment {
			continue
		}
		if isSpace(c) && !quoted {
			if value.Len() > 0 {
				spaces++
			}
			continue
		}
		if !quoted && (c == ';' || c == '#') {
			comment = true
			continue
		}
		value.WriteString(strings.Repeat(" ", spaces))
		spaces = 0
		switch c {
		case '"':
			quoted = !quoted
			continue
		case '\\':
			var ok bool
			if c, ok = escapes[r.next()]; !ok {
				return "", false
			}
			if c == '\r' { // an escaped end of the line
				continue
			}
		}
		value.WriteByte(c)
	}
}

// escapes are what stands behind a backslash. The end of the line is nothing, and is given as a carriage return.
var escapes = map[byte]byte{'\n': '\r', 't': '\t', 'b': '\b', 'n': '\n', '\\': '\\', '"': '"'}

// git's own idea of these: ASCII only, and neither \v nor \f is a space.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isAlpha(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
func isKey(c byte) bool   { return isAlpha(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Bool reads a value as git does: no equals sign is true, an empty value false, a number other than 0 true.
func (v Variable) Bool() (bool, error) {
	switch strings.ToLower(v.Value) {
	case "true", "yes", "on":
		return true, nil
	case "false", "no", "off":
		return false, nil
	case "":
		return !v.Assigned, nil
	}
	n, err := strconv.ParseInt(v.Value, 0, 32)
	if err != nil {
		return false, fmt.Errorf("%s is neither true nor false", v.Name)
	}
	return n != 0, nil
}
