package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Manager is systemd, as systemctl speaks to it.
type Manager interface {
	// Do runs systemctl with these arguments and gives what it printed. It fails where systemctl does.
	Do(ctx context.Context, args ...string) (string, error)
}

// Systemctl is the manager of the system, or of this user.
type Systemctl struct{ System bool }

// within is how long systemctl has for one thing: a unit that stops has two minutes for the act in hand.
const within = 150 * time.Second

// Do implements Manager.
func (s Systemctl) Do(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if !s.System {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, "systemctl", args...)
	cmd.WaitDelay = time.Second
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if said := strings.TrimSpace(complaint.String()); err != nil && said != "" {
		err = errors.New(strings.Join(strings.Fields(said), " "))
	}
	if err != nil {
		err = fmt.Errorf("systemctl %s: %w", strings.Join(args, " "), err)
		if dir := fmt.Sprintf("/run/user/%d", os.Geteuid()); !s.System && os.Getenv("XDG_RUNTIME_DIR") == "" { // as after su
			if _, no := os.Lstat(dir + "/systemd/private"); no == nil {
				err = fmt.Errorf("%w; your manager runs, and this shell does not say where: export XDG_RUNTIME_DIR=%s, and do it again", err, dir)
			}
		}
		return "", err
	}
	return string(out), nil
}

// silent says why no manager answers, "" where one does.
func (s Service) silent(ctx context.Context) string {
	if _, err := s.Manager.Do(ctx, "show", "--property=Version", "--value"); err != nil {
		return err.Error()
	}
	return ""
}
