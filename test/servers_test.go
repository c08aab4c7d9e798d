package test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// plainUser is nobody: the user of a server that is not root.
const plainUser = 65534

// longGrace is more than the tests wait for anything: a drainit that sleeps
// its grace out is never seen to end.
const longGrace = "--grace=10m"

// atOnce bounds, for a busy machine, what takes milliseconds.
const atOnce = 10 * time.Second

func TestNodeServerAnswersTheRequestInFlight(t *testing.T) {
	t.Parallel()
	need(t, "node")
	p := start(t, longGrace, "--", "node", "testdata/http-server.js")
	addr := "127.0.0.1:" + p.waitOut(`^listening (\d+)`)[1]
	body, answer := post(t, addr)
	p.waitOut(`^request`)

	p.signal(syscall.SIGTERM)
	p.waitOut(`^got SIGTERM`)
	waitRefused(t, addr)
	if strings.Contains(p.stdout.text(), "answered") || !p.running() {
		t.Fatalf("the request was not in flight any more:\n%s", p.out())
	}
	want := finish(t, body)

	if got := <-answer; got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	wantEndSince(t, p, time.Now())
	if got := p.out(); !strings.HasSuffix(got, "\nrequest\ngot SIGTERM\nanswered\nclosed\n") {
		t.Errorf("not signalled once, or not closed in order:\n%s", got)
	}
}

// post begins a request whose body ends when the test says so. What it gets
// comes through answer: the body, or the error.
func post(t *testing.T, addr string) (body *io.PipeWriter, answer <-chan string) {
	t.Helper()
	r, body := io.Pipe()
	request, err := http.NewRequest(http.MethodPost, "http://"+addr+"/", r)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	got := make(chan string, 1)
	client := http.Client{Transport: &http.Transport{}, Timeout: 2 * patience}
	go func() {
		response, err := client.Do(request)
		if err != nil {
			got <- err.Error()
			return
		}
		defer response.Body.Close()
		b, err := io.ReadAll(response.Body)
		if err != nil {
			b = append(b, err.Error()...)
		}
		got <- string(b)
	}()
	t.Cleanup(func() { body.Close() })
	if _, err := io.WriteString(body, "begun, "); err != nil {
		t.Fatal(err)
	}
	return body, got
}

// finish ends the request's body and returns the answer that it must get.
func finish(t *testing.T, body *io.PipeWriter) string {
	t.Helper()
	if _, err := io.WriteString(body, "ended"); err != nil {
		t.Error(err)
	}
	body.Close()
	whole := []byte("begun, ended")
	return fmt.Sprintf("%d %x\n", len(whole), sha256.Sum256(whole))
}

// nginx takes TERM for "drop everything": QUIT is its graceful stop.
func TestNginxFinishesTheDownloadInFlight(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		uid  int
	}{{"root", 0}, {"a plain user", plainUser}} {
		t.Run("as "+tt.name, func(t *testing.T) {
			t.Parallel()
			n := startNginx(t, tt.uid, "--rewrite", "TERM:QUIT")
			d := n.download(t)

			n.signal(syscall.SIGTERM)
			waitRefused(t, n.addr)
			if !n.running() {
				t.Fatalf("the init ended before the download:\n%s", n.err())
			}
			got, err := io.ReadAll(d)

			last := time.Now()
			if err != nil || !bytes.Equal(got, n.file) {
				t.Errorf("the client got %d bytes, SHA-256 %x, %v; want %d, %x",
					len(got), sha256.Sum256(got), err, len(n.file), sha256.Sum256(n.file))
			}
			wantEndSince(t, n.Init, last)
			n.wantSignals(t, "SIGQUIT")
		})
	}
}

// To show what the rewrite is for: the same download without it.
func TestNginxCutsTheDownloadWithoutTheRewrite(t *testing.T) {
	t.Parallel()
	n := startNginx(t, 0)
	d := n.download(t)
	n.signal(syscall.SIGTERM)
	n.wait()
	if got, err := io.ReadAll(d); err == nil || len(got) >= len(n.file) {
		t.Errorf("the client got %d bytes of %d, %v: was nginx sent TERM?", len(got), len(n.file), err)
	}
	n.wantSignals(t, "SIGTERM")
	n.wantNothingLeft()
}

