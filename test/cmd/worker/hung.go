package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// hungFS mounts a file system that takes no write, and once FILE.hang exists answers nothing,
// as that of a server which has gone, over a file: until it is killed, and with it the file
// system. It prints "ready", and "hangs" for each request that it does not answer. These few
// requests are what the kernel makes of FUSE for one file (linux/fuse.h).
//
//	worker hungfs FILE
func hungFS(args []string) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	must("open /dev/fuse", err)
	must("mount", unix.Mount("hung", args[0], "fuse", 0,
		fmt.Sprintf("fd=%d,rootmode=100666,user_id=0,group_id=0,allow_other", fd)))
	fmt.Println("ready")
	for request := make([]byte, 1<<17); ; {
		switch _, err := unix.Read(fd, request); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT): // ENOENT: it was taken back
		case err != nil:
			must("read a request", err)
		default:
			answerFUSE(fd, request, args[0]+".hang")
		}
	}
}

// Requests of FUSE. The kernel waits for no answer to forget and interrupt.
const (
	forget, getattr, open, read, write, release = 2, 3, 14, 15, 16, 18
	flush, initialize, interrupt                = 25, 26, 36
)

// answerFUSE answers a request, unless that is a write, or a file is there.
func answerFUSE(fd int, request []byte, silent string) {
	const size = 4096
	var body []any // the fields of the answer
	failed, kind := int32(0), binary.NativeEndian.Uint32(request[4:])
	if kind == forget || kind == interrupt {
		return
	}
	if _, err := os.Stat(silent); err == nil || kind == write {
		fmt.Println("hangs")
		return
	}
	switch kind {
	case initialize: // the version, what it can, MaxWrite
		body = []any{uint32(7), uint32(31), [3]uint32{}, uint32(size), [10]uint32{}}
	case getattr: // node, size, blocks; mode, links; block size
		body = []any{[2]uint64{}, uint64(1), uint64(size), uint64(8), [3]uint64{}, [3]uint32{},
			uint32(unix.S_IFREG | 0o666), uint32(1), [3]uint32{}, uint32(size), uint32(0)}
	case open:
		body = []any{[2]uint64{}}
	case read:
		body = []any{[size]byte{}}
	case release, flush:
	default:
		failed = -int32(unix.ENOSYS)
	}
	var answer []byte
	for _, field := range append([]any{uint32(0), failed, binary.NativeEndian.Uint64(request[8:])}, body...) {
		answer, _ = binary.Append(answer, binary.NativeEndian, field) // each has a size
	}
	binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
	_, err := unix.Write(fd, answer)
	must("answer", err)
}

// hang hangs in munmap(2) of a file that a hungFS has, in its first thread, which
// holds the lock of its memory meanwhile. It prints "hangs" when another of its threads
// is about to wait for that lock, to write: after it, who wants to read waits too. It has
// called itself NAME by then.
//
//	worker hang FILE NAME
func hang(args []string) {
	must("name itself", os.WriteFile("/proc/self/comm", []byte(args[1]), 0))
	fd, err := unix.Open(args[0], unix.O_RDWR, 0)
	must("open", err)
	var st unix.Stat_t
	must("stat", unix.Fstat(fd, &st)) // the kernel learns its size by this
	memory, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must("map", err)
	memory[0] = 1
	stat, err := unix.Open("/proc/self/stat", unix.O_RDONLY, 0)
	must("see itself", err)
	begun := make(chan bool)
	go mapWhenHung(stat, begun)
	<-begun
	must("unmap", unix.Munmap(memory))
}

// mapWhenHung takes all that it needs before it begins: memory is what no process gets
// from the kernel then.
func mapWhenHung(stat int, begun chan<- bool) {
	var page [4096]byte
	hung, line, pause := []byte(") D "), []byte("hangs\n"), unix.NsecToTimespec(1e6)
	begun <- true
	for {
		n, err := unix.Pread(stat, page[:], 0)
		if err == nil && bytes.Contains(page[:n], hung) {
			break
		}
		_ = unix.Nanosleep(&pause, nil)
	}
	_, _ = unix.Write(1, line)
	_, _ = unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
}
