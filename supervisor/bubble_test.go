package supervisor

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/term"
)

// bubble is one run of the loop in virtual time (testing/synctest), in a world that answers
// at once: half a minute of grace takes a millisecond.
type bubble struct {
	t        *testing.T
	w        *world
	s        *Supervisor
	log      *os.File
	began    time.Time
	listener net.Listener  // the port of "up" (script_test.go)
	loops    bool          // the loop has begun
	ended    chan struct{} // the loop has
	took     time.Duration // until it had
}

// inBubble sets up a world of a tree, starts the worker and the loop, and plays a script. What is
// alive at its end exits by itself. No process may have been sent a stop signal twice.
func inBubble(t *testing.T, flags, tree string, script func(*bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, configOf(flags), tree)
		b.start()
		b.loop()
		defer b.close()
		script(b)
	})
}

// open makes a bubble whose worker is not started. The channels of the queue must be made in the bubble.
func open(t *testing.T, cfg Config, tree string) *bubble {
	t.Helper()
	log := known(os.Create(filepath.Join(t.TempDir(), "log")))
	b := &bubble{t: t, w: newWorld(), ended: make(chan struct{}), log: log, began: time.Now()}
	all := parseTree(tree)
	for _, child := range all[:len(all)-1] {
		b.w.start(child)
	}
	b.w.worker = all[len(all)-1]
	b.s = New(cfg, b.w.system(), b.w.queue, logx.New(int(log.Fd()), true, zapcore.DebugLevel))
	return b
}

func (b *bubble) start() {
	b.t.Helper()
	if err := b.s.startWorker(); err != nil {
		b.t.Fatal(err.Status)
	}
	b.s.started()
}

func (b *bubble) loop() {
	b.loops = true
	go func() {
		b.s.loop()
		b.took = time.Since(b.began)
		close(b.ended)
	}()
	synctest.Wait()
}

// close ends the bubble: the loop, and the log with its thread.
func (b *bubble) close() {
	b.t.Helper()
	if !b.isDone() {
		b.w.endAll()
		<-b.ended
	}
	b.s.journal.Log.Close()
	b.log.Close()
	for _, process := range b.w.noChildren {
		b.t.Errorf("%s was signalled as a child of drainit's", process)
	}
	for _, process := range b.w.sentTwice() {
		b.t.Errorf("%s was sent a stop signal twice: %s", process, b.w.timeline(0, b.began))
	}
}

// settle waits until the loop has acted upon all that has happened, and its lines are
// written.
func (b *bubble) settle() {
	if b.loops {
		synctest.Wait()
	}
}

// handOver orders what the script has read and written before what the loop does next,
// which a timer may begin: the race detector knows of channels, and not of the bubble's
// clock.
func (b *bubble) handOver() {
	if b.loops && !b.isDone() {
		b.w.queue.Put(unix.SIGCHLD)
		synctest.Wait()
	}
}

func (b *bubble) after(d time.Duration) {
	b.handOver()
	time.Sleep(d)
	b.settle()
}

func (b *bubble) end() {
	b.t.Helper()
	b.handOver()
	select {
	case <-b.ended:
		b.settle()
	case <-time.After(time.Hour):
		b.t.Fatalf("still %v after an hour; sent %s", b.s.machine.Phase(), b.w.timeline(0, b.began))
	}
}

func (b *bubble) isDone() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// want compares what has come of the script so far.
func (b *bubble) want(what, got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s\n%s\nwant\n%s\nsent %s", what, got, want, b.w.timeline(0, b.began))
	}
}

// wantEnd waits for the end of the loop, and compares the exit status and how long it has
// taken since the start: "137 30s".
func (b *bubble) wantEnd(want string) {
	b.t.Helper()
	b.end()
	out := b.s.exitCode()
	interrupted := map[bool]string{true: " by INT"}[out.Interrupted]
	b.want("the end is", fmt.Sprint(out.Status, " ", b.took, interrupted), want)
}

func (b *bubble) wantSent(want string) {
	b.t.Helper()
	b.want("sent", b.w.timeline(0, b.began), want)
}

// wantStop compares the stop as drainit status shows it.
func (b *bubble) wantStop(want string, ago time.Duration) {
	b.t.Helper()
	stop := b.s.stop()
	b.want("published is", b.s.public.stopBegan.String(), b.s.journal.StopBegan().String())
	b.want("the stop is", fmt.Sprintf("%d:%d+%v", stop.Signal, stop.Sends, stop.Grace), want)
	if stop.Since > proc.SinceBoot()-ago {
		b.t.Errorf("the stop is since %v, want %v ago", stop.Since, ago)
	}
}

// logged are the lines of the log so far. Each has an event, and words that its format fits.
func (b *bubble) logged() (all []map[string]any) {
	b.t.Helper()
	for text := range strings.Lines(withoutPIDs(string(known(os.ReadFile(b.log.Name()))))) {
		var line map[string]any
		must(json.Unmarshal([]byte(text), &line))
		all = append(all, line)
		if words := line["msg"].(string); line["event"] == "" || strings.Contains(words, "%!") {
			b.t.Errorf("event %q: %s", line["event"], words)
		}
	}
	return all
}

// fields are those of the last line about an event.
func (b *bubble) fields(event string) (fields string) {
	b.t.Helper()
	for _, line := range b.logged() {
		if line["event"] != event {
			continue
		}
		fields = event
		for key := range strings.FieldsSeq("level phase reason status request signal pid comm left killed") {
			if line[key] != nil {
				fields += fmt.Sprintf(" %s=%v", key, line[key])
			}
		}
	}
	return fields
}

// lines are those of the log so far that begin so, as the text format has them; pids count from 1.
func (b *bubble) lines(begin string) (all []string) {
	b.t.Helper()
	for _, line := range b.logged() {
		words := map[any]string{"warn": "warning: ", "error": "error: "}[line["level"]] + line["msg"].(string)
		if strings.HasPrefix(words, begin) {
			all = append(all, words)
		}
	}
	return all
}

// info are the lines but those for debugging, which all tests write, without the ages of processes:
// those are in real time.
func (b *bubble) info() (lines []string) {
	for _, line := range b.lines("") {
		word, _, _ := strings.Cut(line, " ")
		if !slices.Contains([]string{"settings:", "started", "sent", "dropped", "not", "ended:"}, word) {
			lines = append(lines, age.ReplaceAllString(line, "(sleeping)"))
		}
	}
	return lines
}

var age = regexp.MustCompile(`\(sleeping, [^)]*\)`)

// wantLines counts the lines of the log that begin so.
func (b *bubble) wantLines(n int, begin string) {
	b.t.Helper()
	if got := b.lines(begin); len(got) != n {
		b.t.Errorf("%d lines begin with %q, want %d, in\n%s", len(got), begin, n,
			strings.Join(b.lines(""), "\n"))
	}
}

// onATerminal gives the supervisor a terminal that is gone: descriptor 0, which is none.
func onATerminal(b *bubble) {
	if _, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err == nil {
		b.t.Skip("descriptor 0 is a terminal")
	}
	b.s.job = term.NewJob(new(term.Terminal), b.w.queue, b.s)
}
