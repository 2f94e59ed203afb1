package landing

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
)

// pair is a question for one difference: what a commit's tree has against that of another one. Both are object names.
type pair struct{ commit, against string }

// digest stands for a difference. Two differences with the same digest are the same but for the place in the file, which is compared apart: the same paths,
// modes, and changed lines with three lines around them, to the last blank. (git patch-id leaves blanks out, and a change of blanks
// alone is work.) The zero value stands for no difference.
type digest [sha256.Size]byte

// maxPaths is how many paths a difference may be about; one of more is looked for nowhere.
const maxPaths = 5000

// outlines gives for each pair a digest of which paths it is about and how: of equal differences they are equal. It reads trees and no
// file. The zero digest stands for no difference, and many is true for one with too many paths.
// Of the first named pairs it says what some of the changed files were and are.
func outlines(ctx context.Context, sealed *gitsafe.Sandbox, pairs []pair, named int) ([]outline, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	o := outliner{pairs: pairs, named: named}
	_, err := sealed.Run(ctx, gitsafe.Call{Args: diffTree("--raw", "-z"), Stdin: input(pairs), Until: 0}, o.field)
	if err == nil {
		err = o.end()
	}
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return o.found, nil
}

// outline is the answer for one pair. Files is the digest of what the files were and are as well.
type outline struct {
	digest
	files digest
	many  bool
	some  []change
}

// change is what one path was and is: names of objects, of zeros where there is nothing. The file's content differs, not its mode alone.
type change struct{ path, was, is string }

// maxSome is how many changes of one difference are named.
const maxSome = 8

func (o outline) empty() bool { return o.digest == digest{} && !o.many }

