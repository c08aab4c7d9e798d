package workers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// nodeWays are the starts of a Node application by the launchers of its world,
// and that of a Go application by its own.
var nodeWays = []way{
	{name: "`node app`", programs: []string{"node"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "node", "app.js")},
	{name: "`node app`, dies of its signal after the job", programs: []string{"node"}, status: 143,
		prepare: app(env{"STATUS": "raise"}, nil, "node", "app.js")},
	{name: "`exec npx tsx app` in a script", npm: true, programs: []string{"npx"}, begin: prefer,
		prepare: app(nil, files{"start.sh": "exec npx tsx app.ts\n"}, "bash", "start.sh")},
	{name: "`npx tsx app` in a script", npm: true, programs: []string{"npx"}, status: 7, begin: prefer,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "npx tsx app.ts\n"}, "bash", "start.sh")},
	{name: "`npm start`", npm: true, programs: []string{"npm"}, status: 7,
		prepare: app(env{"STATUS": "7"}, startScript("node app.js"), "npm", "start")},
	{name: "`npm start`, its script execs", npm: true, programs: []string{"npm"},
		prepare: app(nil, startScript("exec node app.js"), "npm", "start")},
	{name: "`yarn start`", npm: true, status: 1,
		prepare: app(nil, startScript("node app.js"), "yarn", "start")},
	{name: "`pnpm start`", npm: true, status: 143,
		prepare: app(nil, startScript("node app.js"), "pnpm", "start")},
	{name: "`concurrently`", npm: true, status: 1,
		prepare: app(nil, nil, "concurrently", "node app.js")},
	{name: "`go run`", programs: []string{"go"},
		prepare: goRun},

	{name: "INT alone handled, `TERM:INT`", programs: []string{"node"}, flags: intForTerm, dumbInit: []string{"-r", "15:2"},
		prepare: app(env{"CATCH": "SIGINT"}, nil, "node", "app.js")},
	{name: "INT alone handled, behind bash, `TERM:INT`", programs: []string{"node", "bash"}, flags: intForTerm, dumbInit: []string{"-r", "15:2"},
		prepare: app(env{"CATCH": "SIGINT"}, files{"start.sh": "node app.js\n"}, "bash", "start.sh")},
	{name: "INT alone handled, behind npm, `TERM:INT`", npm: true, programs: []string{"npm"}, flags: intForTerm, dumbInit: []string{"-r", "15:2"},
		prepare: app(env{"CATCH": "SIGINT"}, startScript("node app.js"), "npm", "start")},

	{name: "INT to `bash start.sh`", programs: []string{"node", "bash"}, signal: syscall.SIGINT,
		prepare: app(env{"CATCH": "SIGINT"}, files{"start.sh": "node app.js\n"}, "bash", "start.sh")},
	{name: "INT to `npm start`", npm: true, programs: []string{"npm"}, signal: syscall.SIGINT,
		prepare: app(env{"CATCH": "SIGINT"}, startScript("node app.js"), "npm", "start")},
	{name: "INT to `yarn start`", npm: true, signal: syscall.SIGINT, status: 1,
		prepare: app(env{"CATCH": "SIGINT"}, startScript("node app.js"), "yarn", "start")},
}

// intForTerm is for an application that has no handler of TERM.
var intForTerm = []string{"--rewrite", "TERM:INT"}

type (
	env   map[string]string // added to the environment
	files map[string]string // by name, in the scene's folder
)

// app prepares a start of testdata/matrix/app.js, which is there as TypeScript
// too, and files beside it.
func app(e env, f files, command ...string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		if s.plain {
			return s.plainApp(t, e, f, command)
		}
		s.bring(t, "app.js", "app.js")
		s.bring(t, "app.js", "app.ts")
		for name, text := range f {
			s.write(t, name, text)
		}
		for name, value := range e {
			s.env = append(s.env, name+"="+value)
		}
		// tsx has a socket in /tmp that is named by its pid, which others have too in
		// namespaces of their own.
		s.env = append(s.env, "TMPDIR="+s.dir)
		// No launcher here may ask the network for a newer one of its kind.
		s.env = append(s.env, "npm_config_offline=true", "npm_config_update_notifier=false", "COREPACK_ENABLE_NETWORK=0")
		return command
	}
}

// prefer lets a way's processes go before others, where root runs the tests: tsx kills
// an application that has not answered its signal within 60 ms, as happens on a busy
// machine.
func prefer(t *testing.T, s *scene) {
	t.Helper()
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") == 1 || !s.init.Running() })
	for _, pid := range s.init.Alive() {
		if os.Geteuid() != 0 {
			return
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, pid, -20); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
		// Where each session has a share of its own, that counts instead (sched(7)).
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte("-20"), 0)
	}
}

// tsx kills an application that computes when the signal comes, and node that loads tsx as a
// module does not.
func TestBusyAppIsKeptWithoutTsxAboveIt(t *testing.T) {
	harness.NeedNodePackages(t)
	for _, tt := range []struct {
		status  int
		command []string
	}{{143, []string{"tsx", "app.ts"}}, {0, []string{"node", "--import", "tsx", "app.ts"}}} {
		t.Run(strings.Join(tt.command, " "), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 0)
			command := app(nil, files{"app.ts": `
				import { existsSync } from "node:fs";
				process.on("SIGTERM", () => process.exit(0));
				setTimeout(() => {
					console.log("computes");
					while (!existsSync("end")) {}
				}, 100);
				setInterval(() => {}, 1000);`}, tt.command...)(t, s)
			p := harness.Run(t, harness.Launch{Args: harness.Line(nil, command...), Dir: s.dir, Env: s.env})
			p.WaitOut(`^computes`)
			p.Signal(syscall.SIGTERM)
			if tt.status == 0 {
				p.WaitErr(`what still runs after`)
				s.write(t, "end", "")
			}
			p.WantExit(tt.status)
		})
	}
}

// startScript is a package whose start script is this.
func startScript(command string) files {
	return files{"package.json": `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"start": "` + command + `"}}`}
}

// goRun prepares a start of testdata/matrix/app.go. Go's caches are those of
// the test: its home is another.
func goRun(t *testing.T, s *scene) []string {
	s.bring(t, "app.go", "app.go")
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"GOCACHE": filepath.Join(cache, "go-build"), "GOPATH": filepath.Join(home, "go")} {
		if os.Getenv(name) == "" {
			s.env = append(s.env, name+"="+value)
		}
	}
	s.env = append(s.env, "GOPROXY=off", "GOTOOLCHAIN=local")
	return []string{"go", "run", "app.go"}
}

// runtimeWays are the starts of programs in Java and PHP.
var runtimeWays = []way{javaWay, throughShell(javaWay), phpWay, throughShell(phpWay)}

// javaWay waits for its job in a shutdown hook. The Java runtime runs its hooks
// once, however often it is signalled, and then exits with 143.
var javaWay = way{
	name:     "`java Worker`",
	programs: []string{"java", "javac"},
	status:   143,
	prepare:  func(t *testing.T, _ *scene) []string { return harness.Java(t, "testdata/matrix/Worker.java") },
}

// phpWay has a handler by pcntl.
var phpWay = way{
	name:     "`php worker.php`",
	programs: []string{"php"},
	prepare: func(t *testing.T, _ *scene) []string {
		return []string{"php", testdata(t, "worker.php")}
	},
}
