package supervisor

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/reaper"
	"drainit/test/harness/rows"
	"drainit/test/trees"
)

// row is a life of a worker, played by a script, and what is to come of it.
type row struct {
	name   string
	flags  string   // as on the command line (configOf)
	tree   string   // the worker, the last one, beside other children of drainit (parseTree)
	script string   // what happens: bubble.play
	sent   string   // all deliveries, with the time since the start; "*" for any
	end    string   // the exit status and the time since the start; "" where it is not waited for
	lines  []string // of the log: bubble.wantLog
}

// TestLives plays the rows of testdata, in which PORT is a free one. A row begins with its name, flags and
// tree; its second line has the script, what is sent and the end, and those below it what the log says.
func TestLives(t *testing.T) {
	free := listen(0)
	port := fmt.Sprint(free.Addr().(*net.TCPAddr).Port)
	must(free.Close())
	for _, file := range known(filepath.Glob("testdata/*.tsv")) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tsv"), func(t *testing.T) {
			var lives []row
			for _, c := range rows.Read(t, file, 4) {
				c[1] = strings.ReplaceAll(c[1], "PORT", port)
				if c[0] != "" {
					lives = append(lives, row{name: c[0], flags: c[1], tree: c[2]})
				} else if r := &lives[len(lives)-1]; r.script == "" {
					r.script, r.sent, r.end = c[1], c[2], c[3]
				} else {
					r.lines = append(r.lines, c[1])
				}
			}
			for _, r := range lives {
				t.Run(r.name, r.live)
			}
		})
	}
}

func (r row) live(t *testing.T) {
	inBubble(t, r.flags, r.tree, func(b *bubble) {
		b.play(r.script)
		if r.end != "" {
			b.wantEnd(r.end)
		}
		if r.sent != "*" {
			b.wantSent(r.sent)
		}
		b.wantLog(r.lines)
	})
}

// play plays a script of steps:
//
//	TERM            a signal comes to drainit       arrive TERM      the same, while the loop is busy
//	late TERM 90ms  a stop signal that may have come 90 ms after the start of the bubble
//	2s              time passes                     tty              drainit has a terminal, which is gone
//	proc hidden     what /proc shows from now on    slow 3s          a snapshot takes so long from now on
//	not init        drainit is not PID 1            start a[TERM]    drainit gets another child
//	refuse a EPERM  no signal may be sent to a      allow a          it may again
//	up              the port that says when the worker is ready accepts, and down: it does not
//	wait4 fails     and so it does until wait4 works
//	is quiet        compares the phase              title X          compares the title
//	says X          compares the log: wantLog       end all          nothing is left
//	shows 15:15+30s 3s compares the stop that drainit publishes: the signal that came, the one that is
//	                sent, the grace period, and since when at least
//	a exits 3, a dies SEGV, a gets STOP, a forks b[TERM], a drops its handlers
func (b *bubble) play(script string) {
	b.t.Helper()
	for _, step := range strings.Split(script, "; ") {
		word, rest, _ := strings.Cut(step, " ")
		if p := b.process(word); p != nil {
			b.happens(p, rest)
		} else if d, err := time.ParseDuration(word); err == nil {
			b.after(d)
		} else if sig, err := signals.Parse(word); err == nil {
			b.comes(sig)
		} else if step != "" {
			b.do(word, rest)
		}
		b.settle()
	}
}

