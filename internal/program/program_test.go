package program

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// shown is what a snapshot shows of a program: what runs it, the name it bears, and
// its arguments, with blanks between them.
func shown(exe, comm, args string) proc.Process {
	return proc.Process{Comm: comm, Exe: exe, Args: strings.Fields(args)}
}

func TestKindOf(t *testing.T) {
	tests := []struct {
		name    string
		process proc.Process
		want    Kind
	}{
		{"sh -c", shown("dash", "sh", "sh -c app"), Shell},
		{"a script, whose name is its file's", shown("bash", "start.sh", "/bin/bash ./start.sh"), Shell},
		{"a login shell", shown("bash", "bash", "-bash"), Shell},
		{"a shell without arguments", shown("zsh", "zsh", ""), Shell},
		{"a shell that was set aside", shown("bash.old", "bash", "bash start.sh"), Shell},
		{"busybox by the name of sh", shown("busybox", "sh", "sh -c app"), Shell},
		{"busybox by a path", shown("busybox", "start.sh", "/bin/ash ./start.sh"), Shell},
		{"busybox as a login shell", shown("busybox", "sh", "-sh"), Shell},
		{"busybox that is given its name", shown("busybox", "busybox", "busybox sh -c app"), Shell},
		{"Alpine's static busybox", shown("busybox.static", "busybox.static", "/bin/busybox.static sh"), Shell},
		{"toybox", shown("toybox", "sh", "sh"), Shell},
		{"busybox as another program", shown("busybox", "httpd", "httpd -f"), Other},
		{"busybox as another program with a shell for an argument", shown("busybox", "nohup", "nohup sh"), Other},
		{"busybox alone", shown("busybox", "busybox", "busybox"), Other},
		{"busybox that shows no arguments", shown("busybox", "sh", ""), Other},
		{"a shell that /proc hides", shown("", "sh", ""), Shell},
		{"a login shell that /proc hides", shown("", "-bash", ""), Shell},
		{"a script whose shell /proc hides", shown("", "start.sh", ""), Other},
		{"a program that calls itself a shell", shown("node", "sh", "node sh"), Other},
		{"a program with a shell for an argument", shown("timeout", "timeout", "timeout 9 sh -c app"), Other},
		{"fish is not a shell of this kind", shown("fish", "fish", "fish"), Other},
		{"node", shown("node", "node", "node app.js"), Other},
		{"make", shown("make", "make", "make -s run"), Launcher},
		{"go-task", shown("task", "task", "task run"), Launcher},
		{"composer", shown("php8.2", "php", "/usr/bin/php /usr/bin/composer run-script app"), Launcher},
		{"a worker in PHP", shown("php8.2", "php", "php worker.php"), Other},
		{"npm", shown("node", "npm start", "npm start"), Launcher},
		{"what is nothing at all", proc.Process{}, Other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Of(&tt.process); got != tt.want {
				t.Errorf("%+v is a %v, want a %v", tt.process, got, tt.want)
			}
		})
	}
}

