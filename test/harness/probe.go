package harness

import (
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

// Probed is a drainit that answers probes.
type Probed struct {
	*Init
	Addr string // 127.0.0.1 and a port of its own
}

// LaunchProbed launches a drainit with --health-addr; l.Args are its other
// arguments. Its worker, which is to print that it is ready, may do so before
// drainit says that it is running.
func LaunchProbed(t *testing.T, l Launch) Probed {
	t.Helper()
	return LaunchAt(t, fmt.Sprintf("127.0.0.1:%d", ReservePort(t)), l)
}

// LaunchAt is LaunchProbed with an address of the test's.
func LaunchAt(t *testing.T, addr string, l Launch) Probed {
	t.Helper()
	p := Probed{Addr: addr}
	l.Args = append([]string{"--health-addr", addr}, l.Args...)
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

// IdleFiles is how many descriptors drainit has when it hears no probe.
func (p Probed) IdleFiles() int {
	p.T.Helper()
	WaitUntil(p.T, "no probe is heard", func() bool { return strings.Count(DescriptorsOf(p.T, p.Pid()), "socket:") == 1 })
	return OpenFiles(p.T, p.Pid())
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
			// net/http has no name for how it says that the server has closed a connection that it has not used yet.
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
	for deadline := time.Now().Add(Patience); ; {
		began := time.Now()
		if !ask() || time.Since(began) < ProbeTime || time.Now().After(deadline) {
			return
		}
	}
}

// Get is the answer to a probe: its status and text.
func (p Probed) Get(path string) string {
	p.T.Helper()
	answer, err := Get("http://" + p.Addr + path)
	if err != nil {
		p.T.Fatalf("%v\nstderr:\n%s", err, p.Stderr.Text())
	}
	return answer
}

// WantProbes makes both probes, once.
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

// readAtMost is how much of a request drainit reads.
const readAtMost = 4096

// Exchange sends a request as it is and reads until drainit has closed, which
// it must not do by a reset if it has read the request: that may take the answer
// back. It asks again as Get does.
func (p Probed) Exchange(request string) (answer string) {
	p.T.Helper()
	askAgain(func() (cutOff bool) {
		answer = p.exchangeOnce(request)
		return answer == ""
	})
	return answer
}

func (p Probed) exchangeOnce(request string) string {
	p.T.Helper()
	conn := p.Dial()
	defer conn.Close()
	_, err := io.WriteString(conn, request)
	answer, readErr := io.ReadAll(conn)
	if len(request) <= readAtMost && (err != nil || readErr != nil) {
		p.T.Errorf("%.60q: %v, %v", request, err, readErr)
	}
	return string(answer)
}

// WantClosed checks that drainit closes a connection to which it owes nothing.
func WantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if b, err := io.ReadAll(conn); len(b) > 0 || err != nil {
		t.Errorf("%q, %v, want it closed", b, err)
	}
}
