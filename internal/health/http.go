package health

import (
	"bytes"
	"strconv"
	"sync/atomic"

	"drainit/internal/machine"
	"drainit/internal/title"
)

// State is the answer to health probes. The supervisor's loop stores it, and so never waits for a probe. The
// server of the probes reads it.
type State = atomic.Pointer[title.State]

// appendAnswer appends the answer to a request of HTTP/1.0 or 1.1 (RFC 9112), of which only the
// first line counts. It appends nothing until the head of the request is complete.
func appendAnswer(out, request []byte, now *title.State) []byte {
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
	status, body := "200 OK", now.Phase.String()
	if now.Phase == machine.Running && now.WorkerStopped {
		body = "stopped"
	}
	switch {
	case !ended:
		status, body = "431 Request Header Fields Too Large", "the request is too long"
	case len(method) == 0 || string(version) != "HTTP/1.0" && string(version) != "HTTP/1.1":
		status, body = "400 Bad Request", "not a request of HTTP/1.0 or 1.1"
	case !ready && !healthy:
		status, body = "404 Not Found", "there are /readyz and /healthz"
	case string(method) != "GET" && !head:
		status, body = "405 Method Not Allowed\r\nAllow: GET, HEAD", "takes GET"
	case ready && !now.Ready(), healthy && *now == title.State{}: // before the worker
		status = "503 Service Unavailable"
	}
	// fmt.Appendf leaves garbage, 600 kB in a flood of probes.
	out = append(append(out, "HTTP/1.1 "...), status...)
	out = append(out, "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "...)
	out = append(strconv.AppendInt(out, int64(len(body)+len("\n")), 10), "\r\n\r\n"...)
	if head {
		return out
	}
	return append(append(out, body...), '\n')
}
