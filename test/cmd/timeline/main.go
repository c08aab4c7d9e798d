// Timeline draws a stop as a picture, from a run of it:
//
//	go run ./test/cmd/timeline
//	go run ./test/cmd/timeline -to docs
//
// writes stop.svg, the same stop under tini and under drainit, and quiet.svg, a stop in Kubernetes with
// preStop: to a new folder, or to the one that is named. It needs root, strace, tini and node, and takes
// half a minute.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed testdata
var programs embed.FS

func main() {
	to := flag.String("to", "", "the folder of the pictures (default: a new one in the temporary folder)")
	flag.Parse()
	if err := draw(*to); err != nil {
		fmt.Fprintln(os.Stderr, "timeline:", err)
		os.Exit(1)
	}
}

// draw runs the stops, says what it does, and writes the pictures to a folder, a new one if it has no name.
func draw(to string) error {
	dir, err := os.MkdirTemp("", "timeline")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if to == "" {
		if to, err = os.MkdirTemp("", "timeline-pictures"); err != nil {
			return err
		}
	}
	if err := os.CopyFS(dir, programs); err != nil {
		return err
	}
	drainit := filepath.Join(dir, "drainit")
	if out, err := exec.Command("go", "build", "-o", drainit, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build drainit: %v\n%s", err, out)
	}
	stopped := func(title string, after time.Duration, hook []string, init ...string) (panel, error) {
		fmt.Println("a stop under", title)
		p, err := stop(filepath.Join(dir, "testdata"), after, hook, init...)
		p.title = title
		return p, err
	}
	tinis, err1 := stopped("tini -- ./start.sh", time.Second, nil, "tini", "--", "bash", "start.sh")
	drainits, err2 := stopped("drainit -- ./start.sh", time.Second, nil, drainit, "--", "bash", "start.sh")
	quiet, err3 := stopped("drainit --second-stop ignore -- node worker.js", 300*time.Millisecond,
		[]string{drainit, "quiet", "--sleep", "5s"},
		drainit, "--second-stop", "ignore", "--", "node", "worker.js", "7000")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	for name, p := range map[string]picture{
		"stop.svg":  {"The same stop under tini and under drainit", 6, []panel{tinis, drainits}},
		"quiet.svg": {"Quiet, drain and stop in Kubernetes, with a preStop hook", 18, []panel{quiet}},
	} {
		file := filepath.Join(to, name)
		if err := os.WriteFile(file, []byte(p.svg()), 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", file)
	}
	return nil
}