func (b *bubble) do(word, rest string) {
	b.t.Helper()
	name, what, _ := strings.Cut(rest, " ")
	errs := map[string]error{"EPERM": unix.EPERM, "EINVAL": unix.EINVAL, "gone": reaper.ErrGone}
	do, ok := map[string]func(){
		"arrive": func() { b.arrive(sigNamed(rest), time.Since(b.began)) },
		"late":   func() { b.arrive(sigNamed(name), duration(what)) },
		"tty":    func() { onATerminal(b); b.s.job.Started(b.w.worker.PID) },
		"proc":   func() { b.w.proc = rest },
		"slow":   func() { b.w.slow = duration(rest) },
		"not":    func() { b.w.isInit = false },
		"start":  func() { b.w.start(parseTree(rest)[0]) },
		"end":    b.w.endAll,
		"refuse": func() { b.w.refuse[name] = cmp.Or(errs[what], errors.New(what)) },
		"allow":  func() { delete(b.w.refuse, rest) },
		"force":  func() { b.comes(signals.ForceStop) },
		"up":     func() { b.listener = listen(b.s.cfg.ReadyPort) },
		"down":   func() { must(b.listener.Close()) },
		"wait4": func() {
			b.w.waitErr = map[string]error{"fails": errors.New("wait4: bad address")}[rest]
			b.w.queue.Put(unix.SIGCHLD)
		},
		"is":    func() { b.want("the phase is", b.s.machine.Phase().String(), rest) },
		"title": func() { b.want("the title is", b.s.public.title, rest) },
		"shows": func() { b.wantStop(name, duration(cmp.Or(what, "0s"))) },
		"says":  func() { b.wantLog([]string{rest}) },
	}[word]
	if !ok {
		b.t.Fatalf("no such step: %s %s", word, rest)
	}
	do()
}

func (b *bubble) happens(p *process, what string) {
	word, rest, _ := strings.Cut(what, " ")
	do, ok := map[string]func(){
		"exits": func() { p.end(unix.WaitStatus(number(rest) << 8)) },
		"dies":  func() { p.end(unix.WaitStatus(sigNamed(rest))) },
		"gets":  func() { p.receive(sigNamed(rest)) },
		"drops": func() { p.Handled = 0 }, // its handlers
		"forks": func() {
			child := parseTree(rest)[0]
			child.parent = p
			b.w.put(child)
		},
	}[word]
	if !ok {
		b.t.Fatalf("%s does no such thing: %s", p.Comm, what)
	}
	b.w.locked(do)
}

// wantLog compares the log: each text must begin one line, or so many as the number before it. After
// "only" come all lines but those for debugging, and "json" stands before the
// fields of the last line about an event.
func (b *bubble) wantLog(texts []string) {
	b.t.Helper()
	if len(texts) > 0 && texts[0] == "only" {
		isLine := func(text string) bool { return !strings.HasPrefix(text, "json ") }
		fields := slices.DeleteFunc(slices.Clone(texts[1:]), isLine)
		only := texts[1 : len(texts)-len(fields)]
		b.want("the log says", strings.Join(b.info(), "\n"), strings.Join(only, "\n"))
		texts = fields
	}
	for _, text := range texts {
		word, rest, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(word)
		switch {
		case word == "json":
			event, _, _ := strings.Cut(rest, " ")
			if got := b.fields(event); got != rest {
				b.t.Errorf("the fields are %q, want %q", got, rest)
			}
		case err == nil:
			b.wantLines(n, rest)
		default:
			b.wantLines(1, text)
		}
	}
}

func configOf(text string) Config {
	cfg := Config{Command: []string{"node"}, Grace: 30 * time.Second, Rewrites: signals.Rewrites{}}
	flags := flag.NewFlagSet("", flag.PanicOnError)
	flags.IntVar(&cfg.ReadyPort, "ready-port", 0, "")
	flags.DurationVar(&cfg.StopDelay, "stop-delay", 0, "")
	flags.BoolVar(&cfg.Forking, "forking", false, "")
	for name, set := range map[string]func(value string){
		"grace": func(value string) {
			if cfg.Grace = machine.Forever; value != "infinity" {
				cfg.Grace = duration(value)
			}
		},
		"stop-signal": func(value string) { cfg.StopSignals = append(cfg.StopSignals, sigNamed(value)) },
		"second-stop": func(value string) { cfg.SecondStopIgnored = value == "ignore" },
		"remap-exit":  func(value string) { cfg.RemapExit = append(cfg.RemapExit, number(value)) },
		"rewrite": func(value string) {
			from, to, err := signals.ParseRewrite(value)
			must(err)
			cfg.Rewrites[from] = to
		},
		"forward": func(value string) {
			cfg.Mode = map[string]forward.Mode{
				"group": forward.ModeGroup, "worker": forward.ModeWorker, "none": forward.ModeNone,
			}[value]
			cfg.Unsent = map[string]string{"none": "--forward=none"}[value]
		},
	} {
		flags.Func(name, "", func(value string) error { set(value); return nil })
	}
	must(flags.Parse(strings.Fields(text)))
	return cfg
}

