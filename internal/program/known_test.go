package program

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// What a program signals is known by its executable, and by the script that a runtime runs, and by no name alone.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		exe, comm, args string
		term, int       Reach
	}{
		{"node", "npm start", "npm start", OwnChild, OwnChild},
		{"node", "node", "node /usr/bin/npx -c app", OwnChild, OwnChild},
		{"node", "node", "node /opt/yarn/bin/yarn.js start", Children, NoProcess},
		{"node", "node", "node /usr/bin/pnpm.cjs start", Children, Children},
		{"pnpm", "pnpm", "pnpm start", Group, Group},
		{"php8.2", "composer", "/usr/bin/php /usr/bin/composer run-script app", NoProcess, NoProcess},
		{"make", "make", "make run", Children, NoProcess},
		{"just", "just", "just run", Children, NoProcess},
		{"go", "go", "go run .", NoProcess, NoProcess},
		{"go", "go", "go test .", Unknown, Unknown},
		{"go", "go", "go", Unknown, Unknown},
		{"ruby3.1", "foreman", "foreman: master", Children, Children},
		{"python3.11", "supervisord", "/usr/bin/python3 /usr/bin/supervisord -c x", Group, Group},
		{"runsvdir", "runsvdir", "runsvdir services", NoProcess, NoProcess},
		{"timeout", "timeout", "timeout 300 app --foreground", Group, Group},
		{"timeout", "timeout", "timeout -v --foreground 300 app", OwnChild, OwnChild},
		{"timeout", "timeout", "", Group, Group},

		{"node", "node", "node /app/node_modules/.bin/run-p a b", NoProcess, NoProcess},
		{"node", "node", "node /app/node_modules/.bin/cross-env A=1 app", OwnChild, OwnChild},
		{"node", "node", "node /app/node_modules/.bin/lerna exec -- app", Children, Children},
		{"node", "node", "node /app/node_modules/.bin/lerna run exec", Tree, Tree},
		{"dumb-init", "dumb-init", "dumb-init -v -c app", OwnChild, OwnChild},
		{"dumb-init", "dumb-init", "dumb-init app -c", Group, Group},
		{"node", "node", "node /app/node_modules/.bin/pm2 start app.js", NoProcess, NoProcess},
		{"node", "node", "node /app/node_modules/.bin/pm2 logs", Unknown, Unknown},
		{"node", "PM2 v7.0.4: God", "PM2 v7.0.4: God Daemon (/root/.pm2)", Unknown, Unknown},
		{"node", "node", "node run.js", Unknown, Unknown},
		{"runuser", "runuser", "runuser -u nobody -- sh -c app", OwnChild, OwnChild},
		{"runuser", "runuser", "runuser --pty -u nobody -- app", Group, Group},
		{"perl", "parallel", "/usr/bin/perl /usr/bin/parallel app", Group, Group},

		{"bash", "npm", "/bin/bash /usr/local/bin/npm start", Unknown, Unknown},
		{"perl", "make", "perl make", Unknown, Unknown},
		{"node", "node", "node make", Unknown, Unknown},
		{"node", "node", "node npm-proxy.js", Unknown, Unknown},
		{"python3.11", "npm", "python3 npm", Unknown, Unknown},
		{"runsvdir-start", "runsvdir-start", "runsvdir-start", Unknown, Unknown},
		{"", "npm start", "npm start", Unknown, Unknown},
		{"", "runsvdir", "runsvdir services", Unknown, Unknown},
		{"", "", "", Unknown, Unknown},
	} {
		hup := Unknown
		if tt.exe == "runsvdir" {
			hup = Children
		}
		p := proc.Process{Exe: tt.exe, Comm: tt.comm, Args: strings.Fields(tt.args)}
		for sig, want := range map[unix.Signal]Reach{unix.SIGTERM: tt.term, unix.SIGINT: tt.int, unix.SIGHUP: hup} {
			if got := Signals(&p, sig); got != want {
				t.Errorf("%s: %s by %q at %v: %v, want %v", tt.comm, tt.args, tt.exe, sig, got, want)
			}
		}
		if c := commandOf(&p); tt.exe != "" && (tt.term == Unknown) != (c == command{}) {
			t.Errorf("%s is %+v", tt.args, c)
		}
	}
	for r, want := range map[Reach]bool{Unknown: false, NoProcess: true, OwnChild: true, Children: true, Group: false, Tree: false} {
		if got := r.OnlyChildren(); got != want {
			t.Errorf("%v signals its children alone: %t", r, got)
		}
	}
}
