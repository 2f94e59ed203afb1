// Package forge asks a forge's own program, gh or glab, for the pull requests of branches. It changes nothing, and the program runs in no
// repository: what stands in one cannot reach it.
package forge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/limit"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// The states of a request.
const (
	Open   = "open"
	Merged = "merged"
	Closed = "closed"
)

// Request is a pull request of GitHub, or a merge request of GitLab.
type Request struct {
	Number int    `json:"number"`
	State  string `json:"state"`
	// Head is the commit that it brings, or brought.
	Head string `json:"head"`
}

// Asker asks about branches.
type Asker struct {
	// Program is gh or glab, or the path of one.
	Program string
	// Cache is a folder for answers, and Fresh for how long one of them counts.
	Cache string
	Fresh time.Duration
	Now   func() time.Time
}

// maxOutput bounds what the program may print, in bytes, and most how many requests of one branch are asked for.
const (
	maxOutput = 1 << 20
	most      = "30"
)

// answer is what the forge knew of a branch, and when.
type answer struct {
	At       time.Time `json:"at"`
	Requests []Request `json:"requests"`
}

// Requests are those of a branch in the repository at a remote's address. A path on this machine, and "" for no remote, has none. An error says
// that they are not known.
func (a Asker) Requests(ctx context.Context, address, branch string) ([]Request, error) {
	if address == "" || filepath.IsAbs(address) || strings.HasPrefix(address, "file://") {
		return nil, nil
	}
	page, err := Page(address)
	if err != nil {
		return nil, err
	}
	if branch == "" || branch[0] == '-' {
		return nil, fmt.Errorf("the branch %q cannot be asked about", branch)
	}
	key := sha256.Sum256([]byte(filepath.Base(a.Program) + "\x00" + page + "\x00" + branch))
	file := filepath.Join(a.Cache, hex.EncodeToString(key[:])+".json")
	f, err := safeopen.ReadNow(file, safeopen.Want{Max: maxOutput, Ruling: true})
	var known answer
	if err == nil && json.Unmarshal(f.Data, &known) == nil && known.Requests != nil {
		if age := a.Now().Sub(known.At); age >= 0 && age < a.Fresh {
			return known.Requests, nil
		}
	}
	out, err := a.ask(ctx, page, branch)
	if err != nil {
		return nil, err
	}
	found, err := parse(out)
	if err != nil {
		return nil, fmt.Errorf("%s answered with what is not understood: %w", filepath.Base(a.Program), err)
	}
	if data, err := json.Marshal(answer{a.Now(), found}); err == nil && os.MkdirAll(a.Cache, 0o700) == nil {
		_ = atomicfile.WriteData(ctx, file, data) // what cannot be kept is asked again
	}
	return found, nil
}

// ask runs the program in a process group of its own, so that all that it started ends with it.
func (a Asker) ask(ctx context.Context, page, branch string) ([]byte, error) {
	args := []string{"pr", "list", "-R", page, "--state", "all", "--limit", most, "--json", "number,state,headRefOid", "--head", branch}
	if filepath.Base(a.Program) == "glab" {
		args = []string{"mr", "list", "-R", page, "--all", "--per-page", most, "--output", "json", "--source-branch", branch}
	}
	cmd := exec.CommandContext(ctx, a.Program, args...)
	out, complaint := &limit.Writer{Most: maxOutput}, &limit.Writer{Most: 1 << 10}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", out, complaint
	cmd.Env = append(os.Environ(), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_PROMPT=1", "NO_COLOR=1", "GLAB_CHECK_UPDATE=false")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch line, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n"); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s did not answer in time", filepath.Base(a.Program))
	case err != nil && line != "":
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(a.Program), err, line)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", filepath.Base(a.Program), err)
	case out.Truncated():
		return nil, fmt.Errorf("%s printed more than %d bytes", filepath.Base(a.Program), maxOutput)
	}
	return []byte(out.String()), nil
}

// parse reads the list of either program. A request whose state or commit is not understood makes all of them unknown.
func parse(data []byte) ([]Request, error) {
	var list []struct {
		Number     int    `json:"number"`
		IID        int    `json:"iid"`
		State      string `json:"state"`
		HeadRefOid string `json:"headRefOid"`
		SHA        string `json:"sha"`
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil, errors.New("null")
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	states := map[string]string{"open": Open, "opened": Open, "locked": Open, "merged": Merged, "closed": Closed}
	found := make([]Request, 0, len(list))
	for _, r := range list {
		one := Request{Number: r.Number + r.IID, State: states[strings.ToLower(r.State)], Head: r.HeadRefOid + r.SHA}
		if one.Number <= 0 || one.State == "" || one.Head == "" {
			return nil, fmt.Errorf("a request with the state %q", r.State)
		}
		found = append(found, one)
	}
	return found, nil
}

// Page is the address of a repository's page, by that of its remote, without a login: https://HOST/OWNER/NAME.
func Page(address string) (string, error) {
	if host, rest, ok := strings.Cut(address, ":"); ok && !strings.Contains(address, "://") && !strings.Contains(host, "/") {
		address = "ssh://" + host + "/" + strings.TrimPrefix(rest, "/")
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "ssh" {
		return "", errors.New("the address of its remote is not one of a forge")
	}
	path := strings.Trim(strings.TrimSuffix(u.Path, ".git"), "/")
	if strings.Count(path, "/") < 1 {
		return "", errors.New("the address of its remote names no repository of an owner")
	}
	return (&url.URL{Scheme: "https", Host: u.Hostname(), Path: "/" + path}).String(), nil
}
