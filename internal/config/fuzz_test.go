package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// FuzzConfig holds three things of any text: reading it ends, a text that loads loads the same again, and with an unknown key added to
// it it never loads.
func FuzzConfig(f *testing.F) {
	f.Add(string(winnow.DefaultConfig))
	for _, s := range slips {
		f.Add(s.text)
	}
	f.Add("version: 1\nrules: {protected: [/keep, '**/x', 'worker-*'], landed_after: 2d}\n")
	f.Add("{version: 1, act: {caps: {share: 0.5}}}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > MaxFile {
			return
		}
		dir := t.TempDir()
		load := func(text string) (*Config, error) {
			file := filepath.Join(dir, "config.yaml")
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
			began := time.Now()
			c, err := Load(file, nil)
			if took := time.Since(began); took > wait.Patience {
				t.Errorf("it took %s", took)
			}
			if err != nil && c != nil {
				t.Error("a configuration came with an error")
			}
			return c, err
		}
		c, err := load(text)
		if err != nil {
			return
		}
		again, err := load(text)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Errorf("it loads another way the second time: %v", err)
		}
		if c.Version != 1 || !strings.Contains(text, "version") {
			t.Errorf("it says no version and was loaded: %q", text)
		}
		if more, ok := withUnknownKey(text); ok {
			if _, err := load(more); err == nil {
				t.Errorf("with an unknown key it is loaded: %q", more)
			}
		}
	})
}

// withUnknownKey adds a key that nothing knows to a text that loads: at its top, which is a block or one flow of it.
func withUnknownKey(text string) (string, bool) {
	const key = "no_such_key_of_ours: 1"
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") && strings.HasSuffix(trimmed, "}") {
		return strings.TrimSuffix(trimmed, "}") + ", " + key + "}", true
	}
	return key + "\n" + text, true
}
