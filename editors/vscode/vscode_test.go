package vscode

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestThePackageIsWhatLiesHere holds what the package has of this folder and of the schemas against the files: a package that was not made again is stale. The
// bundle itself is held by .ci/run, which makes the package again.
func TestThePackageIsWhatLiesHere(t *testing.T) {
	t.Parallel()
	z := must.Get(zip.NewReader(bytes.NewReader(Package), int64(len(Package))))(t)
	in := func(name string) []byte {
		f := must.Get(z.Open(name))(t)
		defer f.Close()
		return must.Get(io.ReadAll(f))(t)
	}
	for name, file := range map[string]string{
		"extension/README.md": "README.md", "extension/LICENSE.txt": "../../LICENSE", "extension/media/winnow.svg": "media/winnow.svg",
		"extension/CHANGELOG.md": "CHANGELOG.md", "extension/media/icon.png": "media/icon.png", "extension/media/view.png": "media/view.png",
	} {
		must.Equal(t, string(must.Get(os.ReadFile(file))(t)), string(in(name)), "%s", name)
	}
	for name, file := range map[string]string{
		"extension/schemas/config.json": "../../docs/reference/schemas/config.json", "extension/schemas/subject.json": "../../policies/schemas/subject.json",
		"extension/schemas/protocol.json": "protocol.schema.json",
	} {
		var want, got any
		must.Do(t, json.Unmarshal(must.Get(os.ReadFile(file))(t), &want))
		must.Do(t, json.Unmarshal(in(name), &got))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s is stale; run npm run package in editors/vscode (-want +got):\n%s", name, d)
		}
	}
	var manifest struct{ Version string }
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile("package.json"))(t), &manifest))
	must.Equal(t, manifest.Version, must.Get(Version())(t), "version")
}
