package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dialectRoom has the lenses, their interfaces and the table of APIs.
const dialectRoom = "internal/dialect"

// resolverFile is the only file of a lens that may read from an API server.
const resolverFile = "resolver.go"

// Lenses checks that lenses do no I/O: in a package of them, contexts and clients are in the file of its resolver.
func Lenses(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || !within(file.Dir(), dialectRoom) || path.Base(file.Path) == resolverFile {
			return nil
		}
		var violations []Violation
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			sel, ok := node.(*ast.SelectorExpr)
			switch {
			case !ok:
			case isPackage(sel.X, "context") && sel.Sel.Name == "Context", isPackage(sel.X, "client") && isClient(sel.Sel.Name):
				violations = append(violations, file.violation(node.Pos(), "a lens uses %s: I/O belongs into %s", sel.Sel.Name, resolverFile))
			}
			return true
		})
		return violations
	})
}

// isClient reports whether a name of controller-runtime's package client is one that reads or writes.
func isClient(name string) bool {
	switch name {
	case "Reader", "Writer", "StatusWriter", "Client", "WithWatch":
		return true
	}
	return false
}

// apiFiles may name an API or import its lens. They are the table of APIs, and the rows of the programs that make controllers, or
// plans, for the types of each: what a further API adds to.
var apiFiles = []string{
	"internal/dialect/apis/apis.go",
	"serve/apis.go", "internal/program/apis.go", "internal/plugin/project/apis.go",
}

// apiRooms are about single APIs: their types, their lenses, the webhooks of the one that has some, how a provider spells its specs
// in each, what runs the code that was written for one, and what proves all that.
var apiRooms = []string{"api", "internal/admission", "internal/dialect/openshift", "internal/dialect/gardener", "provider", "providers", "adapters", "internal/verify", "test"}

// groups are the names of the APIs, in constants and in text.
var (
	groupNames = []string{"OpenShift", "Gardener"}
	groupTexts = []string{"machine.openshift.io", "machine.sapcloud.io", "openshift", "gardener"}
)

// APIs checks that no other code names one API: code for all APIs ranges over their table.
func APIs(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || withinAny(file.Dir(), apiRooms) || slices.Contains(apiFiles, file.Path) {
			return nil
		}
		var violations []Violation
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if name := namesAPI(node); name != "" {
				violations = append(violations, file.violation(node.Pos(), "names %s: range over the table of internal/dialect/apis, or ask it", name))
			}
			return true
		})
		return violations
	})
}

// namesAPI is what a node says of one API: its lens, its constant, or its name in text; empty when nothing.
func namesAPI(node ast.Node) string {
	switch node := node.(type) {
	case *ast.SelectorExpr:
		if isPackage(node.X, "provider") && slices.Contains(groupNames, node.Sel.Name) {
			return "provider." + node.Sel.Name
		}
	case *ast.BasicLit:
		text, err := strconv.Unquote(node.Value)
		if err != nil || node.Kind != token.STRING {
			return ""
		}
		if lens, is := strings.CutPrefix(text, Module+"/"); is && withinAny(lens, []string{"internal/dialect/openshift", "internal/dialect/gardener"}) {
			return "the package " + lens
		}
		if slices.Contains(groupTexts, text) {
			return text
		}
	}
	return ""
}

// spelling matches what only one API calls so: groups, prefixes of keys, fields and words of its objects.
var spelling = regexp.MustCompile(`(?i)openshift|sapcloud|gardener|cluster-api|\b(lastOperation|currentStatus|lastKnownState|errorMessage|errorReason|` +
	`providerSpec|providerStatus|lifecycleHooks|deletePolicy|machinePhase|machineClass)\b|spec\.(template|class)`)

// spelt are literals of pure rooms that may be spelt as one API does, by file: a part of the text, and why. The list only
// gets shorter.
var spelt = map[string]map[string]string{
	"internal/engine/health/node.go": {"healthchecking.openshift.io/machine-remediation-reboot": "agents look for this key on nodes of machines of any API"},
	"internal/engine/approval/client.go": {
		"openshift-machine-config-operator": "the user whose requests are approved is the cluster's, and not an API's",
	},
	"internal/engine/postmortem/record.go": {"status.errorMessage": "where a statement was read is shown, and stored in evidence", "status.lastOperation": "as above"},
	"internal/engine/explain/removal.go":   {"spec.lifecycleHooks": "where a statement was read is shown, and stored in evidence"},
	"internal/engine/explain/reasons.go":   {"safety.machine.sapcloud.io/unfreeze": "what a person is to type", "kubectl get machines.": "what a person is to type"},
}

// Spelling checks that pure rooms spell nothing as one API does: decisions carry facts, and lenses word them.
func Spelling(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		if file.Test || !within(file.Dir(), Pure) {
			return nil
		}
		var violations []Violation
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if _, is := node.(*ast.ImportSpec); is {
				return false
			}
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if word := spelling.FindString(literal.Value); word != "" && !excused(file.Path, literal.Value) {
				violations = append(violations, file.violation(node.Pos(), "spells %s, which is one API's: let the lens word it", word))
			}
			return true
		})
		return violations
	})
}

func excused(path, literal string) bool {
	for part := range spelt[path] {
		if strings.Contains(literal, part) {
			return true
		}
	}
	return false
}