func TestLauncherName(t *testing.T) {
	tests := []struct {
		name    string
		process proc.Process
		want    string
	}{
		{"npm's title", shown("node", "npm start", "npm start"), "npm"},
		{"npm exec, which npx is", shown("node", "npm exec tsx ap", "npm exec tsx app.ts"), "npm"},
		{"npm before it has its title", shown("node", "node", "node /usr/local/bin/npm start"), "npm"},
		{"npm by its file", shown("node", "node", "node /usr/lib/node_modules/npm/bin/npm-cli.js start"), "npm"},
		{"npx by its file", shown("node", "MainThread", "/usr/bin/node /usr/lib/node_modules/npm/bin/npx-cli.js app"), "npx"},
		{"yarn 1", shown("node", "node", "node /opt/yarn/bin/yarn.js start"), "yarn"},
		{"yarn 4", shown("node", "node", "node /app/.yarn/releases/yarn-4.5.0.cjs start"), "yarn"},
		{"yarn 2", shown("node", "node", "node /app/.yarn/releases/yarn-berry.cjs start"), "yarn"},
		{"yarn by Debian's name", shown("node", "node", "node /usr/bin/yarnpkg start"), "yarnpkg"},
		{"pnpm", shown("node", "node", "node /usr/bin/pnpm.cjs start"), "pnpm"},
		{"pnpx", shown("node", "node", "node /usr/bin/pnpx app"), "pnpx"},
		{"behind flags of node", shown("node", "node", "node --no-warnings --max-old-space-size=64 /usr/bin/npm start"), "npm"},
		{"by Debian's old name of node", shown("nodejs", "node", "nodejs /usr/bin/npm start"), "npm"},
		{"by bun", shown("bun", "node", "bun /usr/bin/npm start"), "npm"},
		{"that /proc hides", shown("", "npm start", ""), "npm"},
		{"go run", shown("go", "go", "go run ."), "go run"},
		{"another verb of go", shown("go", "go", "go test run"), ""},
		{"go alone", shown("go", "go", "go"), ""},
		{"an application", shown("node", "node", "node app.js npm"), ""},
		{"an application with a launcher's name in its own", shown("node", "node", "node npm-proxy.js"), ""},
		{"an application in a launcher's folder", shown("node", "node", "node /srv/npm/server.js"), ""},
		{"an application with a title of its own", shown("node", "npmirror web", "npmirror web"), ""},
		{"node alone", shown("node", "node", "node"), ""},
		{"node with flags alone", shown("node", "node", "node --version"), ""},
		{"another program with a launcher for an argument", shown("timeout", "timeout", "timeout 9 npm start"), ""},
		{"a shell script of a launcher's name", shown("bash", "npm", "/bin/bash /usr/local/bin/npm start"), ""},
		{"what is nothing at all", proc.Process{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := LauncherName(&tt.process); got != tt.want {
				t.Errorf("%+v is %q, want %q", tt.process, got, tt.want)
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
			if got := Of(&s); got == Shell || got == Launcher && !strings.Contains(strings.Join(args, " "), "npm") {
				t.Errorf("%q of %q is a %v", args, exe, got)
			}
		}
	}
}

// The youngest child, and those that write to what it reads, wherever those stand.
func TestWhatAShellHasInItsForeground(t *testing.T) {
	for name, tt := range map[string]struct {
		starts  []uint64 // of the children 11, 12, …
		writers map[int]int
		want    []int
	}{
		"none":                     {nil, nil, nil},
		"the youngest":             {[]uint64{100, 101}, nil, []int{12}},
		"of one tick":              {[]uint64{100, 100}, nil, []int{12}},
		"with a lower pid":         {[]uint64{200, 101}, nil, []int{11}},
		"a pipeline":               {[]uint64{99, 100, 100, 100}, map[int]int{13: 12, 14: 13}, []int{14, 13, 12}},
		"what another writes":      {[]uint64{99, 100}, map[int]int{12: 99}, []int{12}},
		"a pipe in the background": {[]uint64{98, 99, 100}, map[int]int{12: 11}, []int{13}},
	} {
		all := []proc.Process{{ID: proc.ID{PID: 10}, PPID: 1, State: 'S'}}
		for i, start := range tt.starts {
			all = append(all, proc.Process{ID: proc.ID{PID: 11 + i, Start: start}, PPID: 10, State: 'S', Reads: proc.File{Inode: uint64(11 + i)}})
		}
		s := proc.New(all)
		for reader, writer := range tt.writers {
			s.AddWriter(proc.File{Inode: uint64(reader)}, writer)
		}
		var got []int
		for _, p := range Foreground(s, s.Children(10)) {
			got = append(got, p.PID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// What can't be known may be so: the program, the call, or what its number means.
func TestWhetherAShellWaits(t *testing.T) {
	in := func(call int) proc.Call { return proc.Call{Sleeps: true, Number: call, Stack: 7} }
	for exe, by := range map[string]map[proc.Call]Waiting{
		"dash":           {in(unix.SYS_WAIT4): Waits, in(unix.SYS_RT_SIGSUSPEND): NotWaiting, in(unix.SYS_READ): NotWaiting},
		"busybox.static": {in(unix.SYS_WAIT4): Waits, in(unix.SYS_RT_SIGSUSPEND): NotWaiting},
		"bash":           {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_READ): NotWaiting, in(unix.SYS_PSELECT6): NotWaiting},
		"mksh":           {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_RT_SIGSUSPEND): MayWait},
		"":               {in(unix.SYS_WAIT4): MayWait, in(unix.SYS_READ): MayWait},
	} {
		by[in(-1)], by[in(9999)], by[proc.Call{}] = MayWait, MayWait, NotWaiting
		for call, want := range by {
			if got := WaitingOf(&proc.Process{Exe: exe, Call: call}); got != want {
				t.Errorf("%q in %+v: %v, want %v", exe, call, got, want)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	// 1 - 2 - 3 - 4
	//   |   \ 5 - 6
	//   \ 7
	var all []proc.Process
	for pid, ppid := range map[int]int{1: 0, 2: 1, 3: 2, 4: 3, 5: 2, 6: 5, 7: 1} {
		all = append(all, proc.Process{ID: proc.ID{PID: pid}, PPID: ppid, State: 'S'})
	}
	family := proc.New(all)
	for _, tt := range []struct {
		name    string
		root    int
		handles []int
		want    []int
	}{
		{"root alone if it handles it", 2, []int{2, 3, 4, 6}, []int{2}},
		{"nothing below one that handles it", 2, []int{3, 4}, []int{3}},
		{"one on each way", 2, []int{3, 6}, []int{3, 6}},
		{"the lowest on a way if it is the first", 2, []int{4, 6}, []int{4, 6}},
		{"none beside root", 2, []int{1, 7}, nil},
		{"no root", 99, []int{3}, nil},
	} {
		var got []int
		for _, p := range Nearest(family, tt.root, func(p proc.Process) bool { return slices.Contains(tt.handles, p.PID) }) {
			got = append(got, p.PID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Masks as the kernel shows them for programs without a handler of their own, but for TERM: of Go 1.26, OpenJDK 17, PHP
// 8.2, Python with faulthandler, nginx and Ruby.
func TestHandlersThatMayBeTheRuntimes(t *testing.T) {
	for exe, tt := range map[string]struct {
		handled signals.Set
		want    []unix.Signal
	}{
		"app":     {0xfffffffd7fc1feff, []unix.Signal{unix.SIGQUIT, unix.SIGPWR, 37}},
		"java":    {0x2000000101005ccf, []unix.Signal{unix.SIGQUIT}},
		"php8.2":  {0x0000000004004a07, []unix.Signal{unix.SIGQUIT, unix.SIGINT}},
		"php-fpm": {0x0000000004004a07, nil},
		"python3": {0x00000000000044ee, nil}, // with a handler of QUIT
		"nginx":   {0x0000000018016a07, nil},
		"ruby":    {0x0000000042017e4f, nil},
	} {
		p := proc.Process{Exe: exe, Handled: tt.handled}
		var got []unix.Signal
		for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGQUIT, unix.SIGINT, unix.SIGUSR1, unix.SIGPWR, 37} {
			if MayBeRuntimes(&p, sig) {
				got = append(got, sig)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", exe, got, tt.want)
		}
	}
}
