package proc

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hanging are pipes by pid, to which nothing is written: a read of one hangs, until it is released.
type hanging map[int]hangingPipe

type hangingPipe struct {
	r int // the descriptor: a thread that hangs has it beside the test, which closes the file
	w *os.File
}

func newHanging(t *testing.T, pids ...int) hanging {
	t.Helper()
	h := make(hanging)
	for _, pid := range pids {
		r, w := pipe(t)
		h[pid] = hangingPipe{int(r.Fd()), w}
	}
	return h
}

// read hangs where there is a pipe for a process.
func (h hanging) read(pid int) {
	if p, ok := h[pid]; ok {
		_, _ = unix.Read(p.r, make([]byte, 1))
	}
}

func (h hanging) release(pid int) { h[pid].w.Close() }

// take is a snapshot of these processes. It hangs at the stat of each for which there is a pipe.
func (h hanging) take(r *Reader, pids []int) (*Snapshot, error) {
	return withTimeout(r, func(g *reading) (*Snapshot, error) {
		for _, pid := range pids {
			if g.mayRead(pid, stat) {
				h.read(pid)
			}
		}
		return g.readEach(pids)
	})
}

// waitFor waits until a snapshot of these shows those.
func (h hanging) waitFor(t *testing.T, r *Reader, these, those []int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		s, err := h.take(r, these)
		if err == nil && slices.Equal(pidsOf(s.All()), those) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v are shown, want %v: %v", pidsOf(s.All()), those, err)
		}
	}
}

// sleepers are processes of which each is the child of the test.
func sleepers(t *testing.T, n int) (pids []int) {
	t.Helper()
	for range n {
		pids = append(pids, sleeper(t))
	}
	slices.Sort(pids)
	return pids
}

// As soon as one is known to hang it costs no time, and when it is back it is read again.
func TestProcessThatHangsIsLeftOutUntilItIsBack(t *testing.T) {
	pids := sleepers(t, 3)
	h := newHanging(t, pids[1])
	var r Reader
	for range 3 {
		s, err := h.take(&r, pids)
		must(t, err)
		if got, want := pidsOf(s.All()), []int{pids[0], pids[2]}; !slices.Equal(got, want) {
			t.Fatalf("%v are shown, want %v", got, want)
		}
		if got := pidsOf(s.Hanging(os.Getpid())); !slices.Equal(got, pids[1:2]) {
			t.Fatalf("%v hang, want %v", got, pids[1:2])
		}
		if len(r.hung) != 1 {
			t.Fatalf("%d threads hang, want one", len(r.hung))
		}
	}
	if _, err := r.Read(pids[1]); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("the one that hangs is read: %v, want %v", err, ErrNoAnswer)
	}
	if p, err := r.Read(pids[0]); err != nil || p.PID != pids[0] {
		t.Errorf("another one is not read: %v", err)
	}
	h.release(pids[1])
	h.waitFor(t, &r, pids, pids)
	if len(r.hung) != 0 {
		t.Errorf("%d threads hang", len(r.hung))
	}
}

// Whether a process runs another program is not known as long as its details hang.
func TestProgramOfAProcessThatHangsIsNotKnown(t *testing.T) {
	pid := sleeper(t)
	h := newHanging(t, pid)
	var r Reader
	another := r.RunsAnother(pid)
	_, _ = withTimeout(&r, func(g *reading) (bool, error) {
		if g.mayRead(pid, details) {
			h.read(pid)
		}
		return true, nil
	})
	if unknown := r.RunsAnother(pid); !another || unknown {
		t.Errorf("it runs another: %t, and while it hangs: %t", another, unknown)
	}
	h.release(pid)
}

// Each takes a thread, of which there are only so many.
func TestTooManyThatHangEndAllReadsUntilOneIsBack(t *testing.T) {
	pids := sleepers(t, MostHung+1)
	h := newHanging(t, pids[:MostHung]...)
	var r Reader
	for range 2 {
		if s, err := h.take(&r, pids); !errors.Is(err, ErrNoAnswer) {
			t.Fatalf("%v, %v, want %v", s, err, ErrNoAnswer)
		}
	}
	if len(r.hung) != MostHung {
		t.Fatalf("%d threads hang, want %d", len(r.hung), MostHung)
	}
	h.release(pids[0])
	h.waitFor(t, &r, pids, []int{pids[0], pids[MostHung]})
}

// What was given up ends when it comes back.
func TestReadingThatWasGivenUpReadsNothingMore(t *testing.T) {
	pids := sleepers(t, 1)
	h := newHanging(t, pids[0])
	went := false
	var r Reader
	_, err := withTimeout(&r, func(g *reading) (none int, _ error) {
		if g.mayRead(pids[0], details) {
			h.read(pids[0])
			g.mayRead(pids[0], details)
			went = true
		}
		return none, nil
	})
	must(t, err)
	given := r.hung[0]
	h.release(pids[0])
	<-given.done
	if went {
		t.Error("a reading that was given up goes on")
	}
}

