package supervisor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/reaper"
)

// What a made-up /proc shows.
const (
	procThere     = "there"
	procHidden    = "hidden"      // hidepid: no process of the worker's is in it
	procGone      = "gone"        // not mounted
	procExhausted = "descriptors" // none is left to read it with
)

var (
	procStates = []string{procThere, procHidden, procGone, procExhausted}
	unread     = map[string]error{procGone: proc.ErrNoProc, procExhausted: unix.EMFILE}
)

// world is a made-up machine, and the System of the loop under test: what lives below drainit, and what each
// process does about a signal. The methods of a System are here; the processes are in world_test.go.
type world struct {
	mu    sync.Mutex // a process may end by a timer of its own, beside the loop
	queue *sigqueue.Queue

	above    []*process       // PID 1 and drainit's parent
	worker   *process         // what Start starts
	startErr error            // what it says beside
	how      spawn.Config     // what it was asked for
	proc     string           // what /proc shows
	isInit   bool             // drainit is PID 1
	slow     time.Duration    // what a snapshot of all processes takes
	within   time.Duration    // what the last snapshot of a tree might take
	since    *proc.Snapshot   // the one that it was compared with, nil for none
	refuse   map[string]error // what a signal to a process says, by its name
	waitErr  error            // what Wait says
	watched  map[int]bool     // by pid
	died     chan proc.ID
	blind    bool // none can be watched
	onSend   func(forward.Delivery)
	onRead   func(pid int) // before a process is read, or before a snapshot: 0

	ever       []*process         // all that there have been
	procs      []*process         // the living, and the dead that were not waited for; by pid
	changes    []reaper.WaitEvent // of drainit's children, that were not waited for
	delivered  []delivered
	noChildren []string // that were signalled as drainit's children: their pids may be another's
	did        cost
}

// delivered is one signal that came to some processes.
type delivered struct {
	at  time.Time
	sig unix.Signal
	to  []*process
	err error
}

func newWorld() *world {
	died := make(chan proc.ID, 2*reaper.Most)
	return &world{died: died, queue: sigqueue.New(), proc: procThere, isInit: true,
		refuse: make(map[string]error)}
}

// Start puts the worker, and what is below it, into the world.
func (w *world) Start(how spawn.Config) (pid int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.how = how
	if _, failed := w.startErr.(*spawn.Error); failed {
		return 0, w.startErr
	}
	w.put(w.worker)
	return w.worker.PID, w.startErr
}

// looksAtMost is how often a loop looks at the world at most, within the hours that a bubble
// plays: to wait for a parent that is about to run takes 10,000. One whose deadline has passed
// again and again looks more often, and keeps the time of its bubble from passing.
const looksAtMost = 20_000

func (w *world) looked(kind *int) {
	if *kind++; w.did.snapshots+w.did.reads+w.did.waits > looksAtMost {
		panic(fmt.Sprintf("the loop does not sleep: %+v", w.did))
	}
}

// Wait is as wait4 with WNOHANG.
func (w *world) Wait() (e reaper.WaitEvent, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked(&w.did.waits)
	switch {
	case w.waitErr != nil:
		return e, false, w.waitErr
	case len(w.changes) > 0:
		e, w.changes = w.changes[0], w.changes[1:]
		if e.Terminated() {
			w.procs = slices.DeleteFunc(w.procs, func(p *process) bool { return p.PID == e.PID })
		}
		return e, true, nil
	case !slices.ContainsFunc(w.procs, func(p *process) bool { return p.parent == nil }):
		return e, false, reaper.ErrNoChildren
	}
	return e, false, nil
}

// HasExited is as waitid with WNOWAIT.
func (w *world) HasExited(pid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	isIts := func(e reaper.WaitEvent) bool { return e.PID == pid && e.Terminated() }
	return slices.ContainsFunc(w.changes, isIts)
}

// Tree reads every process closely.
func (w *world) Tree(_ int, since *proc.Snapshot, within time.Duration) (*proc.Snapshot, error) {
	w.since, w.within = since, within
	return w.All()
}

func (w *world) All() (*proc.Snapshot, error) {
	time.Sleep(w.slow)
	all, err := w.see(&w.did.snapshots, 0)
	if err != nil {
		return nil, err
	}
	return proc.New(all), nil
}

// Process reads one process.
func (w *world) Process(pid int) (proc.Process, error) {
	all, err := w.see(&w.did.reads, pid)
	if err == nil && len(all) == 0 {
		err = unix.ENOENT
	}
	return append(all, proc.Process{})[0], err
}

