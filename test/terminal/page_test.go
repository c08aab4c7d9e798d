package terminal

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// pageWorkers are the workers of docs/images.md: the section, the language of its block, the file, and the
// command. {} is the file. Each has the flags that a status by its signal takes.
var pageWorkers = []struct{ section, language, file, command, flags string }{
	{"Node", "js", "worker.js", "node {}", ""},
	{"Python", "python", "worker.py", "python3 {}", ""},
	{"Java", "java", "Worker.java", "java", "--remap-exit 143 --remap-exit 130"},
	{"PHP", "php", "worker.php", "php {}", ""},
	{"Ruby", "ruby", "worker.rb", "ruby {}", ""},
	{"Go", "go", "worker.go", "go", ""},
	{"Shell", "sh", "worker.sh", "dash {}", ""},
	{"Shell", "sh", "worker.sh", "bash {}", ""},
	{"Shell", "sh", "worker.sh", "busybox sh {}", ""},
}

// Each worker of the page does the job that it has in hand, which takes a second, whether it is stopped by
// TERM, by INT as a CI's cancel, or by Ctrl-C.
func TestWorkersOfThePageDrain(t *testing.T) {
	for _, w := range pageWorkers {
		for _, how := range []string{"TERM", "INT", "Ctrl-C"} {
			t.Run(w.section+"/"+w.command+"/"+how, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), w.file)
				harness.WriteFile(t, file, harness.PageBlock(t, harness.Repo("docs", "images.md"), w.section,
					w.language))
				command := compiled(t, file)
				if command == nil {
					command = harness.Words(strings.Replace(w.command, "{}", file, 1))
					harness.Need(t, command[0])
				}
				began := time.Now()
				args := append(harness.Words(w.flags), "--")
				l := harness.Launch{Args: append(args, command...)}
				status, shown := 0, ""
				if how == "Ctrl-C" {
					c := console.At(t, l)
					c.See(`working\r?\n`)
					c.WaitAtRest(300 * time.Millisecond) // until the job has begun
					c.Keys("\x03")
					status, shown = c.Wait(), c.Out()
				} else {
					p := harness.Run(t, l)
					p.WaitOut(`working\n`)
					p.WaitAtRest(300 * time.Millisecond)
					p.Signal(map[string]unix.Signal{"TERM": unix.SIGTERM, "INT": unix.SIGINT}[how])
					status, shown = p.Wait(), p.Out()+p.Err()
				}
				harness.WantTookAtLeast(t, began, time.Second)
				if status != 0 || strings.Count(shown, "drained") != 1 {
					t.Errorf("exit status %d:\n%s", status, shown)
				}
			})
		}
	}
}

// compiled is the command of a worker in Go or Java, nil of one that needs no compiler.
func compiled(t *testing.T, file string) []string {
	switch filepath.Ext(file) {
	case ".go":
		harness.Full(t)
		harness.OutputOf(t, exec.Command("go", "build", "-o", file+".out", file))
		return []string{file + ".out"}
	case ".java":
		return harness.Java(t, file)
	}
	return nil
}
