package termsafe_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"ASCII stays", `~/wt/a-b_c (1) 'x' "y" \n C:\tmp`, `~/wt/a-b_c (1) 'x' "y" \n C:\tmp`},
		{"letters of any script stay", "مرحبا שלום हिन्दी ไทย 日本　語 Ελληνικά Việt", "مرحبا שלום हिन्दी ไทย 日本　語 Ελληνικά Việt"},
		{"marks stay behind what they stand on", "é ô का", "é ô का"},
		{"an emoji stays, with its style and its skin", "⚠️ 🚀 👍🏽", "⚠️ 🚀 👍🏽"},
		{"joiners are shown in any script", "می\u200cخواهم 👩\u200d💻", `می\u{200c}خواهم 👩\u{200d}💻`},
		{"the start of an escape sequence", "\x1b[2J\x1b]0;x\x07", `\u{1b}[2J\u{1b}]0;x\u{7}`},
		{"what moves the cursor", "a\rb\bc\td\ne\vf\x00", `a\u{d}b\u{8}c\u{9}d\u{a}e\u{b}f\u{0}`},
		{"DEL and C1", "\x7f\u0085\u009b31m", `\u{7f}\u{85}\u{9b}31m`},
		{"C1 as a byte", "a\x9b31m\xff", `a\x{9b}31m\x{ff}`},
		{"half a code point", "\xe2\x80", `\x{e2}\x{80}`},
		{"a surrogate", "\xed\xa0\x80", `\x{ed}\x{a0}\x{80}`},
		{"what reorders", "a\u202egpj.exe\u2066\u2069\u200e\u200f\u061c", `a\u{202e}gpj.exe\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}`},
		{"what has no width", "a\u200bb\u2060c\ufeffd\u00ade\u180ef\u034fg", `a\u{200b}b\u{2060}c\u{feff}d\u{ad}e\u{180e}f\u{34f}g`},
		{"tags", "a\U000e0041\U000e007f", `a\u{e0041}\u{e007f}`},
		{"variation selectors hide nothing", "a\ufe0f\ufe00\U000e0100", `a\u{fe0f}\u{fe00}\u{e0100}`},
		{"only one style behind a symbol", "⚠\ufe0f\ufe0f", "⚠\ufe0f" + `\u{fe0f}`},
		{"line and paragraph separators", "a\u2028b\u2029c", `a\u{2028}b\u{2029}c`},
		{"interlinear", "\ufff9a\ufffab\ufffb\ufffc", `\u{fff9}a\u{fffa}b\u{fffb}\u{fffc}`},
		{"private and unassigned", "\ue000\U000f0000\u0378\U0010ffff", `\u{e000}\u{f0000}\u{378}\u{10ffff}`},
		{"blank letters and spaces", "\u3164\u115f\u2800\u00a0\u2003", `\u{3164}\u{115f}\u{2800}\u{a0}\u{2003}`},
		{"a mark on nothing", "\u0301a \u0301", `\u{301}a \u{301}`},
		{"too many marks", "a" + strings.Repeat("\u0300", 9), "a" + strings.Repeat("\u0300", 8) + `\u{300}`},
		{"what looks like an escape", `a\u{202e}\x{9b}\\u{1}`, `a\u{5c}u{202e}\u{5c}x{9b}\\u{5c}u{1}`},
	} {
		if got := termsafe.Line(c.in); got != c.want {
			t.Errorf("%s: %+q: want %s, got %s", c.why, c.in, c.want, got)
		}
	}
	if want, got := "a\nb\\u{9}", termsafe.Lines("a\nb\t"); got != want {
		t.Errorf("meant line breaks: want %q, got %q", want, got)
	}
}

