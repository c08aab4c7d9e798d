package logging

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// tinyPipe is a pipe that holds a page, which is not read yet.
func tinyPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w = harness.Pipe(t)
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	return r, w
}

// chat makes drainit write two lines for each round, whether or not they fit:
// it tells the worker before the one and goes on after it.
func chat(p *harness.Init, rounds int) {
	for i := range rounds {
		p.Signal(syscall.SIGTSTP)
		waitCount(p, "got SIGTSTP\n", i+1)
		p.Signal(syscall.SIGCONT)
		waitCount(p, "got SIGCONT\n", i+1)
	}
}

// waitCount waits until the worker has printed a line so many times.
func waitCount(p *harness.Init, line string, n int) {
	p.T.Helper()
	deadline := time.After(harness.Patience)
	for {
		text, more := p.Stdout.Look()
		if strings.Count(text, line) >= n {
			return
		}
		select {
		case <-more:
		case <-deadline:
			p.T.Fatalf("not %d times %q in:\n%s", n, line, text)
		}
	}
}

const chatter = "TSTP,CONT,TERM"

// The rounds of chat that fill the pipe, and those that fill what drainit keeps too: 256 lines.
const (
	fillsPipe  = 20
	fillsQueue = 180
)

// The log is not read: drainit must go on, and what is lost must be counted
// and reported once it is read again.
func TestDroppedLinesAreCounted(t *testing.T) {
	harness.Full(t)
	for format, noPID1 := range map[string]bool{"json": false, "text": true} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			checkDropped(t, noPID1, format)
		})
	}
}

func checkDropped(t *testing.T, noPID1 bool, format string) {
	const (
		running  = 2 + 2*fillsQueue // settings and started
		draining = 3                // sent, stopping and stopped: the pipe holds them
	)
	r, w := tinyPipe(t)
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stderr: w, Args: []string{"-v", "--log-format=" + format, "--", harness.WorkerBin, "listen", "-catch", chatter}})
	w.Close()
	p.WaitOut(`^ready`)
	chat(p, fillsQueue)
	if err := r.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		t.Fatal(err)
	}
	lines, dropped := 0, 0
	for in := bufio.NewScanner(r); in.Scan(); {
		if n := droppedIn(t, in.Text()); n > 0 {
			dropped += n
		} else {
			lines++
		}
		if lines+dropped == running {
			p.Signal(syscall.SIGTERM)
		}
	}
	if dropped == 0 || lines+dropped != running+draining {
		t.Errorf("%d lines and %d dropped make %d, want %d", lines, dropped, lines+dropped, running+draining)
	}
	p.WantExit(0)
}

// droppedIn is how many lines were dropped, as a line of the log has it.
func droppedIn(t *testing.T, line string) (n int) {
	t.Helper()
	if !strings.Contains(line, " lines were dropped") {
		return 0
	}
	msg := line
	if strings.HasPrefix(line, "{") {
		all := harness.JsonLines(t, line)
		msg = "drainit: warning: " + all[0]["msg"].(string)
		defer func() {
			if all[0]["level"] != "warn" || all[0]["dropped"] != float64(n) {
				t.Errorf("%s", line)
			}
		}()
	}
	if _, err := fmt.Sscanf(msg, "drainit: warning: %d log lines were dropped", &n); err != nil {
		t.Errorf("%v: %q", err, line)
	}
	return n
}

// A log that is never read keeps drainit from nothing, leaving above all.
func TestLogThatIsNotRead(t *testing.T) {
	harness.Usual(t)
	for name, rounds := range map[string]int{"the pipe is full": fillsPipe, "lines are dropped": fillsQueue} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rounds > fillsPipe {
				harness.Full(t)
			}
			_, w := tinyPipe(t)
			p := harness.Run(t, harness.Launch{Stderr: w, Args: []string{"-v", "--", harness.WorkerBin, "listen", "-catch", chatter, "-exit", "3"}})
			p.WaitOut(`^ready`)
			chat(p, rounds)
			p.Signal(syscall.SIGTERM)
			p.WantExit(3)
			p.WantNothingLeft()
		})
	}
}

// A log whose reader has gone is an error for each line, and SIGPIPE.
func TestLogWhoseReaderHasGone(t *testing.T) {
	harness.Usual(t)
	for name, closeStderr := range map[string]bool{"reader gone": false, "closed at the start": true} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				r, w := harness.Pipe(t)
				r.Close()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stderr: w, Setup: harness.Setup{CloseStderr: closeStderr},
					Args: []string{"-v", "--", harness.WorkerBin, "listen", "-catch", chatter, "-exit", "3"}})
				p.WaitOut(`^ready`)
				chat(p, 5)
				p.Signal(syscall.SIGTERM)
				p.WantExit(3)
			})
		})
	}
}

// A disk that is full loses lines, and no more.
func TestLogOnAFullDisk(t *testing.T) {
	harness.Usual(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stderr: full, Args: []string{"-v", "--", harness.WorkerBin, "listen", "-catch", chatter, "-exit", "3"}})
		p.WaitOut(`^ready`)
		chat(p, 5)
		p.Signal(syscall.SIGTERM)
		p.WantExit(3)
	})
}

// By default a person at a terminal reads text, and a platform JSON.
func TestFormatGoesByWhatStderrIs(t *testing.T) {
	for _, tt := range []struct {
		flags    []string
		terminal bool
		want     string
	}{
		{nil, true, "drainit: settings"},
		{[]string{"--log-format=auto"}, true, "drainit: settings"},
		{[]string{"--log-format=json"}, true, "{"},
		{[]string{"--log-format=text"}, true, "drainit: settings"},
		{nil, false, "{"},
		{[]string{"--log-format=auto"}, false, "{"},
		{[]string{"--log-format=json"}, false, "{"},
		{[]string{"--log-format=text"}, false, "drainit: settings"},
	} {
		r, w := harness.Pipe(t)
		if tt.terminal {
			r, w = harness.OpenPty(t)
		}
		l := harness.Launch{NoPID1: true, Stderr: w, Args: append([]string{"-v"}, append(tt.flags, "true")...)}
		harness.Run(t, l).WantExit(0)
		w.Close()
		// The other end of a terminal gives EIO where a pipe gives its end.
		log, err := io.ReadAll(r)
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
		if !strings.HasPrefix(string(log), tt.want) {
			t.Errorf("terminal %v, %q: %q", tt.terminal, tt.flags, log)
		}
	}
}
