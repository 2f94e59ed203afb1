package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/internal/foreign"
	"github.com/winnow-reaper/winnow/internal/outfile"
)

const (
	// maxTold is how many things are remembered for a sink. What comes beyond is not told until others are forgotten.
	maxTold = 10000
	// maxMemory bounds the file, in bytes.
	maxMemory = 16 << 20

	memorySchema = "winnow.notified/v1"
)

// memory is what each sink was told, by its ID and then by key: when sweeps began not to say it any more, zero where they do.
type memory struct {
	Schema string                          `json:"schema"`
	Told   map[string]map[string]time.Time `json:"told"`
}

// remembered reads the memory. A missing file remembers nothing, which is not a failure.
func remembered(file string) (memory, error) {
	m := memory{Schema: memorySchema, Told: map[string]map[string]time.Time{}}
	if file == "" {
		return m, nil
	}
	f, err := foreign.Read(context.Background(), file, foreign.Want{Max: maxMemory, Ruling: true})
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	var read memory
	if err == nil {
		err = json.Unmarshal(f.Data, &read)
	}
	if err == nil && read.Schema != memorySchema {
		err = fmt.Errorf("%s is not %s", file, memorySchema)
	}
	if err != nil {
		return m, err
	}
	for id, told := range read.Told {
		if len(told) <= maxTold {
			m.Told[id] = told
		}
	}
	return m, nil
}

// only forgets what sinks were told that are configured no more.
func (m *memory) only(sinks []Sink) {
	for id := range m.Told {
		if !slices.ContainsFunc(sinks, func(s Sink) bool { return s.ID() == id }) {
			delete(m.Told, id)
		}
	}
}

// of is what a sink was told.
func (m *memory) of(id string) map[string]*mark {
	out := map[string]*mark{}
	for key, missing := range m.Told[id] {
		out[key] = &mark{sent: true, missing: missing}
	}
	return out
}

func (m *memory) set(id string, told map[string]*mark) {
	kept := map[string]time.Time{}
	for key, k := range told {
		if k.sent {
			kept[key] = k.missing
		}
	}
	m.Told[id] = kept
}

func (m *memory) save(file string) error {
	return outfile.Write(context.Background(), file, func(w io.Writer) error { return json.NewEncoder(w).Encode(m) })
}
