// Package examples carries the sample manifests of this folder inside
// binaries.
package examples

import "embed"

// FS holds the manifests as they are in this folder.
//
//go:embed *.yaml */*.yaml
var FS embed.FS
