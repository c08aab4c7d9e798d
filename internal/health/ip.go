package health

import (
	"strconv"
	"strings"
)

// Package net/netip would be 16 kB of the program, most of them for the zones of IPv6
// addresses, which drainit does not take. The tests hold these to it.

// mapped begins an IPv4 address in the form of IPv6 (RFC 4291, 2.5.5.2).
var mapped = [12]byte{10: 0xff, 11: 0xff}

// parseHostPort reads "127.0.0.1:80" or "[::1]:80".
func parseHostPort(s string) (ip [16]byte, port int, ok bool) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return ip, 0, false
	}
	n, err := strconv.ParseUint(s[colon+1:], 10, 16)
	host := s[:colon]
	var b []byte
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		b = parseIPv6(inner[:len(inner)-1])
	} else if b = parseIPv4(host); b != nil {
		b = append(mapped[:len(mapped):len(mapped)], b...)
	}
	return [16]byte(append(b, ip[len(b):]...)), int(n), err == nil && b != nil
}

// parseIPv4 reads four numbers without leading zeros; nil where they are none.
func parseIPv4(s string) (ip []byte) {
	for field := range strings.SplitSeq(s, ".") {
		n, err := strconv.ParseUint(field, 10, 8)
		if err != nil || len(field) > 1 && field[0] == '0' || len(ip) == 4 {
			return nil
		}
		ip = append(ip, byte(n))
	}
	if len(ip) != 4 {
		return nil
	}
	return ip
}

// parseIPv6 reads an address without a zone; nil where it is none.
func parseIPv6(s string) []byte {
	left, right, compressed := strings.Cut(s, "::")
	if !compressed {
		ip, ok := parseGroups(left, true)
		if !ok || len(ip) != 16 {
			return nil
		}
		return ip
	}
	head, ok := parseGroups(left, false)
	tail, also := parseGroups(right, true)
	if !ok || !also || len(head)+len(tail) > 14 { // at least one group is left out
		return nil
	}
	zeros := make([]byte, 16-len(head)-len(tail))
	return append(append(head, zeros...), tail...)
}

// parseGroups reads groups of four hexadecimal digits at most, and an IPv4 address behind
// them where they end the whole.
func parseGroups(s string, end bool) (ip []byte, ok bool) {
	for s != "" {
		group, rest, more := strings.Cut(s, ":")
		if end && !more && strings.Contains(group, ".") {
			v4 := parseIPv4(group)
			return append(ip, v4...), v4 != nil
		}
		n, err := strconv.ParseUint(group, 16, 16)
		if err != nil || len(group) > 4 || more && rest == "" {
			return nil, false
		}
		ip = append(ip, byte(n>>8), byte(n))
		s = rest
	}
	return ip, true
}
