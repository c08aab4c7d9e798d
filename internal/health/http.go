package health

import (
	"bytes"
	"strconv"
	"sync/atomic"

	"drainit/internal/phase"
)

// State is what probes are answered. The loop publishes it and never waits for them;
// their server reads it.
type State struct{ now atomic.Pointer[view] }

// view is one word for the phase, and the answers of /readyz and /healthz.
type view struct {
	word           string
	ready, healthy bool
}

// Publish sets what probes are answered from now on: the phase, and of the worker whether
// it lives and whether it is stopped (state T), so that it does no work.
func (s *State) Publish(p phase.Phase, alive, stopped bool) {
	now := &view{p.String(), p == phase.Running && !stopped, alive}
	if p == phase.Running && stopped {
		now.word = "stopped"
	}
	s.now.Store(now)
}

// appendAnswer appends the answer to a request of HTTP/1.0 or 1.1 (RFC 9112),
// of which no more than the first line is read. It appends nothing while the
// head of the request is not all there and may still come.
func appendAnswer(out, request []byte, now *view) []byte {
	ended := bytes.Contains(request, []byte("\n\r\n")) || bytes.Contains(request, []byte("\n\n"))
	if !ended && len(request) < requestAtMost {
		return out
	}
	line, _, _ := bytes.Cut(request, []byte("\n"))
	method, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(" "))
	target, version, _ := bytes.Cut(rest, []byte(" "))
	file, _, _ := bytes.Cut(target, []byte("?"))
	ready, healthy := string(file) == "/readyz", string(file) == "/healthz"
	head := string(method) == "HEAD"
	status, body := "200 OK", now.word
	switch {
	case !ended:
		status, body = "431 Request Header Fields Too Large", "the request is too long"
	case len(method) == 0 || string(version) != "HTTP/1.0" && string(version) != "HTTP/1.1":
		status, body = "400 Bad Request", "not a request of HTTP/1.0 or 1.1"
	case !ready && !healthy:
		status, body = "404 Not Found", "there are /readyz and /healthz"
	case string(method) != "GET" && !head:
		status, body = "405 Method Not Allowed\r\nAllow: GET, HEAD", "takes GET"
	case ready && !now.ready, healthy && !now.healthy:
		status = "503 Service Unavailable"
	}
	out = append(append(out, "HTTP/1.1 "...), status...) // without garbage: fmt.Appendf makes some
	out = append(out, "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "...)
	out = append(strconv.AppendInt(out, int64(len(body)+len("\n")), 10), "\r\n\r\n"...)
	if head {
		return out
	}
	return append(append(out, body...), '\n')
}
