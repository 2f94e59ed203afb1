package rpc

import (
	"errors"
	"strings"
	"testing"
)

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