func TestJSONMeansTheSame(t *testing.T) {
	names := map[string]string{"a\u202eb": "\u009b\x7f\u2028", "\x1b": "\U000e0041<>&\xff", "é": "日本 ⚠️ \U0010ffff"}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	must.Do(t, enc.Encode(names))
	out := termsafe.JSON(b.Bytes())
	if wrong := forbidden(string(out), "\n"); wrong != "" {
		t.Errorf("%s in %q", wrong, out)
	}
	var got, want map[string]string
	must.Do(t, errors.Join(json.Unmarshal(out, &got), json.Unmarshal(b.Bytes(), &want)))
	if fmt.Sprintf("%q", want) != fmt.Sprintf("%q", got) {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestWriter(t *testing.T) {
	in := termsafe.Bold.Apply("reap") + " é ⚠️\u202e \x1b[2J\x1b[31m\r\x9b\ta\n" + termsafe.Dim.Apply("日本")
	const colourless = `\u{1b}[1mreap\u{1b}[0m é ⚠️\u{202e} \u{1b}[2J\u{1b}[31m\u{d}\x{9b}` + "\ta\n" + `\u{1b}[2m日本\u{1b}[0m`
	coloured := "\x1b[1mreap\x1b[0m é ⚠️\\u{202e} \\u{1b}[2J\x1b[31m\\u{d}\\x{9b}\ta\n\x1b[2m日本\x1b[0m"
	for style, want := range map[bool]string{false: colourless, true: coloured} {
		for size := 1; size <= len(in); size++ { // wherever a buffer cuts
			var b bytes.Buffer
			w := termsafe.NewWriter(&b)
			w.Styled(style)
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				if m, err := w.Write([]byte(rest[:n])); m != n || err != nil {
					t.Fatalf("want %d written, got %d, %v", n, m, err)
				}
				rest = rest[n:]
			}
			must.Do(t, w.Flush())
			if b.String() != want {
				t.Fatalf("colours %v, %d bytes at a time: want %q, got %q", style, size, want, b.String())
			}
		}
	}
}

func TestWriterKeepsNothingBack(t *testing.T) {
	var b bytes.Buffer
	w := termsafe.NewWriter(&b)
	w.Styled(true)
	fmt.Fprint(w, "a\xe2\x80")
	fmt.Fprint(w, "\x1b[3")
	must.Do(t, w.Flush())
	if want := `a\x{e2}\x{80}\x{1b}\x{5b}\x{33}`; b.String() != want {
		t.Errorf("want %s, got %s", want, b.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestWriterRemembersItsError(t *testing.T) {
	w := termsafe.NewWriter(full{})
	if _, err := fmt.Fprint(w, "x"); !errors.Is(err, syscall.ENOSPC) || !errors.Is(w.Err(), syscall.ENOSPC) {
		t.Errorf("want %v, got %v and %v", syscall.ENOSPC, err, w.Err())
	}
}

func TestJSONWriter(t *testing.T) {
	var b bytes.Buffer
	under := termsafe.NewWriter(&b)
	fmt.Fprint(termsafe.JSONWriter(under), "{\"a\":\"\u202e\u009b\U000e0041\"}\n")
	if want := `{"a":"\u202e\u009b\udb40\udc41"}` + "\n"; b.String() != want {
		t.Errorf("want %s, got %s", want, b.String())
	}
}

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ in, cell string }{
		{"it has work that is nowhere else, 3 files.", "it has work that is nowhere else, 3 files."},
		{"seen twice (7d, 30s) by someone's look", "seen twice (7d, 30s) by someone's look"},
		{"pipe | tick ` both", "pipe `\\u{7c}` tick `\\u{60}` both"},
		{"<b>bold</b> &amp; text", "`<b>bold</b> &amp;` text"},
		{"![x](http://evil/a.png) [l](j)", "`![x](http://evil/a.png) [l](j)`"},
		{"see https://evil.example and www.evil.example", "see `https://evil.example` and `www.evil.example`"},
		{"reap.dirs.landed: all is on origin/main, as :x: is", "`reap.dirs.landed`: all is on `origin/main`, as `:x:` is"},
		{"@octocat and a@b.c", "`@octocat` and `a@b.c`"},
		{"#12 GH-3 1234567 0123abc :x:", "`#12 GH-3 1234567 0123abc :x:`"},
		{"*a* _b_ ~c~ a\\|b $x$", "`*a* _b_ ~c~ a\\\\u{7c}b $x$`"},
		{"a\nb", "`a\\u{a}b`"},
	} {
		if got := termsafe.Cell(c.in); got != c.cell {
			t.Errorf("%q: want %s, got %s", c.in, c.cell, got)
		}
	}
	if want, got := "`a\\u{60}\\u{7c}\\u{5c}u{60}`", termsafe.Code("a`|\\u{60}"); got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

// FuzzEscape: what is printed holds nothing that a terminal obeys or hides, and says exactly what was put in.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[31m", "\xff\x9b", "\u202e\u200b⚠️", `\u{202e}\x{1}\\u{`, "e\u0301\u0301", "`|<@x> http://y", "\ud7ff\U000e0001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := termsafe.Line(s)
		if wrong := forbidden(line, ""); wrong != "" {
			t.Fatalf("%q gives %q: %s", s, line, wrong)
		}
		if back := unescape(line); back != s {
			t.Fatalf("%q gives %s, which says %q", s, line, back)
		}
		if back := unescape(termsafe.Lines(s)); back != s {
			t.Fatalf("%q gives %s, which says %q", s, termsafe.Lines(s), back)
		}
		if wrong := forbidden(termsafe.Lines(s), "\n"); wrong != "" {
			t.Fatalf("%q as lines: %s", s, wrong)
		}
		for what, md := range map[string]string{"cell": termsafe.Cell(s), "code": termsafe.Code(s)} {
			if wrong := forbidden(md, ""); wrong != "" {
				t.Fatalf("%q as %s: %s", s, what, wrong)
			}
			text := inCode.ReplaceAllString(md, "")
			if strings.ContainsAny(text, "`|<>@#[]*~&\\/") {
				t.Fatalf("%q as %s is %s: markup outside of code", s, what, md)
			}
		}
		var b bytes.Buffer
		w := termsafe.NewWriter(&b)
		fmt.Fprint(w, s)
		_ = w.Flush()
		if wrong := forbidden(b.String(), "\n\t"); wrong != "" {
			t.Fatalf("%q through a writer: %s", s, wrong)
		}
		once := b.String()
		b.Reset()
		fmt.Fprint(w, once)
		if b.String() != once {
			t.Fatalf("%q twice through a writer: want %q, got %q", s, once, b.String())
		}
		doc := must.Get(json.Marshal(s))(t)
		out := termsafe.JSON(doc)
		var want, got string
		if err := errors.Join(json.Unmarshal(doc, &want), json.Unmarshal(out, &got)); err != nil || want != got {
			t.Fatalf("%q as JSON: want %q, got %q, %v", s, want, got, err)
		}
		if wrong := forbidden(string(out), ""); wrong != "" {
			t.Fatalf("%q as JSON: %s", s, wrong)
		}
	})
}

