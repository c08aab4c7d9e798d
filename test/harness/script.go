package harness

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LeavesChild exits by itself with status 5, when standard input ends, and
// leaves a child that drains from TERM until descriptor 3 ends.
const LeavesChild = `
spawn { $name = "child"; catch "TERM", "HUP"; say "ready $$"; await "TERM"; hold 3; nap shift @ARGV; say "drained" };
hold 0; exit 5`

// Stubborn is a tree of three that ignores TERM, and where each has a session
// or a group of its own.
const Stubborn = `
$SIG{TERM} = "IGNORE";
spawn { setpgrp; spawn { POSIX::setsid(); say "ready"; forever }; forever };
forever`

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

// Script is the command line of a perl script; its arguments are in @ARGV.
func Script(text string, args ...string) []string {
	return append([]string{"perl", "-e", scriptWords + text}, args...)
}

// Line puts together a command line of drainit: flags, then the worker's.
func Line(flags []string, command ...string) []string {
	return append(append(append([]string(nil), flags...), "--"), command...)
}

// WantCount checks how often a line is in the output, at the end of a test.
func (p *Init) WantCount(line string, want int) {
	p.T.Helper()
	if got := strings.Count("\n"+strings.ReplaceAll(p.Out(), "\n", "\n\n"), "\n"+line+"\n"); got != want {
		p.T.Errorf("%q came %d times, want %d\n%s", line, got, want, p.printed())
	}
}

// WantLogged checks how many lines of drainit's match, at the end of a test.
func (p *Init) WantLogged(pattern string, want int) {
	p.T.Helper()
	if got := len(regexp.MustCompile("(?m)"+pattern).FindAllString(p.Err(), -1)); got != want {
		p.T.Errorf("%d lines match %q, want %d\nstderr:\n%s", got, pattern, want, p.Err())
	}
}

// LongGrace is more than the tests wait for anything: a drainit that sleeps
// its grace out is never seen to end.
const LongGrace = "--grace=10m"

// ManySleepers is a worker with children that sleep, so that a snapshot of them all is much
// work. It drains until descriptor 3 ends, and exits with 7.
const ManySleepers = `
spawn { POSIX::pause() while 1 } for 1 .. $ARGV[0];
catch "TERM", "USR1"; say "ready"; POSIX::pause() until $got{TERM}; hold 3; exit 7`

// HostileNames are what a process may call itself, at most 15 bytes, and how a
// line may show that. Each begins or ends a line, moves a cursor, colours a
// terminal, breaks a JSON string or turns the text around.
var HostileNames = map[string]string{
	"newline":       "\ndrainit: FORGE",
	"CR and escape": "\r\x1b[2J\x1b[31mX\a\b",
	"JSON":          `","level":"x",`,
	"not UTF-8":     "\xff\xfe\x80\xc3(\xe2\x28\xa1",
	"C1 controls":   "\u009b31m\u0085x",
	"right to left": "a\u202eb\u2028c\u200dd",
	"one rune cut":  "aaaaaaaaaaaa\xe2\x82\xac",
	"backslashes":   `a\nb\x1b\\`,
	"braces":        "a) S 1 (b\t\x7f[9]",
}

// Renamed is a worker that calls itself by the second argument, the first being
// the number of prctl(2): $0 = would overwrite the harness's marker. It handles
// TSTP and ignores TERM. With a file as the third one a child does, and the
// worker exits when the child has made the file.
const Renamed = `$| = 1; my ($prctl, $name, $leave) = map { /(.*)/s } @ARGV; # untainted
	if ($leave && fork) { select undef, undef, undef, 0.01 until -e $leave; exit 3 }
	$SIG{TERM} = "IGNORE"; $SIG{TSTP} = sub { print "quiet\n" }; $SIG{CONT} = sub { print "on\n" };
	my $set = 15; syscall($prctl + 0, $set, "$name\0", 0, 0, 0) == 0 or die $!;
	if ($leave) { open my $f, ">", $leave; close $f } else { print "ready\n" }
	sleep 1 while 1;`

// Prctl is the number of that system call, for perl's syscall.
var Prctl = strconv.Itoa(unix.SYS_PRCTL)

// KillLine is in each line that says what drainit kills or has killed.
const KillLine = `killing |[:;] killed `
