package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
)

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
