package systems

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"drainit/test/harness"
)

// form is one start of a worker: the files that it takes, and the command. $WORK is the worker's command.
type form struct{ name, file, text, command string }

// The forms that each worker is started in; a runner comes beside them.
var forms = []form{
	{name: "exec", command: "$WORK"},
	{"sh", "start.sh", "echo starting\n$WORK\n", "sh start.sh"},
	{"trap", "trap.sh", "trap 'kill $pid' TERM\n$WORK &\npid=$!\nwait $pid\nwait $pid\n", "bash trap.sh"},
}

// runners start the worker by a tool of its language.
var runners = map[string]form{
	"":            {"make", "Makefile", "run:\n\t$WORK\n", "make run"},
	"npm start":   {"npm", "package.json", `{"scripts": {"start": "$WORK"}}`, "npm start"},
	"pnpm start":  {"pnpm", "package.json", `{"scripts": {"start": "$WORK"}}`, "pnpm start"},
	"bundle exec": {name: "bundle", command: "bundle exec $WORK"},
}

// scene is one trial, with a folder and a queue of its own.
type scene struct {
	trial
	dir     string
	command []string
	env     []string
	init    *harness.Init
	clients sync.WaitGroup // those that wait for an answer
	hung    int            // 1 if the init has not come to its end
}

var scenes atomic.Int64

// newScene makes the folder of a trial: the worker's working directory, and its home.
func (r trial) newScene(t *testing.T, address string) *scene {
	t.Helper()
	dir := harness.ShortDir(t)
	copied := os.CopyFS(dir, os.DirFS("testdata/shared"))
	if r.files != "" {
		copied = errors.Join(copied, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", r.files))))
	}
	linked := os.Symlink(harness.Repo("test/node/node_modules"), filepath.Join(dir, "node_modules"))
	harness.Must(t, errors.Join(copied, linked))
	s := &scene{trial: r, dir: dir, env: []string{
		"BROKER_URL=" + address, "PORT=" + address, // of a server
		fmt.Sprintf("QUEUE=queue%d", scenes.Add(1)),
		fmt.Sprintf("LIMIT=%.0f", r.limit.Seconds()),
		"RECORD=" + filepath.Join(dir, "record"),
		"HOME=" + dir, "TMPDIR=" + dir,
		// Debian's Python knows Debian's modules.
		"PATH=" + dir + "/node_modules/.bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1",
		"npm_config_offline=true", "npm_config_update_notifier=false",
	}}
	if r.goes != "" {
		s.env = append(s.env, "PROGRAM="+buildWorker(t, r.goes))
	}
	s.note("")
	// Servers that root starts write to it as another user.
	harness.Must(t, errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Join(dir, "record"), 0o666)))
	s.env = append(s.env, "WORK="+s.fill(r.work))
	if r.file != "" {
		harness.WriteFile(t, filepath.Join(dir, r.file), s.fill(r.text))
	}
	s.command = strings.Fields(s.fill(r.form.command))
	return s
}

// fill puts the scene's values into a text, whose other names with a $ are a shell's.
func (s *scene) fill(text string) string {
	var pairs []string
	for _, variable := range s.env {
		name, value, _ := strings.Cut(variable, "=")
		pairs = append(pairs, "$"+name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// note appends a text to the record.
func (s *scene) note(text string) {
	file, err := os.OpenFile(filepath.Join(s.dir, "record"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		panic(err)
	}
}

// recorded is the record so far.
func (s *scene) recorded(t *testing.T) string {
	t.Helper()
	return harness.TextOf(t, filepath.Join(s.dir, "record"))
}

// ask runs the system's client to its end and returns what it printed.
func (s *scene) ask(t *testing.T, words ...string) string {
	t.Helper()
	command := append(strings.Fields(s.fill(s.client)), words...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	return harness.OutputOf(t, cmd)
}

var building sync.Mutex

// buildWorker builds a program of a module here, such as workers/asynq, once.
func buildWorker(t *testing.T, program string) string {
	t.Helper()
	harness.Need(t, "go")
	bin := filepath.Join(filepath.Dir(harness.DrainitBin), program)
	building.Lock()
	defer building.Unlock()
	if _, err := os.Stat(bin); err != nil {
		module, name, _ := strings.Cut(program, "/")
		harness.Must(t, os.MkdirAll(filepath.Dir(bin), 0o755))
		// A first time takes minutes. go run keeps what it has linked, as go build does not.
		build := exec.Command("go", "run", "-C", module, "-exec", "cp", "./"+name, bin)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
	}
	return bin
}
