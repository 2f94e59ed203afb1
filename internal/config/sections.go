package config

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/internal/notify"
	"github.com/winnow-reaper/winnow/internal/sys/bundlehttp"
	"github.com/winnow-reaper/winnow/internal/sys/bundleoci"
	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
)

// Console says where winnow console listens, and how old what it shows may be.
type Console struct {
	// Listen is a loopback address with a port, 0 for a free one.
	Listen string `json:"listen"`
	// Every is how old what an open page shows may be.
	Every time.Duration `json:"every"`
}

// check refuses an address that anybody but this machine could reach.
func (c Console) check(must need) {
	at, err := netip.ParseAddrPort(c.Listen)
	must(err == nil && at.Addr().IsLoopback() && !at.Addr().Is4In6() && at.Addr().Zone() == "",
		"console.listen %q: the console is for this machine alone. Give a loopback address with a port, such as 127.0.0.1:0 for a free one", c.Listen)
	must(c.Every >= 5*time.Second, "console.every is %s; it is a time of 5s or more", c.Every)
}

// Metrics says where the daemon answers Prometheus.
type Metrics struct {
	// Listen is unix:PATH or HOST:PORT, "" for nowhere. A host that is not this machine alone needs TokenFile.
	Listen string `json:"listen"`
	// TokenFile has the token that a scrape must bring (Authorization: Bearer); "" for none.
	TokenFile string `json:"token_file" path:"optional"`
	// CertFile and KeyFile, both in PEM, have it speak TLS; both or none.
	CertFile string `json:"cert_file" path:"optional"`
	KeyFile  string `json:"key_file" path:"optional"`
}

// check refuses an address that others can reach and that answers whoever asks.
func (m Metrics) check(must need) {
	must((m.CertFile == "") == (m.KeyFile == ""), "run.metrics: cert_file and key_file go together, and only one of them is there")
	if m.Listen == "" {
		must(m.TokenFile == "" && m.CertFile == "", "run.metrics: there is a token_file or cert_file, and no address in listen")
		return
	}
	if path, ok := strings.CutPrefix(m.Listen, "unix:"); ok {
		must(filepath.IsAbs(path) && filepath.Clean(path) == path, "run.metrics.listen %q: it wants the whole path of a socket, such as unix:/run/user/1000/winnow/metrics.sock", m.Listen)
		must(m.CertFile == "", "run.metrics: no TLS is spoken on a unix socket, which this user alone can reach; leave cert_file and key_file out")
		return
	}
	host, port, err := net.SplitHostPort(m.Listen)
	n, numErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numErr != nil {
		must(false, "run.metrics.listen %q: it wants an address such as 127.0.0.1:9479, or unix:PATH", m.Listen)
		return
	}
	must(n > 0, "run.metrics.listen %q: nobody would find a port that changes; give a number from 1 to 65535", m.Listen)
	local := host == "localhost" || net.ParseIP(host).IsLoopback()
	must(local || m.TokenFile != "", "run.metrics.listen %q can be reached by others: give a token_file, or listen on 127.0.0.1 or a unix socket", m.Listen)
}

// Notify says what winnow run tells people by itself, and where.
type Notify struct {
	// On are the groups that are told: acts, alarms, asks, problems.
	On []string `json:"on"`
	// Desktop shows them in the session of this user, Webhooks sends them to servers.
	Desktop  bool      `json:"desktop"`
	Webhooks []Webhook `json:"webhooks"`
	// Rest is the least time between two messages to one place, Forget for how long something must have been missing to be new again.
	Rest   time.Duration `json:"rest"`
	Forget time.Duration `json:"forget"`
	// Names is how many things a message names.
	Names int `json:"names"`
	// Timeout bounds one try to send a message, and Tries how many there are.
	Timeout time.Duration `json:"timeout"`
	Tries   int           `json:"tries"`
}

// Webhook is a server that gets messages.
type Webhook struct {
	// URL is its address, or URLFile the file that has it.
	URL     string `json:"url"`
	URLFile string `json:"url_file" path:"optional"`
	// Format is json or slack; empty is json.
	Format string `json:"format"`
	// TokenFile has the token, which is sent in Header; empty is Authorization, as a bearer token.
	TokenFile string `json:"token_file" path:"optional"`
	Header    string `json:"header"`
}

