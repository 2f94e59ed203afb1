package config

import (
	"net/netip"
	"time"
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
		"console.listen %q: the console is for this machine alone; it wants a loopback address with a port, such as 127.0.0.1:0 for a free one", c.Listen)
	must(c.Every >= 5*time.Second, "console.every is %s; it is a time of 5s or more", c.Every)
}
