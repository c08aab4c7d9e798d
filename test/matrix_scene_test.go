package test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scene is one run of a way.
type scene struct {
	dir    string        // a folder of the run's own: the worker's working directory and home
	record string        // the file in it that $RECORD names
	job    time.Duration // how long the job takes: $JOB, in seconds
	port   int           // a free port on the loopback: $PORT
	env    []string
	init   *Init       // nil until it has been started
	answer chan string // what came to a server's client
	notes  string      // the log of a program that keeps one
	redis  string      // the address of the queue
}

// newScene makes the folder of a run. A worker in it has a home of its own and
// finds the packages of test/node.
func newScene(t *testing.T, job time.Duration) *scene {
	t.Helper()
	// Not t.TempDir, whose names are too long for the sockets that some keep there.
	dir, err := os.MkdirTemp("", "drainit-way-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &scene{dir: dir, record: filepath.Join(dir, "record"), job: job, port: reservePort(t)}
	modules, err := filepath.Abs("node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"RECORD=" + s.record,
		"JOB=" + strconv.FormatFloat(job.Seconds(), 'f', -1, 64),
		"PORT=" + strconv.Itoa(s.port),
		"HOME=" + dir,
		"PATH=" + filepath.Join(modules, ".bin") + ":" + os.Getenv("PATH"),
	}
	return s
}

// write puts a file into the scene's folder, or one below it. A script that names its
// interpreter can be run.
func (s *scene) write(t *testing.T, name, text string) {
	t.Helper()
	file, mode := filepath.Join(s.dir, name), os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// bring copies a file of testdata/matrix into the scene's folder.
func (s *scene) bring(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "matrix", from))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, to, string(b))
}

// lines is the record so far.
func (s *scene) lines() string {
	b, _ := os.ReadFile(s.record) // none yet is an empty one
	return string(b)
}

// count counts the lines of the record that begin with a word.
func (s *scene) count(word string) int {
	n := 0
	for l := range strings.Lines(s.lines()) {
		if strings.HasPrefix(l, word+" ") && strings.HasSuffix(l, "\n") {
			n++
		}
	}
	return n
}

// last is the time in the last line of the record that begins with a word.
func (s *scene) last(word string) time.Time {
	var at time.Time
	for l := range strings.Lines(s.lines()) {
		f := strings.Fields(l)
		if len(f) < 2 || f[0] != word {
			continue
		}
		if seconds, err := strconv.ParseFloat(f[len(f)-1], 64); err == nil {
			at = time.UnixMicro(int64(seconds * 1e6))
		}
	}
	return at
}
