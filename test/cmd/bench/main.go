// Command bench measures drainit beside its peers, those of tini, tini-static,
// dumb-init and catatonit that are installed, and beside no init at all and a
// minimal one in Go. It builds drainit as it is released and prints one table:
//
//	go run ./test/cmd/bench
//
// On a shared machine a time is good for no more than a ratio to one that was taken in the
// same seconds. So all inits take turns in every round, and each ratio comes with its range
// over ten parts of the run. What drainit aims at is in the last column; where it misses an
// aim by more than a third, the exit status is 1.
//
// How the cost grows with the number of processes is a figure, and takes longer:
//
//	go run ./test/cmd/bench -figure docs/cost.svg
//
// To see what a change is worth, build the drainit before it, and run both:
//
//	go run ./test/cmd/bench -beside /tmp/drainit-before -only starts,running
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
	starts  int           // of each init, each way
	signals int           // to each init
	storms  int           // of orphans, to each init
	orphans int           // in a storm
	idle    time.Duration // of looking at inits that have nothing to do
	stops   int           // of each tree, under each init
	tree    int           // processes in such a tree
	crowd   int           // processes that a long drain waits for
	drain   time.Duration // of that drain
	ways    int           // stop signals to each init, with each number of processes
	cramped int           // stops under a CPU limit
	figure  string        // the file to draw, none if empty

	lenient bool   // no aim is judged: the figures say nothing
	only    string // the measures to take, all if empty
	beside  string // another drainit to run beside, none if empty
	dir     string // for what is built, and gone at the end
}

// contender is an init and what goes between it and the command.
type contender struct {
	name string
	argv []string // nil for no init
}

// The spawned inits' parent-death signal is tied to the thread that forks.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 2 && os.Args[1] == "stage" {
		fail(stage(os.Args[2], os.Args[3:]))
	}
	var p plan
	flag.IntVar(&p.starts, "starts", 400, "starts of each init, as PID 1 and not")
	flag.IntVar(&p.signals, "signals", 5000, "signals to each init")
	flag.IntVar(&p.storms, "storms", 3, "storms of orphans to each init")
	flag.IntVar(&p.orphans, "orphans", 20_000, "orphans in a storm")
	flag.DurationVar(&p.idle, "idle", 40*time.Second, "how long idle inits are looked at: the Go runtime's monitor wakes up once a minute")
	flag.IntVar(&p.stops, "stops", 5, "stops of each tree under each init")
	flag.IntVar(&p.tree, "tree", 1000, "processes in a tree that is stopped")
	flag.IntVar(&p.crowd, "crowd", 10_000, "processes that a long drain waits for")
	flag.DurationVar(&p.drain, "drain", 10*time.Second, "how long that drain is looked at")
	flag.IntVar(&p.ways, "ways", 20, "stop signals to each init, with each number of processes")
	flag.IntVar(&p.cramped, "cramped", 1, "stops of drainit under a CPU limit")
	flag.StringVar(&p.figure, "figure", "", "draw how the cost grows into this SVG `file`, and measure nothing else")
	flag.BoolVar(&p.lenient, "lenient", false, "judge no aim: whether the bench runs is all that is asked")
	flag.StringVar(&p.only, "only", "", "take these measures alone: starts, running, ways, crowds, readiness, storms, stops, drain, cramped, sizes")
	flag.StringVar(&p.beside, "beside", "", "another build of drainit to run beside this one")
	flag.Parse()
	fail(run(p))
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
	all, err := contenders(p)
	if err != nil {
		return err
	}
	if p.figure != "" {
		return drawFigure(all, p)
	}
	t := newTable(all)
	began := time.Now()
	for _, measure := range []struct {
		what string
		take func(*table, []contender, plan) error
	}{
		{"starts", measureStarts},
		{"running", measureRunning},
		{"ways", measureWays},
		{"crowds", measureCrowds},
		{"readiness", measureReadiness},
		{"storms", measureStorms},
		{"stops", measureStops},
		{"drain", measureDrains},
		{"cramped", measureCramped},
		{"sizes", measureSizes},
	} {
		if p.only != "" && !slices.Contains(strings.Split(p.only, ","), measure.what) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s (%.0f s)\n", measure.what, time.Since(began).Seconds())
		if err := measure.take(t, all, p); err != nil {
			return fmt.Errorf("%s: %w", measure.what, err)
		}
	}
	fmt.Printf("%s, %s, %d processors, %s; %.0f s\n\n", began.Format(time.DateOnly), kernel(),
		runtime.NumCPU(), runtime.Version(), time.Since(began).Seconds())
	t.print(os.Stdout)
	if p.lenient {
		return nil
	}
	return t.verdict(os.Stdout)
}

// contenders builds the inits that are ours and looks for the others.
func contenders(p plan) ([]contender, error) {
	all := []contender{{name: "no init"}}
	released, err := os.ReadFile(".ci/gcflags")
	if err != nil {
		return nil, fmt.Errorf("cannot read the flags of a release, run this where go.mod is: %w", err)
	}
	for _, own := range []struct {
		name, pkg string
		flags     []string
	}{
		{"minimal Go", "drainit/test/cmd/bench/minimal", nil},
		{"drainit", "drainit", strings.Fields(string(released))},
	} {
		bin := filepath.Join(p.dir, filepath.Base(own.pkg))
		args := append(append([]string{"build", "-trimpath", "-ldflags=-s -w"}, own.flags...), "-o", bin, own.pkg)
		build := exec.Command("go", args...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot build %s: %w\n%s", own.pkg, err, out)
		}
		argv := []string{bin}
		if own.name == "drainit" {
			argv = append(argv, "--")
		}
		all = append(all, contender{own.name, argv})
	}
	if p.beside != "" {
		all = append(all, contender{"drainit beside", []string{p.beside, "--"}})
	}
	for _, peer := range []struct {
		name string
		args []string
	}{
		{"tini", []string{"--"}}, {"tini -s", []string{"-s", "--"}}, {"tini-static", []string{"-s", "--"}},
		{"dumb-init", []string{"--"}}, {"catatonit", []string{"--"}},
	} {
		program, _, _ := strings.Cut(peer.name, " ")
		bin, err := exec.LookPath(program)
		if err != nil {
			fmt.Printf("%s is not installed and left out\n", peer.name)
			continue
		}
		all = append(all, contender{peer.name, append([]string{bin}, peer.args...)})
	}
	return all, nil
}

// turns calls do for each contender, beginning with another one each round:
// who comes first in a round finds other caches than who comes last.
func turns(all []contender, rounds int, do func(round, i int) error) error {
	for round := range rounds {
		for k := range all {
			i := (round + k) % len(all)
			if err := do(round, i); err != nil {
				return fmt.Errorf("%s: %w", all[i].name, err)
			}
		}
	}
	return nil
}
