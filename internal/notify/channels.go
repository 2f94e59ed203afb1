package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/peercred"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
)

// Desktop shows messages in the session of this user: org.freedesktop.Notifications on the session's D-Bus
// (https://specifications.freedesktop.org/notification-spec/latest/). It connects for each message, so that a session may begin after the daemon.
type Desktop struct {
	// Env gives a variable of the environment, as os.Getenv.
	Env func(string) string
}

// What the specification calls its service.
const (
	busName = "org.freedesktop.Notifications"
	busPath = dbus.ObjectPath("/org/freedesktop/Notifications")
)

// maxBody is how many characters of a message are shown.
const maxBody = 1500

// Name implements Sink.
func (Desktop) Name() string { return "desktop" }

// ID implements Sink.
func (Desktop) ID() string { return "desktop" }

// Send implements Sink.
func (d Desktop) Send(ctx context.Context, m *Document) error {
	path, err := d.socket()
	if err != nil {
		return err
	}
	// The socket must be this user's, and this user must listen there: what is shown has names of folders.
	sock, _, err := peercred.Dial(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (%s is missing)", errNoBus, path)
	case err != nil:
		return fmt.Errorf("the session bus %s is not asked: %w", path, err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := sock.SetDeadline(deadline); err != nil {
			_ = sock.Close()
			return err
		}
	}
	conn, err := dbus.NewConn(sock, dbus.WithContext(ctx))
	if err != nil {
		_ = sock.Close()
		return fmt.Errorf("session bus %s: %w", path, err)
	}
	defer conn.Close()
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return fmt.Errorf("session bus %s: %w", path, err)
	}
	if err := conn.Hello(); err != nil {
		return fmt.Errorf("session bus %s: %w", path, err)
	}
	return show(ctx, conn, m)
}

// show has the session's program for notifications show a message.
func show(ctx context.Context, conn *dbus.Conn, m *Document) error {
	server := conn.Object(busName, busPath)
	var can []string
	if err := server.CallWithContext(ctx, busName+".GetCapabilities", 0).Store(&can); err != nil {
		return fmt.Errorf("no program shows notifications in this session: %w", err)
	}
	body := m.Text
	if r := []rune(body); len(r) > maxBody {
		body = string(r[:maxBody-1]) + "…"
	}
	if slices.Contains(can, "body-markup") { // then a name could be markup
		body = noEntities.Replace(body)
	}
	urgency := byte(1) // normal; 0, low, for what only says what was done
	if m.Alarms == nil && m.Problems == nil && m.Asks == nil && !m.Test {
		urgency = 0
	}
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(urgency), "category": dbus.MakeVariant("device")}
	// Name of the program, what it replaces, icon, title, text, buttons, hints, and the server's own time to show it.
	call := server.CallWithContext(ctx, busName+".Notify", 0, "Winnow", uint32(0), "", m.Title, body, []string{}, hints, int32(-1))
	if call.Err != nil {
		return fmt.Errorf("the session does not show it: %w", call.Err)
	}
	return nil
}

// socket is where the session's bus listens: DBUS_SESSION_BUS_ADDRESS, or the bus in the folder that the login made for this user.
func (d Desktop) socket() (string, error) {
	if address := d.Env("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		for one := range strings.SplitSeq(address, ";") {
			if params, ok := strings.CutPrefix(one, "unix:"); ok {
				for param := range strings.SplitSeq(params, ",") {
					if path, ok := strings.CutPrefix(param, "path="); ok {
						if real, err := url.PathUnescape(path); err == nil && filepath.IsAbs(real) {
							return real, nil
						}
					}
				}
			}
		}
		return "", errors.New("DBUS_SESSION_BUS_ADDRESS names no socket in the file system (unix:path=...): other addresses are not used, since it is not known whose they are")
	}
	if dir := d.Env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bus"), nil
	}
	return fmt.Sprintf("/run/user/%d/bus", os.Geteuid()), nil
}

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
