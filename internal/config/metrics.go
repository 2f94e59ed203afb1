package config

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

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