// diffTree is a question to git diff-tree for many pairs. It reads neither attributes nor a configuration, so that no driver of a
// repository's own is known to it, and the options also hold against the defaults of a later git.
func diffTree(format ...string) []string {
	return append([]string{"diff-tree", "--stdin", "-r", "--always", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--full-index", "--ignore-submodules=none", "--submodule=short", "--no-prefix"}, format...)
}

func input(pairs []pair) *bytes.Buffer {
	var in bytes.Buffer
	for _, p := range pairs {
		in.WriteString(p.commit + " " + p.against + "\n")
	}
	return &in
}

// outliner reads what git diff-tree --raw -z prints: a commit's name, then for each path two fields,
// ":<mode> <mode> <object> <object> <status>" and the path.
type outliner struct {
	pairs []pair
	found []outline
	named int
	hash  hash.Hash
	files hash.Hash
	paths int
	some  []change
	entry string // the first field of an entry whose path comes next
}

func (o *outliner) field(field []byte) error {
	switch text := string(field); {
	case o.entry != "":
		modes := strings.Fields(o.entry)
		if o.hash == nil || len(modes) != 5 {
			return gitsafe.ErrAnswer
		}
		fmt.Fprintf(o.hash, "%s %s %s %s\x00", modes[0], modes[1], modes[4], text)
		fmt.Fprintf(o.files, "%s %s\x00", o.entry, text)
		if len(o.found) < o.named && len(o.some) < maxSome && modes[2] != modes[3] && !strings.Contains(text, "\n") {
			o.some = append(o.some, change{text, modes[2], modes[3]})
		}
		o.paths++
		o.entry = ""
	case strings.HasPrefix(text, ":"):
		o.entry = text
	case text == "" && o.hash != nil: // git ends the name twice where nothing differs
	default:
		o.close()
		if len(o.found) >= len(o.pairs) || text != o.pairs[len(o.found)].commit {
			return gitsafe.ErrAnswer
		}
		o.hash, o.files, o.paths = sha256.New(), sha256.New(), 0
	}
	return nil
}

func (o *outliner) close() {
	if o.hash == nil {
		return
	}
	var d outline
	if d.many = o.paths > maxPaths; !d.many && o.paths > 0 {
		o.hash.Sum(d.digest[:0])
		o.files.Sum(d.files[:0])
	}
	d.some = o.some
	o.found, o.hash, o.some = append(o.found, d), nil, nil
}

func (o *outliner) end() error {
	o.close()
	if len(o.found) != len(o.pairs) || o.entry != "" {
		return gitsafe.ErrAnswer
	}
	return nil
}

// digests gives for each pair the digest of its difference.
func digests(ctx context.Context, sealed *gitsafe.Sandbox, pairs []pair) ([]digest, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	p := patches{pairs: pairs}
	_, err := sealed.Run(ctx, gitsafe.Call{Args: diffTree("-p", "--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers"), Stdin: input(pairs), Until: '\n'}, p.line)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, fmt.Errorf("compare files: %w", err)
	}
	return p.found, nil
}

// patches reads what git diff-tree -p prints: a commit's name, and the patch, file by file.
type patches struct {
	pairs    []pair
	found    []digest
	hash     hash.Hash
	any      bool
	index    string // the objects of a file whose lines were not seen yet
	old, new int    // lines that the hunk still has on either side
	hunks    bool   // the file's lines are being read
}

func (p *patches) line(line []byte) error {
	if p.old > 0 || p.new > 0 {
		return p.inHunk(line)
	}
	text := string(line)
	switch {
	case strings.HasPrefix(text, "diff --git ") && p.hash != nil:
		p.endFile()
		p.any, p.hunks = true, false
		p.write(text)
	case gitsafe.IsOID(text):
		p.endPatch()
		if len(p.found) >= len(p.pairs) || text != p.pairs[len(p.found)].commit {
			return gitsafe.ErrAnswer
		}
		p.hash, p.any = sha256.New(), false
	case !p.any || p.hash == nil:
		return gitsafe.ErrAnswer
	case strings.HasPrefix(text, "@@ "):
		return p.hunk(text)
	case strings.HasPrefix(text, `\`) && p.hunks: // there is no newline at the end of the file
		p.write(text)
	case p.hunks:
		return gitsafe.ErrAnswer
	case strings.HasPrefix(text, "index "):
		p.index = text
	case strings.HasPrefix(text, "--- "), strings.HasPrefix(text, "+++ "), strings.HasPrefix(text, "Binary files "):
	case strings.HasPrefix(text, "old mode "), strings.HasPrefix(text, "new mode "), strings.HasPrefix(text, "new file mode "), strings.HasPrefix(text, "deleted file mode "):
		p.write(text)
	default:
		return gitsafe.ErrAnswer
	}
	return nil
}

func (p *patches) write(text string) {
	p.hash.Write([]byte(text))
	p.hash.Write([]byte{'\n'})
}

// hunk begins a hunk: "@@ -<line>,<lines> +<line>,<lines> @@ <a line above it>". Where it stands is left out.
func (p *patches) hunk(text string) error {
	where, _, ok := strings.Cut(strings.TrimPrefix(text, "@@ "), " @@")
	before, after, two := strings.Cut(where, " ")
	var err, err2 error
	p.old, err = span(before, "-")
	p.new, err2 = span(after, "+")
	if err = cmp.Or(err, err2); err != nil || !ok || !two {
		return gitsafe.ErrAnswer
	}
	p.index, p.hunks = "", true
	p.write("@@")
	return nil
}

// span reads how many lines one side of a hunk has: "-<line>" or "-<line>,<lines>".
func span(text, sign string) (int, error) {
	rest, ok := strings.CutPrefix(text, sign)
	_, lines, several := strings.Cut(rest, ",")
	if !ok {
		return 0, gitsafe.ErrAnswer
	}
	if !several {
		return 1, nil
	}
	n, err := strconv.Atoi(lines)
	if err != nil || n < 0 {
		return 0, gitsafe.ErrAnswer
	}
	return n, nil
}

func (p *patches) inHunk(line []byte) error {
	if len(line) == 0 {
		return gitsafe.ErrAnswer
	}
	switch line[0] {
	case ' ':
		p.old, p.new = p.old-1, p.new-1
	case '-':
		p.old--
	case '+':
		p.new--
	case '\\':
	default:
		return gitsafe.ErrAnswer
	}
	if p.old < 0 || p.new < 0 {
		return gitsafe.ErrAnswer
	}
	p.hash.Write(line)
	p.hash.Write([]byte{'\n'})
	return nil
}

// endFile adds what the objects of a file are where no line of it was shown: it is empty, or not a text.
func (p *patches) endFile() {
	if p.index != "" {
		p.write(p.index)
	}
	p.index = ""
}

func (p *patches) endPatch() {
	if p.hash == nil {
		return
	}
	p.endFile()
	var d digest
	if p.any {
		p.hash.Sum(d[:0])
	}
	p.found, p.hash = append(p.found, d), nil
}

func (p *patches) end() error {
	p.endPatch()
	if len(p.found) != len(p.pairs) || p.old > 0 || p.new > 0 {
		return errors.Join(gitsafe.ErrAnswer, errors.New("it ended too early"))
	}
	return nil
}
