package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
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
	// Lost is what each sink is still to be told of messages that it did not get, by its ID.
	Lost map[string]lost `json:"lost,omitempty"`
}

// lost counts messages that could not be delivered, and the acts that stood in them.
type lost struct {
	Messages int `json:"messages"`
	Acts     int `json:"acts"`
}

// remembered reads the memory. A missing file remembers nothing, which is not a failure.
func remembered(file string) (memory, error) {
	m := memory{Schema: memorySchema, Told: map[string]map[string]time.Time{}, Lost: map[string]lost{}}
	if file == "" {
		return m, nil
	}
	f, err := safeopen.Read(context.Background(), file, safeopen.Want{Max: maxMemory, Ruling: true})
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
	for id, l := range read.Lost {
		if l.Messages > 0 {
			m.Lost[id] = lost{l.Messages, max(0, l.Acts)}
		}
	}
	return m, nil
}

// only forgets what concerns sinks that are configured no more.
func (m *memory) only(sinks []Sink) {
	gone := func(id string) bool { return !slices.ContainsFunc(sinks, func(s Sink) bool { return s.ID() == id }) }
	maps.DeleteFunc(m.Told, func(id string, _ map[string]time.Time) bool { return gone(id) })
	maps.DeleteFunc(m.Lost, func(id string, _ lost) bool { return gone(id) })
}

// marks is what a sink was told.
func (m *memory) marks(id string) map[string]*mark {
	out := map[string]*mark{}
	for key, missing := range m.Told[id] {
		out[key] = &mark{sent: true, missing: missing}
	}
	return out
}

func (m *memory) set(id string, told map[string]*mark, l lost) {
	if delete(m.Lost, id); l.Messages > 0 {
		m.Lost[id] = l
	}
	kept := map[string]time.Time{}
	for key, k := range told {
		if k.sent {
			kept[key] = k.missing
		}
	}
	m.Told[id] = kept
}

func (m *memory) save(file string) error {
	return atomicfile.Write(context.Background(), file, func(w io.Writer) error { return json.NewEncoder(w).Encode(m) })
}
