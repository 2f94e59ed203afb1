package listen

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Serve has a server answer at a listener until stop is called, which waits that long for answers that are under way. failed hears why it ended by itself.
func Serve(srv *http.Server, l net.Listener, wait time.Duration, failed func(error)) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed(err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-done
	}
}
