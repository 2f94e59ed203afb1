package sandbox

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/engine/tester"
)

// maxNested is how deep a subject may be; those of real snapshots are less than ten.
const maxNested = 64

var errWire = errors.New("a subject on the wire is damaged")

// Subjects go as CBOR, with texts as they are, byte by byte: a path that is no UTF-8 stays the path that it is, which JSON would not keep.
var (
	toWire   = mode(cbor.EncOptions{Time: cbor.TimeRFC3339Nano}.UserBufferEncMode())
	fromWire = mode(cbor.DecOptions{
		UTF8: cbor.UTF8DecodeInvalid, MaxNestedLevels: maxNested, MaxArrayElements: maxFrame, MaxMapPairs: maxFrame,
	}.DecMode())
)

// mode is a way to write or to read CBOR. Its options are right, or no test passes.
func mode[T any](is T, err error) T {
	if err != nil {
		panic(err)
	}
	return is
}

// frame is a subject on the wire. What all subjects of a question have in common was sent before them. Its sources are the maps that were sent, by
// number: many subjects share one, which is sent with the first of them.
type frame struct {
	_       struct{} `cbor:",toarray"`
	Number  int
	Sources map[string]string
	Subject *subject.Subject
}

// sender writes the subjects of one question.
type sender struct {
	to      *bufio.Writer
	room    bytes.Buffer
	bare    subject.Subject
	sources map[uintptr]int
}

// newSender writes first what all subjects have in common.
func newSender(to *bufio.Writer, common *subject.Subject) (*sender, error) {
	s := &sender{to: to, sources: map[uintptr]int{}}
	return s, s.send(frame{Subject: common})
}

func (s *sender) subject(sub *subject.Subject) error {
	s.bare = *sub
	s.bare.SetCommon(&subject.Subject{})
	s.bare.EvidenceSources = nil
	f := frame{Subject: &s.bare}
	at := reflect.ValueOf(sub.EvidenceSources).Pointer()
	sent := false
	if f.Number, sent = s.sources[at]; !sent {
		f.Number, f.Sources = len(s.sources), sub.EvidenceSources
		s.sources[at] = f.Number
	}
	return s.send(f)
}

func (s *sender) send(f frame) error {
	s.room.Reset()
	if err := toWire.MarshalToBuffer(f, &s.room); err != nil {
		return err
	}
	if _, err := s.to.Write(binary.AppendUvarint(s.to.AvailableBuffer(), uint64(s.room.Len()))); err != nil {
		return err
	}
	_, err := s.room.WriteTo(s.to)
	return err
}

// receiver reads what a sender wrote, in the same order.
type receiver struct {
	from    *bufio.Reader
	room    bytes.Buffer
	common  *subject.Subject
	sources []map[string]string
}

func newReceiver(from *bufio.Reader) (*receiver, error) {
	r := &receiver{from: from}
	f, err := r.receive()
	if err != nil {
		return nil, err
	}
	r.common = f.Subject
	if r.common.Config == nil {
		return nil, errWire
	}
	for name, is := range r.common.Config.Custom { // a list of texts comes as a list of anything
		if list, ok := is.([]any); ok {
			texts := make([]string, len(list))
			for i := range list {
				texts[i], _ = list[i].(string)
			}
			r.common.Config.Custom[name] = texts
		}
	}
	return r, nil
}

func (r *receiver) subject() (*subject.Subject, error) {
	f, err := r.receive()
	if err != nil {
		return nil, err
	}
	if f.Number == len(r.sources) {
		r.sources = append(r.sources, f.Sources)
	}
	if f.Number < 0 || f.Number >= len(r.sources) {
		return nil, errWire
	}
	f.Subject.SetCommon(r.common)
	f.Subject.EvidenceSources = r.sources[f.Number]
	return f.Subject, nil
}

func (r *receiver) receive() (frame, error) {
	var f frame
	n, err := binary.ReadUvarint(r.from)
	if err != nil {
		return f, err
	}
	if n == 0 || n > maxFrame {
		return f, errWire
	}
	r.room.Reset()
	if _, err := io.CopyN(&r.room, r.from, int64(n)); err != nil {
		return f, err
	}
	if err := fromWire.Unmarshal(r.room.Bytes(), &f); err != nil {
		return f, fmt.Errorf("%w: %w", errWire, err)
	}
	if f.Subject == nil {
		return f, errWire
	}
	return f, nil
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

// The questions that the process which judges apart is asked, a line of JSON each; subjects follow in frames where it says so.
type question struct {
	// Load, Check and Test have the policies' files with them.
	Load  *toLoad  `json:"load,omitempty"`
	Check *toCheck `json:"check,omitempty"`
	Test  *toTest  `json:"test,omitempty"`
	// Build has the rules compiled, where they were prepared.
	Build bool `json:"build,omitempty"`
	// Decide is how many subjects follow, a frame each; they are answered in any order, by their number.
	Decide int `json:"decide,omitempty"`
	// Guess says that nothing is done by the answers, so that the plan's word is enough.
	Guess bool `json:"guess,omitempty"`
	// Workers bounds how many are judged at once.
	Workers int `json:"workers,omitempty"`
	// Explain has one subject that follows.
	Explain *explain.Explanation `json:"explain,omitempty"`
	// Counterfactual has one subject that follows.
	Counterfactual *eval.Search `json:"counterfactual,omitempty"`
	// Masks loads masks of the decision log, and Mask is an event that they are asked about.
	Masks *toMask         `json:"masks,omitempty"`
	Mask  json.RawMessage `json:"mask,omitempty"`
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
	// Unplanned is why they have no plan: see eval.Engine.Unplanned.
	Unplanned string `json:"unplanned,omitempty"`
	// Checked ends a check.
	Checked *policy.Checked `json:"checked,omitempty"`
	// Begins is a test that begins, Tested the result of one, Coverage that of all.
	Begins   *tester.Result   `json:"begins,omitempty"`
	Tested   *tester.Result   `json:"tested,omitempty"`
	Coverage *tester.Coverage `json:"coverage,omitempty"`
	// Answers are of some subjects.
	Answers []wireAnswer `json:"answers,omitempty"`
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

// err is what was refused, or why there is no answer; nil where there is one.
func (r reply) err() error {
	if len(r.Refused) == 0 && r.Error != "" {
		return errors.New(r.Error)
	}
	return r.Refused.Err()
}

// wireAnswer has the reasons of the subject with that number, nil where it is out of scope, or why they said nothing.
type wireAnswer struct {
	N       int           `json:"n"`
	Reasons *eval.Reasons `json:"reasons,omitempty"`
	// Unbuilt says that it has to be asked again when the rules are compiled.
	Unbuilt bool   `json:"unbuilt,omitempty"`
	Error   string `json:"error,omitempty"`
}
