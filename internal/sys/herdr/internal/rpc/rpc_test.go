package rpc

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		line string
		err  error
	}{
		{"abc\n", "abc\n", nil}, {"abc\nrest", "abc\n", nil}, {"", "", io.EOF}, {"ab", "ab", io.EOF},
		{"1234567\n", "1234567\n", nil}, {"12345678", "12345678", errTooLong}, {"123456789\n", "12345678", errTooLong},
	} {
		line, err := readLine(strings.NewReader(c.in), 8)
		if string(line) != c.line || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%q gave %q and %v, want %q and %v", c.in, line, err, c.line, c.err)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, kind, code string }{
		{`{"id":"winnow","result":{"type":"ok"}}`, "ok", ""},
		{`{"id":"winnow","error":{"code":"tab_not_found","message":"secret"}}`, "", "tab_not_found"},
		{`{"id":"","error":{"code":"invalid_request"}}`, "", "invalid_request"},
		{`{"id":"","error":{"code":"tab_not_found"}}`, "", ""},
		{`{"error":{"code":"invalid_request"}}`, "", ""},
		{`{"result":{"type":"ok"}}`, "", ""},
		{`{"id":"2","result":{"type":"ok"}}`, "", ""},
		{`{"id":"winnow","result":{"type":"pong"}}`, "", ""},
		{`{"id":"winnow","result":null}`, "", ""},
		{`{"id":"winnow","result":"ok"}`, "", ""},
		{`{"id":"winnow"}`, "", ""}, {`null`, "", ""}, {`[]`, "", ""}, {``, "", ""}, {`{"id":"winnow","result":{"type":"ok"}} {}`, "", ""},
	} {
		var out Type
		err := decode([]byte(c.line), "ok", &out)
		var no *Refusal
		if errors.As(err, &no) != (c.code != "") || no != nil && no.Code != c.code || (err == nil) != (c.kind != "") {
			t.Errorf("%s: %v", c.line, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the server's message is passed on: %v", err)
		}
	}
}
