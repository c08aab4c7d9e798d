package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// blocks has a process of a family block TERM, and waits has it wait for TERM by
// signalfd(2): that it handles it is known only if it is read closely.
const blocks = `POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGTERM())); `

var waits = `my $fd; sub waits { ` + blocks + `$fd = syscall(` + strconv.Itoa(unix.SYS_SIGNALFD4) +
	`, -1, my $mask = pack("Q", 1 << (POSIX::SIGTERM() - 1)), 8, 0) } `

// take takes a snapshot of what is wanted, in which TERM is asked for.
func take(t testing.TB, w Want) *Snapshot {
	t.Helper()
	w.Until = time.Now().Add(time.Second)
	if w.Signals == nil {
		w.Signals = []unix.Signal{unix.SIGTERM}
	}
	all, err := new(Reader).Take(w)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// numbers are the pids that a family printed.
func numbers(t testing.TB, said []string) (pids []int) {
	t.Helper()
	for _, line := range said {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// wantHandling checks which of these processes handle TERM, as far as a snapshot knows.
func wantHandling(t testing.TB, all *Snapshot, pids []int, want ...int) {
	t.Helper()
	var got []int
	for _, pid := range pids {
		p, ok := all.Process(pid)
		if !ok {
			t.Errorf("%d is not in the snapshot", pid)
		}
		if p.Handles(unix.SIGTERM) {
			got = append(got, pid)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v handle TERM, want %v of %v", got, want, pids)
	}
}

func TestOnlyOneProcess(t *testing.T) {
	top, _ := family(t, 1, waits+`spawn { forever }; waits; say "ready"; forever`)
	tests := map[string]struct {
		want             Want
		handles, program bool
	}{
		"its stat":            {Want{Only: top, Signals: []unix.Signal{}}, false, false},
		"its signals, too":    {Want{Only: top}, true, false},
		"its program, too":    {Want{Only: top, Program: true, Signals: []unix.Signal{}}, false, true},
		"both":                {Want{Only: top, Program: true}, true, true},
		"whatever else there": {Want{Only: top, Parents: os.Getpid(), Group: top, Signals: []unix.Signal{}}, false, false},
	}
	for name, tt := range tests {
		all := take(t, tt.want).All()
		if len(all) != 1 || all[0].PID != top || all[0].PPID != os.Getpid() {
			t.Fatalf("%s: %+v", name, all)
		}
		if p := all[0]; p.Handles(unix.SIGTERM) != tt.handles || (p.Exe != "") != tt.program || (p.Args != nil) != tt.program {
			t.Errorf("%s: handles TERM: %v, want %v; runs %q %q, want any: %v", name, p.Handles(unix.SIGTERM), tt.handles, p.Exe, p.Args, tt.program)
		}
	}
}

func TestTheOnlyProcessMayBeGone(t *testing.T) {
	for _, w := range []Want{{Only: 1 << 22}, {EnoughIf: 1 << 22, Signals: []unix.Signal{unix.SIGTERM}}} {
		if all, err := Take(w); all != nil || !IsGone(err) {
			t.Errorf("%+v: %v, %v; want that it has gone", w, all, err)
		}
	}
}

// What blocks a signal and computes has had its processor when the time is over: it is not
// waited for longer, as one that has to be given one is.
func TestOneThatComputesIsNotWaitedFor(t *testing.T) {
	top, _ := family(t, 1, blocks+`say "ready"; 1 while 1`)
	p := processes(t, []int{top})[0]
	asked := question{process: p, signal: unix.SIGTERM, thread: top, ran: runtimeOf(top, top), threads: 1}
	if asked.ran == 0 {
		skip(t, "needs the times of /proc/PID/schedstat")
	}
	for began := time.Now(); runtimeOf(top, top) < asked.ran+hardly; time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d has not run in a minute", top)
		}
	}
	if !asked.waitsForTurn(asked.ran) {
		t.Error("it is not waited for, though it has not run")
	}
	next, err := new(reading).askAgain([]question{asked}, time.Now(), ThreadTime(unix.Gettid()))
	if err != nil || len(next) > 0 || p.Handles(unix.SIGTERM) {
		t.Errorf("it is waited for: %v, and handles TERM: %v, %v", len(next) > 0, p.Handles(unix.SIGTERM), err)
	}
}

// Most workers have a handler: to read the others would be for nothing.
func TestOneProcessIsEnoughIfItHandlesTheSignal(t *testing.T) {
	const unwaits = `POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), POSIX::SigSet->new(POSIX::SIGTERM())); `
	for does, enough := range map[string]bool{
		unwaits + `$SIG{TERM} = sub { }`: true, `1`: true, unwaits: false, `$SIG{TERM} = "IGNORE"`: false,
	} {
		top, said := family(t, 1, waits+`waits; my $child = spawn { forever }; `+does+`; say $child; forever`)
		child := numbers(t, said)[0]
		all := take(t, Want{EnoughIf: top, Nearest: top})
		switch alone := len(all.All()) == 1; {
		case alone != enough:
			t.Errorf("%s: it is alone: %v, want %v", does, alone, enough)
		case alone:
			wantHandling(t, all, []int{top}, top)
		default:
			wantHandling(t, all, []int{top, child}, child)
		}
	}
}

// What is below one that handles the signal need not be known.
func TestNearestAreReadClosely(t *testing.T) {
	top, _ := family(t, 5, waits+`
		spawn { waits; say $$; spawn { waits; say $$; forever }; forever };
		spawn { spawn { waits; say $$; spawn { waits; say $$; forever }; forever }; forever };
		say $$; forever`)
	all := take(t, Want{Nearest: top})
	for _, child := range all.Children(top) {
		grandchild := all.Children(child.PID)[0]
		if child.Handles(unix.SIGTERM) == grandchild.Handles(unix.SIGTERM) {
			t.Errorf("%+v and its child %+v: want that one alone is known to handle TERM", child, grandchild)
		}
		for _, below := range all.Children(grandchild.PID) {
			if below.Handles(unix.SIGTERM) {
				t.Errorf("%+v was read closely, below one that handles TERM", below)
			}
		}
	}
	if n := len(all.Children(top)); n != 2 {
		t.Fatalf("%d children, want 2", n)
	}
}

// The pid of drainit, which is the test's own here, stands for each of its children: it
// handles TERM itself.
func TestNearestOfEachChild(t *testing.T) {
	first, _ := family(t, 1, waits+`waits; say "ready"; forever`)
	second, said := family(t, 1, waits+`spawn { waits; say $$; forever }; forever`)
	child := numbers(t, said)[0]
	all := take(t, Want{Nearest: os.Getpid()})
	wantHandling(t, all, []int{first, second, child}, first, child)
}

func TestMembersOfAGroupAreReadClosely(t *testing.T) {
	top, said := family(t, 3, waits+`
		POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGTSTP())); kill "TSTP", $$;
		spawn { waits; say $$; forever }; spawn { setpgrp; waits; say $$; forever }; say $$; forever`)
	pids := numbers(t, said)
	t.Cleanup(func() {
		for _, pid := range pids {
			if p, err := Read(pid); err == nil && p.PGID == pid && pid != top { // it has left the group that family kills
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	})
	all := take(t, Want{Group: top})
	in := all.Group(top)
	if len(in) != 2 {
		t.Fatalf("members %v, want %d and its first child", in, top)
	}
	wantHandling(t, all, pids, in[1].PID)
	for _, pid := range pids {
		if p, _ := all.Process(pid); p.StopPending() != (pid == top) {
			t.Errorf("%v has a stop pending: %v, want it for %d alone", p, p.StopPending(), top)
		}
	}
	if all := take(t, Want{}); !slices.ContainsFunc(all.Group(top), func(p *Process) bool { return p.Alive() }) || slices.ContainsFunc(all.Group(top), func(p *Process) bool { return p.StopPending() }) {
		t.Errorf("read closely, which was not asked for: %+v", all.Group(top))
	}
}

// The end of a line of only children is the application behind its launchers.
func TestTheEndOfAChainIsReadClosely(t *testing.T) {
	perl := "perl"
	if path, err := filepath.EvalSymlinks("/usr/bin/perl"); err == nil {
		perl = filepath.Base(path)
	}
	tests := map[string]struct {
		script string
		lines  int
		end    bool // it is in the line and read
	}{
		"a line of three":     {`spawn { spawn { waits; say $$; forever }; forever }; forever`, 1, true},
		"a line that parts":   {`spawn { spawn { waits; say $$; forever }; spawn { say $$; forever }; forever }; forever`, 2, false},
		"two below the first": {`spawn { spawn { waits; say $$; forever }; forever }; spawn { say $$; forever }; forever`, 2, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			top, said := family(t, tt.lines, waits+tt.script)
			all := take(t, Want{Parents: os.Getpid(), Chain: top})
			for _, pid := range numbers(t, said) {
				p, _ := all.Process(pid)
				if read := p.Exe == perl && len(p.Args) > 0; read != tt.end {
					t.Errorf("%v runs %q %q: read closely %v, want %v", p, p.Exe, p.Args, read, tt.end)
				}
				if p.Handles(unix.SIGTERM) != tt.end {
					t.Errorf("%v handles TERM: %v, want %v", p, p.Handles(unix.SIGTERM), tt.end)
				}
			}
			for _, p := range take(t, Want{Parents: os.Getpid()}).All() {
				if slices.Contains(numbers(t, said), p.PID) && p.Exe != "" {
					t.Errorf("%v was read closely, which was not asked for", p)
				}
			}
		})
	}
}

// The kernel has the masks of the first 31 signals in the stat, of the others elsewhere.
func TestRealTimeSignalsOfThoseThatAreNotReadClosely(t *testing.T) {
	top, said := family(t, 1, `spawn { spawn { $SIG{NUM40} = sub { }; say $$; forever }; forever }; forever`)
	leaf := numbers(t, said)[0]
	all := take(t, Want{Parents: os.Getpid(), Signals: []unix.Signal{40, unix.SIGTERM}})
	if p, ok := all.Process(leaf); !ok || !p.Handles(40) || p.Handles(41) || p.Exe != "" {
		t.Errorf("%v below %d handles 40: %v, 41: %v; runs %q", p, top, p.Handles(40), p.Handles(41), p.Exe)
	}
}
