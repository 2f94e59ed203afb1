package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
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
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(urgency(m)), "category": dbus.MakeVariant("device")}
	// Name of the program, what it replaces, icon, title, text, buttons, hints, and the server's own time to show it.
	call := server.CallWithContext(ctx, busName+".Notify", 0, "Winnow", uint32(0), "", m.Title, body, []string{}, hints, int32(-1))
	if call.Err != nil {
		return fmt.Errorf("the session does not show it: %w", call.Err)
	}
	return nil
}

// urgency is 1, normal; 0, low, for what only says what was done.
func urgency(m *Document) byte {
	if m.Alarms == nil && m.Problems == nil && m.Asks == nil && !m.Test {
		return 0
	}
	return 1
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
