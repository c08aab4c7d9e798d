package workers

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/internal/signals"
	"drainit/test/harness/rows"
)

// ways are the rows of the matrix, in its order.
var ways = named(slices.Concat(
	tight(read("apps")), read("servers"), read("queues"), tight(read("hard")), tight(metWays),
	tight(foregrounds), tight(correctTraps), tight(busily(read("known"))), tight(busily(read("outputs")))))

var (
	foregrounds = busily(read("foregrounds"))
	metWays     = onceOnly(read("met"))

	// correctTraps are the starts whose script or wrapper passes the signal on by itself, so that drainit
	// must signal that alone: two signals that come at the same moment may be one to the application. A
	// second signal ends it at once, and its job is lost. Where the program dies of the signal after it has
	// passed it on, an init that ends with its child loses the job too.
	correctTraps = each(slices.Concat(read("signalling"), watchLoops(), read("wrappers"), read("guarded")),
		func(w *way) {
			w.env, w.tells = once, 1
			if strings.HasSuffix(w.name, ", busy") {
				w.env += " TICK=20"
			}
		})

	// foundWays have the application in Perl, which stands where node does in their names.
	foundWays = named(each(onceOnly(slices.Concat(read("rarely"), read("found"))),
		func(w *way) { w.grace = busyGrace }))
)

func named(ways []way) []way {
	return each(ways, func(w *way) { *w = w.readName() })
}

// tight gives the ways a grace whose last call comes after 9 s: the long job is over by
// then, and what is signalled by the last call only is signalled late, but in time.
func tight(ways []way) []way {
	return each(ways, func(w *way) { w.grace = 12 * time.Second })
}

// once has the application lost by a second signal.
const once = "TWICE=exit"

func onceOnly(ways []way) []way {
	return each(ways, func(w *way) { w.env = strings.TrimSpace(w.env + " " + once) })
}

// busily has the application run all the time, too: nothing proves that it has received no signal.
func busily(ways []way) []way {
	return each(onceOnly(ways), func(w *way) { w.env += " TICK=20" })
}

// restless is how it goes with an application that runs all the time: nothing proves that it has
// received no signal, and where another process may have signalled it it waits for the last call.
type restless struct {
	tells  int  // how many processes drainit signals; not looked at if 0
	atOnce bool // no other process can have signalled it, or one has: the last call has nothing to do
}

// read reads a file of ways: a name and its settings, which go on in the lines below that begin with a tab.
func read(file string) (all []way) {
	for _, row := range rows.Read(rows.AtStart{}, "testdata/ways/"+file+".tsv", 16) {
		if row[0] != "" {
			all = append(all, way{name: row[0]})
		}
		for _, setting := range row[1:] {
			all[len(all)-1].set(setting)
		}
	}
	return each(all, func(w *way) { w.script = strings.TrimPrefix(w.script, "\n") })
}

// set changes a way by the name of a field and its value. Each script is one line more.
func (w *way) set(setting string) {
	key, value, _ := strings.Cut(setting, " ")
	name, arg, _ := strings.Cut(value, " ")
	n, _ := strconv.Atoi(value)
	texts := map[string]*string{
		"start": &w.start, "env": &w.env, "uses": &w.uses, "flags": &w.flags, "dumbInit": &w.dumbInit,
		"verdicts": &w.verdicts, "lost": &w.lost, "deaf": &w.deaf, "word": &w.word}
	durations := map[string]*time.Duration{"leaves": &w.leaves, "job": &w.job}
	numbers := map[string]*int{"status": &w.status, "workers": &w.workers, "tells": &w.tells}
	truths := map[string]*bool{
		"uncounted": &w.uncounted, "inTurn": &w.inTurn, "late": &w.late, "waits": &w.waits,
		"long": &w.long, "disconnects": &w.disconnects, "drains": &w.drains, "keeps": &w.keeps,
		"again": &w.again, "alone": &w.alone}
	switch {
	case texts[key] != nil:
		*texts[key] = value
	case numbers[key] != nil:
		*numbers[key] = n
	case durations[key] != nil:
		*durations[key], _ = time.ParseDuration(value)
	case truths[key] != nil:
		*truths[key] = true
	case key == "script":
		w.script += "\n" + value
	case key == "atOnce", key == "inLastCall":
		w.restless = &restless{n, key == "atOnce"}
	case key == "signal":
		sig, _ := signals.Parse(value)
		w.signal = syscall.Signal(sig)
	case key == "file":
		if w.files == nil {
			w.files = files{}
		}
		w.files[name] = arg
	case key == "files":
		w.files = called(filesOf, name)(arg)
	case key == "as":
		*w = mysqldSafeWay
	case key == "begin":
		w.begin = doing(name, arg)
	case key == "prepare":
		w.prepare = doing(name, arg)
	case key == "kept":
		w.kept = keeping(name, arg)
	case key != "":
		panic(setting)
	}
}

