package stress

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// chaosLife is what one process of the tree has said.
type chaosLife struct {
	node  int
	pid   int // in drainit's namespace
	born  time.Duration
	got   []chaosGot
	ends  time.Duration // when it said how it ends; 0 if it did not
	how   int           // the status of that end
	execs bool
	stops bool
}

// chaosGot is a signal that came.
type chaosGot struct {
	sig  syscall.Signal
	from int
	at   time.Duration
}

// lives reads what the processes have said, by node.
func (r *chaosRun) lives() map[int]*chaosLife {
	all := make(map[int]*chaosLife)
	for text := range strings.Lines(r.init.Out()) {
		f := strings.Fields(text)
		node, err := strconv.Atoi(strings.TrimPrefix(f[0], "n"))
		seconds, err2 := strconv.ParseFloat(f[1], 64)
		if err != nil || err2 != nil {
			r.t.Fatalf("a process says %q", text)
		}
		if all[node] == nil {
			all[node] = &chaosLife{node: node}
		}
		l, at := all[node], time.Duration(seconds*1e9)
		number, _ := strconv.Atoi(f[len(f)-1])
		switch f[2] {
		case "born":
			l.pid, l.born = number, at
		case "got":
			l.got = append(l.got, chaosGot{unix.SignalNum("SIG" + f[3]), number, at})
		case "stops":
			l.stops = true
		case "execs":
			l.execs = true
		case "ends":
			l.ends, l.how = at, number
			if f[3] == "died" {
				l.how = 128 + number
			}
		}
	}
	return all
}

// check holds the round against everything that must be so.
func (r *chaosRun) check() {
	r.t.Helper()
	lives := r.lives()
	m := &chaosModel{chaosRun: r, lives: lives}
	var wrong []string
	for _, check := range []func(*chaosModel) []string{
		(*chaosModel).wrongStatus, (*chaosModel).sentTwice, (*chaosModel).notSent, (*chaosModel).sentInVain, (*chaosModel).lost,
		(*chaosModel).killedInVain, (*chaosModel).frozenOnes, (*chaosModel).grown, (*chaosModel).logged,
	} {
		wrong = append(wrong, check(m)...)
	}
	if len(wrong) > 0 {
		r.report(wrong)
	}
	r.init.WantNothingLeft()
}

// report says what was wrong, and all that is known of the round.
func (r *chaosRun) report(wrong []string) {
	r.t.Helper()
	var events strings.Builder
	for _, s := range r.sent {
		fmt.Fprintf(&events, "%.6f sent %d × %s\n", s.at.Seconds(), s.number, unix.SignalName(s.sig))
	}
	for _, s := range r.frozen {
		fmt.Fprintf(&events, "%.6f STOP until %.6f\n", s.from.Seconds(), s.to.Seconds())
	}
	fmt.Fprintf(&events, "%.6f ended with %d, longest stall %v\n", r.ended.Seconds(), r.status, r.seen.stall)
	r.t.Errorf("%s\n\n%v\n\n%s\nstdout:\n%s\nstderr:\n%s", strings.Join(wrong, "\n"), r.plan, &events, r.init.Out(), r.init.Err())
}

// drainitPid is drainit's pid as the processes below it see it.
func (r *chaosRun) drainitPid() int {
	if r.plan.noPID1 {
		return r.init.Pid()
	}
	return 1
}

// sentTwice: no process is sent a second stop signal by drainit, by what the
// processes say and by what drainit says.
func (m *chaosModel) sentTwice() (wrong []string) {
	for _, l := range m.lives {
		if stops := l.from(m.drainitPid(), isStop); len(stops) > 1 {
			wrong = append(wrong, fmt.Sprintf("n%d was signalled %d times", l.node, len(stops)))
		}
	}
	for pid, n := range m.signalled() {
		if n > 1 {
			wrong = append(wrong, fmt.Sprintf("drainit signalled pid %d %d times", pid, n))
		}
	}
	return wrong
}

var chaosDelivered = regexp.MustCompile(`(?m)^drainit: sent SIG(?:TERM|INT) to .*\[(\d+)\]: `)

// signalled counts the deliveries in drainit's log, by pid.
func (r *chaosRun) signalled() map[int]int {
	all := make(map[int]int)
	for _, t := range chaosDelivered.FindAllStringSubmatch(r.init.Err(), -1) {
		pid, _ := strconv.Atoi(t[1])
		all[pid]++
	}
	return all
}

func (l *chaosLife) from(sender int, which func(syscall.Signal) bool) []chaosGot {
	return slices.DeleteFunc(slices.Clone(l.got), func(g chaosGot) bool { return g.from != sender || !which(g.sig) })
}

