package logx

import (
	"bufio"
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

	"drainit/internal/proc"
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
	const text = `drainit: warning: 5 log lines were dropped: stderr was full or closed
drainit: two
drainit: warning: three
drainit: error: four
`
	const head = `,"time":TIME,"logger":"drainit","msg":`
	const json = `{"level":"warn"` + head +
		`"5 log lines were dropped: stderr was full or closed",` +
		`"event":"lines_dropped","dropped":5,"loses":"maybe"}
{"level":"info"` + head + `"two","event":"b","phase":"draining","pid":17,"left_s":1.2}
{"level":"warn"` + head + `"three","event":"c"}
{"level":"error"` + head + `"four","event":"d"}
`
	stamp := regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ"`)
	for want, asJSON := range map[string]bool{text: false, json: true} {
		l, r := logPipe(t, asJSON, zapcore.InfoLevel)
		l.dropped.Store(5) // before: the last line stays the last
		l.Line(zapcore.DebugLevel, "a", "one")
		l.Line(zapcore.InfoLevel, "b", "two", Value("phase", "draining"), Value("pid", 17),
			Value("left_s", InTenths(1234*time.Millisecond)))
		l.Line(zapcore.WarnLevel, "c", "three")
		l.Line(zapcore.ErrorLevel, "d", "four")
		l.Close()
		text := make([]byte, 4096)
		n, err := r.Read(text)
		if got := stamp.ReplaceAllString(string(text[:n]), "TIME"); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
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

// At level debug, a stop of thousands of processes has a line for each in one step.
func TestBurstOfLinesForDebugging(t *testing.T) {
	l, r := logPipe(t, true, zapcore.DebugLevel)
	const lines = 10_000
	for range lines {
		l.Line(zapcore.DebugLevel, "a", "one")
	}
	go l.Close()
	in := bufio.NewScanner(r)
	for range lines {
		if !in.Scan() || !strings.Contains(in.Text(), `"one"`) {
			t.Fatalf("%q, %v", in.Text(), in.Err())
		}
	}
}

// What finds the queue full is counted, and the count is reported as soon as
// it is read again.
func TestLogThatIsNotReadNeitherBlocksNorLies(t *testing.T) {
	l, r := logPipe(t, false, zapcore.InfoLevel)
	const lines = 5000
	long := strings.Repeat("x", 200)
	for i := range lines { // far more than a pipe and the queue hold; it would hang if it blocked
		l.Line(zapcore.InfoLevel, "x", strconv.Itoa(i)+long)
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
		l.Line(zapcore.InfoLevel, "x", strings.Repeat("x", 200))
	}
	l.Close() // it would hang if it waited for the reader
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
		l := New(fd, true, zapcore.InfoLevel)
		for range 1000 {
			l.Line(zapcore.InfoLevel, "x", "x")
		}
		l.Close()
		<-l.written
		if n := l.dropped.Load(); n != 1000 {
			t.Errorf("%s: %d lines dropped, want 1000", name, n)
		}
	}
}

func TestLongTextIsCut(t *testing.T) {
	text := Printable(strings.Repeat("é", 50_000))
	if len(text) > longest+100 || !strings.HasSuffix(text, "é… (95904 bytes more)") {
		t.Errorf("%d bytes, that end with %q", len(text), text[len(text)-40:])
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"node": "node", "npm start": "npm start", "wörker": "wörker", "a\nb": `a\nb`, "\x1b[2J": `\x1b[2J`,
		"\xff\xfe": `\xff\xfe`, "\x00": `\x00`, "\u202e": `\u202e`, "'\"": `'"`, `a\b\\"n`: `a\b\\"n`,
		"\u2028": `\u2028`, "�": "�",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWithState(t *testing.T) {
	for state, want := range map[byte]string{'D': "dd[7] (stuck in the kernel)", 'S': "dd[7] (sleeping)",
		'I': "dd[7] (state I)"} {
		if got := WithState(&proc.Process{ID: proc.ID{PID: 7}, Comm: "dd", State: state}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
