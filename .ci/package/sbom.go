package main

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// The parts of SPDX 2.3 that the bill of materials has, in the order of its specification.
type spdxDocument struct {
	SPDXVersion       string        `json:"spdxVersion"`
	DataLicense       string        `json:"dataLicense"`
	SPDXID            string        `json:"SPDXID"`
	Name              string        `json:"name"`
	DocumentNamespace string        `json:"documentNamespace"`
	CreationInfo      spdxCreation  `json:"creationInfo"`
	Packages          []spdxPackage `json:"packages"`
	Files             []spdxFile    `json:"files"`
	Relationships     []spdxRelated `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	SPDXID           string         `json:"SPDXID"`
	Name             string         `json:"name"`
	VersionInfo      string         `json:"versionInfo"`
	PrimaryPurpose   string         `json:"primaryPackagePurpose"`
	DownloadLocation string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	Checksums        []spdxChecksum `json:"checksums,omitempty"`
	SourceInfo       string         `json:"sourceInfo,omitempty"`
	ExternalRefs     []spdxExternal `json:"externalRefs"`
}

type spdxFile struct {
	SPDXID    string         `json:"SPDXID"`
	FileName  string         `json:"fileName"`
	FileTypes []string       `json:"fileTypes"`
	Checksums []spdxChecksum `json:"checksums"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxExternal struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelated struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	spdxDocumentID = "SPDXRef-DOCUMENT"
	spdxDrainitID  = "SPDXRef-drainit"
)

// bill is the bill of materials: the binaries, and what the build info in them says is
// linked.
func (r *release) bill() []byte {
	d := spdxDocument{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: spdxDocumentID, Name: "drainit-" + r.version,
		CreationInfo: spdxCreation{r.created(), []string{"Tool: drainit-ci-package"}},
	}
	d.addPackage(spdxDocumentID, "DESCRIBES", spdxPackage{
		SPDXID: spdxDrainitID, Name: "drainit", VersionInfo: r.version, PrimaryPurpose: "APPLICATION",
		SourceInfo: "git commit " + r.revision, ExternalRefs: purl("generic/drainit", r.version)})
	all := sha256.New()
	for _, b := range r.binaries {
		d.addBinary(b)
		all.Write(b.data)
	}
	d.DocumentNamespace = "urn:uuid:" + uuid(all.Sum(nil))
	d.addPackage(spdxDrainitID, "DEPENDS_ON", spdxPackage{
		SPDXID: "SPDXRef-stdlib", Name: "stdlib", VersionInfo: r.goVersion(), PrimaryPurpose: "LIBRARY",
		SourceInfo: "the standard library and runtime of Go, of the toolchain that built the binaries",
		ExternalRefs: append(purl("golang/stdlib", r.goVersion()),
			spdxExternal{"SECURITY", "cpe23Type", "cpe:2.3:a:golang:go:" + r.goVersion() + ":*:*:*:*:*:*:*"})})
	for _, m := range r.binaries[0].info.Deps {
		d.addPackage(spdxDrainitID, "DEPENDS_ON", spdxPackage{
			SPDXID: "SPDXRef-" + spdxName(m.Path), Name: m.Path, VersionInfo: m.Version, PrimaryPurpose: "LIBRARY",
			Checksums: moduleSum(m.Sum), SourceInfo: "go.sum has " + m.Sum, ExternalRefs: purl("golang/"+m.Path, m.Version)})
	}
	return append(jsonOf(d), '\n')
}

// addPackage adds a package and what another element has to do with it.
func (d *spdxDocument) addPackage(element, relationship string, p spdxPackage) {
	p.DownloadLocation = "NOASSERTION"
	d.Packages = append(d.Packages, p)
	d.Relationships = append(d.Relationships, spdxRelated{element, relationship, p.SPDXID})
}

// addBinary adds a binary. SPDX wants SHA-1 of a file, whatever else there is.
func (d *spdxDocument) addBinary(b binary) {
	id := "SPDXRef-binary-" + b.arch
	d.Files = append(d.Files, spdxFile{id, "./drainit-linux-" + b.arch, []string{"BINARY"}, []spdxChecksum{
		{"SHA1", fmt.Sprintf("%x", sha1.Sum(b.data))}, {"SHA256", fmt.Sprintf("%x", sha256.Sum256(b.data))},
	}})
	d.Relationships = append(d.Relationships, spdxRelated{id, "GENERATED_FROM", spdxDrainitID})
}

func purl(name, version string) []spdxExternal {
	version = strings.ReplaceAll(version, "+", "%2B")
	return []spdxExternal{{"PACKAGE-MANAGER", "purl", "pkg:" + name + "@" + version}}
}

// moduleSum is the checksum that go.sum has of a module, SHA-256 of the list of its files.
func moduleSum(sum string) []spdxChecksum {
	hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil || len(hash) != sha256.Size {
		return nil
	}
	return []spdxChecksum{{"SHA256", hex.EncodeToString(hash)}}
}

// spdxName makes an identifier of a path: letters, digits, dots and hyphens.
func spdxName(path string) string { return strings.NewReplacer("/", "-", "_", "-").Replace(path) }

// uuid is one of version 8, RFC 9562, whose bits are a hash's.
func uuid(hash []byte) string {
	u := hash[:16]
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
