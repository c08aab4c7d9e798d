package test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// probed is a drainit that answers probes.
type probed struct {
	*Init
	addr string // 127.0.0.1 and a port of its own
}

// launchProbed launches a drainit with --health-addr; l.Args are its other
// arguments. Its worker, which is to print that it is ready, may do so before
// drainit says that it is running.
func launchProbed(t *testing.T, l Launch) probed {
	t.Helper()
	return launchAt(t, fmt.Sprintf("127.0.0.1:%d", reservePort(t)), l)
}

// launchAt is launchProbed with an address of the test's.
func launchAt(t *testing.T, addr string, l Launch) probed {
	t.Helper()
	p := probed{addr: addr}
	l.Args = append([]string{"--health-addr", addr}, l.Args...)
	p.Init = launch(t, l)
	p.waitOut(`ready`)
	p.waitRunning()
	return p
}

func (p probed) waitRunning() {
	p.t.Helper()
	waitUntil(p.t, "it is running", func() bool { return p.get("/readyz") == "200 running" })
}

// idleFiles is how many descriptors drainit has when it hears no probe.
func (p probed) idleFiles() int {
	p.t.Helper()
	waitUntil(p.t, "no probe is heard", func() bool { return strings.Count(descriptorsOf(p.t, p.Pid()), "socket:") == 1 })
	return openFiles(p.t, p.Pid())
}

// endsByUSR1 is a worker that, once signalled, drains until USR1 comes.
func endsByUSR1() []string {
	return []string{"--", workerBin, "listen", "-catch", "TERM,TSTP,CONT,USR1", "-end", "USR1", "-exit", "7"}
}

// get is one probe by a client of its own, as the kubelet makes it, and its
// answer as "503 quiet". A client that a busy machine keeps from asking for
// seconds is rightly cut off, and asks again.
func get(url string) (answer string, err error) {
	for deadline := time.Now().Add(patience); ; {
		began := time.Now()
		answer, err = getOnce(url)
		if !isCutOff(err) || time.Since(began) < probeTime/2 || time.Now().After(deadline) {
			return answer, err
		}
	}
}

// isCutOff reports whether the server closed before it answered. net/http has no
// name for how it says so of a connection that it has not used yet.
func isCutOff(err error) bool {
	return errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "server closed idle connection")
}

func getOnce(url string) (answer string, err error) {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: patience}).Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSuffix(string(body), "\n")), err
}

func (p probed) get(path string) string {
	p.t.Helper()
	answer, err := get("http://" + p.addr + path)
	if err != nil {
		p.t.Fatalf("%v\nstderr:\n%s", err, p.stderr.text())
	}
	return answer
}

// wantProbes makes both probes, once.
func (p probed) wantProbes(ready, healthy string) {
	p.t.Helper()
	if got := p.get("/readyz"); got != ready {
		p.t.Errorf("/readyz: %q, want %q", got, ready)
	}
	if got := p.get("/healthz"); got != healthy {
		p.t.Errorf("/healthz: %q, want %q", got, healthy)
	}
}

// dial opens a connection that has time enough for whatever the test does.
func (p probed) dial() net.Conn {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.addr)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(patience))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	return conn
}

// readAtMost is how much of a request drainit reads.
const readAtMost = 4096

// exchange sends a request as it is and reads until drainit has closed, which
// it must not do by a reset if it has read the request: that may take the answer
// back.
func (p probed) exchange(request string) string {
	p.t.Helper()
	conn := p.dial()
	defer conn.Close()
	_, err := io.WriteString(conn, request)
	answer, readErr := io.ReadAll(conn)
	if len(request) <= readAtMost && (err != nil || readErr != nil) {
		p.t.Errorf("%.60q: %v, %v", request, err, readErr)
	}
	return string(answer)
}

// wantClosed checks that drainit closes a connection to which it owes nothing.
func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if b, err := io.ReadAll(conn); len(b) > 0 || err != nil {
		t.Errorf("%q, %v, want it closed", b, err)
	}
}

// ofTasks adds up a number in a file of each thread of a process.
func ofTasks(t *testing.T, pid int, file string, number func(content string) int) int {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no thread of %d: %v", pid, err)
	}
	sum := 0
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil {
			sum += number(string(b))
		}
	}
	return sum
}

// wakeUps is how often the threads of a process have been put to sleep.
func wakeUps(t *testing.T, pid int) int {
	t.Helper()
	return ofTasks(t, pid, "status", func(status string) int {
		n := 0
		for line := range strings.Lines(status) {
			if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "_ctxt_switches") {
				switches, _ := strconv.Atoi(strings.TrimSpace(value))
				n += switches
			}
		}
		return n
	})
}

// cpuTime is how long the threads of a process have run
// (Documentation/scheduler/sched-stats.rst).
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	return time.Duration(ofTasks(t, pid, "schedstat", func(stat string) int {
		ns, _ := strconv.Atoi(strings.Fields(stat)[0])
		return ns
	}))
}
