package proc

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// sleeper starts a child of the test that sleeps with these for its standard input,
// output and error, and kills it at the end.
func sleeper(t testing.TB, in, out, errors *os.File) (pid int) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Stderr = errors
	if in != nil {
		cmd.Stdin = in
	}
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
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
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	app := sleeper(t, nil, w, nil) // app | tee | other
	tee := sleeper(t, r, w2, file)
	other := sleeper(t, r2, file, w) // and its errors go to tee
	both := sleeper(t, file, w2, w2)
	loop := sleeper(t, r, w, w) // it reads what it writes
	alone := sleeper(t, nil, nil, nil)
	tests := []struct {
		name    string
		reader  int
		writers []int
	}{
		{"two readers of one pipe", tee, []int{app, other, loop}},
		{"one of them is a writer, too", loop, []int{app, other}},
		{"one that writes to it by two descriptors", other, []int{tee, both}},
		{"standard input that is a file", both, nil},
		{"standard input that is not a pipe", app, nil},
		{"none at all", alone, nil},
		{"no such process", 1 << 22, nil},
	}
	all := take(t)
	for _, tt := range tests {
		slices.Sort(tt.writers)
		got := slices.DeleteFunc(all.WritersTo(tt.reader), func(pid int) bool { return pid == tt.reader })
		if all.HasWriters(tt.reader) != (len(got) > 0) {
			t.Errorf("%s: has writers: %v", tt.name, all.HasWriters(tt.reader))
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.writers) {
			t.Errorf("%s: the writers are %v, want %v", tt.name, got, tt.writers)
		}
	}
}

// Each descriptor is read once, however many share a pipe: a search for pairs took eight
// seconds of drainit's one loop for a thousand readers. Each read allocates its path.
func TestReadersOfOnePipeCostOnePass(t *testing.T) {
	const readers, mostOfEach = 200, 40
	const each = `pipe(my $r, my $w) or die; open STDIN, "<&", $r or die; `
	const spawnAll = `for (1 .. shift) { spawn { forever } } `
	for name, tt := range map[string]struct {
		script  string
		writers int
	}{
		"one writer":     {each + spawnAll + `open STDERR, ">&", $w or die; say $$; forever`, 1},
		"all write, too": {each + `open STDERR, ">&", $w or die; ` + spawnAll + `say $$; forever`, readers + 1},
	} {
		t.Run(name, func(t *testing.T) {
			top, _ := family(t, 1, tt.script, strconv.Itoa(readers))
			all := take(t)
			allocations := testing.AllocsPerRun(1, func() {
				clear(all.writers)
				new(reading).readWriters(all, all.descendants(os.Getpid()), time.Now().Add(time.Minute))
			})
			if got := len(all.WritersTo(all.Children(top)[0].PID)); got != tt.writers {
				t.Errorf("%d writers, want %d", got, tt.writers)
			}
			if allocations > readers*mostOfEach {
				t.Errorf("%v allocations to find the writers, want at most %d", allocations, readers*mostOfEach)
			}
		})
	}
}
