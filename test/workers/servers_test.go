package workers

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

	"drainit/test/harness"
)

func TestNodeServerAnswersTheRequestInFlight(t *testing.T) {
	t.Parallel()
	harness.Need(t, "node")
	p := harness.Start(t, harness.LongGrace, "--", "node", "testdata/http-server.js")
	addr := "127.0.0.1:" + p.WaitOut(`^listening (\d+)`)[1]
	body, answer := post(t, addr)
	p.WaitOut(`^request`)

	p.Signal(syscall.SIGTERM)
	p.WaitOut(`^got SIGTERM`)
	waitRefused(t, addr)
	if strings.Contains(p.Stdout.Text(), "answered") || !p.Running() {
		t.Fatalf("the request was not in flight any more:\n%s", p.Out())
	}
	want := finish(t, body)

	if got := <-answer; got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	wantEnd(t, p)
	if got := p.Out(); !strings.HasSuffix(got, "\nrequest\ngot SIGTERM\nanswered\nclosed\n") {
		t.Errorf("not signalled once, or not closed in order:\n%s", got)
	}
}

// wantEnd checks that the init left with 0, without a kill, and nothing with it.
func wantEnd(t *testing.T, p *harness.Init) {
	t.Helper()
	p.WantExit(0)
	p.WantNothingLeft()
	p.WantLogged(harness.KillLine, 0)
}

// wantNotBefore checks that so much time has passed since a moment.
func wantNotBefore(t *testing.T, since time.Time, atLeast time.Duration) {
	t.Helper()
	if took := time.Since(since); took < atLeast {
		t.Errorf("took %v, want at least %v", took, atLeast)
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
	client := http.Client{Transport: &http.Transport{}, Timeout: 2 * harness.Patience}
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
	}{{"root", 0}, {"a plain user", harness.PlainUser}} {
		t.Run("as "+tt.name, func(t *testing.T) {
			t.Parallel()
			n := startNginx(t, tt.uid, "--rewrite", "TERM:QUIT")
			d := n.download(t)

			n.Signal(syscall.SIGTERM)
			waitRefused(t, n.addr)
			if !n.Running() {
				t.Fatalf("the init ended before the download:\n%s", n.Err())
			}
			got, err := io.ReadAll(d)

			if err != nil || !bytes.Equal(got, n.file) {
				t.Errorf("the client got %d bytes, SHA-256 %x, %v; want %d, %x",
					len(got), sha256.Sum256(got), err, len(n.file), sha256.Sum256(n.file))
			}
			wantEnd(t, n.Init)
			n.wantSignals(t, "SIGQUIT")
		})
	}
}

// To show what the rewrite is for: the same download without it.
func TestNginxCutsTheDownloadWithoutTheRewrite(t *testing.T) {
	t.Parallel()
	n := startNginx(t, 0)
	d := n.download(t)
	n.Signal(syscall.SIGTERM)
	n.Wait()
	if got, err := io.ReadAll(d); err == nil || len(got) >= len(n.file) {
		t.Errorf("the client got %d bytes of %d, %v: was nginx sent TERM?", len(got), len(n.file), err)
	}
	n.wantSignals(t, "SIGTERM")
	n.WantNothingLeft()
}

// nginx is a running nginx under drainit, with one file to be had from it.
type nginx struct {
	*harness.Init
	addr string
	file []byte
}

// startNginx starts nginx in the foreground, all of it in a folder of its own,
// and waits until it can be connected to.
func startNginx(t *testing.T, uid int, flags ...string) *nginx {
	t.Helper()
	harness.Need(t, "nginx")
	dir, port := harness.ServerDir(t, uid), harness.ReservePort(t)
	// More than the buffers of both sockets: what is not read can't be sent.
	n := &nginx{addr: "127.0.0.1:" + strconv.Itoa(port), file: make([]byte, 16<<20)}
	rand.New(rand.NewSource(int64(port))).Read(n.file)
	harness.WriteFile(t, filepath.Join(dir, "root", "file"), n.file)
	conf, err := os.ReadFile("testdata/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("\nUSER\n", "\n"+userLine(uid)+"\n", ":PORT", ":"+strconv.Itoa(port), " DIR/", " "+dir+"/")
	harness.WriteFile(t, filepath.Join(dir, "nginx.conf"), []byte(fill.Replace(string(conf))))
	args := append([]string{harness.LongGrace, "--log-level=debug"}, flags...)
	l := harness.Launch{Args: append(args, "--", "nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))}
	if os.Getuid() == 0 {
		l.Setup.UID = uid
	} else {
		l.NoPID1 = uid != 0 // in a namespace of its own it would be root there
	}
	n.Init = harness.Run(t, l)
	harness.WaitUntil(t, "nginx listens", func() bool { return n.Running() && dialable(n.addr) == nil })
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
	if err := conn.SetDeadline(time.Now().Add(2 * harness.Patience)); err != nil {
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
	log := n.Err()
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
	harness.WaitUntil(t, "new connections are refused", func() bool { return errors.Is(dialable(addr), unix.ECONNREFUSED) })
}

func dialable(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, harness.Patience)
	if err != nil {
		return err
	}
	return conn.Close()
}

// nginx daemonizes unless it is configured not to.
func TestForkingNginxFinishesTheDownloadInFlight(t *testing.T) {
	t.Parallel()
	harness.Need(t, "nginx")
	dir, port := harness.ServerDir(t, 0), harness.ReservePort(t)
	n := &nginx{addr: "127.0.0.1:" + strconv.Itoa(port), file: bytes.Repeat([]byte("drain"), 3<<20)}
	harness.WriteFile(t, filepath.Join(dir, "root", "file"), n.file)
	conf, err := os.ReadFile(harness.Repo("test/workers/testdata/nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("\nUSER\n", "\n"+userLine(0)+"\n", "daemon off;", "", ":PORT", ":"+strconv.Itoa(port), " DIR/", " "+dir+"/")
	harness.WriteFile(t, filepath.Join(dir, "nginx.conf"), []byte(fill.Replace(string(conf))))
	n.Init = harness.Run(t, harness.Launch{Args: []string{"-v", harness.LongGrace, "--forking", "--rewrite", "TERM:QUIT",
		"--", "nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf")}})
	n.WaitErr(`exited with status 0 and runs on in`)
	harness.WaitUntil(t, "nginx listens", func() bool { return n.Running() && dialable(n.addr) == nil })
	d := n.download(t)
	n.Signal(syscall.SIGTERM)
	waitRefused(t, n.addr)
	got, err := io.ReadAll(d)
	if err != nil || !bytes.Equal(got, n.file) {
		t.Errorf("the client got %d bytes of %d, %v", len(got), len(n.file), err)
	}
	wantEnd(t, n.Init)
	n.wantSignals(t, "SIGQUIT")
}
