package text

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// JSON writes v as JSON, on one line where indent is empty, that a terminal can be shown: what termsafe.Line escapes is written as \uXXXX, which means the same.
func JSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(termsafe.JSON(b.Bytes()))
	return err
}
