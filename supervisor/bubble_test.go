package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/sigqueue"
	"drainit/reaper"
)

// bubble is one run of the loop in virtual time (testing/synctest), in a world that answers
// at once: half a minute of grace takes a millisecond.
type bubble struct {
	t     *testing.T
	w     *world
	s     *Supervisor
	log   *os.File
	began time.Time
	loops bool          // the loop has begun
	ended chan struct{} // the loop has
	took  time.Duration // until it had
}

// config is that of most bubbles.
func config() Config { return Config{Command: []string{"node"}, Grace: 30 * time.Second} }

// configWith is config with a change, if there is one.
func configWith(change func(*Config)) Config {
	cfg := config()
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// inMode is config with a mode of --forward.
func inMode(mode forward.Mode) Config {
	return configWith(func(c *Config) { c.Mode = mode })
}

// inBubble sets up a world, starts the worker and the loop, and plays a script. What is
// alive at its end exits by itself. No process may have been sent a stop signal twice.
func inBubble(t *testing.T, cfg Config, setUp func(*world), script func(*bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, cfg, setUp)
		b.start()
		b.loop()
		defer b.close()
		script(b)
	})
}

// open makes a bubble whose worker is not started: unless the world is given another, a
// node that exits on TERM. The channels of the queue must be made in the bubble.
func open(t *testing.T, cfg Config, setUp func(*world)) *bubble {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bubble{t: t, w: newWorld(), ended: make(chan struct{}), log: log, began: time.Now()}
	b.w.worker = newProcess("node", on{unix.SIGTERM: exits(0, 0)})
	setUp(b.w)
	b.s = New(cfg, b.w, b.w.queue, logx.New(int(log.Fd()), false, zapcore.DebugLevel))
	return b
}

// start starts the worker.
func (b *bubble) start() {
	b.t.Helper()
	if err := b.s.startWorker(); err != nil {
		b.t.Fatal(err.Status)
	}
	b.s.begin()
}

// loop begins the loop.
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

// after lets time pass.
func (b *bubble) after(d time.Duration) {
	b.handOver()
	time.Sleep(d)
	b.settle()
}

// arrive has a stop signal wait for the loop.
func (b *bubble) arrive(sig unix.Signal) {
	b.w.queue.Arrive(sigqueue.Arrival{Signal: sig, Earliest: time.Now()})
}

// stop has a stop signal come.
func (b *bubble) stop(sig unix.Signal) {
	b.arrive(sig)
	b.settle()
}

// changes has a child's state change, as wait4 tells.
func (b *bubble) changes(p *process, state byte, status unix.WaitStatus) {
	b.w.mu.Lock()
	p.State = state
	b.w.changes = append(b.w.changes, reaper.WaitEvent{PID: p.PID, Status: status})
	b.w.mu.Unlock()
	b.w.queue.Put(unix.SIGCHLD)
	b.settle()
}

// other has another signal come.
func (b *bubble) other(sig unix.Signal) {
	b.w.queue.Put(sig)
	b.settle()
}

// end waits for the end of the loop.
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

// isDone reports whether the loop has ended.
func (b *bubble) isDone() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// wantEnd waits for the end of the loop, and compares the exit status and how long it has
// taken since the start.
func (b *bubble) wantEnd(status int, took time.Duration) {
	b.t.Helper()
	b.end()
	if got := b.s.exitCode(); got != (Outcome{Status: status}) || b.took != took {
		b.t.Errorf("%+v after %v, want status %d after %v; sent %s", got, b.took, status, took, b.w.timeline(0, b.began))
	}
}

// wantPhase compares the phase.
func (b *bubble) wantPhase(want phase.Phase) {
	b.t.Helper()
	if got := b.s.machine.Phase(); got != want {
		b.t.Fatalf("%v, want %v; sent %s", got, want, b.w.timeline(0, b.began))
	}
}

// wantTitle compares the title, which shows the phase to the outside.
func (b *bubble) wantTitle(want string) {
	b.t.Helper()
	if got := b.s.title; got != want {
		b.t.Errorf("the title is %q, want %q", got, want)
	}
}

// pid is that of a process of this name.
func (b *bubble) pid(name string) string {
	for _, p := range b.w.procs {
		if p.Comm == name {
			return strconv.Itoa(p.PID)
		}
	}
	return "?"
}

// wantSent compares all deliveries so far.
func (b *bubble) wantSent(want string) {
	b.t.Helper()
	if got := b.w.timeline(0, b.began); got != want {
		b.t.Errorf("sent %q, want %q", got, want)
	}
}

// lines are those of the log so far that begin so, without what all begin with.
func (b *bubble) lines(begin string) []string {
	b.t.Helper()
	text, err := os.ReadFile(b.log.Name())
	if err != nil {
		b.t.Fatal(err)
	}
	all := strings.Split(strings.ReplaceAll(string(text), "drainit: ", ""), "\n")
	return slices.DeleteFunc(all, func(line string) bool { return line == "" || !strings.HasPrefix(line, begin) })
}

// wantLines counts the lines of the log that begin so.
func (b *bubble) wantLines(n int, begin string) {
	b.t.Helper()
	if got := b.lines(begin); len(got) != n {
		b.t.Errorf("%d lines begin with %q, want %d, in\n%s", len(got), begin, n, strings.Join(b.lines(""), "\n"))
	}
}
