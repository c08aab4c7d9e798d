package harness

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A probe is cut off after this time, and displaced by this many others.
const (
	ProbeTime    = 2 * time.Second
	ProbesAtOnce = 16
)

// Probed is an init that answers probes.
type Probed struct {
	*Init
	Addr string // 127.0.0.1 and a port of its own
}

// LaunchProbed launches a drainit with --health-addr; l.Args are its other
// arguments. The port is one of its own if 0. Its worker, which is to print that it
// is ready, may do so before drainit says that it is running.
func LaunchProbed(t *testing.T, port int, l Launch) Probed {
	t.Helper()
	p := Probed{Addr: fmt.Sprintf("127.0.0.1:%d", cmp.Or(port, ReservePort(t)))}
	l.Args = append([]string{"--health-addr", p.Addr}, l.Args...)
	p.Init = Run(t, l)
	p.WaitOut(`ready`)
	p.WaitRunning()
	return p
}

// WaitRunning waits until the readiness probe finds drainit running.
func (p Probed) WaitRunning() {
	p.T.Helper()
	WaitUntil(p.T, "it is running", func() bool { return p.Get("/readyz") == "200 running" })
	p.WaitTitle("drainit:run") // it has closed by then what it was given
}

// EndsByUSR1 is a worker that, once signalled, drains until USR1 comes.
func EndsByUSR1() []string {
	return []string{"--", WorkerBin, "listen", "-catch", "TERM,TSTP,CONT,USR1", "-end", "USR1", "-exit", "7"}
}

// Get is one probe by a client of its own, as the kubelet makes it, and its
// answer as "503 quiet".
func Get(url string) (answer string, err error) {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: Patience}
	askAgain(func() (cutOff bool) {
		var resp *http.Response
		if resp, err = client.Get(url); err != nil {
			// net/http has no name for how it says that the server has closed a connection that it has
			// not used yet.
			return errors.Is(err, io.EOF) || strings.Contains(err.Error(), "server closed idle connection")
		}
		defer resp.Body.Close()
		var body []byte
		body, err = io.ReadAll(resp.Body)
		answer = fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSuffix(string(body), "\n"))
		return false
	})
	return answer, err
}

// askAgain repeats a probe that a busy machine keeps from asking for seconds: it is rightly cut off.
func askAgain(ask func() (cutOff bool)) {
	Within(Patience, func() bool {
		began := time.Now()
		return !ask() || time.Since(began) < ProbeTime
	})
}

// Get is one probe of a path, which must be answered.
func (p Probed) Get(path string) string {
	p.T.Helper()
	answer, err := Get("http://" + p.Addr + path)
	Must(p.T, err)
	return answer
}

// WantProbes checks the answers to both probes, each as that of Get.
func (p Probed) WantProbes(ready, healthy string) {
	p.T.Helper()
	if r, h := p.Get("/readyz"), p.Get("/healthz"); r != ready || h != healthy {
		p.T.Errorf("/readyz: %q, want %q; /healthz: %q, want %q", r, ready, h, healthy)
	}
}

// Dial opens a connection that has time enough for whatever the test does.
func (p Probed) Dial() net.Conn {
	p.T.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	Must(p.T, err)
	Must(p.T, conn.SetDeadline(time.Now().Add(Patience)))
	p.T.Cleanup(func() { conn.Close() })
	return conn
}

// Exchange sends a request as it is and reads until drainit has closed, which
// it must not do by a reset if it has read the request: that may take the answer
// back. It asks again as Get does.
func (p Probed) Exchange(request string) (answer string) {
	p.T.Helper()
	askAgain(func() (cutOff bool) {
		conn := p.Dial()
		defer conn.Close()
		_, err := io.WriteString(conn, request)
		all, readErr := io.ReadAll(conn)
		if len(request) <= 4096 && (err != nil || readErr != nil) { // drainit reads no more
			p.T.Errorf("%.60q: %v, %v", request, err, readErr)
		}
		answer = string(all)
		return answer == ""
	})
	return answer
}
