package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// handling is a worker with sleepers below it, as many as its argument says. It sends a byte when all is
// set, and when USR1 or TERM has come to its handler. It sleeps in sigsuspend, so that no signal slips in
// between look and sleep.
var handling = []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $pipe, ">&=", 3) or die;
	my $both = POSIX::SigSet->new(SIGUSR1, SIGTERM);
	sigprocmask(SIG_BLOCK, $both);
	for (1 .. $ARGV[0]) {
		my $pid = fork // die "fork: $!";
		if (!$pid) { sigprocmask(SIG_UNBLOCK, $both); POSIX::pause() while 1 }
	}
	$SIG{USR1} = $SIG{TERM} = sub { syswrite $pipe, "x" };
	syswrite $pipe, "x";
	sigsuspend(POSIX::SigSet->new) while 1;`}

// measureRunning starts all inits with a worker, looks at them while there is
// nothing to do, and sends signals: to one init after the other, each when the worker
// of the one before has answered. In each part of the run there are new ones, for
// on which threads a Go program has settled makes a difference that lasts.
func (b *bench) measureRunning() {
	b.withAll(b.measureIdle)
	ways := make(series, len(b.inits))
	for range parts {
		b.withAll(func(running []*spawned) {
			signal := func(i int, _ []string) time.Duration { return running[i].timeSignal(unix.SIGUSR1) }
			some := b.turns(b.signals/parts, signal)
			for i := range some {
				ways[i] = append(ways[i], some[i]...)
			}
		})
	}
	b.times("a signal's way to the handler, p50", ways, 0.50)
	b.ratioAim(ways, 0.50, 2.6, "minimal Go", minimal)
	b.times("a signal's way to the handler, p99", ways, 0.99)
	b.ratioAim(ways, 0.99, 3.2, "minimal Go", minimal)
}

// withAll starts all inits, each with a worker that has answered once, and ends them after do.
func (b *bench) withAll(do func(running []*spawned)) {
	var running []*spawned
	defer func() {
		for _, s := range running {
			s.end()
		}
	}()
	for _, c := range b.inits {
		b.turn = c.name
		running = append(running, spawnReady(slices.Concat(c.argv, handling, []string{"0"})))
	}
	time.Sleep(100 * time.Millisecond) // what they do after the worker's first byte is over
	do(running)
}

// settled is the time in which drainit has looked at the worker for the first and last time.
const settled = 11 * time.Second

func (b *bench) measureIdle(running []*spawned) {
	time.Sleep(settled)
	before := b.figures()
	for i, s := range running {
		before[i] = switches(s.pid)
	}
	time.Sleep(b.idle)
	woken, threads, rss := b.figures(), b.figures(), b.figures()
	ofItsOwn, ofItsFile := b.figures(), b.figures()
	for i, s := range running {
		if i == noInit {
			continue // that is the worker
		}
		status, memory := numbersOf(s.pid, "status"), numbersOf(s.pid, "smaps_rollup")
		woken[i] = switches(s.pid) - before[i]
		threads[i], rss[i] = status["Threads"], status["VmRSS"]
		ofItsOwn[i], ofItsFile[i] = memory["Private_Dirty"], memory["Private_Clean"]+memory["Shared_Clean"]
	}
	b.values("context switches in "+b.idle.String()+" idle, after the first 11 s", "", woken)
	b.aim("0", woken[own], 0)
	b.values("threads", "", threads)
	b.values("memory, VmRSS", "kB", rss)
	b.aim("≤ 4500 kB", rss[own], 4500)
	b.values("of it, its own (Private_Dirty)", "kB", ofItsOwn)
	b.values("of it, its files', shared by the containers of an image", "kB", ofItsFile)
}

func (b *bench) measureSizes() {
	sizes := b.figures()
	for i, c := range b.inits {
		if i == noInit {
			continue
		}
		st, err := os.Stat(c.argv[0])
		must(err)
		sizes[i] = float64(st.Size()) / 1e6
	}
	b.values("size of the binary", "MB", sizes)
	b.aim("≤ 3.5 MB", sizes[own], 3.5)
}

// measureWays takes the way of the first stop signal, from kill(2) to the worker's handler:
// there is one for each start.
func (b *bench) measureWays() {
	for _, crowd := range []int{1, 100, b.tree} {
		rounds := b.ways
		if crowd == b.tree {
			rounds = max(b.ways/4, 1)
		}
		ways := b.turns(rounds, func(_ int, argv []string) time.Duration {
			s := spawnReady(slices.Concat(argv, handling, []string{strconv.Itoa(crowd - 1)}))
			defer s.end()
			return s.timeSignal(unix.SIGTERM)
		})
		b.times(fmt.Sprintf("a stop signal's way to the handler, %d processes, p50", crowd), ways, 0.50)
	}
}

// firstCode asks for the monotonic time, writes it to descriptor 3 and exits 0.
var firstCode = []byte{
	0xb8, 228, 0, 0, 0, // mov    $SYS_clock_gettime, %eax
	0xbf, 1, 0, 0, 0, // mov    $CLOCK_MONOTONIC, %edi
	0x48, 0x8d, 0x74, 0x24, 0xc0, // lea    -64(%rsp), %rsi
	0x0f, 0x05, // syscall
	0xb8, 1, 0, 0, 0, // mov    $SYS_write, %eax
	0xbf, 3, 0, 0, 0, // mov    $3, %edi
	0xba, 16, 0, 0, 0, // mov    $16, %edx
	0x0f, 0x05, // syscall
	0xb8, 60, 0, 0, 0, // mov    $SYS_exit, %eax
	0x31, 0xff, // xor    %edi, %edi
	0x0f, 0x05, // syscall
}

// writeFirst makes the worker that says when its first instruction ran: a static
// program of that alone, one page long, so that no loader and no C library comes
// first. On another architecture than amd64 it is /bin/true, which says nothing.
func writeFirst(dir string) (path string) {
	if runtime.GOARCH != "amd64" {
		return "/bin/true"
	}
	const base, headers, executable, x8664 = 0x400000, 64 + 56, 2, 62
	size := uint64(headers + len(firstCode))
	var b bytes.Buffer
	for _, field := range []any{ // elf(5): Elf64_Ehdr, and the only Elf64_Phdr
		[]byte("\x7fELF\x02\x01\x01\x00"), uint64(0),
		uint16(executable), uint16(x8664), uint32(1), uint64(base + headers), uint64(64), uint64(0),
		uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(4096),
		firstCode,
	} {
		must(binary.Write(&b, binary.LittleEndian, field))
	}
	path = filepath.Join(dir, "first")
	must(os.WriteFile(path, b.Bytes(), 0o755))
	return path
}

// measureStarts runs the smallest worker under each init, as PID 1 and not: from
// the exec of the init to the worker's first instruction, and to the moment the
// init has been waited for.
func (b *bench) measureStarts() {
	first := writeFirst(b.dir)
	for _, way := range []struct {
		name string
		pid1 bool
	}{{"as PID 1", true}, {"not as PID 1", false}} {
		begun := make(series, len(b.inits))
		ended := b.turns(b.starts, func(i int, argv []string) time.Duration {
			start, end := timeStart(append(slices.Clip(argv), first), way.pid1)
			if start > 0 {
				begun[i] = append(begun[i], start)
			}
			return end
		})
		b.times("start "+way.name+" to the worker's first instruction, p50", begun, 0.50)
		if len(begun[minimal]) > 0 {
			b.ratioAim(begun, 0.50, 1.05, "minimal Go", minimal)
		}
		b.times("the same, p99", begun, 0.99)
		b.times("start "+way.name+" to the end of both, p50", ended, 0.50)
	}
	b.measureTitle()
}

// measureTitle takes the time from the exec of drainit, as PID 1, to its first title: from
// then on no stop signal is lost. Before, the kernel drops one, or it ends drainit.
func (b *bench) measureTitle() {
	var looks []look
	for delay := 5 * time.Millisecond; len(looks) < b.starts; {
		l := lookForTitle(b.inits[own].argv, delay)
		looks = append(looks, l)
		if step := 100 * time.Microsecond; !l.titled {
			delay += step
		} else if delay > step {
			delay -= step
		}
	}
	b.ownTime("exec to the first title, from which on no stop signal is lost, p50",
		[]time.Duration{parting(looks)}, 0.5, 3*time.Millisecond)
}

// look is a look at a drainit that starts.
type look struct {
	at     time.Duration // since its exec
	titled bool          // it had a title then
}

// lookForTitle starts drainit and looks at it once: one that looked again and again would
// take the processor from it.
func lookForTitle(argv []string, delay time.Duration) look {
	s := spawnStaged("stamp", slices.Concat(argv, []string{"/bin/sleep", "10"}), true)
	defer s.end()
	time.Sleep(delay)
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.pid))
	at := monotonic()
	must(err)
	begin, err := s.stamp()
	must(err)
	return look{at - begin, strings.HasPrefix(string(comm), "drainit:")}
}

// parting is the time that parts best those that had a title from those that had none.
func parting(looks []look) (best time.Duration) {
	slices.SortFunc(looks, func(a, b look) int { return cmp.Compare(a.at, b.at) })
	wrong, least := 0, 0 // beside those that had none, all of which are wrong at time 0
	for _, l := range looks {
		if l.titled {
			wrong++
		} else {
			wrong--
		}
		if wrong < least {
			least, best = wrong, l.at
		}
	}
	return best
}

// timeStart is one start; start is 0 where the worker does not say the time.
func timeStart(argv []string, pid1 bool) (start, end time.Duration) {
	s := spawnStaged("stamp", argv, pid1)
	defer unix.Close(s.pipe)
	s.waitWell()
	end = monotonic()
	begin, err := s.stamp()
	must(err)
	if at, err := s.stamp(); err == nil {
		start = at - begin
	}
	return start, end - begin
}