var (
	inCode  = regexp.MustCompile("`[^`]*`")
	escaped = regexp.MustCompile(`\\[ux]\{[0-9a-f]+\}`)
)

// unescape reads an escaped line as its notation says.
func unescape(line string) string {
	return escaped.ReplaceAllStringFunc(line, func(e string) string {
		n, err := strconv.ParseUint(e[3:len(e)-1], 16, 32)
		if err != nil {
			return e
		}
		if e[1] == 'x' {
			return string([]byte{byte(n)})
		}
		return string(rune(n))
	})
}

// forbidden names the first thing in s that may never be printed. The list is written out here, apart from what the package goes by.
func forbidden(s, but string) string {
	if !utf8.ValidString(s) {
		return "no UTF-8"
	}
	for _, r := range s {
		bad := r < 0x20 || r >= 0x7f && r <= 0xa0 || r == 0xad || r == 0x61c || r == 0x34f || r >= 0x180b && r <= 0x180f ||
			r >= 0x2000 && r <= 0x200f || r >= 0x2028 && r <= 0x202f || r >= 0x205f && r <= 0x206f || r == 0x2800 || r == 0x3164 ||
			r >= 0xe000 && r <= 0xf8ff || r >= 0xfe00 && r <= 0xfe0e || r == 0xfeff || r == 0xffa0 || r >= 0xfff0 && r <= 0xfffc || r >= 0xe0000
		if bad && !strings.ContainsRune(but, r) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}
