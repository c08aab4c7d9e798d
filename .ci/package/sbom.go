package main

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// The identifiers in the bill of materials, SPDX 2.3, of itself and of drainit.
const (
	spdxDocumentID = "SPDXRef-DOCUMENT"
	spdxDrainitID  = "SPDXRef-drainit"
)

// spdx is the parts of a bill of materials while they are added.
type spdx struct{ packages, files, relationships []object }

// bill is the bill of materials: the binaries, and what the build info in them says is
// linked.
func (r *release) bill() []byte {
	var s spdx
	s.addPackage(spdxDocumentID, "DESCRIBES", spdxDrainitID, "drainit", r.version, object{
		"primaryPackagePurpose": "APPLICATION", "sourceInfo": "git commit " + r.revision,
		"externalRefs": purl("generic/drainit", r.version)})
	all := sha256.New()
	for _, b := range r.binaries {
		s.addBinary(b)
		all.Write(b.data)
	}
	s.addPackage(spdxDrainitID, "DEPENDS_ON", "SPDXRef-stdlib", "stdlib", r.goVersion(), object{
		"primaryPackagePurpose": "LIBRARY",
		"sourceInfo": "the standard library and runtime of Go, " +
			"of the toolchain that built the binaries",
		"externalRefs": append(purl("golang/stdlib", r.goVersion()),
			external("SECURITY", "cpe23Type", "cpe:2.3:a:golang:go:"+r.goVersion()+":*:*:*:*:*:*:*"))})
	for _, m := range r.binaries[0].info.Deps {
		s.addPackage(spdxDrainitID, "DEPENDS_ON", "SPDXRef-"+spdxName(m.Path), m.Path, m.Version, object{
			"primaryPackagePurpose": "LIBRARY", "sourceInfo": "go.sum has " + m.Sum,
			"externalRefs": purl("golang/"+m.Path, m.Version), "checksums": moduleSum(m.Sum)})
	}
	return append(jsonOf(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
		"SPDXID": spdxDocumentID, "name": "drainit-" + r.version,
		"documentNamespace": "urn:uuid:" + uuid(all.Sum(nil)),
		"creationInfo":      object{"created": r.created(), "creators": []string{"Tool: drainit-ci-package"}},
		"packages":          s.packages, "files": s.files, "relationships": s.relationships,
	}), '\n')
}

// addPackage adds a package and what another element has to do with it.
func (s *spdx) addPackage(element, relationship, id, name, version string, p object) {
	p["SPDXID"], p["name"], p["versionInfo"] = id, name, version
	p["downloadLocation"], p["filesAnalyzed"] = "NOASSERTION", false
	s.packages = append(s.packages, p)
	s.relate(element, relationship, id)
}

// addBinary adds a binary. SPDX wants SHA-1 of a file, whatever else there is.
func (s *spdx) addBinary(b binary) {
	id := "SPDXRef-binary-" + b.arch
	s.files = append(s.files, object{
		"SPDXID": id, "fileName": "./drainit-linux-" + b.arch, "fileTypes": []string{"BINARY"},
		"checksums": []object{
			checksum("SHA1", fmt.Sprintf("%x", sha1.Sum(b.data))),
			checksum("SHA256", fmt.Sprintf("%x", sha256.Sum256(b.data))),
		},
	})
	s.relate(id, "GENERATED_FROM", spdxDrainitID)
}

func (s *spdx) relate(element, relationship, related string) {
	s.relationships = append(s.relationships, object{
		"spdxElementId": element, "relationshipType": relationship, "relatedSpdxElement": related,
	})
}

func checksum(algorithm, value string) object {
	return object{"algorithm": algorithm, "checksumValue": value}
}

func external(category, kind, locator string) object {
	return object{"referenceCategory": category, "referenceType": kind, "referenceLocator": locator}
}

func purl(name, version string) []object {
	return []object{external(
		"PACKAGE-MANAGER", "purl", "pkg:"+name+"@"+strings.ReplaceAll(version, "+", "%2B"))}
}

// moduleSum is the checksum that go.sum has of a module, SHA-256 of the list of its files.
func moduleSum(sum string) []object {
	hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:"))
	if err != nil || len(hash) != sha256.Size {
		return []object{}
	}
	return []object{checksum("SHA256", hex.EncodeToString(hash))}
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
