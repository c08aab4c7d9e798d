package workers

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// managerWays are the starts by what manages several programs, or runs the scripts of
// several packages: on the signal some leave at once, some tell the groups of their
// children, and some tell a shell alone. supervisord looks each second whether all are gone.
var managerWays = []way{
	{name: "`supervisord`, one program behind `sh -c`", programs: []string{"node", "supervisord", "sh"}, workers: 2, leaves: 1500 * time.Millisecond,
		prepare: supervisord("", "node app.js", behindShell)},
	{name: "`supervisord` with `stopasgroup`, behind `sh -c`", programs: []string{"node", "supervisord", "sh"}, tells: 1, leaves: 1500 * time.Millisecond,
		prepare: supervisord("stopasgroup=true", behindShell)},
	{name: "`runsvdir`", programs: []string{"node", "runsvdir"}, workers: 2,
		prepare: app(nil, runitServices, "runsvdir", "services")},
	{name: "`runsvdir`, `--stop-signal HUP`", programs: []string{"node", "runsvdir"}, workers: 2, status: 111,
		signal: syscall.SIGHUP, flags: []string{"--stop-signal", "HUP"},
		prepare: app(nil, runitServices, "runsvdir", "services")},
	// By itself nx tells each process of its tasks once, twice or more often: it walks the
	// tree, and so does each nx in that tree.
	{name: "`nx start app`", npm: true, status: 130, uncounted: true, tells: 1,
		prepare: nx(app(nil, nxPackage, "nx", "start", "app"))},
	{name: "`lerna run start`", npm: true, status: 130, uncounted: true, tells: 1,
		prepare: nx(app(nil, lernaPackages, "lerna", "run", "start", "--stream"))},
	{name: "`lerna run start`, `useNx: false`", npm: true, status: 143,
		prepare: nx(app(nil, lernaWithoutNx, "lerna", "run", "start", "--stream"))},
	{name: "`lerna exec -- node app`", npm: true, status: 143,
		prepare: nx(app(nil, lernaPackages, "lerna", "exec", "--stream", "--", "node", "../../app.js"))},
}

const behindShell = `sh -c "node app.js; exit $?"`

// supervisord prepares a start of these programs, for which it waits as long as it takes. It
// stops the last one first, and the one before when that has gone.
func supervisord(setting string, commands ...string) func(*testing.T, *scene) []string {
	var conf strings.Builder
	conf.WriteString("[supervisord]\nnodaemon=true\nlogfile=/dev/null\nlogfile_maxbytes=0\n")
	for i, command := range commands {
		fmt.Fprintf(&conf, "[program:app%d]\ncommand=%s\nstopwaitsecs=60\n%s\n", i, command, setting)
	}
	return debian(app(nil, files{"supervisord.conf": conf.String()}, "supervisord", "-c", "supervisord.conf"))
}

// debian prepares a start with Debian's own programs.
func debian(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		command := prepare(t, s)
		s.env = append(s.env, debianPath)
		return command
	}
}

// runitServices are two services of runit's, one of them behind a shell.
var runitServices = files{
	"services/direct/run": "#!/bin/sh\ncd ../..\nexec node app.js\n",
	"services/behind/run": "#!/bin/sh\ncd ../..\nnode app.js\nexit $?\n",
}

var nxPackage = files{
	"package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "node app.js"}, "nx": {}}`,
	"nx.json":      `{"analytics": false}`,
}

var (
	lernaPackages  = lerna(`{"version": "1.0.0", "packages": ["packages/*"]}`)
	lernaWithoutNx = lerna(`{"version": "1.0.0", "packages": ["packages/*"], "useNx": false}`)
)

// lerna is a package below another, with these settings of lerna's.
func lerna(settings string) files {
	return files{
		"package.json":              `{"name": "root", "version": "1.0.0", "private": true, "workspaces": ["packages/*"]}`,
		"lerna.json":                settings,
		"nx.json":                   `{"analytics": false}`,
		"packages/app/package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "node ../../app.js"}}`,
	}
}

// nx prepares a start by nx, which lerna runs too: all of it in the scene's folder, without
// a daemon and without asking the network.
func nx(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		s.env = append(s.env, "NX_DAEMON=false", "NX_TUI=false", "NX_NO_CLOUD=true", "NX_ISOLATE_PLUGINS=false",
			"NX_SOCKET_DIR="+s.dir, "NX_CACHE_DIRECTORY="+s.dir, "NX_WORKSPACE_DATA_DIRECTORY="+s.dir)
		return prepare(t, s)
	}
}