// nginx is a running nginx under drainit, with one file to be had from it.
type nginx struct {
	*Init
	addr string
	file []byte
}

// startNginx starts nginx in the foreground, all of it in a folder of its own,
// and waits until it can be connected to.
func startNginx(t *testing.T, uid int, flags ...string) *nginx {
	t.Helper()
	need(t, "nginx")
	dir, port := serverDir(t, uid), reservePort(t)
	// More than the buffers of both sockets: what is not read can't be sent.
	n := &nginx{addr: "127.0.0.1:" + strconv.Itoa(port), file: make([]byte, 16<<20)}
	rand.New(rand.NewSource(int64(port))).Read(n.file)
	writeFile(t, filepath.Join(dir, "root", "file"), n.file)
	conf, err := os.ReadFile("testdata/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("\nUSER\n", "\n"+userLine(uid)+"\n", ":PORT", ":"+strconv.Itoa(port), " DIR/", " "+dir+"/")
	writeFile(t, filepath.Join(dir, "nginx.conf"), []byte(fill.Replace(string(conf))))
	args := append([]string{longGrace, "--log-level=debug"}, flags...)
	l := Launch{Args: append(args, "--", "nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))}
	if os.Getuid() == 0 {
		l.Setup.UID = uid
	} else {
		l.NoPID1 = uid != 0 // in a namespace of its own it would be root there
	}
	n.Init = launch(t, l)
	waitUntil(t, "nginx listens", func() bool { return n.running() && dialable(n.addr) == nil })
	return n
}

// userLine is the user of the processes that serve, where the master is root.
// A plain user who runs the tests is root in a namespace that knows no others.
func userLine(uid int) string {
	switch {
	case uid != 0:
		return ""
	case os.Getuid() != 0:
		return "user root root;"
	}
	return "user nobody nogroup;"
}

// serverDir makes a folder that the user can write to and all can look into,
// which t.TempDir's parent does not allow.
func serverDir(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-nginx-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "root"), 0o755))
	if os.Getuid() == 0 {
		err = errors.Join(err, os.Chown(dir, uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// reservePort returns a port on the loopback that is the test's own: a socket
// that is bound and does not listen keeps it from others, but not from a server
// which, like it, has SO_REUSEADDR (socket(7)).
func reservePort(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return sa.(*unix.SockaddrInet4).Port
}

// download begins to read the file and stops behind the first bytes, so that
// the answer can't end before the caller reads on.
func (n *nginx) download(t *testing.T) io.Reader {
	t.Helper()
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /file HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	first := make([]byte, 1000)
	if _, err := io.ReadFull(response.Body, first); err != nil {
		t.Fatal(err)
	}
	return io.MultiReader(bytes.NewReader(first), response.Body)
}

// wantSignals checks that nginx was signalled once, by this signal, and that it did
// so on purpose: its master logs each one.
func (n *nginx) wantSignals(t *testing.T, want string) {
	t.Helper()
	log := n.err()
	for _, name := range []string{"SIGTERM", "SIGQUIT", "SIGINT"} {
		count := 0
		if name == want {
			count = 1
		}
		if got := strings.Count(log, "("+name+") received"); got != count {
			t.Errorf("%s came %d times, want %d:\n%s", name, got, count, log)
		}
	}
	if got := strings.Count(log, "sent SIG"); got != 1 {
		t.Errorf("drainit signalled %d times:\n%s", got, log)
	}
}

// waitRefused waits until a server takes no more connections.
func waitRefused(t *testing.T, addr string) {
	t.Helper()
	waitUntil(t, "new connections are refused", func() bool { return errors.Is(dialable(addr), unix.ECONNREFUSED) })
}

func dialable(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return err
	}
	return conn.Close()
}

// wantEndSince checks that the init left at once, with 0, and nothing with it.
func wantEndSince(t *testing.T, p *Init, since time.Time) {
	t.Helper()
	p.wantExit(0)
	if took := time.Since(since); took > atOnce {
		t.Errorf("the init ended %v after the last answer", took)
	}
	p.wantNothingLeft()
}
