package policy

import (
	"encoding/json"
	"errors"
	"path"
	"slices"

	"github.com/winnow-reaper/winnow/engine/policy/lint"
)

// LayerFile is the file at the root of a tree that says what the tree wants of levels and parameters, and what it grants to the layers below it.
// OPA's tools leave such a file out of a bundle and keep what is in the manifest: there the same text stands under metadata.winnow.layer.
const LayerFile = "layer.yaml"

// MetadataKey is where in the metadata of a manifest Winnow's own part stands, and layerKey where in that the text of a layer.yaml does.
const (
	MetadataKey = "winnow"
	layerKey    = "layer"
)

var errLayer = errors.New("nothing would read it there: it is called " + LayerFile + ", and stands at the root of the tree")

// misplacedLayer reports whether a file is meant for a layer.yaml and would not be read as one.
func misplacedLayer(p string) bool {
	return p != LayerFile && slices.Contains([]string{LayerFile, "layer.yml", "layers.yaml", "layers.yml"}, path.Base(p))
}

// LayerOf is what a loaded tree says as a layer: its layer.yaml, or the text of one in its manifest; false where it says nothing.
func (p *Policy) LayerOf(tree string) (File, bool) {
	layer, _ := layerOf(slices.DeleteFunc(slices.Clone(p.Files), func(f File) bool { return f.Tree != tree }))
	return layer, layer.Path != ""
}

// layerOf finds what the files of a tree say as a layer; the file is empty where they say nothing. One place is right: of two, one could be
// overlooked.
func layerOf(files []File) (layer File, refused lint.Refusals) {
	for _, f := range files {
		text, name := f.data, f.Name
		switch f.Path {
		case LayerFile:
		case manifestName:
			var m manifest
			if json.Unmarshal(f.data, &m) != nil {
				continue // readManifest says what is wrong with it
			}
			if text, _ = m.layer(); len(text) == 0 {
				continue
			}
			if text[0] != '{' { // what a layer.yaml was put there from
				name = path.Join(path.Dir(f.Name), LayerFile)
			}
		default:
			continue
		}
		if layer.Path != "" {
			refused = append(refused, lint.Refusal{Class: lint.ClassLayer, File: f.Name, Problem: "the tree says in two places what it is as a layer, here and in " + layer.Name,
				Fix: "keep " + LayerFile + ", or metadata.winnow.layer of the manifest"})
			continue
		}
		layer = File{Tree: f.Tree, Path: f.Path, Name: name, data: text}
	}
	return layer, refused
}

// layer is the text of a layer.yaml in a manifest, nil when it is missing: as a text, or written out, since JSON is YAML.
func (m manifest) layer() ([]byte, error) {
	raw, ok := m.Metadata[MetadataKey]
	if !ok {
		return nil, nil
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, errors.New("metadata.winnow is no object")
	}
	at, ok := own[layerKey]
	if !ok {
		return nil, nil
	}
	var text string
	if json.Unmarshal(at, &text) == nil {
		return []byte(text), nil
	}
	return at, nil
}

// WithLayer puts the text of a layer.yaml into the metadata of a manifest, where OPA's tools keep it.
func WithLayer(metadata map[string]any, text []byte) {
	own, _ := metadata[MetadataKey].(map[string]any)
	if own == nil {
		own = map[string]any{}
	}
	own[layerKey] = string(text)
	metadata[MetadataKey] = own
}
