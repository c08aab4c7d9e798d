package harness

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// LeavesChild exits by itself with status 5, when standard input ends, and
// leaves a child that drains from TERM until descriptor 3 ends.
const LeavesChild = `
spawn {
	$name = "child"; catch "TERM", "HUP"; say "ready $$"; await "TERM"; hold 3; nap shift @ARGV; say "drained"
};
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
//	forever        sleep, in pieces: a handler of a signal that comes right before one waits for its end
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
sub catch_and {
	my ($s, $status) = @_;
	$SIG{$s} = sub { $got{$s}++; say "$name got $s"; exit $status if defined $status };
}
sub catch { catch_and($_) for @_ }
sub await { nap 0.01 until $got{$_[0]} }
sub ignore_all {
	my @some = qw(HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP TTIN TTOU XCPU);
	$SIG{$_} = "IGNORE" for grep { !/^(NUM|RT|KILL|STOP|CHLD|CLD|__)/ } keys %SIG, @some;
}
sub hold { open my $f, "<&=$_[0]" or die "cannot hold: $!"; 1 until defined sysread $f, my $byte, 1 }
`

// Script is the command line of a perl script; its arguments are in @ARGV.
func Script(text string, args ...string) []string {
	return append([]string{"perl", "-e", scriptWords + text}, args...)
}

// Words are those of a command line, in which WORKER and DRAINIT are the programs under test. As in a shell,
// single quotes hold a word together.
func Words(line string) (words []string) {
	programs := map[string]string{"WORKER": WorkerBin, "DRAINIT": DrainitBin}
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		for word := range strings.FieldsSeq(part) {
			words = append(words, cmp.Or(programs[word], word))
		}
	}
	return words
}

// Line puts together a command line of drainit: flags, then the worker's.
func Line(flags []string, command ...string) []string {
	return slices.Concat(flags, []string{"--"}, command)
}

// Tree is the command line of a worker with plain dispositions and masks, which no Go program
// has, and processes below it. It is described as
//
//	a[TERM=7](b c[TSTP,CONT](d))
//
// where each process has a name, in brackets what it does with signals, and in
// parentheses its children. Each prints "ready NAME PID" when it is, and
// "NAME got SIG" for each signal that it handles. In the brackets stand
//
//	SIG    catch it         SIG=7  and exit 7        -SIG   ignore it
//	pgrp   lead a process group, whose TSTP the kernel does not discard
//
// SEGV, BUS, ILL and FPE are not to be handled: perl handles those at once, in the
// middle of whatever it does, and may fault for good after the handler.
func Tree(tree string) []string { return Script(perlTree, tree) }

const perlTree = `
my $s = shift;
sub parse {
	$s =~ /\G\s*(\w+)(?:\[([^\]]*)\])?/gc or die "bad tree: $s";
	my %n = (name => $1, does => [split /,/, $2 // ""], below => []);
	if ($s =~ /\G\(/gc) { push @{$n{below}}, parse() until $s =~ /\G\s*\)/gc }
	return \%n;
}
sub run {
	my $n = shift;
	$name = $n->{name};
	$SIG{$_} = "DEFAULT" for grep { !/^(NUM|RT|KILL|STOP)/ } keys %SIG;
	my @does = @{$n->{does}};
	setpgrp(0, 0) if grep { $_ eq "pgrp" } @does;
	for my $below (@{$n->{below}}) { spawn { run($below) } }
	for (@does) {
		die "perl cannot catch $_ safely" if /^(SEGV|BUS|ILL|FPE)/;
		if (/^-(\w+)$/) { $SIG{$1} = "IGNORE" }
		elsif (/^([A-Z]\w+)(?:=(\d+))?$/) { catch_and($1, $2) }
	}
	say "ready $name $$";
	forever;
}
run(parse());
`

// StartTree starts drainit with a Tree and waits until the processes that
// ready names are ready. Before the tree stand drainit's flags.
func StartTree(t *testing.T, l Launch, tree, ready string) *Init {
	t.Helper()
	l.Args = Line(l.Args, Tree(tree)...)
	p := Run(t, l)
	for name := range strings.FieldsSeq(ready) {
		p.WaitOut(`^ready ` + name + ` `)
	}
	p.WaitTitle("drainit:run") // no signal is lost from then on
	return p
}

// LongGrace is more than the tests wait for anything: a drainit that sleeps
// its grace out is never seen to end.
const LongGrace = "--grace=10m"

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

// Renamed is the command line of a worker that calls itself by a name, by prctl(2): $0 = would
// overwrite the harness's marker. It handles TSTP and ignores TERM. With a file as the next
// argument a child does, and the worker exits when the child has made the file.
func Renamed(name string, args ...string) []string {
	return append([]string{"perl", "-e", renamed, strconv.Itoa(unix.SYS_PRCTL), name}, args...)
}

const renamed = `$| = 1; my ($prctl, $name, $leave) = map { /(.*)/s } @ARGV; # untainted
	if ($leave && fork) { select undef, undef, undef, 0.01 until -e $leave; exit 3 }
	$SIG{TERM} = "IGNORE"; $SIG{TSTP} = sub { print "quiet\n" }; $SIG{CONT} = sub { print "on\n" };
	my $set = 15; syscall($prctl + 0, $set, "$name\0", 0, 0, 0) == 0 or die $!;
	if ($leave) { open my $f, ">", $leave; close $f } else { print "ready\n" }
	sleep 1 while 1;`

// KillLine is in each line that says what drainit kills or has killed.
const KillLine = `killing |[:;] killed `
