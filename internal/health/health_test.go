package health

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/title"
	"drainit/test/harness/rows"
)

func TestAnswerToAProbe(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/answers.tsv", 4) {
		request := strings.ReplaceAll(row[0], "LONG", strings.Repeat("x", 4000))
		shown, stopped, _ := strings.Cut(row[3], " ")
		now, ok := title.Parse("drainit:" + shown)
		now.WorkerStopped = now.WorkerStopped || stopped != ""
		answer := string(appendAnswer(nil, []byte(request[:min(len(request), requestAtMost)]), &now))
		head, body, _ := strings.Cut(answer, "\r\n\r\n")
		want := strings.TrimPrefix(row[2]+"\n", "\n") // HEAD has none
		if !ok || !strings.HasPrefix(head, "HTTP/1.1 "+row[1]+"\r\n") || body != want {
			t.Errorf("%.60q, %+v: %q, want %s and %q", request, now, answer, row[1], want)
		}
	}
}

func TestNoAnswerBeforeTheRequestIsAllThere(t *testing.T) {
	const whole = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
	for n := range len(whole) {
		if answer := appendAnswer(nil, []byte(whole[:n]),
			&title.State{Phase: machine.Running}); len(answer) > 0 {
			t.Errorf("%q after %q", answer, whole[:n])
		}
	}
}

func TestWhereToListen(t *testing.T) {
	for text, want := range map[string]string{
		":8080": "[::]:8080", "8080": "[::]:8080", "localhost:8080": "127.0.0.1:8080",
		"127.0.0.1:8080": "127.0.0.1:8080", "0.0.0.0:1": "0.0.0.0:1",
		"[::1]:65535": "[::1]:65535", "[::ffff:127.0.0.1]:80": "127.0.0.1:80",
	} {
		if a, err := ParseAddress(text); err != nil || a.text != text || a.at.String() != want {
			t.Errorf("%q is %+v, %v; want %s", text, a, err, want)
		}
	}
	for _, s := range []string{
		"", ":", "0", "-1", "http", "127.0.0.1", "127.0.0.1:", ":0", "127.0.0.1:0", ":65536", ":http",
		"::1:8080", "[::1]", "localhost", "localhost:", "mylocalhost:80",
		"[::1]8080", "[fe80::1%eth0]:80", "127.1:80", ":80 ", " :80", "http://127.0.0.1:80",
		"[]:80", "*:80", ":80\n",
	} {
		if a, err := ParseAddress(s); err == nil || a != (Address{}) || strings.Contains(err.Error(), "\n") ||
			!strings.Contains(err.Error(), "an address and not a name") {
			t.Errorf("%q is %+v, %v", s, a, err)
		}
	}
}

// Whatever comes, the answer is one that clients can read, and 200 is never a
// mistake.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", "HEAD /healthz?x HTTP/1.0\n\n", "POST / HTTP/1.1\r\n\r\n",
		"\n\n", "", "GET",
		"GET /readyz HTTP/1.1\r\nA: " + strings.Repeat("b", requestAtMost), "GET \x00 HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(s), byte(machine.Running), true)
	}
	f.Fuzz(func(t *testing.T, request []byte, ph byte, lives bool) {
		request = request[:min(len(request), requestAtMost)]
		p := machine.Phase(ph % (byte(machine.Done) + 1))
		answer := appendAnswer(nil, request, &title.State{Phase: p, WorkerAlive: lives})
		if len(answer) == 0 {
			if len(request) == requestAtMost || bytes.Contains(request, []byte("\n\r\n")) {
				t.Fatalf("no answer to %q", request)
			}
			return
		}
		line, _, _ := bytes.Cut(request, []byte("\n"))
		word, _, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(" "))
		method := "GET"
		if string(word) == "HEAD" {
			method = "HEAD"
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)),
			&http.Request{Method: method})
		if err != nil {
			t.Fatalf("%q to %q: %v", answer, request, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || method == "GET" && int64(len(body)) != resp.ContentLength || !resp.Close ||
			!bytes.HasSuffix(answer, body) {
			t.Errorf("%q to %q: %v", answer, request, err)
		}
		if resp.StatusCode != http.StatusOK {
			return
		}
		ready := bytes.HasPrefix(request, []byte(method+" /readyz")) && p == machine.Running
		if healthy := bytes.HasPrefix(request, []byte(method+" /healthz")) && lives; !ready && !healthy {
			t.Errorf("200 to %q in %v", request, p)
		}
	})
}

// skip skips a test, or fails it where all must run, as in CI.
func skip(t *testing.T, why string, err error) {
	t.Helper()
	if os.Getenv("DRAINIT_TEST_ALL") != "" {
		t.Fatal(why, err)
	}
	t.Skip(why, err)
}

// listening returns a port at which an address listens. One that is full has no room for a connection in
// its backlog: it hangs.
func listening(t *testing.T, address string, full bool) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		skip(t, "needs IPv6 on the loopback: ", err)
	}
	t.Cleanup(func() { listener.Close() })
	if full {
		l := listener.(*net.TCPListener)
		raw, err := l.SyscallConn()
		err2 := raw.Control(func(fd uintptr) { _ = unix.Listen(int(fd), 0) })
		conn, err3 := net.Dial("tcp", l.Addr().String())
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
	}
	return listener.Addr().(*net.TCPAddr).Port
}

func TestAccepts(t *testing.T) {
	for name, tt := range map[string]struct {
		at   string // the address that listens
		want bool
	}{
		"IPv4":            {"127.0.0.1", true},
		"IPv6":            {"::1", true},
		"all addresses":   {"0.0.0.0", true},
		"another address": {"127.0.0.2", false},
		"full backlog":    {"127.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Accepts(listening(t, tt.at, name == "full backlog")); got != tt.want {
				t.Error(got)
			}
		})
	}
}

// A socket may get the very port that it connects to, and the connection be to itself: here there is but one.
func TestConnectionToItselfIsNone(t *testing.T) {
	runtime.LockOSThread() // its network ends with the test
	const only = 40000
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		skip(t, "needs root, for a network namespace: ", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	lo, _ := unix.NewIfreq("lo")
	lo.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40000"), 0); err != nil {
		skip(t, "needs to set a network's range of ports: ", err)
	}
	if Accepts(only) {
		t.Error("it accepts")
	}
}
