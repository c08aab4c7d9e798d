package delivery

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bill is what the test looks at of a bill of materials, SPDX 2.3.
type bill struct {
	SPDXVersion, DataLicense, SPDXID, Name, DocumentNamespace string
	CreationInfo                                              struct {
		Created  string
		Creators []string
	}
	Packages []struct {
		SPDXID, Name, VersionInfo, DownloadLocation string
		FilesAnalyzed                               *bool
		Checksums                                   []checksum
		ExternalRefs                                []struct {
			ReferenceCategory, ReferenceType, ReferenceLocator string
		}
	}
	Files []struct {
		SPDXID, FileName string
		Checksums        []checksum
	}
	Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
}

type checksum struct{ Algorithm, ChecksumValue string }

// What `go version -m` prints of each binary is in the bill, and nothing else, with the fields that
// SPDX 2.3 requires and the identifiers that it allows. The licence of each is handed on.
func TestBillOfMaterials(t *testing.T) {
	var b bill
	if err := json.Unmarshal(read(t, "drainit.spdx.json"), &b); err != nil {
		t.Fatal(err)
	}
	licenses, sums := string(read(t, "drainit-licenses.txt")), string(read(t, "SHA256SUMS"))
	head := fmt.Sprint(b.SPDXVersion, " ", b.DataLicense, " ", b.SPDXID, " ", b.Name, " ",
		b.DocumentNamespace, " ", b.CreationInfo)
	if !regexp.MustCompile(`^SPDX-2\.3 CC0-1\.0 SPDXRef-DOCUMENT drainit-` + regexp.QuoteMeta(version(t)) +
		` urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} ` +
		`\{\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \[Tool: [a-z-]+\]\}$`).MatchString(head) {
		t.Errorf("the document is %s", head)
	}
	ids, got := []string{b.SPDXID}, []string(nil)
	for _, p := range b.Packages {
		ids = append(ids, p.SPDXID)
		line := p.Name + " " + p.VersionInfo + " " + p.ExternalRefs[0].ReferenceLocator
		for _, sum := range p.Checksums {
			line += " " + sum.Algorithm + " " + sum.ChecksumValue
		}
		got = append(got, line)
		if p.DownloadLocation == "" || p.FilesAnalyzed == nil || *p.FilesAnalyzed {
			t.Errorf("%s lacks a required field", p.Name)
		}
		_, license, found := strings.Cut(licenses, "\n==== "+strings.Replace(p.Name, "stdlib", "Go", 1)+" "+
			p.VersionInfo+": LICENSE")
		if p.Name != "drainit" && (!found || !strings.Contains(license, "Copyright")) {
			t.Errorf("no licence of %s %s", p.Name, p.VersionInfo)
		}
	}
	slices.Sort(got)
	for _, arch := range arches() {
		if want := linked(t, arch); !slices.Equal(got, want) {
			t.Errorf("%s: the bill has\n%s\nwant\n%s", arch, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
	for _, f := range b.Files {
		ids = append(ids, f.SPDXID)
		if len(f.Checksums) != 2 || f.Checksums[0].Algorithm != "SHA1" ||
			f.Checksums[1].Algorithm != "SHA256" ||
			!strings.Contains(sums, f.Checksums[1].ChecksumValue+"  "+strings.TrimPrefix(f.FileName, "./")+
				"\n") {
			t.Errorf("%s has checksums %v", f.FileName, f.Checksums)
		}
	}
	if len(b.Files) != len(arches()) {
		t.Errorf("%d binaries, want %d", len(b.Files), len(arches()))
	}
	wantRelated(t, b, ids)
}

// wantRelated checks that each identifier is one, stands once, and has to do with another.
func wantRelated(t *testing.T, b bill, ids []string) {
	t.Helper()
	related := make(map[string]bool)
	for _, r := range b.Relationships {
		if !slices.Contains(ids, r.SPDXElementID) || !slices.Contains(ids, r.RelatedSPDXElement) {
			t.Errorf("a relationship with what is not there: %v", r)
		}
		related[r.SPDXElementID], related[r.RelatedSPDXElement] = true, true
	}
	for i, id := range ids {
		if !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(id) || slices.Contains(ids[:i], id) ||
			!related[id] {
			t.Errorf("identifier %q is not one, stands twice or has nothing to do with the others", id)
		}
	}
}

// linked is drainit, the toolchain and the modules of a binary, as the bill has them.
func linked(t *testing.T, arch string) []string {
	t.Helper()
	path := filepath.Join(release(t), "drainit-linux-"+arch)
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, std := version(t), strings.TrimPrefix(info.GoVersion, "go")
	list := []string{
		"drainit " + v + " pkg:generic/drainit@" + strings.ReplaceAll(v, "+", "%2B"),
		"stdlib " + std + " pkg:golang/stdlib@" + std,
	}
	for line := range strings.Lines(do(t, "", "go", "version", "-m", path)) {
		words := strings.Fields(line)
		if words[0] != "dep" {
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(words[3], "h1:"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s pkg:golang/%s@%s SHA256 %s", words[1], words[2], words[1],
			words[2], hex.EncodeToString(sum)))
	}
	slices.Sort(list)
	return list
}
