package health

import (
	"net/netip"
	"strings"
	"testing"
)

// asNetip is what package net/netip makes of an address, of those without a zone.
func asNetip(s string) (ip [16]byte, port int, ok bool) {
	at, err := netip.ParseAddrPort(s)
	if err != nil || strings.Contains(s, "%") {
		return ip, 0, false
	}
	return at.Addr().As16(), int(at.Port()), true
}

// wantAsNetip holds parseHostPort to package net/netip.
func wantAsNetip(t *testing.T, s string) {
	t.Helper()
	ip, port, ok := parseHostPort(s)
	wantIP, wantPort, want := asNetip(s)
	if ok != want || ok && (ip != wantIP || port != wantPort) {
		t.Errorf("%q is %x, port %d, %v; want %x, port %d, %v", s, ip, port, ok, wantIP, wantPort, want)
	}
}

// hosts are good and bad, each in brackets and not.
var hosts = []string{
	"", "127.0.0.1", "0.0.0.0", "255.255.255.255", "256.0.0.1", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1..2.3", ".1.2.3", "1.2.3.", "+1.2.3.4", "1.2.3.-4", "1.2.3.0x4",
	"::", "::1", "1::", "1::8", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "1:2:3:4::5:6:7:8",
	":::", ":", ":1", "1:", "1:::8", "1::2::3", "::g", "::12345", "::ffff", "::FFFF", "::00001", "fd00::2", "::+1", "::1_0",
	"::ffff:127.0.0.1", "::127.0.0.1", "1.2.3.4::", "::1.2.3.4:5", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5::1.2.3.4", "1:2:3:4:5:6::1.2.3.4", "::1.2.3", "::1.2.3.256", "::.", "1.2.3.4",
	"fe80::1%eth0", "::1%", "[", "]", "[::1", "::1]", "a", "drainit", " ::1", "::1 ",
}

func TestAddressesAreThoseOfNetip(t *testing.T) {
	for _, host := range hosts {
		for _, port := range []string{"80", "0", "65535", "65536", "", "-1", "+1", "080", "http", "8 0"} {
			wantAsNetip(t, host+":"+port)
			wantAsNetip(t, "["+host+"]:"+port)
		}
		wantAsNetip(t, host)
	}
}

func FuzzParseHostPort(f *testing.F) {
	for _, host := range hosts {
		f.Add(host + ":80")
		f.Add("[" + host + "]:80")
	}
	f.Fuzz(func(t *testing.T, s string) { wantAsNetip(t, s) })
}
