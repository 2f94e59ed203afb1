package ledger

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// What stands for many sweeps differs from one to the next only in its numbers: ages, sizes, processor time. So of a later sweep only that is kept
// by which the numbers of a text differ from those of the text that was written first. Nothing is lost by it: for every two texts, either
// apply(base, differ(base, text)) is text, byte for byte, or differ says that text is another one.

// change is one number of a text that is another one now.
type change struct {
	// skip is how many bytes of the base stay before it.
	skip int
	// by is what is added to it; where literal is not empty, that stands in its place.
	by      int64
	literal string
}

// maxLiteral is the longest number that is kept as it is, in bytes.
const maxLiteral = 40

// number is a number in a text: what it counts, in which form, and how many bytes it has. A span of time is one number: 2m59s, and a second later 3m.
type number struct {
	form  byte // one of the forms
	value int64
	size  int
}

// The forms of a number. What is written in another way than its form would write it, such as 007, is literal.
const (
	whole    = 'w' // 42
	fraction = 'f' // 42.5: value counts billionths
	span     = 's' // 2h5m: value counts seconds
	literal  = 'l'
)

const billion = 1_000_000_000

// differ says how text differs from base. ok is false where they differ in more than numbers.
func differ(base, text string) (all []change, ok bool) {
	from := 0 // where in base the next change's skip begins
	for i, j := 0, 0; ; {
		same := common(base[i:], text[j:])
		i, j = i+same, j+same
		if i == len(base) && j == len(text) {
			return all, true
		}
		start := numberAround(base, from, i)
		back := i - start
		i, j = start, j-back
		was, now := numberAt(base, i), numberAt(text, j)
		if was.size == 0 || now.size == 0 || was.size <= back && now.size <= back { // a number on both sides that reaches over the difference
			return nil, false
		}
		c := change{skip: i - from}
		if by, fits := between(was, now); fits && write(was.form, was.value+by) == text[j:j+now.size] {
			c.by = by
		} else if c.literal = text[j : j+now.size]; len(c.literal) > maxLiteral {
			return nil, false
		}
		all = append(all, c)
		i, j = i+was.size, j+now.size
		from = i
	}
}

// apply makes the text that differs so from base. It fails on changes that are not of this base.
func apply(base string, all []change) (string, error) {
	var out strings.Builder
	out.Grow(len(base) + 8)
	i := 0
	for _, c := range all {
		if c.skip < 0 || c.skip > len(base)-i {
			return "", errChanges
		}
		out.WriteString(base[i : i+c.skip])
		i += c.skip
		n := numberAt(base, i)
		switch {
		case n.size == 0, n.form == literal && c.literal == "":
			return "", errChanges
		case c.literal != "":
			out.WriteString(c.literal)
		default:
			now := write(n.form, n.value+c.by)
			if now == "" {
				return "", errChanges
			}
			out.WriteString(now)
		}
		i += n.size
	}
	out.WriteString(base[i:])
	return out.String(), nil
}

var errChanges = errors.New("what changed in it is not of what it was")

