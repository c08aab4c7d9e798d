package harness

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
// answer as "503 quiet". A client that a busy machine keeps from asking for
// seconds is rightly cut off, and asks again.
func Get(url string) (answer string, err error) {
	for deadline := time.Now().Add(Patience); ; {
		began := time.Now()
		answer, err = getOnce(url)
		if !isCutOff(err) || time.Since(began) < ProbeTime || time.Now().After(deadline) {
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
	resp, err := (&http.Client{Transport: transport, Timeout: Patience}).Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSuffix(string(body), "\n")), err
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
	if got := p.Get("/readyz"); got != ready {
		p.T.Errorf("/readyz: %q, want %q", got, ready)
	}
	if got := p.Get("/healthz"); got != healthy {
		p.T.Errorf("/healthz: %q, want %q", got, healthy)
	}
}

// Dial opens a connection that has time enough for whatever the test does.
func (p Probed) Dial() net.Conn {
	p.T.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(Patience))
	}
	if err != nil {
		p.T.Fatal(err)
	}
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
	for deadline := time.Now().Add(Patience); ; {
		began := time.Now()
		answer = p.exchangeOnce(request)
		if answer != "" || time.Since(began) < ProbeTime || time.Now().After(deadline) {
			return answer
		}
	}
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

// ofTasks adds up a number in a file of each thread of a process.
func ofTasks(t *testing.T, pid int, file string, number func(content string) int) int {
	t.Helper()
	sum, threads := sumOfTasks(pid, file, number)
	if threads == 0 {
		t.Fatalf("no thread of %d", pid)
	}
	return sum
}

// sumOfTasks is that sum, and of how many threads; of a process that has gone it is 0.
func sumOfTasks(pid int, file string, number func(content string) int) (sum, threads int) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file)) // fails for a bad pattern only
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil {
			sum += number(string(b))
			threads++
		}
	}
	return sum, threads
}

// WakeUps is how often the threads of a process have been put to sleep.
func WakeUps(t *testing.T, pid int) int {
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

// RunTime is how long the threads of a process, which may have gone, have run
// (Documentation/scheduler/sched-stats.rst).
func RunTime(pid int) time.Duration {
	sum, _ := sumOfTasks(pid, "schedstat", schedstat(0))
	return time.Duration(sum)
}

// schedstat returns what reads one of the three numbers of such a file.
func schedstat(n int) func(content string) int {
	return func(content string) int {
		f := strings.Fields(content)
		if n >= len(f) {
			return 0
		}
		ns, _ := strconv.Atoi(f[n])
		return ns
	}
}