// pm2Ways are the starts through PM2, which tells its applications INT, and
// whose daemon is one of a session of its own.
var pm2Ways = []way{
	{name: "`pm2-runtime start`", npm: true,
		prepare: pm2(nil, "pm2-runtime", "start", "app.js")},
	{name: "`pm2-runtime start -i 2`", npm: true, workers: 2,
		prepare: pm2(nil, "pm2-runtime", "start", "app.js", "-i", "2")},
	{name: "`npx pm2-runtime start`", npm: true, programs: []string{"npx"},
		prepare: pm2(nil, "npx", "pm2-runtime", "start", "app.js")},
	{name: "`exec pm2 start` in a script, `--forking`", npm: true, flags: []string{"--forking"},
		prepare: pm2(files{"start.sh": "exec pm2 start app.js\n"}, "bash", "start.sh")},
	{name: "`pm2 start` and a loop with a trap", npm: true, programs: []string{"pgrep"}, workers: 2, status: 143,
		prepare: pm2(files{"start.sh": bootLoop}, "bash", "start.sh")},
	{name: "INT to `pm2 start` and a loop with a trap", npm: true, programs: []string{"pgrep"}, workers: 2, status: 143, signal: syscall.SIGINT,
		prepare: pm2(files{"start.sh": bootLoop}, "bash", "start.sh")},
}

const bootLoop = `
pm2 start app.js -i 2
forward_signal() {
	kill -INT $(pgrep PM2)
	exit 0
}
trap forward_signal SIGINT
while true; do
	sleep 1
done
`

// patientPM2 has PM2 give an application more time than its own 1.6 s.
var patientPM2 = env{"PM2_KILL_TIMEOUT": "20000"}

// pm2 prepares a start through a PM2 that is patient.
func pm2(f files, command ...string) func(*testing.T, *scene) []string {
	return hastyPM2(patientPM2, f, command...)
}

// hastyPM2 prepares a start through a PM2 that does not ask for a newer one.
func hastyPM2(e env, f files, command ...string) func(*testing.T, *scene) []string {
	e = maps.Clone(e)
	if e == nil {
		e = env{}
	}
	e["PM2_DISABLE_VERSION_CHECK"] = "true"
	return app(e, f, command...)
}

// PM2 kills what has not ended 1.6 s after its INT, unless it is set to wait:
// that is its own doing, with drainit above it and without.
func TestPM2KillsEarlyByItself(t *testing.T) {
	t.Parallel()
	w := way{npm: true, prepare: hastyPM2(nil, nil, "pm2-runtime", "start", "app.js")}
	w.wantBeside(t, 8*time.Second, 1, 0)
}

// PM2 tells each process of an application's tree, and tsx passes on what it is
// signalled unless it hears that its application has it already, which it does where
// it is signalled first. With drainit above them and without, the application is signalled
// twice where it is not.
func TestPM2TellsTwiceThroughTsx(t *testing.T) {
	t.Parallel()
	w := way{npm: true, tells: 1, begin: holdTsx, prepare: pm2(nil, "pm2-runtime", "start", "app.ts", "--interpreter", "tsx")}
	w.wantBeside(t, 3*time.Second, 2, 1)
}

// holdTsx keeps tsx from running until the application has been signalled, as a busy
// machine might.
func holdTsx(t *testing.T, s *scene) {
	t.Helper()
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 })
	pids := s.init.Alive()
	i := slices.IndexFunc(pids, func(pid int) bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(b), "\x00")
		return len(args) > 1 && filepath.Base(args[1]) == "tsx"
	})
	if i < 0 {
		t.Fatal("no tsx runs")
	}
	tsx := pids[i]
	harness.Freeze(t, tsx)
	go func() {
		for s.count("signalled") == 0 && s.init.Running() {
			time.Sleep(2 * time.Millisecond)
		}
		_ = syscall.Kill(tsx, syscall.SIGCONT) // it may have gone with the init
	}()
}

// wantBeside runs a way under drainit and with its command itself as PID 1: either way it
// is signalled so often, and does so many of its jobs, of which there is one.
func (w way) wantBeside(t *testing.T, job time.Duration, signalled, done int) {
	t.Helper()
	w.need(t)
	for _, under := range []string{"drainit", "nothing"} {
		t.Run("under "+under, func(t *testing.T) {
			t.Parallel()
			if o := w.runUnder(t, under, job); o.signalled != signalled || o.done != done || o.hangs {
				t.Errorf("want signalled %d and %d jobs done, got %+v", signalled, done, o)
			}
		})
	}
}

// runUnder runs a way under drainit, or with its command itself as PID 1.
func (w way) runUnder(t *testing.T, under string, job time.Duration) outcome {
	t.Helper()
	return inHand(t, func(times time.Duration) outcome {
		s := newScene(t, times*job)
		bin, flags := "/usr/bin/env", []string(nil)
		if under == "drainit" {
			bin, flags = harness.DrainitBin, []string{"-v", "--grace", (times * 30 * time.Second).String()}
		}
		o := w.run(t, s, bin, flags)
		if under == "drainit" && !o.over {
			wantSignalledOnce(t, s.init.Stderr.Text(), w.tells)
		}
		t.Logf("record:\n%s\nstderr:\n%s", s.lines(), s.init.Stderr.Text())
		return o
	})
}
