package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/winnow-reaper/winnow/internal/service"
	"github.com/winnow-reaper/winnow/internal/text"
)

// ServiceChange prints which units were written, kept and removed.
func ServiceChange(w io.Writer, c service.Changed) {
	for _, of := range []struct {
		word  string
		paths []string
	}{{"removed", c.Removed}, {"written", c.Written}, {"kept as it is", c.Kept}} {
		for _, p := range of.paths {
			fmt.Fprintf(w, "%s: %s\n", of.word, text.Clean(p))
		}
	}
	if len(c.Shared) > 0 {
		fmt.Fprintf(w, "shared with %s: systemctl restart has them run so too\n", text.Clean(strings.Join(c.Shared, ", ")))
	}
	for _, unit := range c.Disabled {
		fmt.Fprintf(w, "disabled: %s, which a package brought\n", text.Clean(unit))
	}
}

// ServiceStatus prints how the units stand, and that no manager answers, where silent says why.
func ServiceStatus(w io.Writer, all []service.Status, silent string) {
	for _, st := range all {
		fmt.Fprintf(w, "%s\n", text.Clean(st.Unit))
		if silent == "" {
			fmt.Fprintf(w, "  now   %s, %s", cmp.Or(st.Enabled, "not enabled"), cmp.Or(st.Active, "not active"))
			if st.Since != "" {
				fmt.Fprintf(w, " since %s", text.Clean(st.Since))
			}
			if st.PID != "" {
				fmt.Fprintf(w, ", process %s", text.Clean(st.PID))
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "  unit  %s\n  log   %s\n", text.Clean(st.Path), text.Clean(st.Log))
		if st.Next != "" {
			fmt.Fprintf(w, "  next  %s\n", text.Clean(st.Next))
		}
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "not installed: winnow service install")
	}
	if silent != "" {
		fmt.Fprintf(w, "no systemd manager answers here: %s\n", text.Clean(silent))
	}
}