// Enabled reports whether anything is told anywhere.
func (n Notify) Enabled() bool { return n.Desktop || len(n.Webhooks) > 0 }

// check refuses what would be told nowhere, or would tell a secret.
func (n Notify) check(must need) {
	for _, on := range n.On {
		must(slices.Contains(notify.Groups, on), "notify.on: unknown word %q%s", on, spelling.Hint(on, notify.Groups))
	}
	must(n.Rest >= 0 && n.Forget >= 0, "notify: rest is %s and forget %s; neither is negative", n.Rest, n.Forget)
	must(n.Names >= 0 && n.Names <= 100, "notify.names is %d; it is a number from 0 to 100", n.Names)
	must(n.Timeout > 0 && n.Timeout <= time.Minute, "notify.timeout is %s; it is more than 0s and at most 1m", n.Timeout)
	must(n.Tries >= 1 && n.Tries <= 20, "notify.tries is %d; it is a number from 1 to 20", n.Tries)
	seen := map[string]bool{}
	for _, w := range n.Webhooks {
		must((w.URL == "") != (w.URLFile == ""), "notify.webhooks: each wants a url, or a url_file that has it, and not both")
		if w.URL != "" {
			err := httppost.Check(w.URL, true)
			must(err == nil, "notify.webhooks: url: %v", err)
		}
		must(!seen[w.URL+"\x00"+w.URLFile], "notify.webhooks: two of them have the same address: leave one out")
		seen[w.URL+"\x00"+w.URLFile] = true
		must(w.Format == "" || slices.Contains(notify.Formats, w.Format), "notify.webhooks: unknown format %q%s", w.Format, spelling.Hint(w.Format, notify.Formats))
		must(w.Header == "" || notify.GoodHeader(w.Header), "notify.webhooks: header %q is no name of a header for a token, such as X-Api-Key", w.Header)
		must(w.Header == "" || w.TokenFile != "", "notify.webhooks: header %q wants a token_file, which has its value", w.Header)
	}
}

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

// sites finds where a value stands that is wrong: a line of the file, or a variable of the environment.
type sites struct {
	file string
	data []byte
	// set are the keys that the environment gives.
	set map[string]bool
	// agents are the agents' files of the operator.
	agents []sites
}

// folder is that from which a path counts that is not absolute: that of the file, or "" for one from the environment.
func (p sites) folder(key string) string {
	if p.file == "" || p.set[key] {
		return ""
	}
	return filepath.Dir(p.file)
}

// placeOf is the place of what a message is about. The message begins with the key; of a list it is the entry that the message quotes, where there is
// one.
func (p sites) placeOf(message string) string {
	key := strict.KeyOf(message)
	if p.set[key] {
		return EnvName(key)
	}
	in := p
	for _, f := range p.agents {
		quoted := strict.Line(f.data, message, expanded) != strict.Line(f.data, key, expanded)
		if f.has(key) && !p.has(key) && (quoted || !in.has(key)) { // a list of the file would stand in its place
			in = f
		}
	}
	if line := strict.Line(in.data, message, expanded); line > 0 {
		return in.file + ":" + strconv.Itoa(line)
	}
	return cmp.Or(in.file, "the environment")
}

// has reports whether a key stands in the file.
func (p sites) has(key string) bool {
	var at yaml.Node
	if yaml.Unmarshal(p.data, &at) != nil || len(at.Content) == 0 {
		return false
	}
	value := at.Content[0]
	for name := range strings.SplitSeq(key, ".") {
		if _, value = strict.Pair(value, name); value == nil {
			return false
		}
	}
	return true
}

var quotedKey = regexp.MustCompile(`'([a-z_]+(?:\.[a-z_]+)*)(?:\[[0-9]+\])*'`)

// variable is the variable that the decoder's error is about.
func (p sites) variable(message string) string {
	for _, m := range quotedKey.FindAllStringSubmatch(message, -1) {
		for key := range p.set { // an error may name what is below a key
			if m[1] == key || strings.HasPrefix(m[1], key+".") {
				return EnvName(key)
			}
		}
	}
	return "the environment"
}

// expanded is a path as it is shown after ~ and variables were resolved.
func expanded(s string) string {
	if !isPath(s) {
		return ""
	}
	abs, err := expandFrom("", s)
	if err != nil {
		return ""
	}
	return abs
}
