package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// plan is how much is measured.
type plan struct {
	starts, signals, stops, tree, crowd, ways int
	idle, drain                               time.Duration

	lenient bool   // no aim is judged: the figures say nothing
	only    string // the measures to take, all if empty
	beside  string // another drainit to run beside, none if empty
	to      string // a page whose table is written anew, none if empty
	dir     string // for what is built, and gone at the end
}

// contender is an init and what goes between it and the command.
type contender struct {
	name string
	argv []string // nil for no init
}

// The columns that there always are, of no init, minimal and drainit.
const (
	noInit = iota
	minimal
	own
)

// The spawned inits' parent-death signal is tied to the thread that forks.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 2 && os.Args[1] == "stage" {
		fail(stage(os.Args[2], os.Args[3:]))
	}
	var p plan
	flag.IntVar(&p.starts, "starts", 400, "starts of each init, as PID 1 and not")
	flag.IntVar(&p.signals, "signals", 5000, "signals to each init")
	flag.DurationVar(&p.idle, "idle", 40*time.Second,
		"how long idle inits are looked at: the Go runtime's monitor wakes up once a minute")
	flag.IntVar(&p.stops, "stops", 5, "stops of each tree under each init")
	flag.IntVar(&p.tree, "tree", 1000, "processes in a tree that is stopped")
	flag.IntVar(&p.crowd, "crowd", 10_000, "processes that a long drain waits for")
	flag.DurationVar(&p.drain, "drain", 10*time.Second, "how long that drain is looked at")
	flag.IntVar(&p.ways, "ways", 20, "stop signals to each init, with each number of processes")
	flag.BoolVar(&p.lenient, "lenient", false, "judge no aim: whether the bench runs is all that is asked")
	flag.StringVar(&p.only, "only", "",
		"take these measures alone: starts, running, ways, stops, drain, cramped, runtime, sizes")
	flag.StringVar(&p.beside, "beside", "", "another build of drainit to run beside this one")
	flag.StringVar(&p.to, "to", "",
		"write the table into this page (test/cmd/bench/results.md), in place of the one that is there")
	flag.Parse()
	fail(run(p))
}

// broken is an error that ends the bench.
type broken struct{ error }

// must ends the bench by an error, after all that is deferred.
func must(err error) {
	if err != nil {
		panic(broken{err})
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(p plan) (err error) {
	if p.dir, err = os.MkdirTemp("", "drainit-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(p.dir)
	inits, err := contenders(p)
	if err != nil {
		return err
	}
	b := newBench(p, inits)
	defer func() {
		switch e := recover().(type) {
		case nil:
		case broken:
			err = fmt.Errorf("%s: %s: %w", b.measure, b.turn, e.error)
		default:
			panic(e)
		}
	}()
	began := time.Now()
	for _, measure := range []struct {
		what string
		take func()
	}{
		{"starts", b.measureStarts}, {"running", b.measureRunning}, {"ways", b.measureWays},
		{"stops", b.measureStops},
		{"drain", b.measureDrains}, {"cramped", b.measureCramped},
		{"runtime", b.measureRuntime}, {"sizes", b.measureSizes},
	} {
		if p.only != "" && !slices.Contains(strings.Split(p.only, ","), measure.what) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s (%.0f s)\n", measure.what, time.Since(began).Seconds())
		b.measure, b.turn = measure.what, inits[own].name
		measure.take()
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	head := fmt.Sprintf("%s, Linux %s, %d processors, %s; %.0f s\n\n", began.Format(time.DateOnly),
		strings.TrimSpace(string(kernel)),
		runtime.NumCPU(), runtime.Version(), time.Since(began).Seconds())
	fmt.Print(head)
	b.print(os.Stdout)
	if p.to != "" {
		must(b.writeTo(p.to, head))
	}
	if p.lenient {
		return nil
	}
	return b.verdict(os.Stdout)
}

// contenders builds the inits that are ours and looks for the others.
func contenders(p plan) ([]contender, error) {
	released, err := os.ReadFile(".ci/gcflags")
	if err != nil {
		return nil, fmt.Errorf("cannot read the flags of a release, run this where go.mod is: %w", err)
	}
	bin := func(name string) string { return filepath.Join(p.dir, name) }
	for pkg, flags := range map[string][]string{"drainit/test/cmd/bench/minimal": nil,
		"drainit": strings.Fields(string(released))} {
		build := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-ldflags=-s -w"}, flags,
			[]string{"-o", bin(filepath.Base(pkg)), pkg})...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot build %s: %w\n%s", pkg, err, out)
		}
	}
	all := []contender{{name: "no init"}, {"minimal Go", []string{bin("minimal")}},
		{"drainit", []string{bin("drainit"), "--"}}}
	if p.beside != "" {
		all = append(all, contender{"drainit beside", []string{p.beside, "--"}})
	}
	for _, peer := range [][]string{{"tini", "tini", "--"}, {"tini -s", "tini", "-s", "--"},
		{"tini-static", "tini-static", "-s", "--"},
		{"dumb-init", "dumb-init", "--"}, {"catatonit", "catatonit", "--"}} {
		program, err := exec.LookPath(peer[1])
		if err != nil {
			fmt.Printf("%s is not installed and left out\n", peer[0])
			continue
		}
		all = append(all, contender{peer[0], append([]string{program}, peer[2:]...)})
	}
	return all, nil
}