// A thread that has work to do is no thread that hangs, however long that takes, and neither is
// one that sleeps for a moment.
func TestSlowReadIsWaitedFor(t *testing.T) {
	var r Reader
	const long = 2 * looksMost * looksApart
	for name, work := range map[string]func(){
		"works":  func() { _, _ = readSmall("/proc/self/stat") },
		"sleeps": func() { time.Sleep(time.Millisecond) },
	} {
		done, err := withTimeout(&r, func(g *reading) (bool, error) {
			g.mayRead(1, stat)
			for began := time.Now(); time.Since(began) < long; {
				work()
			}
			return true, nil
		})
		if err != nil || !done {
			t.Errorf("one that %s was given up: %v", name, err)
		}
	}
}

// sleeper starts a process that sleeps with these for its standard input, output and error.
func sleeper(t testing.TB, files ...*os.File) (pid int) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if files != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	}
	pid, _ = start(t, 0, cmd)
	return pid
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func sockets(t testing.TB) (a, b *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	a, b = os.NewFile(uintptr(fds[0]), "a"), os.NewFile(uintptr(fds[1]), "b")
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// What the root has as its standard input itself is written from elsewhere.
func TestAPipeThatTheRootWasGiven(t *testing.T) {
	r, w := pipe(t)
	root := exec.Command("sh", "-c", "sleep 1000 & sleep 1000 <&0 & wait")
	root.Stdin, root.Stderr = r, w
	pid, _ := start(t, 0, root)
	for {
		all := answer(t, func() (*Snapshot, error) { return new(Reader).Tree(pid, nil, time.Minute) })
		if below := all.Children(pid); len(below) == 2 && below[0].Comm == "sleep" &&
			below[1].Comm == "sleep" {
			if below[1].Reads != (File{}) || all.HasWriters(below[1].PID) {
				t.Errorf("%+v reads a pipe", below[1])
			}
			return
		}
	}
}

func TestWhichProcessesWriteToAPipe(t *testing.T) {
	r, w := pipe(t)
	r2, w2 := pipe(t)
	r3, w3 := pipe(t)
	file, err := os.Create(t.TempDir() + "/file")
	must(t, err)
	defer file.Close()
	app := sleeper(t, file, w, file) // app | tee | other
	tee := sleeper(t, r, w2, file)
	other := sleeper(t, r2, file, w) // and its errors go to tee
	both := sleeper(t, file, w2, w2)
	loop := sleeper(t, r, w, w) // it reads what it writes
	self := sleeper(t, r3, w3, file)
	alone := sleeper(t)
	here, there := sockets(t) // ksh93: app | sort
	byShell := sleeper(t, file, here, file)
	sort := sleeper(t, there, file, file)
	own, conn := sockets(t)
	served := sleeper(t, own, own, file)
	servedToo := sleeper(t, conn, conn, conn)
	all := take(t)
	for name, tt := range map[string]struct {
		reader  int
		writers []int
	}{
		"two readers of one pipe":                  {tee, []int{app, other, loop}},
		"one of them is a writer, too":             {loop, []int{app, other}},
		"one that writes to it by two descriptors": {other, []int{tee, both}},
		"the only writer is itself":                {self, nil},
		"standard input that is a file":            {both, nil},
		"standard input that is not a pipe":        {alone, nil},
		"a pair of sockets":                        {sort, []int{byShell}},
		"a connection":                             {served, nil},
		"one that is next to it":                   {servedToo, nil},
		"no such process":                          {1 << 22, nil},
	} {
		slices.Sort(tt.writers)
		got := slices.DeleteFunc(
			slices.Clone(all.WritersTo(tt.reader)), func(pid int) bool { return pid == tt.reader })
		if all.HasWriters(tt.reader) != (len(got) > 0) {
			t.Errorf("%s: has writers: %v", name, all.HasWriters(tt.reader))
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.writers) {
			t.Errorf("%s: the writers are %v, want %v", name, got, tt.writers)
		}
	}
}

// Each descriptor is read once, however many share a pipe: a search for pairs took eight
// seconds of drainit's one loop for a thousand readers. Each read allocates its path.
func TestReadersOfOnePipeCostOnePass(t *testing.T) {
	const readers, mostOfEach = 200, 40
	top, _ := family(
		t, 1, `pipe(my $r, my $w) or die; open STDIN, "<&", $r or die; open STDERR, ">&", $w or die;
		for (1 .. shift) { spawn { forever } } say $$; forever`, strconv.Itoa(readers))
	all := take(t)
	allocations := testing.AllocsPerRun(1, func() {
		clear(all.writers)
		new(reading).readWriters(all, all.descendants(os.Getpid()), File{}, time.Now().Add(time.Minute))
	})
	if got := len(all.WritersTo(all.Children(top)[0].PID)); got != readers+1 {
		t.Errorf("%d writers, want %d", got, readers+1)
	}
	if allocations > readers*mostOfEach {
		t.Errorf("%v allocations to find the writers, want at most %d", allocations, readers*mostOfEach)
	}
}

// Between two reads its thread may wait for the Go runtime for long, on a busy machine.
func TestReadingThatWaitsForTheRuntimeDoesNotHang(t *testing.T) {
	var r Reader
	got, err := withTimeout(&r, func(g *reading) (int, error) {
		g.mayRead(os.Getpid(), stat)
		<-time.After(2 * looksMost * looksApart)
		return 7, nil
	})
	if got != 7 || err != nil || len(r.hung) != 0 {
		t.Errorf("%d, %v, and %d hang", got, err, len(r.hung))
	}
}
