package decisionlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/httppost"
)

// Service is a log that a server keeps, by OPA's protocol: POST <URL>/logs with a JSON array of events, compressed with gzip.
type Service struct {
	// URL is the server's, without /logs. Token, where it is not empty, is sent as a bearer token.
	URL, Token string
	// Limit is how many bytes a request may have, compressed. An event that is larger alone is sent alone.
	Limit int64
	// Within bounds one request.
	Within time.Duration
	// Wait is how long it waits before a second try, and twice as long before each further one.
	Wait time.Duration
}

// errRefused says that the server will never take these events; every other error may pass.
var errRefused = errors.New("the server refuses it")

// Send sends events in their order, in requests as large as Limit allows, and again after a failure that may pass, until ctx ends. delivered is told of each
// part that the server has, refused of each event that it will never take; an error of theirs ends the sending.
func (s Service) Send(ctx context.Context, events [][]byte, delivered, refused func(from, to int) error) error {
	from, size := 0, len(events)
	for from < len(events) {
		to := min(from+size, len(events))
		body, err := pack(events[from:to])
		if err != nil {
			return err
		}
		if int64(len(body)) > s.Limit && to-from > 1 {
			size = (to - from) / 2
			continue
		}
		err = s.try(ctx, body)
		switch {
		case err == nil:
			err = delivered(from, to)
			from = to
		case errors.Is(err, errRefused) && to-from > 1: // which one?
			size = (to - from) / 2
			continue
		case errors.Is(err, errRefused):
			err = refused(from, to)
			from = to
		}
		if err != nil {
			return fmt.Errorf("send decisions to %s: %w", s.URL, err)
		}
	}
	return nil
}

// try posts a body until it is taken, is refused for good, or ctx ends.
func (s Service) try(ctx context.Context, body []byte) error {
	wait := s.Wait
	for {
		err := s.post(ctx, body)
		if err == nil || errors.Is(err, errRefused) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
			wait *= 2
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

// post sends one request.
func (s Service) post(ctx context.Context, body []byte) error {
	to := httppost.Target{Address: strings.TrimSuffix(s.URL, "/") + "/logs", Encoding: "gzip", Anywhere: true, Within: s.Within}
	if s.Token != "" {
		to.Header, to.Secret = "Authorization", "Bearer "+s.Token
	}
	_, err := httppost.Post(ctx, to, "application/json", body)
	if answer := new(httppost.Status); errors.As(err, answer) {
		switch answer.Code {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			return fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return err
}

// pack is events as one array, compressed.
func pack(events [][]byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for i, e := range events {
		before := ","
		if i == 0 {
			before = "["
		}
		if _, err := z.Write(append([]byte(before), e...)); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(z, "]"); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}
