package proc

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

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
		if below := all.Children(pid); len(below) == 2 && below[0].Comm == "sleep" && below[1].Comm == "sleep" {
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
		got := slices.DeleteFunc(slices.Clone(all.WritersTo(tt.reader)), func(pid int) bool { return pid == tt.reader })
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
	top, _ := family(t, 1, `pipe(my $r, my $w) or die; open STDIN, "<&", $r or die; open STDERR, ">&", $w or die;
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
