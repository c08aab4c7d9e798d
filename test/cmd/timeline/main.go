// Timeline draws a stop as a picture, from a run of it:
//
//	go run ./test/cmd/timeline
//	go run ./test/cmd/timeline -to docs
//
// writes stop.svg, the same stop under tini and under drainit, and quiet.svg, a stop in Kubernetes with
// preStop: to a new folder, or to the one that is named. It needs root, strace, tini and node, and takes half a
// minute.
package main

import (
	"embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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
	at := filepath.Join(dir, "testdata")

	stop := picture{title: "The same stop under tini and under drainit", seconds: 6}
	for _, init := range []string{"tini", drainit} {
		fmt.Printf("a stop under %s, some 7 s\n", filepath.Base(init))
		r, err := start(at, init, "--", "bash", "start.sh")
		if err != nil {
			return err
		}
		r.sleepUntil(3 * time.Second)
		r.signal(syscall.SIGTERM)
		r.wait()
		stop.panels = append(stop.panels, r.panel(filepath.Base(init)+" -- ./start.sh"))
	}

	quiet := picture{title: "Quiet, drain and stop in Kubernetes, with a preStop hook", seconds: 18}
	fmt.Println("a stop with preStop under drainit, some 18 s")
	r, err := start(at, drainit, "--second-stop", "ignore", "--", "node", "worker.js", "7000")
	if err != nil {
		return err
	}
	r.sleepUntil(7300 * time.Millisecond)
	if err := r.preStop(drainit, "quiet", "--sleep", "5s"); err != nil {
		return err
	}
	r.signal(syscall.SIGTERM)
	r.wait()
	quiet.panels = append(quiet.panels, r.panel("drainit --second-stop ignore -- node worker.js"))

	for name, p := range map[string]picture{"stop.svg": stop, "quiet.svg": quiet} {
		file := filepath.Join(to, name)
		if err := os.WriteFile(file, []byte(p.svg()), 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", file)
	}
	return nil
}
