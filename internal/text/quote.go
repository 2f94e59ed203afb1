package text

import "github.com/winnow-reaper/winnow/internal/sys/termsafe"

// Quote makes s safe to paste into a shell, by termsafe.Quote.
func Quote(s string) string { return termsafe.Quote(s) }