func isStop(sig syscall.Signal) bool { return sig == unix.SIGTERM || sig == unix.SIGINT }

// sentInVain: drainit sends what it was sent, no oftener and no earlier.
func (m *chaosModel) sentInVain() (wrong []string) {
	quiets := make(map[syscall.Signal]int)
	if m.plan.stopDelay > 0 {
		quiets[unix.SIGTSTP] = 1
	}
	for _, l := range m.lives {
		for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGTSTP, unix.SIGWINCH} {
			got := len(l.from(m.drainitPid(), func(s syscall.Signal) bool { return s == sig }))
			if sent := m.times(sig) + quiets[sig]; got > sent {
				wrong = append(wrong, fmt.Sprintf("n%d got %d %s, of %d", l.node, got, unix.SignalName(sig), sent))
			}
		}
		for _, g := range l.from(m.drainitPid(), isStop) {
			begun, ok := m.begun()
			if !ok || g.at < begun || g.sig == unix.SIGINT && !m.mayTell(unix.SIGINT) {
				wrong = append(wrong, fmt.Sprintf("n%d was signalled %s, and no process had asked", l.node, unix.SignalName(g.sig)))
			}
		}
		unseen := m.plan.mode == "group" // one that was being forked
		if len(l.from(m.drainitPid(), isStop)) > 0 && m.signalled()[l.pid] == 0 && !unseen && !strings.Contains(m.init.Err(), "dropped") {
			wrong = append(wrong, fmt.Sprintf("n%d was signalled, and no line of drainit's says so", l.node))
		}
	}
	return wrong
}

// lost: a worker that handles a signal gets it, if there was time.
func (m *chaosModel) lost() (wrong []string) {
	const soon = 500 * time.Millisecond
	worker, until := m.worker(), m.workerLived()
	for _, s := range m.sent {
		switch {
		case m.plan.shell || worker.stops || m.does(worker, s.sig) != "catch" || until-s.at < soon+m.slack():
			continue
		case s.sig == unix.SIGTSTP && m.times(unix.SIGCONT) == 0 && m.stopsAfter(s.at+soon):
		case s.sig == unix.SIGHUP, s.sig == unix.SIGWINCH:
		default:
			continue
		}
		if len(worker.from(m.drainitPid(), func(sig syscall.Signal) bool { return sig == s.sig })) == 0 {
			wrong = append(wrong, "the worker did not get "+unix.SignalName(s.sig))
		}
	}
	return wrong
}

// frozenOnes: what is stopped has stopped itself. A process that handled TSTP when
// drainit looked, and became another program before the signal came, may be stopped.
func (m *chaosModel) frozenOnes() (wrong []string) {
	allowed := make(map[int]bool)
	for _, l := range m.lives {
		allowed[l.pid] = l.stops || l.execs && m.plan.nodes[l.node].does["TSTP"] == "catch" && m.times(unix.SIGTSTP) > 0
	}
	for pid, stopped := range m.seen.stopped {
		if stopped && !allowed[pid] {
			wrong = append(wrong, fmt.Sprintf("pid %d was stopped, and not by itself", pid))
		}
	}
	return wrong
}

// grown: what drainit holds does not grow with what it does.
func (m *chaosModel) grown() (wrong []string) {
	// One descriptor for each process with children, for as long as the drain lasts.
	const longest, files, threads = 3 * time.Second, 16 + 256, 24
	for zombie, span := range m.seen.zombies {
		if span.to-span.from > longest+m.slack() {
			wrong = append(wrong, fmt.Sprintf("the zombie %s was not waited for in %v", zombie, span.to-span.from))
		}
	}
	for _, is := range []struct {
		what      string
		most, now int
	}{{"descriptors", files, m.seen.files}, {"kB of memory", harness.MostMemory(), m.seen.memory}, {"threads", threads, m.seen.threads}} {
		if is.now > is.most {
			wrong = append(wrong, fmt.Sprintf("drainit had %d %s", is.now, is.what))
		}
	}
	return wrong
}

// logged: drainit had no error and no panic.
func (m *chaosModel) logged() (wrong []string) {
	for text := range strings.Lines(m.init.Err()) {
		if strings.HasPrefix(text, "drainit: error:") || strings.HasPrefix(text, "panic") || strings.HasPrefix(text, "goroutine ") || strings.HasPrefix(text, "fatal error") {
			wrong = append(wrong, "drainit says "+text)
		}
	}
	return wrong
}
