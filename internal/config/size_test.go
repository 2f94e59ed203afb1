package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{
		"0": 0, "12B": 12, "500MB": 500e6, "500M": 500e6, "20GB": 20e9, "20 GB": 20e9, "1.5GiB": 3 << 29, "10k": 10e3, "2KiB": 2048, "1TB": 1e12, "1Ti": 1 << 40,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "20", "-1GB", "GB", "20XB", "20gb", "1e9B", "20G B", "99999999999TB", "20%"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

func TestSizesAreReadStrictly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	load := func(value string) (*Config, error) {
		must.Do(t, os.WriteFile(file, []byte("version: 1\nact:\n  trash_max: "+value+"\n"), 0o600))
		return Load(file, nil)
	}
	if c, err := load("500MB"); err != nil || c.Act.TrashMax != 500e6 {
		t.Errorf("500MB: %v, %v", c, err)
	}
	for value, want := range map[string]string{
		"500": "config.yaml:3: act.trash_max: 500 has no unit: write 500MB or 500GB", "lots": `act.trash_max: "lots" is no size`, "[20GB]": "act.trash_max: it wants a size", "1h": `"1h" is no size`,
	} {
		if _, err := load(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
	if c, err := Load("", []string{"WINNOW_ACT_TRASH_MAX=3GiB"}); err != nil || c.Act.TrashMax != 3<<30 {
		t.Errorf("from the environment: %v, %v", c, err)
	}
}
