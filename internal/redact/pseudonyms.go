package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Options say how a Redacter works.
type Options struct {
	// Key is what the stand-ins are made with: the same name has the same stand-in in all documents that are made with the same key, and who has the
	// key can try names against them. nil is a key that is thrown away.
	Key []byte
	// Config are the parameters that rules read; Literals the texts that the shipped policies hold, and Own those that a person's own policies hold.
	// What of a name they need is kept.
	Config        *subject.Config
	Literals, Own []string
}

// KeySize is the size of a key, in bytes.
const KeySize = 32

// NewKey is a key that no other document has.
func NewKey() []byte {
	key := make([]byte, KeySize)
	rand.Read(key)
	return key
}

// Redacter replaces what names a person, a machine or a project by stand-ins. Equal names get equal stand-ins, so that documents still join.
type Redacter struct {
	o      Options
	keyed  bool
	shapes *patterns

	made map[string]string
	// What is kept: names that something names, by name; names of which a part is kept, by pattern; names that are kept whole because no stand-in
	// would match alike.
	kept, whole map[string]bool
	parts       map[string]int
}

// New makes a Redacter. It may be used for several documents, by one goroutine.
func New(o Options) *Redacter {
	r := &Redacter{o: o, keyed: o.Key != nil, made: map[string]string{}}
	if r.o.Key == nil {
		r.o.Key = NewKey()
	}
	return r
}

// KeyName names a key without telling it.
func KeyName(key []byte) string {
	sum := sha256.Sum256(append([]byte("winnow.redaction/v1 name of a key "), key...))
	return hex.EncodeToString(sum[:8])
}

// plainWords say what a thing is, and not whose.
var plainWords = []string{"", ".", "..", ".git", "worktrees", ".claude", ".worktrees", "tmp", "proc", "usr", "bin", "home", "root", "run", "user", "var", "refs", "heads",
	"remotes", "origin", "main", "master", "default", "tmux", "herdr", "codev", "dirs", "versions", "true", "false"}

// native are the ids that tmux, herdr and Codev give: numbers with a letter.
var native = regexp.MustCompile(`^(?:[$%@]?[0-9]{1,20}|w[0-9]+(?::[pt][0-9]+)?|pid-[0-9]+)$`)

// word is the stand-in of a name.
func (r *Redacter) word(w string) string {
	if slices.Contains(plainWords, w) || native.MatchString(w) {
		return w
	}
	if out, ok := r.made[w]; ok {
		return out
	}
	out := r.pseudonym(w)
	r.made[w] = out
	return out
}

func (r *Redacter) pseudonym(w string) string {
	if r.shapes.keeps(w) {
		r.kept[w] = true
		return w
	}
	needed, by := r.shapes.parted(w)
	for _, letters := range alphabets {
		if out := r.opaque(w, letters); alike(r.shapes.names, w, out) {
			return out
		}
	}
	for _, letters := range alphabets {
		if out := r.around(w, needed, letters); out != w && alike(r.shapes.names, w, out) {
			for _, text := range by {
				r.parts[text]++
			}
			return out
		}
	}
	if len(needed) > 0 && r.around(w, needed, alphabets[0]) == w { // patterns name all of it, such as python3*
		r.kept[w] = true
	} else {
		r.whole[w] = true
	}
	return w
}

// alphabets are what stand-ins are written in: one may look like what a pattern is about.
var alphabets = []string{"0123456789abcdef", "ghijkmnopqrstuvw", "0123456789"}

// opaque is a text that says nothing of w: 48 bits of a keyed digest, so that no two names of a machine have the same.
func (r *Redacter) opaque(w, letters string) string {
	mac := hmac.New(sha256.New, r.o.Key)
	mac.Write([]byte(w))
	out := []byte{'x'}
	for _, b := range mac.Sum(nil)[:6] {
		out = append(out, letters[int(b>>4)%len(letters)], letters[int(b&15)%len(letters)])
	}
	if letters == alphabets[2] {
		return string(out[1:])
	}
	return string(out)
}

// around keeps the needed parts of a name and replaces what is between them.
func (r *Redacter) around(w string, needed [][2]int, letters string) string {
	var b strings.Builder
	at := 0
	for _, part := range needed {
		if part[0] > at {
			b.WriteString(r.opaque(w[at:part[0]], letters))
		}
		if part[1] > at {
			b.WriteString(w[max(at, part[0]):part[1]])
			at = part[1]
		}
	}
	if at < len(w) {
		b.WriteString(r.opaque(w[at:], letters))
	}
	return b.String()
}

// deleted is what the kernel writes behind the path of what has no name any more.
const deleted = " (deleted)"

func (r *Redacter) path(p string) string {
	bare, gone := strings.CutSuffix(p, deleted)
	out := text.Join(strings.Split(bare, "/"), "/", r.word)
	if !alike(r.shapes.paths, bare, out) {
		r.whole[bare] = true
		out = bare
	}
	if gone {
		out += deleted
	}
	return out
}

// value is the stand-in of the value of a variable of the environment, part by part: tmux writes socket,pid,session.
func (r *Redacter) value(v string) string {
	return text.Join(strings.Split(v, ","), ",", r.path)
}

// digest stands for a text that nothing is read from, but that must be the same where it is the same.
func (r *Redacter) digest(s string) string {
	if s == "" {
		return ""
	}
	return r.opaque(s, alphabets[0])
}

// id rewrites a candidate's or a source's name: what stands before the first path or name is ours.
func (r *Redacter) id(id string) string {
	kind, rest, ok := strings.Cut(id, ":")
	switch {
	case !ok:
		return r.source(id)
	case kind == snapshot.KindProcess:
		return id
	case kind == snapshot.KindDir:
		return kind + ":" + r.path(rest)
	}
	return kind + ":" + text.Join(strings.Split(rest, "/"), "/", r.word) // source kind, name, native id
}

func (r *Redacter) source(name string) string {
	kind, rest, ok := strings.Cut(name, "/")
	switch {
	case name == snapshot.Proc || name == snapshot.Ledger || name == snapshot.Projects:
		return name
	case !ok:
		return r.word(name)
	case strings.HasPrefix(rest, "/"):
		return kind + "/" + r.path(rest)
	}
	return kind + "/" + text.Join(strings.Split(rest, "/"), "/", r.word)
}

// sorted is never nil: known and empty is written down.
func sorted(names map[string]bool) []string {
	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(names))))
}