// called is what has this name.
func called[T any](all map[string]T, name string) T {
	v, ok := all[name]
	if !ok {
		panic(name)
	}
	return v
}

var keptBy = map[string]func(*testing.T, *scene) bool{
	"noneSignalled": noneSignalled, "daemonLast": daemonLast, "answeredWhole": answeredWhole,
	"bothAnswered": bothAnswered, "inSevenSteps": inSevenSteps, "downloaded": downloaded,
	"stopOfRabbitMQ": stopOfRabbitMQ, "redisOutlivedTheJob": redisOutlivedTheJob, "renewed": renewed,
	"drained": onTheWire(drained), "logged": logged, "handedBackIn25s": handedBackIn25s}

// keeping is what has this name, and may take an argument.
func keeping(name, arg string) func(*testing.T, *scene) bool {
	switch name {
	case "gives":
		return gives(arg)
	case "onTheWire":
		return onTheWire(arg)
	case "handedBack":
		limit, _ := time.ParseDuration(arg)
		return handedBack(limit)
	}
	return called(keptBy, name)
}

var doings = map[string]func(*testing.T, *scene){
	"prefer": prefer, "stopThreads": stopThreads, "goCaches": goCaches, "hiddenBash": hiddenBash,
	"request": request, "requestTwice": requestTwice, "buildBare": buildBare, "goApp": goApp, "nginx": nginx,
	"slowDownload": slowDownload, "prepareRabbitMQ": prepareRabbitMQ, "startRabbitMQ": startRabbitMQ,
	"startRedis": startRedis, "redisInside": redisInside, "queueInRq": queueInRq,
	"quietAndResume": quietAndResume, "notReady": notReady,
}

// doing is what has this name, and may take an argument.
func doing(name, arg string) func(*testing.T, *scene) {
	switch name {
	case "java":
		return java(arg)
	case "ask":
		return clients(arg)
	case "preferred":
		return preferred(called(doings, arg))
	}
	return called(doings, name)
}

// filesOf are the files of several ways; some differ by what is behind the name.
var filesOf = map[string]func(arg string) files{
	"makefile":  func(string) files { return makefile },
	"npmScript": npmScript,
	"lerna":     lerna,
	"manager":   manager,
	"runit":     func(string) files { return runitServices },
	"supervisord": func(setting string) files {
		return supervisord(setting, "node app.js", `sh -c "node app.js; exit $?"`)
	},
	"supervisord-shell": func(setting string) files {
		return supervisord(setting, `sh -c "node app.js; exit $?"`)
	},
}

var makefile = files{"Makefile": "run:\n\tnode app.js; exit $$?\n"}

// watchLoops are scripts that look whether their job lives, each second or five times in one.
// The trap runs when the sleep in the foreground has ended.
func watchLoops() (ways []way) {
	for _, shell := range []string{"bash", "dash", "busybox sh"} {
		for _, pause := range []string{"1", "0.2"} {
			ways = append(ways, way{leaves: 1500 * time.Millisecond,
				name: shell +
					": `node app & a=$!`, `trap 'kill $a' TERM`, `while kill -0 $a 2>/dev/null; do sleep " +
					pause + "; done`"})
		}
	}
	return ways
}
