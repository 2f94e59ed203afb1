package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"winnow/engine/snapshot"
)

// readSnapshot reads a saved snapshot. A field that this version does not know is passed over with a word about it: a misspelt one
// is an unknown fact, and unknown keeps.
func (a *app) readSnapshot(ctx context.Context, file string) (*snapshot.Snapshot, error) {
	data, err := readFile(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	var s snapshot.Snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read snapshot %s: %s; nothing was decided", file, jsonProblem(data, err))
	}
	if s.Schema != snapshot.Schema {
		return nil, fmt.Errorf("read snapshot %s: its schema is %q, and this version reads %q; nothing was decided", file, s.Schema, snapshot.Schema)
	}
	if s.TakenAt.IsZero() {
		return nil, fmt.Errorf("read snapshot %s: taken_at is missing, so no age can be told; nothing was decided", file)
	}
	var doc any
	if json.Unmarshal(data, &doc) == nil {
		for _, u := range unknownFields(doc, reflect.TypeFor[snapshot.Snapshot](), "") {
			a.log.Warn("unknown field in the snapshot, passed over", "file", file, "field", u)
		}
	}
	return &s, nil
}

func readFile(ctx context.Context, file string) ([]byte, error) {
	if file == "-" {
		return readStdin(ctx)
	}
	return os.ReadFile(file)
}

// readStdin ends with ctx too: nobody may ever write to stdin.
func readStdin(ctx context.Context) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		data, err := io.ReadAll(os.Stdin)
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("stdin: %w", context.Cause(ctx))
	}
}

// jsonProblem says at which line and column a document breaks.
func jsonProblem(data []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return err.Error()
	}
	before := data[:offset]
	row := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("line %d, column %d: %v", row, len(before)-bytes.LastIndexByte(before, '\n')-1, err)
}

// unknownFields lists the paths of doc that t has no field for, each once, with the nearest name that it has.
func unknownFields(doc any, t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var out []string
	switch x := doc.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			fields := map[string]reflect.Type{}
			for f := range t.Fields() {
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
					fields[name] = f.Type
				}
			}
			if len(fields) == 0 {
				return nil
			}
			for k, v := range x {
				ft, ok := fields[k]
				if !ok {
					names := make([]string, 0, len(fields))
					for n := range fields {
						names = append(names, n)
					}
					out = append(out, fmt.Sprintf("%s%s (the nearest is %s)", path, k, nearest(k, names)))
					continue
				}
				out = append(out, unknownFields(v, ft, path+k+".")...)
			}
		case reflect.Map:
			for _, v := range x {
				out = append(out, unknownFields(v, t.Elem(), path+"*.")...)
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for _, v := range x {
				out = append(out, unknownFields(v, t.Elem(), path)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
