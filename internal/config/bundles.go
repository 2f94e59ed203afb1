package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/sys/bundlehttp"
	"github.com/winnow-reaper/winnow/internal/sys/bundleoci"
	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
)

// Bundle is a bundle of policies that somebody publishes.
type Bundle struct {
	Name string `json:"name"`
	// From is a file or a URL.
	From string `json:"from"`
	// Verification says which signature it must carry. Insecure takes an unsigned bundle from a server.
	Verification Verification `json:"verification"`
	Insecure     bool         `json:"insecure"`
	// TokenFile has the bearer token that its server wants to see.
	TokenFile string `json:"token_file" path:"optional"`
}

// Verification names the key of a bundle's signature. Key is the path of its file.
type Verification struct {
	KeyID     string `json:"key_id"`
	Key       string `json:"key" path:"optional"`
	Algorithm string `json:"algorithm"`
	Scope     string `json:"scope"`
}

// Polling says how often servers of bundles are asked, and for how long.
type Polling struct {
	Min      time.Duration `json:"min"`
	Max      time.Duration `json:"max"`
	LongPoll time.Duration `json:"long_poll"`
	Timeout  time.Duration `json:"timeout"`
}

// Remote reports whether a bundle comes over the network.
func (b Bundle) Remote() bool { return strings.Contains(b.From, "://") }

// Verified reports whether a bundle must be signed.
func (b Bundle) Verified() bool { return b.Verification != Verification{} }

// bundleName is what a bundle may be called: it is the name of a folder, too.
var bundleName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// checkBundles refuses what could bring in rules without a signature.
func (p Policy) checkBundles(must need) {
	seen := map[string]bool{}
	for _, b := range p.Bundles {
		must(bundleName.MatchString(b.Name), "policy.bundles: %q is no name: it wants small letters, digits, dots, hyphens and underscores, 63 at most", b.Name)
		must(!seen[b.Name], "policy.bundles: %q is there twice", b.Name)
		seen[b.Name] = true
		must(b.From != "", "policy.bundles: %q has no from: write a file or a URL", b.Name)
		b.checkVerification(must)
		must(b.Remote() || b.TokenFile == "", "policy.bundles: %q has a token_file, and its from is a file", b.Name)
		if b.Remote() {
			b.checkRemote(must)
		}
	}
	must(p.Polling.Timeout > 0, "policy.polling.timeout must be more than 0")
	must(p.Polling.Min >= 0 && p.Polling.Max >= p.Polling.Min && p.Polling.LongPoll >= 0,
		"policy.polling: min is %s, max %s, long_poll %s; they want 0 or more, and max at least min", p.Polling.Min, p.Polling.Max, p.Polling.LongPoll)
}

func (b Bundle) checkRemote(must need) {
	check := bundlehttp.Check
	if strings.HasPrefix(b.From, bundleoci.Scheme) {
		check = bundleoci.Check
	}
	err := check(b.From)
	must(err == nil, "policy.bundles: from of %q: %v", b.Name, err)
	must(b.Verified() || b.Insecure, "policy.bundles: %q comes over the network, and nothing says who must have signed it: write verification: {key_id: ..., key: FILE, algorithm: ...}, or insecure: true", b.Name)
	must(b.TokenFile == "" || !errors.Is(httppost.Check(b.From, false), httppost.ErrHome),
		"policy.bundles: %q has a token_file, and with http its token could be read on the way: write https", b.Name)
}

func (b Bundle) checkVerification(must need) {
	v := b.Verification
	if !b.Verified() {
		return
	}
	must(!b.Insecure, "policy.bundles: %q has verification and insecure: leave one of them out", b.Name)
	must(v.KeyID != "" && v.Key != "", "policy.bundles: verification of %q wants key_id and key, the file of the key", b.Name)
	must(v.Algorithm == "" || slices.Contains(bundle.Algorithms, v.Algorithm), "policy.bundles: verification of %q has the unknown algorithm %q%s",
		b.Name, v.Algorithm, spelling.Hint(v.Algorithm, bundle.Algorithms))
}
