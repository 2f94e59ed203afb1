package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// Value is a value as JSON that a terminal can be shown, cut to n characters.
func Value(v any, n int) string {
	data, err := json.Marshal(v)
	if err != nil {
		return Cut(Clean(fmt.Sprint(v)), n)
	}
	return Cut(string(termsafe.JSON(data)), n) // cut before it is cleaned: half of an escape would say something else
}

// Cut leaves of a text the first n characters.
func Cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

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
