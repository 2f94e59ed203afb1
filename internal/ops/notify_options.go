package ops

import (
	"os"
	"time"

	"github.com/winnow-reaper/winnow/internal/notify"
)

// The times of notifications that nobody configures: before the second try, and for what is left to send at the end.
const (
	notifyWait = 2 * time.Second
	notifyLast = 3 * time.Second
)

// NotifyOptions are what the configuration says of notifications.
func (a *Ops) NotifyOptions() notify.Options {
	c := a.Cfg.Notify
	o := notify.Options{
		On: c.On, Names: c.Names, Rest: c.Rest, Forget: c.Forget, Tries: c.Tries, Wait: notifyWait, Timeout: c.Timeout, Last: notifyLast,
	}
	o.Host, _ = os.Hostname() // a message without it says all the rest
	if c.Desktop {
		o.Sinks = append(o.Sinks, notify.Desktop{Env: os.Getenv})
	}
	for _, w := range c.Webhooks {
		o.Sinks = append(o.Sinks, notify.Webhook{URL: w.URL, URLFile: w.URLFile, Format: w.Format, TokenFile: w.TokenFile, Header: w.Header, Within: c.Timeout})
	}
	return o
}
