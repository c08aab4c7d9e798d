// Package logx writes drainit's log to standard error, as text or JSON.
//
// It owns the descriptor of a drainit that has a worker, and the form of a line. Whatever happens to the
// reader of the log, it must never end drainit, nor block it for longer than Close says.
package logx

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Log writes lines to a descriptor from a bounded queue. Lines that find it full, or can't be
// written, are dropped and counted. Only the goroutine that made it may call its methods.
type Log struct {
	fd      int
	level   zapcore.Level
	json    zapcore.Encoder // nil for text
	lines   chan []byte
	dropped atomic.Int64
	written chan struct{} // closed once all lines are written; nil before the first line
}

// New returns a log that writes to fd, one JSON object a line, or text that begins with "drainit:".
func New(fd int, json bool, level zapcore.Level) *Log {
	room := 256
	if level == zapcore.DebugLevel { // one for each of some thousand processes at once
		room <<= 6
	}
	l := &Log{fd: fd, level: level, lines: make(chan []byte, room)}
	if json {
		l.json = zapcore.NewJSONEncoder(zapcore.EncoderConfig{
			TimeKey: "time", LevelKey: "level", NameKey: "logger", MessageKey: "msg",
			EncodeTime:  zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z"),
			EncodeLevel: zapcore.LowercaseLevelEncoder,
		})
	}
	return l
}

// Enabled reports whether lines of a level are written.
func (l *Log) Enabled(level zapcore.Level) bool { return l.level.Enabled(level) }

// Line writes a line about an event, a word in snake_case that only JSON has. The message is made
// printable here, so that the name of a process can't forge a line or move the cursor.
func (l *Log) Line(level zapcore.Level, event, msg string, f ...Field) {
	if !l.Enabled(level) {
		return
	}
	if l.written == nil {
		l.written = make(chan struct{})
		go l.write()
	}
	select {
	case l.lines <- l.encode(level, event, Printable(msg), f):
	default:
		l.dropped.Add(1)
	}
}

func (l *Log) encode(level zapcore.Level, event, msg string, f []Field) []byte {
	if l.json == nil {
		return []byte(Text(level, msg))
	}
	entry := zapcore.Entry{Level: level, Time: time.Now().UTC(), LoggerName: "drainit", Message: msg}
	line, err := l.json.EncodeEntry(entry, append([]Field{Value("event", event)}, f...))
	if err != nil { // no field of ours can fail
		return nil
	}
	return line.Bytes()
}

// Text returns a line for people.
func Text(level zapcore.Level, msg string) string {
	how := map[zapcore.Level]string{zapcore.WarnLevel: "warning: ", zapcore.ErrorLevel: "error: "}
	return "drainit: " + how[level] + msg + "\n"
}

// Close waits until all lines are written (AwaitWritten). No line may follow.
func (l *Log) Close() {
	close(l.lines)
	if l.written != nil {
		AwaitWritten(l.written, l.fd)
	}
}

const flushAtEnd = 200 * time.Millisecond

// AwaitWritten waits until another goroutine, which closes written then, has written to a descriptor. It
// waits for at most 200 ms, or for 2 s if the descriptor is writable: then the goroutine only waits for a
// processor.
func AwaitWritten(written <-chan struct{}, fd int) {
	for range 10 {
		select {
		case <-written:
			return
		case <-time.After(flushAtEnd):
		}
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents != unix.POLLOUT {
			return // a write would block, or fail
		}
	}
}

// write is the goroutine that owns the descriptor. A write may block for ever.
func (l *Log) write() {
	defer close(l.written)
	// In the background of a terminal with TOSTOP, the kernel would send TTOU, Go would handle it,
	// and the kernel would try again, for ever.
	runtime.LockOSThread()
	if set := signals.Mask(unix.SIGTTOU); unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil) != nil {
		return
	}
	for line := range l.lines {
		if n := l.dropped.Swap(0); n > 0 { // before the line, which may be the last
			fields := []Field{Value("dropped", n), Value("loses", "maybe")}
			words := fmt.Sprintf(DroppedText, n)
			if WriteAll(l.fd, l.encode(zapcore.WarnLevel, DroppedEvent, words, fields)) != nil {
				l.dropped.Add(n)
			}
		}
		if WriteAll(l.fd, line) != nil {
			l.dropped.Add(1)
		}
	}
}

// The log's own line.
const (
	DroppedEvent = "lines_dropped"
	DroppedText  = "%d log lines were dropped: stderr was full or closed"
)

// WriteAll writes to a descriptor that another program may have set to non-blocking mode.
func WriteAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EAGAIN {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
			n = 0
		}
		if err != nil && err != unix.EINTR {
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}

// Field is a field of a JSON line.
type Field = zapcore.Field

// Value returns a field. A text in it must be Printable.
func Value(key string, value any) Field {
	return Field{Key: key, Type: zapcore.ReflectType, Interface: value}
}

// InTenths returns a duration in seconds, to a tenth.
func InTenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
