package proc

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestWhichProcessesWriteToAPipe(t *testing.T) {
	r, w := pipe(t)
	r2, w2 := pipe(t)
	r3, w3 := pipe(t)
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	app := sleeper(t, file, w, file) // app | tee | other
	tee := sleeper(t, r, w2, file)
	other := sleeper(t, r2, file, w) // and its errors go to tee
	both := sleeper(t, file, w2, w2)
	loop := sleeper(t, r, w, w) // it reads what it writes
	self := sleeper(t, r3, w3, file)
	alone := sleeper(t)
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
		new(reading).readWriters(all, all.descendants(os.Getpid()), time.Now().Add(time.Minute))
	})
	if got := len(all.WritersTo(all.Children(top)[0].PID)); got != readers+1 {
		t.Errorf("%d writers, want %d", got, readers+1)
	}
	if allocations > readers*mostOfEach {
		t.Errorf("%v allocations to find the writers, want at most %d", allocations, readers*mostOfEach)
	}
}