// see is what /proc shows of a process, or of all.
func (w *world) see(kind *int, pid int) (all []proc.Process, err error) {
	if w.onRead != nil {
		w.onRead(pid)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked(kind)
	if err := unread[w.proc]; err != nil || w.proc == procHidden {
		return nil, err
	}
	for _, p := range slices.Concat(w.procs, w.above) {
		if p.PID == pid || pid == 0 && p.w != nil {
			all = append(all, p.stat())
		}
	}
	return all, nil
}

// Watch is as the one of linux.
func (w *world) Watch(these []proc.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = make(map[int]bool)
	for _, id := range these {
		w.watched[id.PID] = true
	}
	return !w.blind
}

// system is the world as the loop has it.
func (w *world) system() System {
	return System{w.Start, w.Wait, w.HasExited, w.Tree, w.All, w.Process, w.Process, w.Send, w.Watch, w.died,
		w.Ticks}
}

// Ticks counts from the time at which a bubble begins.
func (w *world) Ticks() uint64 { return uint64(time.Now().UnixMilli() / 10) }

// Send is as the one of linux, with its guards.
func (w *world) Send(d forward.Delivery) error {
	if w.onSend != nil {
		w.onSend(d)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	to, err := w.reached(d)
	isGrandchild := func(p *process) bool { return p.PID == d.Process.PID && p.parent != nil }
	if d.Child && slices.ContainsFunc(w.procs, isGrandchild) {
		w.noChildren = append(w.noChildren, d.Process.String())
	}
	if len(to) > 0 && err == nil {
		err = w.refuse[to[0].Comm]
	}
	if d.Signal == 0 { // kill(2)
		return err
	}
	if len(to) > 0 {
		w.delivered = append(w.delivered, delivered{time.Now(), d.Signal, to, err})
	}
	if err != nil && d.Target != forward.ToTree {
		return err
	}
	for _, p := range slices.Clone(to) {
		p.receive(d.Signal)
	}
	return err
}

// reached are the processes that a delivery comes to.
func (w *world) reached(d forward.Delivery) (to []*process, err error) {
	is := func(*process) bool { return true }
	switch group := func(p *process) bool { return p.PGID == d.PGID }; {
	case d.Target == forward.ToTree && !w.isInit: // its group goes by the pid; the others must be seen
		is = func(p *process) bool { return p.PGID == d.Process.PID || w.proc == procThere }
		if w.proc == procGone {
			err = proc.ErrNoProc
		}
	case d.Target == forward.ToNamespace && !w.isInit:
		return nil, errors.New("not PID 1")
	case d.Target == forward.ToGroup && slices.ContainsFunc(w.procs, group):
		is = group
	case d.Target <= forward.ToGroup:
		is = func(p *process) bool {
			return p.PID == d.Process.PID && (d.Child || p.Start == d.Process.Start)
		}
	}
	for _, p := range w.procs {
		if is(p) && p.Alive() {
			to = append(to, p)
		}
	}
	if len(to) == 0 && d.Target != forward.ToTree && err == nil {
		err = reaper.ErrGone
	}
	return to, err
}

// timeline are the deliveries from one on, with the time since another: "0s TERM node; 30s KILL job node".
// Those that are alike, one after the other, are counted.
func (w *world) timeline(first int, since time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for rest := w.delivered[first:]; len(rest) > 0; {
		what, times := rest[0].String(), 1
		for times < len(rest) && rest[times].String() == what {
			times++
		}
		text := fmt.Sprint(rest[0].at.Sub(since), " ", what)
		if times > 1 {
			text += fmt.Sprint(" x", times)
		}
		all, rest = append(all, text), rest[times:]
	}
	return strings.Join(all, "; ")
}

// String is "TERM node".
func (d delivered) String() string {
	text := strings.TrimPrefix(signals.Name(d.sig), "SIG")
	for _, p := range d.to {
		text += " " + p.Comm
	}
	if d.err != nil {
		text += " (" + d.err.Error() + ")"
	}
	return text
}

// sentTwice are the processes that were sent more than one stop signal.
func (w *world) sentTwice() (names []string) {
	sent := make(map[*process]bool)
	for _, d := range w.delivered {
		if !signals.SetOf(unix.SIGTERM, unix.SIGINT, unix.SIGQUIT).Has(d.sig) {
			continue
		}
		for _, p := range d.to {
			if sent[p] {
				names = append(names, p.Comm)
			}
			sent[p] = true
		}
	}
	return names
}
