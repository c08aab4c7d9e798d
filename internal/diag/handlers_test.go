package diag

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// sent are deliveries of a signal to these processes, alone.
func sent(sig unix.Signal, to ...proc.Process) (made []forward.Delivery) {
	for _, p := range to {
		made = append(made, forward.Delivery{Process: p, Signal: sig, Stop: true})
	}
	return made
}

// named are the processes of a list.
func named(all []Victim) string {
	var names []string
	for _, v := range all {
		names = append(names, v.String())
	}
	return strings.Join(names, " ")
}

func TestUnhandled(t *testing.T) {
	const term = unix.SIGTERM
	node, sh := worker("node", "app.js"), worker("sh", "-c", "x")
	for _, tt := range []struct {
		name string
		f    *Facts
		to   []proc.Process
		sig  unix.Signal
		want string
	}{
		{"the worker", factsOf(node), []proc.Process{node}, term, "node[10]"},
		{"a handler", factsOf(handling(node, term)), []proc.Process{node}, term, ""},
		{"a handler for another signal", factsOf(handling(node, unix.SIGINT)), []proc.Process{node}, term, "node[10]"},
		{"ignored", factsOf(ignoring(node, term)), []proc.Process{node}, term, ""},
		{"what ends no process", factsOf(node), []proc.Process{node}, unix.SIGWINCH, ""},
		{"blocked", factsOf(blocking(node, term)), []proc.Process{node}, term, ""},
		{"the first of a namespace", factsOf(nested(node)), []proc.Process{node}, term, ""},
		{"dead", factsOf(dead(node)), []proc.Process{node}, term, ""},
		{"not shown", factsOf(below(11, 10)), []proc.Process{node}, term, ""},
		{"another by this pid", factsOf(younger(node)), []proc.Process{node}, term, ""},
		{"no /proc", &Facts{Worker: workerPID}, []proc.Process{node}, term, ""},
		{"a shell", factsOf(sh), []proc.Process{sh}, term, ""},
		{"a launcher", factsOf(worker("go", "run", ".")), []proc.Process{worker("go", "run", ".")}, term, ""},
		{"behind a shell", factsOf(sh, below(11, 10)), []proc.Process{sh, below(11, 10)}, term, "node[11]"},
		{"one of two behind a shell", factsOf(sh, handling(below(11, 10), term), below(12, 10)), []proc.Process{sh, below(11, 10), below(12, 10)}, term, "node[12]"},
		{"not signalled", factsOf(sh, below(11, 10), below(12, 10)), []proc.Process{sh, below(12, 10)}, term, "node[12]"},
		{"what a script waits with", factsOf(sh, made(11, 10, "sleep", "1")), []proc.Process{sh, made(11, 10, "sleep", "1")}, term, ""},
		{"what a script waited with that has gone", factsOf(made(1, 0, "drainit"), node, made(11, 1, "sleep", "1")), []proc.Process{made(11, 1, "sleep", "1")}, term, ""},
		{"what a program waits with", factsOf(node, made(11, 10, "sleep", "1")), []proc.Process{made(11, 10, "sleep", "1")}, term, "sleep[11]"},
		{"a worker of that name", factsOf(worker("sleep", "1")), []proc.Process{worker("sleep", "1")}, term, "sleep[10]"},
		{"it has a child that handles it", factsOf(node, handling(below(11, 10), term)), []proc.Process{node}, term, ""},
		{"it has a child that does not", factsOf(node, below(11, 10)), []proc.Process{node, below(11, 10)}, term, "node[10] node[11]"},
		{"its child is dead", factsOf(node, dead(handling(below(11, 10), term))), []proc.Process{node}, term, "node[10]"},
		{"the worker's business", factsOf(handling(node, term), below(11, 10), below(12, 11)), []proc.Process{node, below(11, 10), below(12, 11)}, term, ""},
		{"below a launcher that handles it", factsOf(handling(worker("node", "/usr/bin/npm"), term), below(11, 10)), []proc.Process{below(11, 10)}, term, "node[11]"},
		{"a ring of parents", factsOf(below(11, 12), below(12, 11)), []proc.Process{below(11, 12)}, term, "node[11]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := named(tt.f.Unhandled(sent(tt.sig, tt.to...))); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestUnhandledOfAGroup(t *testing.T) {
	sh := worker("sh", "-c", "x")
	d := forward.Delivery{Target: forward.ToGroup, Process: sh, Members: []proc.Process{sh, below(11, 10)}, Signal: unix.SIGTERM, Stop: true}
	f := factsOf(sh, below(11, 10))
	if got := named(f.Unhandled([]forward.Delivery{d})); got != "node[11]" {
		t.Errorf("%q", got)
	}
	d.Stop = false
	if got := named(f.Unhandled([]forward.Delivery{d})); got != "" {
		t.Errorf("no stop signal: %q", got)
	}
}

func blocking(p proc.Process, sigs ...unix.Signal) proc.Process {
	p.Blocked = signals.SetOf(sigs...)
	return p
}

func nested(p proc.Process) proc.Process {
	p.NestedInit = true
	return p
}

func younger(p proc.Process) proc.Process {
	p.Start++
	return p
}

func TestNoHandler(t *testing.T) {
	const one, add = " has no SIGTERM handler: it dies at once and loses its work in flight. ", "Add a handler, or send the signal it handles"
	node := below(11, 10)
	for _, tt := range []struct {
		name string
		all  []proc.Process
		came unix.Signal
		text string
	}{
		{"none", nil, unix.SIGTERM, ""},
		{"one that handles INT", []proc.Process{handling(node, unix.SIGINT, unix.SIGQUIT)}, unix.SIGTERM, "node[11]" + one + add + ": --rewrite TERM:INT"},
		{"one that handles QUIT", []proc.Process{handling(node, unix.SIGQUIT)}, unix.SIGTERM, "node[11]" + one + add + ": --rewrite TERM:QUIT"},
		{"what came is another", []proc.Process{handling(node, unix.SIGQUIT)}, unix.SIGINT, "node[11]" + one + add + ": --rewrite INT:QUIT"},
		{"one that handles what came, which was rewritten", []proc.Process{handling(node, unix.SIGINT)}, unix.SIGINT, "node[11]" + one + add + " with --rewrite"},
		{"one that handles none", []proc.Process{node}, unix.SIGTERM, "node[11]" + one + add + " with --rewrite"},
		{"two", []proc.Process{node, below(12, 10)}, unix.SIGTERM,
			"node[11], node[12] have no SIGTERM handler: they die at once and lose their work in flight. Add a handler, or send the signal they handle with --rewrite"},
		{"five", []proc.Process{node, below(12, 10), below(13, 10), below(14, 10), below(15, 10)}, unix.SIGTERM,
			"node[11], node[12], node[13] and 2 more have no SIGTERM handler: they die at once and lose their work in flight. Add a handler, or send the signal they handle with --rewrite"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []Victim
			for _, p := range tt.all {
				all = append(all, Victim{p, unix.SIGTERM})
			}
			want(t, NoHandler(all, tt.came), 11, tt.text)
		})
	}
}

func TestBehindWrappers(t *testing.T) {
	f := factsOf(worker("sh", "-c", "x"), made(11, 10, "bash", "run.sh"), below(12, 11), below(13, 12), made(14, 10, "node", "/usr/bin/npm"), below(15, 14), made(16, 10, "sleep", "1"))
	var pids []int
	for _, id := range f.BehindWrappers() {
		pids = append(pids, id.PID)
	}
	if len(pids) != 2 || pids[0] != 12 || pids[1] != 15 {
		t.Errorf("%v", pids)
	}
}

// Go and Node have handlers whatever their program has.
func TestMayHaveNone(t *testing.T) {
	golang := handling(shown(worker("app")), unix.SIGTERM, unix.SIGURG, unix.SIGSTKFLT, unix.SIGSEGV)
	node := handling(shown(worker("node", "app.js")), unix.SIGTERM)
	leaf := node
	leaf.Exe = ""
	for _, tt := range []struct {
		name string
		f    *Facts
		p    proc.Process
		want bool
	}{
		{"Go", factsOf(golang), golang, true},
		{"Go with a child", factsOf(golang, below(11, 10)), golang, true},
		{"Node", factsOf(node), node, true},
		{"Node with a child", factsOf(node, below(11, 10)), node, false},
		{"Node by its name", factsOf(leaf), leaf, true},
		{"npm", factsOf(node), handling(shown(worker("node", "/usr/bin/npm")), unix.SIGTERM), false},
		{"another", factsOf(node), handling(shown(worker("ruby")), unix.SIGTERM), false},
		{"without a handler", factsOf(node), shown(worker("node")), false},
		{"that was not looked at", &Facts{}, proc.Process{ID: proc.ID{PID: 10}}, true},
	} {
		if got := tt.f.MayHaveNone(tt.p, unix.SIGTERM); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func shown(p proc.Process) proc.Process {
	p.Start = 1
	return p
}

func TestDiedAtOnce(t *testing.T) {
	want(t, DiedAtOnce(worker("node"), unix.SIGINT), workerPID, "node[10] died of SIGINT at once: it may have no handler of its own, and what it was doing is lost")
}

func TestPM2(t *testing.T) {
	titled := worker("node", "x")
	titled.Comm = "PM2 v7.0.4: God"
	for _, tt := range []struct {
		name string
		f    *Facts
		want int
	}{
		{"pm2-runtime", factsOf(worker("node", "/usr/bin/pm2-runtime", "start")), 10},
		{"behind flags", factsOf(worker("node", "--no-warnings", "/usr/bin/pm2", "start")), 10},
		{"by its title", factsOf(titled), 10},
		{"behind npx", factsOf(worker("node", "/usr/bin/npx", "pm2-runtime"), made(11, 10, "sh", "-c", "pm2-runtime"), made(12, 11, "node", "/x/pm2-runtime.js")), 12},
		{"an application that knows of it", factsOf(worker("node", "app.js", "pm2")), 0},
		{"another program", factsOf(worker("vi", "pm2")), 0},
		{"another program, of a login", factsOf(worker("-vi", "pm2")), 0},
		{"a dead one", factsOf(dead(worker("node", "/usr/bin/pm2-runtime"))), 0},
		{"no /proc", &Facts{Worker: workerPID}, 0},
	} {
		if p, _ := tt.f.PM2(); p.PID != tt.want {
			t.Errorf("%s: %v, want %d", tt.name, p, tt.want)
		}
	}
	pm2 := worker("node", "pm2")
	want(t, ShortKill(pm2, []string{"A=PM2_KILL_TIMEOUT=1"}), workerPID,
		"PM2 kills its processes 1.6s after the stop signal: set PM2_KILL_TIMEOUT to the milliseconds that a job takes, or kill_timeout in its ecosystem file")
	want(t, ShortKill(pm2, []string{"PM2_KILL_TIMEOUT=1"}), 0, "")
}
