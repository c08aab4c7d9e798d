package workers

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// foundLaunchers are programs that handle the signal, or one of several, and tell nobody.
var foundLaunchers = []way{
	{name: "`composer run-script app`: `node app`", programs: []string{"php", "composer"}, tells: 2,
		prepare: app(once, composerFile, "composer", "--no-interaction", "run-script", "app")},
	{name: "INT to `composer run-script app`: `node app`", programs: []string{"php", "composer"}, tells: 2, signal: syscall.SIGINT,
		prepare: app(once, composerFile, "composer", "--no-interaction", "run-script", "app")},
	{name: "go-task, which tells nobody: `task run`", programs: []string{"perl"}, status: 7, tells: 2,
		prepare: func(t *testing.T, s *scene) []string {
			b, err := os.ReadFile(harness.PathOf(t, "perl"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.dir, "task"), b, 0o755); err != nil {
				t.Fatal(err)
			}
			return app(onceThen7, files{"run.pl": tellsNobody}, "./task", "run.pl")(t, s)
		}},
	{name: "bash: `node app | sort > out`", programs: []string{"bash", "sort"}, tells: 2,
		prepare: app(chatty, files{"start.sh": "node app.js | sort > out\n"}, "bash", "start.sh"), kept: sorted},
	{name: "bash: `trap cleanup TERM; node app | sort > out`", programs: []string{"bash", "sort"}, late: true,
		prepare: app(chatty, files{"start.sh": trapAndWait + "node app.js | sort > out\n"}, "bash", "start.sh"), kept: sorted},
	{name: "`exec node app > >(sort > out)`", programs: []string{"bash", "sort"},
		prepare: app(chatty, nil, "bash", "-c", "exec node app.js > >(sort > out)"), kept: sorted},
	{name: "`setsid -f perl daemon; node app & node app & wait`", programs: []string{"sh", "setsid", "perl"}, workers: 3, inTurn: true, tells: 4, status: 143,
		prepare: app(once, files{"daemon.pl": daemon}, "sh", "-c", "setsid -f perl daemon.pl; node app.js & node app.js & wait"), kept: daemonLast},
}

var composerFile = files{"composer.json": `{"scripts": {"app": "node app.js"}}`}

// sorted reports whether what reads the application's lines wrote them all.
func sorted(_ *testing.T, s *scene) bool {
	b, err := os.ReadFile(filepath.Join(s.dir, "out"))
	return err == nil && strings.HasPrefix(string(b), "working\n")
}
