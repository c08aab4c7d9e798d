package test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scriptWords are what the perl scripts of these tests are written in. Perl
// leaves dispositions and masks as they were, which no Go program does.
//
//	say "x"        print a line, whole
//	spawn { ... }  run a block in a child, which then exits 0; returns its pid
//	forever        sleep
//	catch TERM     count and print a signal, "NAME got TERM"; $got{TERM} times so far
//	await TERM     sleep until it has come
//	ignore_all     ignore every signal that can be ignored
//	hold FD        wait for the end of file on a descriptor, whatever interrupts
const scriptWords = `
use strict; use POSIX ();
our ($name, %got) = ("worker");
sub say { syswrite STDOUT, "@_\n" }
sub spawn(&) {
	my ($block, $pid) = ($_[0], fork);
	die "cannot fork: $!" unless defined $pid;
	return $pid if $pid;
	$block->();
	POSIX::_exit(0);
}
sub nap { select undef, undef, undef, $_[0] }
sub forever { nap 0.05 while 1 }
sub catch { for my $s (@_) { $SIG{$s} = sub { $got{$s}++; say "$name got $s" } } }
sub await { nap 0.01 until $got{$_[0]} }
sub ignore_all { $SIG{$_} = "IGNORE" for grep { !/^(NUM|RT|KILL|STOP|CHLD|CLD|__)/ } keys %SIG, qw(HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP TTIN TTOU XCPU) }
sub hold { open my $f, "<&=$_[0]" or die "cannot hold: $!"; 1 until defined sysread $f, my $byte, 1 }
`

// script is the command line of a perl script; its arguments are in @ARGV.
func script(text string, args ...string) []string {
	return append([]string{"perl", "-e", scriptWords + text}, args...)
}

// line puts together a command line of drainit: flags, then the worker's.
func line(flags []string, command ...string) []string {
	return append(append(append([]string(nil), flags...), "--"), command...)
}

// waitingModes is bothModes for a test that mostly waits.
func waitingModes(t *testing.T, test func(t *testing.T, noPID1 bool)) {
	t.Helper()
	t.Parallel()
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		test(t, noPID1)
	})
}

// pipe is a pipe that the test holds the write end of: what reads from it can
// be released by closing that.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// wantCount checks how often a line is in the output, at the end of a test.
func (p *Init) wantCount(line string, want int) {
	p.t.Helper()
	got := 0
	for l := range strings.Lines(p.out()) {
		if strings.TrimSuffix(l, "\n") == line {
			got++
		}
	}
	if got != want {
		p.t.Errorf("%q came %d times, want %d\nstdout:\n%s\nstderr:\n%s", line, got, want, p.out(), p.err())
	}
}

// wantLogged checks how many lines of drainit's match, at the end of a test.
func (p *Init) wantLogged(pattern string, want int) {
	p.t.Helper()
	if got := len(regexp.MustCompile("(?m)"+pattern).FindAllString(p.err(), -1)); got != want {
		p.t.Errorf("%d lines match %q, want %d\nstderr:\n%s", got, pattern, want, p.err())
	}
}

// wantTook checks how long something took since a moment before it began. The
// lower bound is exact; a test that gives an upper one leaves room for a busy machine.
func wantTook(t *testing.T, since time.Time, atLeast, below time.Duration) {
	t.Helper()
	if took := time.Since(since); took < atLeast || took >= below {
		t.Errorf("took %v, want at least %v and less than %v", took, atLeast, below)
	}
}

// childrenOf returns the states of the children of a process, by pid, those
// included that are dead and have not been waited for.
func childrenOf(pid int) map[int]byte {
	all := make(map[int]byte)
	for _, child := range allPids() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil {
			continue
		}
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if string(f[1]) == strconv.Itoa(pid) {
			all[child] = f[0][0]
		}
	}
	return all
}

// zombiesOf counts the children that a process has not waited for yet.
func zombiesOf(pid int) int {
	n := 0
	for _, state := range childrenOf(pid) {
		if state == 'Z' {
			n++
		}
	}
	return n
}

// statusField is a number in /proc/PID/status, in kB where it is a size.
func statusField(t *testing.T, pid int, field string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		if name == field {
			n, err := strconv.Atoi(strings.Fields(value)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /proc/%d/status", field, pid)
	return 0
}

// openFiles counts the descriptors of a process.
func openFiles(t *testing.T, pid int) int {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
