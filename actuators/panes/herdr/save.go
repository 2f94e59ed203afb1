package herdr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// maxLines is how many of a pane's lines are saved, counted from its end.
const maxLines = 10000

// save writes the text of every pane and the manifest, durably, and gives the panes whose text the server does not offer. It
// overwrites nothing. After an error it leaves nothing behind.
func (g *grasp) save(ctx context.Context) (textless []string, err error) {
	if err := os.MkdirAll(g.Trash, 0o700); err != nil {
		return nil, fmt.Errorf("make the trash: %w", err)
	}
	trash, err := os.OpenRoot(g.Trash)
	if err != nil {
		return nil, fmt.Errorf("open the trash: %w", err)
	}
	defer func() { _ = trash.Close() }()
	if err := trash.Mkdir(g.plan.Act, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder in the trash: %w", err)
	}
	textless, err = g.fill(ctx, trash)
	if err != nil {
		_, left := discard(trash, &g.plan)
		return nil, errors.Join(err, left)
	}
	return textless, nil
}

func (g *grasp) fill(ctx context.Context, trash *os.Root) (textless []string, err error) {
	for _, p := range g.plan.Panes {
		text, err := g.client.read(ctx, p.ID)
		if code(err) == "invalid_request" {
			textless = append(textless, p.ID)
			continue
		}
		if err == nil {
			err = write(trash, filepath.Join(g.plan.Act, p.File), []byte(text))
		}
		if err != nil {
			return nil, fmt.Errorf("save the text of pane %s: %w", p.ID, err)
		}
	}
	about, err := json.Marshal(g.plan)
	if err == nil {
		err = write(trash, filepath.Join(g.plan.Act, manifest), append(about, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("save the manifest: %w", err)
	}
	return textless, errors.Join(syncFolder(trash, g.plan.Act), syncFolder(trash, "."))
}

// read asks for what a pane shows and has shown, with lines that were wrapped at its edge in one piece.
func (c client) read(ctx context.Context, pane string) (string, error) {
	var out struct {
		Read struct {
			Pane string  `json:"pane_id"`
			Text *string `json:"text"`
		} `json:"read"`
	}
	_, err := c.call(ctx, "pane.read", map[string]any{"pane_id": pane, "source": "recent_unwrapped", "format": "text", "lines": maxLines}, "pane_read", &out)
	switch {
	case err != nil:
		return "", err
	case out.Read.Pane != pane || out.Read.Text == nil:
		return "", fmt.Errorf("pane.read: the server answered without the text of pane %s", pane)
	}
	return *out.Read.Text, nil
}

// write makes a new file and sees it on the disk.
func write(root *os.Root, name string, text []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// discard removes the files that an act made, and its folder. What else is in there is left, and is the error.
func discard(trash *os.Root, p *plan) (freed int64, err error) {
	names := []string{manifest}
	for _, pane := range p.Panes {
		names = append(names, pane.File)
	}
	for _, name := range names {
		name = filepath.Join(p.Act, name)
		st, err := trash.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return freed, err
		}
		if !st.Mode().IsRegular() {
			return freed, fmt.Errorf("%s is no file of ours; it was left", strconv.Quote(name))
		}
		if err := trash.Remove(name); err != nil {
			return freed, err
		}
		freed += st.Size()
	}
	if err := trash.Remove(p.Act); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return freed, err
	}
	return freed, nil
}
