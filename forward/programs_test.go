package forward

import (
	"strings"
	"testing"

	"drainit/internal/proc"
)

// program is what a snapshot shows of a program: what runs it, the name it bears, and
// its arguments, with blanks between them.
func program(exe, comm, args string) proc.Process {
	return proc.Process{Comm: comm, Exe: exe, Args: strings.Fields(args)}
}

func TestProgramOf(t *testing.T) {
	tests := []struct {
		name  string
		shown proc.Process
		want  Program
	}{
		{"sh -c", program("dash", "sh", "sh -c app"), Shell},
		{"a script, whose name is its file's", program("bash", "start.sh", "/bin/bash ./start.sh"), Shell},
		{"a login shell", program("bash", "bash", "-bash"), Shell},
		{"a shell without arguments", program("zsh", "zsh", ""), Shell},
		{"a shell that was set aside", program("bash.old", "bash", "bash start.sh"), Shell},
		{"busybox by the name of sh", program("busybox", "sh", "sh -c app"), Shell},
		{"busybox by a path", program("busybox", "start.sh", "/bin/ash ./start.sh"), Shell},
		{"busybox as a login shell", program("busybox", "sh", "-sh"), Shell},
		{"busybox that is given its name", program("busybox", "busybox", "busybox sh -c app"), Shell},
		{"Alpine's static busybox", program("busybox.static", "busybox.static", "/bin/busybox.static sh"), Shell},
		{"toybox", program("toybox", "sh", "sh"), Shell},
		{"busybox as another program", program("busybox", "httpd", "httpd -f"), Other},
		{"busybox as another program with a shell for an argument", program("busybox", "nohup", "nohup sh"), Other},
		{"busybox alone", program("busybox", "busybox", "busybox"), Other},
		{"busybox that shows no arguments", program("busybox", "sh", ""), Other},
		{"a shell that /proc hides", program("", "sh", ""), Shell},
		{"a login shell that /proc hides", program("", "-bash", ""), Shell},
		{"a script whose shell /proc hides", program("", "start.sh", ""), Other},
		{"a program that calls itself a shell", program("node", "sh", "node sh"), Other},
		{"a program with a shell for an argument", program("timeout", "timeout", "timeout 9 sh -c app"), Other},
		{"fish is not a shell of this kind", program("fish", "fish", "fish"), Other},
		{"node", program("node", "node", "node app.js"), Other},
		{"npm", program("node", "npm start", "npm start"), Launcher},
		{"what is nothing at all", proc.Process{}, Other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ProgramOf(&tt.shown); got != tt.want {
				t.Errorf("%+v is a %v, want a %v", tt.shown, got, tt.want)
			}
		})
	}
}

func TestLauncherName(t *testing.T) {
	tests := []struct {
		name  string
		shown proc.Process
		want  string
	}{
		{"npm's title", program("node", "npm start", "npm start"), "npm"},
		{"npm exec, which npx is", program("node", "npm exec tsx ap", "npm exec tsx app.ts"), "npm"},
		{"npm before it has its title", program("node", "node", "node /usr/local/bin/npm start"), "npm"},
		{"npm by its file", program("node", "node", "node /usr/lib/node_modules/npm/bin/npm-cli.js start"), "npm"},
		{"npx by its file", program("node", "MainThread", "/usr/bin/node /usr/lib/node_modules/npm/bin/npx-cli.js app"), "npx"},
		{"yarn 1", program("node", "node", "node /opt/yarn/bin/yarn.js start"), "yarn"},
		{"yarn 4", program("node", "node", "node /app/.yarn/releases/yarn-4.5.0.cjs start"), "yarn"},
		{"yarn 2", program("node", "node", "node /app/.yarn/releases/yarn-berry.cjs start"), "yarn"},
		{"yarn by Debian's name", program("node", "node", "node /usr/bin/yarnpkg start"), "yarnpkg"},
		{"pnpm", program("node", "node", "node /usr/bin/pnpm.cjs start"), "pnpm"},
		{"pnpx", program("node", "node", "node /usr/bin/pnpx app"), "pnpx"},
		{"behind flags of node", program("node", "node", "node --no-warnings --max-old-space-size=64 /usr/bin/npm start"), "npm"},
		{"by Debian's old name of node", program("nodejs", "node", "nodejs /usr/bin/npm start"), "npm"},
		{"by bun", program("bun", "node", "bun /usr/bin/npm start"), "npm"},
		{"that /proc hides", program("", "npm start", ""), "npm"},
		{"go run", program("go", "go", "go run ."), "go run"},
		{"another verb of go", program("go", "go", "go test run"), ""},
		{"go alone", program("go", "go", "go"), ""},
		{"an application", program("node", "node", "node app.js npm"), ""},
		{"an application with a launcher's name in its own", program("node", "node", "node npm-proxy.js"), ""},
		{"an application in a launcher's folder", program("node", "node", "node /srv/npm/server.js"), ""},
		{"an application with a title of its own", program("node", "npmirror web", "npmirror web"), ""},
		{"node alone", program("node", "node", "node"), ""},
		{"node with flags alone", program("node", "node", "node --version"), ""},
		{"another program with a launcher for an argument", program("timeout", "timeout", "timeout 9 npm start"), ""},
		{"a shell script of a launcher's name", program("bash", "npm", "/bin/bash /usr/local/bin/npm start"), ""},
		{"what is nothing at all", proc.Process{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := LauncherName(&tt.shown); got != tt.want {
				t.Errorf("%+v is %q, want %q", tt.shown, got, tt.want)
			}
		})
	}
}

// A title may be written over the arguments, blanks and all, and an argument may
// be empty or hold anything.
func TestProgramsWithOddArguments(t *testing.T) {
	for _, args := range [][]string{{""}, {"", ""}, {"-"}, {"--"}, {"/"}, {"\n"}, {"npm start"}, {"node", ""}, {".npm"}, {"npm."}, {"\xff", "-npm"}} {
		for _, exe := range []string{"node", "busybox", "go", "", "."} {
			s := proc.Process{Exe: exe, Args: args}
			if got := ProgramOf(&s); got == Shell || got == Launcher && !strings.Contains(strings.Join(args, " "), "npm") {
				t.Errorf("%q of %q is a %v", args, exe, got)
			}
		}
	}
}

// A snapshot may not show the arguments, and a launcher takes its title some time after its
// start. What a process is, is asked again when it shows more.
func TestAProgramIsKnownWhenItShows(t *testing.T) {
	node := kindly("node", 11, 10)
	node.Args = nil
	titled, whole := node, node
	titled.Comm, whole.Args = "npm start", []string{"node", "/usr/bin/npm", "start"}
	for name, shown := range map[string]proc.Process{"its title": titled, "its arguments": whole} {
		l := stopping(t, kindly("app", 10, 1), node)
		if got := l.living[11].program; got != Other {
			t.Errorf("before it shows %s it is %v", name, got)
		}
		orphans(l, kindly("app", 10, 1), shown)
		if got := l.living[11].program; got != Launcher {
			t.Errorf("when it shows %s it is %v", name, got)
		}
		orphans(l, kindly("app", 10, 1), node)
		if got := l.living[11]; name == "its arguments" && (got.program != Launcher || len(got.Args) == 0) {
			t.Errorf("when it no longer shows %s it is %v, %q", name, got.program, got.Args)
		}
	}
}
