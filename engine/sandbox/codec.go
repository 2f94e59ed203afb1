package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/tester"
)

// The tags of a document's values on the wire. After a tag comes what it needs: a text with its length, a list or an object with the
// number of its members, and for the two that share, a number of the table that both ends keep.
const (
	tagNull byte = iota
	tagFalse
	tagTrue
	tagNumber
	tagText
	tagList
	tagObject
	// tagShared is a value that was sent before, tagShare one that is sent now and may be meant later.
	tagShared
	tagShare
)

// maxNested is how deep a document may be; subjects are less than ten.
const maxNested = 64

var errWire = errors.New("a document on the wire is damaged")

// sender writes the documents of one question. Texts go as they are, byte by byte: a path that is no UTF-8 stays the path that it is,
// which JSON would not keep. What all documents have in common is sent once.
type sender struct {
	share map[*ast.Term]bool
	sent  map[*ast.Term]uint64
}

// newSender shares the terms of a desk that many documents have in common.
func newSender(d *plan.Encoder) *sender {
	s := &sender{share: map[*ast.Term]bool{}, sent: map[*ast.Term]uint64{}}
	for _, t := range d.Common() {
		if t != nil {
			s.share[t] = true
		}
	}
	return s
}

// document appends a document. Only the values of its own fields are looked up among the shared ones.
func (s *sender) document(to []byte, v ast.Value) ([]byte, error) { return s.value(to, v, true) }

// value appends a value. It looks up those of the fields of a whole document.
func (s *sender) value(to []byte, v ast.Value, whole bool) (_ []byte, err error) {
	switch v := v.(type) {
	case ast.Null:
		return append(to, tagNull), nil
	case ast.Boolean:
		if v {
			return append(to, tagTrue), nil
		}
		return append(to, tagFalse), nil
	case ast.Number:
		return appendText(append(to, tagNumber), string(v)), nil
	case ast.String:
		return appendText(append(to, tagText), string(v)), nil
	case *ast.Array:
		to = binary.AppendUvarint(append(to, tagList), uint64(v.Len()))
		for i := 0; i < v.Len() && err == nil; i++ {
			to, err = s.value(to, v.Elem(i).Value, false)
		}
		return to, err
	case ast.Object:
		to = binary.AppendUvarint(append(to, tagObject), uint64(v.Len()))
		err = v.Iter(func(k, v *ast.Term) (err error) {
			if to, err = s.value(to, k.Value, false); err != nil {
				return err
			}
			if whole {
				if n, sent := s.sent[v]; sent {
					to = binary.AppendUvarint(append(to, tagShared), n)
					return nil
				}
				if s.share[v] {
					s.sent[v] = uint64(len(s.sent))
					to = append(to, tagShare)
				}
			}
			to, err = s.value(to, v.Value, false)
			return err
		})
		return to, err
	default:
		return nil, fmt.Errorf("%w: a %s", errWire, ast.ValueName(v))
	}
}

func appendText(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}

// receiver reads what a sender wrote, in the same order.
type receiver struct {
	shared []*ast.Term
	rest   []byte
}

// document reads one document, which must be the whole of data.
func (r *receiver) document(data []byte) (ast.Value, error) {
	r.rest = data
	t, err := r.term(0)
	if err != nil {
		return nil, err
	}
	if len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errWire, len(r.rest))
	}
	return t.Value, nil
}

func (r *receiver) term(nested int) (*ast.Term, error) {
	if len(r.rest) == 0 || nested > maxNested {
		return nil, errWire
	}
	tag := r.rest[0]
	r.rest = r.rest[1:]
	switch tag {
	case tagNull:
		return ast.InternedNullTerm, nil
	case tagFalse, tagTrue:
		return ast.InternedTerm(tag == tagTrue), nil
	case tagShare:
		t, err := r.term(nested + 1)
		r.shared = append(r.shared, t)
		return t, err
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		return nil, errWire
	}
	r.rest = r.rest[size:]
	if tag == tagShared {
		if n >= uint64(len(r.shared)) {
			return nil, errWire
		}
		return r.shared[n], nil
	}
	if n > uint64(len(r.rest)) { // every member takes a byte at least
		return nil, errWire
	}
	switch tag {
	case tagNumber, tagText:
		text := string(r.rest[:n])
		r.rest = r.rest[n:]
		if tag == tagNumber {
			return ast.NewTerm(ast.Number(text)), nil
		}
		return ast.StringTerm(text), nil
	case tagList:
		return r.list(int(n), nested)
	case tagObject:
		return r.object(int(n), nested)
	default:
		return nil, errWire
	}
}