// common is how many bytes two texts begin with in common.
func common(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i+16 <= n && a[i:i+16] == b[i:i+16] {
		i += 16
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// numberAround is where the number begins that position i of a text may be in or just behind; it is not before from.
func numberAround(text string, from, i int) int {
	start := i
	for start > from && strings.IndexByte("0123456789.dhms", text[start-1]) >= 0 {
		start--
	}
	for start < i && !digit(text[start]) {
		start++
	}
	// The run may hold more than one number.
	for start < i {
		n := numberAt(text, start)
		if n.size == 0 {
			start++
			continue
		}
		// Where one ends at i and another one begins there, as in 15m0s, it is the other one that differs.
		if end := start + n.size; end > i || end == i && (i == len(text) || !digit(text[i])) {
			return start
		}
		start += n.size
	}
	return start
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func digits(text string) int {
	n := 0
	for n < len(text) && digit(text[n]) {
		n++
	}
	return n
}

// numberAt reads the number that text has at i; its size is 0 where there is none.
func numberAt(text string, i int) number {
	text = text[i:]
	n := digits(text)
	if n == 0 {
		return number{}
	}
	if s := spanAt(text, n); s.size > 0 {
		return s
	}
	if n < len(text) && text[n] == '.' {
		if f := digits(text[n+1:]); f > 0 {
			return fractionAt(text[:n+1+f], n)
		}
	}
	v, err := strconv.ParseInt(text[:n], 10, 64)
	if err != nil || n > 18 {
		return number{form: literal, size: n}
	}
	return number{whole, v, n}
}

// fractionAt reads a number with a point after so many digits.
func fractionAt(text string, point int) number {
	behind := text[point+1:]
	if point > 9 || len(behind) > 9 {
		return number{form: literal, size: len(text)}
	}
	above, _ := strconv.ParseInt(text[:point], 10, 64)
	below, _ := strconv.ParseInt(behind+"000000000"[len(behind):], 10, 64)
	return number{fraction, above*billion + below, len(text)}
}

// units are those of spans of time, each with its seconds, the greatest first.
var units = []struct {
	name    byte
	seconds int64
}{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}

// spanAt reads a span of time whose first number has so many digits, as policies and the program write it: in at most two units that follow each other.
func spanAt(text string, n int) number {
	value, size := int64(0), 0
	best := number{}
	for first := -1; n > 0 && n <= 9 && size+n < len(text); {
		u := unit(text[size+n])
		if u < 0 || first >= 0 && u != first+1 {
			break
		}
		count, _ := strconv.ParseInt(text[size:size+n], 10, 64)
		value, size = value+count*units[u].seconds, size+n+1
		if write(span, value) == text[:size] {
			best = number{span, value, size}
		}
		if first >= 0 {
			break
		}
		first, n = u, digits(text[size:])
	}
	return best
}

func unit(name byte) int {
	for i := range units {
		if units[i].name == name {
			return i
		}
	}
	return -1
}

// between is what a number of one form grew by.
func between(was, now number) (by int64, ok bool) {
	switch {
	case was.form == literal || now.form == literal:
		return 0, false
	case was.form == now.form:
		return now.value - was.value, true
	case was.form == fraction && now.form == whole && now.value <= 1<<32: // it happens to have no fraction
		return now.value*billion - was.value, true
	}
	return 0, false
}

// write gives a number as its form has it: "" where it has no such number.
func write(form byte, value int64) string {
	switch {
	case value < 0:
		return ""
	case form == fraction:
		text := strconv.FormatInt(value/billion, 10)
		if rest := value % billion; rest > 0 {
			text += "." + strings.TrimRight(strconv.FormatInt(billion+rest, 10)[1:], "0")
		}
		return text
	case form == span:
		return writeSpan(value)
	}
	return strconv.FormatInt(value, 10)
}

func writeSpan(seconds int64) string {
	i := 0
	for i < len(units)-1 && seconds < units[i].seconds {
		i++
	}
	text := strconv.FormatInt(seconds/units[i].seconds, 10) + string(units[i].name)
	if i == len(units)-1 {
		return text
	}
	below := units[i+1]
	if rest := seconds % units[i].seconds / below.seconds; rest > 0 {
		text += strconv.FormatInt(rest, 10) + string(below.name)
	}
	return text
}

// pack keeps the changes of many texts in few bytes: the first change of all of them stands together, then the second, and so on, since what
// is of one age grows by the same. nil says that nothing changed.
func pack(all [][]change) ([]byte, error) {
	last, most := 0, 0
	for i, cs := range all {
		if len(cs) > 0 {
			last = i + 1
		}
		most = max(most, len(cs))
	}
	if last == 0 {
		return nil, nil
	}
	raw := binary.AppendUvarint(nil, uint64(len(all)))
	raw = binary.AppendUvarint(raw, uint64(last))
	for _, cs := range all[:last] {
		raw = binary.AppendUvarint(raw, uint64(len(cs)))
	}
	for i := range most {
		for _, cs := range all[:last] {
			if i < len(cs) {
				raw = binary.AppendUvarint(raw, uint64(cs[i].skip)<<1|isLiteral(cs[i]))
			}
		}
		for _, cs := range all[:last] {
			if i >= len(cs) {
				continue
			}
			if c := cs[i]; c.literal == "" {
				raw = binary.AppendVarint(raw, c.by)
			} else {
				raw = append(binary.AppendUvarint(raw, uint64(len(c.literal))), c.literal...)
			}
		}
	}
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err == nil {
		_, err = z.Write(raw)
	}
	if err == nil {
		err = z.Close()
	}
	return out.Bytes(), err
}

func isLiteral(c change) uint64 {
	if c.literal != "" {
		return 1
	}
	return 0
}

// maxChanges is the most that the changes of one sweep take up before they are packed, in bytes.
const maxChanges = 256 << 20

// unpack gives the changes of so many texts, and an error where packed is of another number of them.
func unpack(packed []byte, texts int) ([][]change, error) {
	if packed == nil {
		return make([][]change, texts), nil
	}
	in := bytes.NewReader(packed)
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(in), maxChanges))
	if err != nil {
		return nil, fmt.Errorf("unpack what changed: %w", err)
	}
	if in.Len() > 0 {
		return nil, errChanges
	}
	r := unpacker{rest: raw}
	if r.upTo(texts) != texts || r.bad {
		return nil, errChanges
	}
	all := make([][]change, texts)
	with := all[:r.upTo(texts)]
	most, room := 0, len(r.rest)
	for i := range with {
		n := r.upTo(room) // each takes up a byte at least
		room -= n
		with[i] = make([]change, n)
		most = max(most, n)
	}
	for i := 0; i < most && !r.bad; i++ {
		r.column(with, i)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errChanges
	}
	return all, nil
}

type unpacker struct {
	rest []byte
	bad  bool
}

// upTo reads a number that is not above most.
func (r *unpacker) upTo(most int) int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > uint64(most) {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// column reads the change number i of each text.
func (r *unpacker) column(all [][]change, i int) {
	kept := make([]bool, len(all))
	for k, cs := range all {
		if i < len(cs) {
			v := r.upTo(1 << 32)
			cs[i].skip, kept[k] = v>>1, v&1 == 1
		}
	}
	for k, cs := range all {
		switch {
		case i >= len(cs):
		case kept[k]:
			n := r.upTo(min(maxLiteral, len(r.rest)))
			cs[i].literal, r.rest = string(r.rest[:n]), r.rest[n:]
		default:
			v, n := binary.Varint(r.rest)
			if n <= 0 {
				r.bad, r.rest = true, nil
				return
			}
			cs[i].by, r.rest = v, r.rest[n:]
		}
	}
}
