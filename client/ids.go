package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// escaped is how an escaped name begins, and no id does.
const escaped = "%:"

// EscapeID is a name as the JSON of the API has it: one that is not UTF-8, or has U+FFFD, is percent-encoded behind %: but for its slashes, such as
// %:dir:/wt/a%FF. Any other name stays as it is.
func EscapeID(name string) string {
	if !strings.ContainsRune(name, utf8.RuneError) && !strings.HasPrefix(name, escaped) {
		return name
	}
	return escaped + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
}

// UnescapeID is the name that EscapeID escaped.
func UnescapeID(id string) string {
	if rest, ok := strings.CutPrefix(id, escaped); ok {
		if name, err := url.PathUnescape(rest); err == nil {
			return name
		}
	}
	return id
}

// Marshal gives a document as JSON by encode, with its ids escaped.
func Marshal(doc any, encode func(any) ([]byte, error)) ([]byte, error) {
	data, err := encode(doc)
	for _, mark := range []string{`\ufffd`, "\ufffd", `"` + escaped} {
		if err == nil && bytes.Contains(data, []byte(mark)) {
			return encode(withTexts(reflect.ValueOf(doc), escapeText).Interface())
		}
	}
	return data, err
}

// escapeText escapes an id, and a text that could be taken for an escaped one.
func escapeText(s string) string {
	if _, ok := snapshot.KindOf(s); ok || strings.HasPrefix(s, escaped) {
		return EscapeID(s)
	}
	return s
}

// Read reads a document of the API from an answer into out, a pointer to it.
func Read(answer io.Reader, out any) error {
	data, err := io.ReadAll(io.LimitReader(answer, maxAnswer))
	if err != nil {
		return err
	}
	return Unmarshal(data, out)
}

// Unmarshal reads a document of the API into out, a pointer to it, with its ids as they are. Raw JSON stays as it is written.
func Unmarshal(data []byte, out any) error {
	err := json.Unmarshal(data, out)
	if err == nil && bytes.Contains(data, []byte(`"`+escaped)) {
		v := reflect.ValueOf(out).Elem()
		v.Set(withTexts(v, UnescapeID))
	}
	return err
}

// withTexts is a copy of a value with each text in it changed, keys of maps among them.
func withTexts(v reflect.Value, change func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch k := v.Kind(); {
	case k == reflect.String:
		out.SetString(change(v.String()))
	case k == reflect.Pointer && !v.IsNil():
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(withTexts(v.Elem(), change))
	case k == reflect.Interface && !v.IsNil():
		out.Set(withTexts(v.Elem(), change))
	case k == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(withTexts(v.Index(i), change))
		}
	case k == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(withTexts(key, change), withTexts(value, change))
		}
	case k == reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				out.FieldByIndex(field.Index).Set(withTexts(value, change))
			}
		}
	}
	return out
}
