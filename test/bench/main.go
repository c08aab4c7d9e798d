// Command bench measures drainit beside its peers, those of tini, tini-static,
// dumb-init and catatonit that are installed, and beside no init at all and a
// minimal one in Go. It builds drainit as it is released and prints one table:
//
//	go run ./test/bench
//
// Nothing is compared with a limit: on a shared machine a figure is good for
// no more than a ratio to one that was taken in the same seconds. So all inits
// take turns in every round, and each ratio comes with its range over ten
// parts of the run.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// plan is how much is measured.
type plan struct {
	starts  int           // of each init, each way
	signals int           // to each init
	storms  int           // of orphans, to each init
	orphans int           // in a storm
	idle    time.Duration // of looking at inits that have nothing to do
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
	flag.IntVar(&p.starts, "starts", 300, "starts of each init, as PID 1 and not")
	flag.IntVar(&p.signals, "signals", 5000, "signals to each init")
	flag.IntVar(&p.storms, "storms", 5, "storms of orphans to each init")
	flag.IntVar(&p.orphans, "orphans", 20000, "orphans in a storm")
	flag.DurationVar(&p.idle, "idle", 30*time.Second, "how long idle inits are looked at")
	flag.Parse()
	fail(run(p))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(p plan) error {
	dir, err := os.MkdirTemp("", "drainit-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := contenders(dir)
	if err != nil {
		return err
	}
	t := newTable(all)
	for _, measure := range []struct {
		what string
		take func(*table, []contender, plan) error
	}{
		{"starts", measureStarts},
		{"idle inits and signals", measureRunning},
		{"storms of orphans", measureStorms},
		{"sizes", measureSizes},
	} {
		fmt.Fprintf(os.Stderr, "bench: %s\n", measure.what)
		if err := measure.take(t, all, p); err != nil {
			return err
		}
	}
	fmt.Printf("%s, %d CPUs, %s\n\n", kernel(), runtime.NumCPU(), runtime.Version())
	t.print(os.Stdout)
	return nil
}

// contenders builds the inits that are ours and looks for the others.
func contenders(dir string) ([]contender, error) {
	all := []contender{{name: "no init"}}
	for _, own := range []struct{ name, pkg string }{
		{"minimal Go", "drainit/test/bench/minimal"}, {"drainit", "drainit"},
	} {
		bin := filepath.Join(dir, filepath.Base(own.pkg))
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, own.pkg)
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
	for _, peer := range []struct {
		name string
		args []string
	}{
		{"tini", []string{"-s", "--"}}, {"tini-static", []string{"-s", "--"}},
		{"dumb-init", []string{"--"}}, {"catatonit", []string{"--"}},
	} {
		bin, err := exec.LookPath(peer.name)
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
			if err := do(round, (round+k)%len(all)); err != nil {
				return err
			}
		}
	}
	return nil
}