// parseTree makes the processes of a tree in the tests' notation (package trees). Words in brackets say what
// one does:
//
//	SIG        handle it                  SIG=7   and exit 7       SIG=7/2s  after 2 s
//	SIG!       and die of it              SIG!2s  after 2 s        SIG@2s    and stop by it after 2 s
//	default    show no handler            ignore     TERM and INT
//	stopped, stuck (in the kernel), hangs (but for its stat), run (go run)
//	pending    show a TERM that it has not taken
//	untold     show no mask, as in gVisor
//	session    lead a session
func parseTree(text string) []*process { return processes(trees.Parse(text)) }

func processes(tree []trees.Process) (all []*process) {
	for _, written := range tree {
		p := newProcess(written.Name)
		for _, word := range written.Words {
			if trait, ok := traits[word]; ok {
				trait(p)
			} else {
				p.handle(word)
			}
		}
		p.below = processes(written.Below)
		all = append(all, p)
	}
	return all
}

// traits are what a process may be, but for the signals that it handles.
var traits = map[string]func(*process){
	"default": func(p *process) { p.Handled = 0 },
	"untold":  func(p *process) { p.Handled = ^signals.SetOf(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU) },
	"stopped": func(p *process) { p.State = 'T' },
	"pending": func(p *process) { p.Pending = signals.SetOf(unix.SIGTERM) },
	"ignore":  func(p *process) { p.Ignored = signals.SetOf(unix.SIGTERM, unix.SIGINT) },
	"stuck":   func(p *process) { p.undying = true },
	"hangs":   func(p *process) { p.Exe = "" },
	"run": func(p *process) { // as Go's runtime has it
		p.Args, p.Handled = append(p.Args, "run"), 0x7fc1feff
	},
	"session": func(p *process) { p.leads = true },
}

func (p *process) handle(what string) {
	end := strings.IndexAny(what+"=", "=!@")
	sig, how := sigNamed(what[:end]), what[end:]
	p.Handled |= signals.SetOf(sig)
	switch {
	case how == "":
		p.on[sig] = func(*process) {}
	case how[0] == '=':
		status, after, _ := strings.Cut(how[1:], "/")
		p.on[sig] = later(cmp.Or(after, "0s"),
			func(p *process) { p.end(unix.WaitStatus(number(status) << 8)) })
	case how[0] == '!':
		p.on[sig] = later(how[1:], func(p *process) { p.end(unix.WaitStatus(sig)) })
	default:
		p.on[sig] = later(how[1:], func(p *process) { p.stop(sig) })
	}
}

// later does something after a time, with the world locked; at once after "".
func later(after string, do reaction) reaction {
	if after == "" {
		return do
	}
	return func(p *process) {
		time.AfterFunc(duration(after), func() { p.w.locked(func() { do(p) }) })
	}
}

func listen(port int) net.Listener {
	return known(net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// known returns a value that is known to be right.
func known[T any](v T, err error) T {
	must(err)
	return v
}

func duration(text string) time.Duration { return known(time.ParseDuration(text)) }
func number(text string) int             { return known(strconv.Atoi(text)) }
func sigNamed(name string) unix.Signal   { return known(signals.Parse(name)) }

func (b *bubble) comes(sig unix.Signal) {
	if slices.Contains(b.s.stops, sig) {
		b.arrive(sig, time.Since(b.began))
	} else {
		b.w.queue.Put(sig)
	}
}

// arrive has a stop signal wait for the loop that can have come at this time since the start.
func (b *bubble) arrive(sig unix.Signal, earliest time.Duration) {
	b.w.queue.Arrive(sigqueue.Arrival{Signal: sig, Earliest: b.began.Add(earliest)})
}

// process is the first that has had this name, nil for none.
func (b *bubble) process(name string) *process {
	for _, p := range b.w.ever {
		if p.Comm == name {
			return p
		}
	}
	return nil
}

// withoutPIDs counts processes from 1 on.
func withoutPIDs(text string) string {
	for n := range 20 {
		text = strings.ReplaceAll(text, strconv.Itoa(firstPID+n), fmt.Sprint(n+1))
	}
	return text
}