func (r *receiver) list(n, nested int) (*ast.Term, error) {
	terms := make([]*ast.Term, n)
	for i := range terms {
		var err error
		if terms[i], err = r.term(nested + 1); err != nil {
			return nil, err
		}
	}
	return ast.NewTerm(ast.NewArray(terms...)), nil
}

func (r *receiver) object(n, nested int) (*ast.Term, error) {
	pairs := make([][2]*ast.Term, n)
	for i := range pairs {
		for j := range pairs[i] {
			var err error
			if pairs[i][j], err = r.term(nested + 1); err != nil {
				return nil, err
			}
		}
	}
	return ast.NewTerm(ast.NewObject(pairs...)), nil
}

// decode reads a JSON text of the wire. A number stays the one that it is.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errWire, err)
	}
	return nil
}

// The questions that the process which judges apart is asked, a line of JSON each; documents follow in frames where it says so.
type question struct {
	// Load has what the policies' files hold behind it, as Sources.Send writes it.
	Load *toLoad `json:"load,omitempty"`
	// Check, Test and Format have the files behind them too.
	Check  *toCheck `json:"check,omitempty"`
	Test   *toTest  `json:"test,omitempty"`
	Format *toLoad  `json:"format,omitempty"`
	// Build has the rules compiled, where they were prepared.
	Build bool `json:"build,omitempty"`
	// Decide is how many documents follow, a frame each; they are answered in any order, by their number.
	Decide int `json:"decide,omitempty"`
	// Guess says that nothing is done by the answers, so that the plan's word is enough.
	Guess bool `json:"guess,omitempty"`
	// Workers bounds how many are judged at once.
	Workers int `json:"workers,omitempty"`
	// Explain has one document that follows.
	Explain *explain.Explanation `json:"explain,omitempty"`
	// Counterfactual has one document that follows.
	Counterfactual *toSearch `json:"counterfactual,omitempty"`
	// Masks loads masks of the decision log, and Mask is an event that they are asked about.
	Masks *toMask         `json:"masks,omitempty"`
	Mask  json.RawMessage `json:"mask,omitempty"`
}

type toSearch struct {
	Kind   string      `json:"kind"`
	Search eval.Search `json:"search"`
}

type toCheck struct {
	toLoad
	Advice bool `json:"advice,omitempty"`
}

type toTest struct {
	toLoad
	Options tester.Options `json:"options"`
}

type toLoad struct {
	Limits  eval.Limits     `json:"limits"`
	Sources *policy.Sources `json:"sources"`
	// Prepared is what was prepared of the sources before. Keep asks for it.
	Prepared []byte `json:"prepared,omitempty"`
	Keep     bool   `json:"keep,omitempty"`
}

// reply is one line of an answer.
type reply struct {
	// Step is what the loading does next.
	Step string `json:"step,omitempty"`
	// Refused and Rules end a loading.
	Refused lint.Refusals          `json:"refused,omitempty"`
	Rules   map[string]policy.Rule `json:"rules,omitempty"`
	Kinds   []string               `json:"kinds,omitempty"`
	// Unbuilt says that they were prepared before, and are not compiled yet; Prepared is what can be kept of them.
	Unbuilt  bool   `json:"unbuilt,omitempty"`
	Prepared []byte `json:"prepared,omitempty"`
	// Checked ends a check.
	Checked *policy.Checked `json:"checked,omitempty"`
	// Begins is a test that begins, Tested the result of one, Coverage that of all.
	Begins   *tester.Result   `json:"begins,omitempty"`
	Tested   *tester.Result   `json:"tested,omitempty"`
	Coverage *tester.Coverage `json:"coverage,omitempty"`
	// Formatted is one file that is not formatted, and what it would be.
	Formatted *policy.Formatted `json:"formatted,omitempty"`
	// Answer is of one document.
	Answer *wireAnswer `json:"answer,omitempty"`
	// Explained is the explanation that was asked for.
	Explained *explain.Explanation `json:"explained,omitempty"`
	// Counterfactual is what was found by the search that was asked for.
	Counterfactual *decision.Counterfactual `json:"counterfactual,omitempty"`
	// Mask is what masks say of an event.
	Mask json.RawMessage `json:"mask,omitempty"`
	// Error is why there is no answer at all.
	Error string `json:"error,omitempty"`
	Done  bool   `json:"done,omitempty"`
}

// wireAnswer has the reasons of the document with that number, nil where it is out of scope, or why they said nothing.
type wireAnswer struct {
	N       int           `json:"n"`
	Reasons *eval.Reasons `json:"reasons,omitempty"`
	// Unbuilt says that it has to be asked again when the rules are compiled.
	Unbuilt bool   `json:"unbuilt,omitempty"`
	Error   string `json:"error,omitempty"`
}
