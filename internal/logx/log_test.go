package logx

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// logPipe returns a log that writes to a pipe, and the pipe's other end.
func logPipe(t *testing.T, json bool, level zapcore.Level) (*Log, *os.File) {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r := os.NewFile(uintptr(fds[0]), "log")
	t.Cleanup(func() { r.Close(); unix.Close(fds[1]) })
	return New(fds[1], json, level), r
}

func TestLogLines(t *testing.T) {
	write := func(l *Log) {
		l.Line(zapcore.DebugLevel, "one")
		l.Line(zapcore.InfoLevel, "two", Value("phase", "draining"), Value("pid", 17), Value("left_s", InTenths(1234*time.Millisecond)))
		l.Line(zapcore.WarnLevel, "three")
		l.Line(zapcore.ErrorLevel, "four")
		l.Close()
	}
	t.Run("text", func(t *testing.T) {
		l, r := logPipe(t, false, zapcore.InfoLevel)
		write(l)
		want := "drainit: two\ndrainit: warning: three\ndrainit: error: four\n"
		if got := readLines(t, r, 3); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("JSON", func(t *testing.T) {
		l, r := logPipe(t, true, zapcore.InfoLevel)
		write(l)
		first, _, _ := strings.Cut(readLines(t, r, 3), "\n")
		var got map[string]any
		if err := json.Unmarshal([]byte(first), &got); err != nil {
			t.Fatal(err)
		}
		stamp, _ := got["time"].(string)
		if _, err := time.Parse(time.RFC3339, stamp); err != nil || !strings.HasSuffix(stamp, "Z") {
			t.Errorf("time is %q: %v", stamp, err)
		}
		delete(got, "time")
		if s := fmt.Sprint(got); s != "map[left_s:1.2 level:info logger:drainit msg:two phase:draining pid:17]" {
			t.Errorf("the line holds %s", s)
		}
	})
}

func readLines(t *testing.T, r *os.File, n int) string {
	t.Helper()
	var all strings.Builder
	for in := bufio.NewReader(r); n > 0; n-- {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(line)
	}
	return all.String()
}

// The end waits for a writer that has not had its turn, as long as there is room for what it
// writes, and not for ever.
func TestEndWaitsForAWriterWithoutItsTurn(t *testing.T) {
	for name, tt := range map[string]struct {
		turn  time.Duration // when the writer has had it
		full  bool
		waits time.Duration
	}{
		"soon":               {0, false, 0},
		"late":               {3*flushAtEnd + time.Millisecond, false, 3*flushAtEnd + time.Millisecond},
		"never":              {time.Hour, false, 10 * flushAtEnd},
		"and stderr is full": {time.Hour, true, flushAtEnd},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, _ := logPipe(t, true, zapcore.InfoLevel)
				if err := unix.SetNonblock(l.fd, true); err != nil {
					t.Fatal(err)
				}
				for tt.full {
					if _, err := unix.Write(l.fd, make([]byte, 4096)); err != nil {
						break
					}
				}
				l.written = make(chan struct{})
				time.AfterFunc(tt.turn, func() { close(l.written) })
				began := time.Now()
				l.Close()
				if waited := time.Since(began); waited != tt.waits {
					t.Errorf("waited %v, want %v", waited, tt.waits)
				}
			})
		})
	}
}

// What finds the queue full is counted, and the count is reported as soon as
// it is read again.
func TestLogThatIsNotReadNeitherBlocksNorLies(t *testing.T) {
	l, r := logPipe(t, false, zapcore.InfoLevel)
	const lines = 5000
	long := strings.Repeat("x", 200)
	for i := range lines { // far more than a pipe and the queue hold; it would hang if it blocked
		l.Line(zapcore.InfoLevel, strconv.Itoa(i)+long)
	}
	written, dropped := 0, 0
	report := regexp.MustCompile(`^drainit: warning: (\d+) log lines were dropped`)
	for in := bufio.NewScanner(r); written+dropped < lines && in.Scan(); {
		if m := report.FindStringSubmatch(in.Text()); m != nil {
			n, _ := strconv.Atoi(m[1])
			dropped += n
			continue
		}
		written++
	}
	if written+dropped != lines || dropped == 0 {
		t.Errorf("%d lines written and %d reported as dropped, of %d", written, dropped, lines)
	}
	l.Close()
}

func TestCloseOfABlockedLogIsBounded(t *testing.T) {
	l, r := logPipe(t, false, zapcore.InfoLevel)
	for range 2000 {
		l.Line(zapcore.InfoLevel, strings.Repeat("x", 200))
	}
	closed := make(chan struct{})
	go func() { l.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("Close waits for a reader that never comes")
	}
	go io.Copy(io.Discard, r)
	<-l.written // else it would write to what has this descriptor next
}

func TestLogSurvivesItsDescriptor(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for name, fd := range map[string]int{"ENOSPC": int(full.Fd()), "EBADF": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			l := New(fd, true, zapcore.InfoLevel)
			for range 1000 {
				l.Line(zapcore.InfoLevel, "x")
			}
			l.Close()
			<-l.written
			if n := l.dropped.Load(); n != 1000 {
				t.Errorf("%d lines dropped, want 1000", n)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"node": "node", "npm start": "npm start", "wörker": "wörker", "a\nb": `a\nb`, "\x1b[2J": `\x1b[2J`,
		"\xff\xfe": `\xff\xfe`, "\x00": `\x00`, "\u202e": `\u202e`, "'\"": `'"`, `a\b\\"n`: `a\b\\"n`, "\u2028": `\u2028`, "�": "�",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}
