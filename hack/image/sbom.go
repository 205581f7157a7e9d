package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
)

// A bill is a document of SPDX 2.3, with the fields that are used here.
type bill struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Created       creation       `json:"creationInfo"`
	Packages      []part         `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// A part is a package: the program, or a module in it.
type part struct {
	ID        string     `json:"SPDXID"`
	Name      string     `json:"name"`
	Version   string     `json:"versionInfo"`
	Download  string     `json:"downloadLocation"`
	Files     bool       `json:"filesAnalyzed"`
	Declared  string     `json:"licenseDeclared"`
	Concluded string     `json:"licenseConcluded"`
	Copyright string     `json:"copyrightText"`
	Checksums []checksum `json:"checksums,omitempty"`
	Refs      []ref      `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type ref struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// unknown is the word of SPDX for an unknown value.
const unknown = "NOASSERTION"

// spdx returns the bill of materials of an image: the digest of its program, the Go toolchain, every module that the linker
// recorded in it, and the additional modules of the image.
func spdx(name, version string, content []byte, info *debug.BuildInfo, besides ...*debug.Module) ([]byte, error) {
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	b := bill{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://github.com/millwright-dev/millwright/spdx/" + name + "-" + hash,
		Created:   creation{"1970-01-01T00:00:00Z", []string{"Tool: millwright-hack-image"}},
		Packages: []part{
			{ID: "SPDXRef-program", Name: name, Version: version, Download: unknown, Declared: "Apache-2.0", Concluded: unknown, Copyright: unknown, Checksums: []checksum{{"SHA256", hash}}},
			module(0, "stdlib", strings.TrimPrefix(info.GoVersion, "go"), ""),
		},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-program"}},
	}
	for i, m := range with(info.Deps, besides) {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Packages = append(b.Packages, module(i+1, m.Path, m.Version, m.Sum))
	}
	for _, p := range b.Packages[1:] {
		b.Relationships = append(b.Relationships, relationship{"SPDXRef-program", "DEPENDS_ON", p.ID})
	}
	out, err := json.MarshalIndent(b, "", "  ")
	return append(out, '\n'), err
}

// with adds modules after those of a program, unless the program also has them.
func with(modules, besides []*debug.Module) []*debug.Module {
	out := slices.Clone(modules)
	for _, b := range besides {
		if b != nil && !slices.ContainsFunc(modules, func(m *debug.Module) bool { return m.Path == b.Path && m.Version == b.Version }) {
			out = append(out, b)
		}
	}
	return out
}

// module returns the part for a Go module, with the checksum in go.sum.
func module(i int, path, version, sum string) part {
	p := part{
		ID: fmt.Sprintf("SPDXRef-module-%d", i), Name: path, Version: version, Download: unknown, Declared: unknown, Concluded: unknown, Copyright: unknown,
		Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
	}
	// The h1 of go.sum is a SHA-256 of the hashes of the files, and not of an archive. So it is in a comment.
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(raw) == sha256.Size {
		p.Refs = append(p.Refs, ref{"OTHER", "go-sum", sum})
	}
	return p
}
