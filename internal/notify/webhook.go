package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// The forms of a webhook's message.
const (
	FormatJSON  = "json"
	FormatSlack = "slack"
)

// Formats are all of them.
var Formats = []string{FormatJSON, FormatSlack}

// Webhook posts messages to a server.
type Webhook struct {
	// URL is where to, or URLFile the file that says so, for an address that is a secret itself.
	URL, URLFile string
	// Format is json for a Document, or slack for {"text": ...} as Slack, Mattermost and others take it.
	Format string
	// TokenFile has the token. It is sent in Header, behind "Bearer " where that is Authorization or empty.
	TokenFile, Header string
	Within            time.Duration
}

// maxSecret is how long a token or an address may be, in bytes.
const maxSecret = 16 << 10

// Name implements Sink.
func (w Webhook) Name() string {
	if w.URLFile != "" {
		return "webhook of " + w.URLFile
	}
	if u, err := url.Parse(w.URL); err == nil && u.Host != "" {
		return "webhook " + u.Host
	}
	return "webhook " + w.URL
}

// ID implements Sink.
func (w Webhook) ID() string {
	sum := sha256.Sum256([]byte(w.URL + "\x00" + w.URLFile))
	return "webhook:" + hex.EncodeToString(sum[:8])
}

// Send implements Sink. The files are read for each message, so that a token can be changed.
func (w Webhook) Send(ctx context.Context, d *Document) error {
	t := httppost.Target{Address: w.URL, Path: "/", Within: w.Within}
	if w.URLFile != "" {
		var err error
		if t.Address, err = Secret(ctx, w.URLFile); err != nil {
			return fmt.Errorf("%w: url_file: %w", httppost.ErrNever, err)
		}
		if err := httppost.Check(t.Address, false); err != nil {
			return fmt.Errorf("%w: what is in url_file %s is no address: %w", httppost.ErrNever, w.URLFile, err)
		}
	}
	if w.TokenFile != "" {
		token, err := Secret(ctx, w.TokenFile)
		if err != nil {
			return fmt.Errorf("%w: token_file: %w", httppost.ErrNever, err)
		}
		if t.Header, t.Secret = w.Header, token; w.Header == "" || strings.EqualFold(w.Header, "Authorization") {
			t.Header, t.Secret = "Authorization", "Bearer "+token
		}
	}
	body, err := w.body(d)
	if err != nil {
		return err
	}
	_, err = httppost.Post(ctx, t, "application/json", body)
	return err
}

func (w Webhook) body(d *Document) ([]byte, error) {
	if w.Format != FormatSlack {
		body, err := json.Marshal(d)
		return termsafe.JSON(body), err
	}
	return json.Marshal(map[string]any{
		// Nothing in it is markup, a mention or a link of which a preview is fetched.
		"text":   noEntities.Replace(d.Title + "\n" + d.Text),
		"mrkdwn": false, "link_names": false, "unfurl_links": false, "unfurl_media": false,
	})
}

// noEntities takes from text what Slack reads as mentions, links and entities, and a desktop as markup.
var noEntities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Secret is what stands in a file that only this user can read: one line.
func Secret(ctx context.Context, file string) (string, error) {
	if _, err := safeopen.Path(file); err != nil {
		return "", err
	}
	f, err := safeopen.Read(ctx, file, safeopen.Want{Max: maxSecret, Secret: true})
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(f.Data))
	if secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return "", fmt.Errorf("%s does not have one line with a secret: correct the file", file)
	}
	return secret, nil
}

// GoodHeader reports whether name can be the name of a header with a token: not one that says something about the message.
func GoodHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "User-Agent":
		return false
	}
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}
