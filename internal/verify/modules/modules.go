// Package modules reads the go.mod files of this repository and says where they disagree: two of its Go modules that require different
// versions of one module compile it twice, and a program of one is not what the tests of another have tried.
//
// Modules that have a reason to differ stand in apart.txt.
package modules

import (
	"bufio"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Requirement is one line of a require directive.
type Requirement struct {
	Version  string // "v0.36.3"
	Indirect bool   // the line says "// indirect"
}

// A Module is what one go.mod file says.
type Module struct {
	Dir      string                 // the folder, relative to the root of the repository: "." or "dev/clouds"
	Path     string                 // its own path: "github.com/millwright-dev/millwright/dev/clouds"
	Requires map[string]Requirement // by module path
	Replaced map[string]string      // module path to what a replace directive puts there: "../.." or "k8s.io/api v0.36.3"
}

// Parse reads a go.mod file. dir is its folder.
func Parse(dir, text string) Module {
	module := Module{Dir: dir, Requires: map[string]Requirement{}, Replaced: map[string]string{}}
	block := ""
	for line := range strings.SplitSeq(text, "\n") {
		code, comment, _ := strings.Cut(line, "//")
		fields := strings.Fields(code)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == ")":
			block = ""
			continue
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
			continue
		case block != "":
			fields = append([]string{block}, fields...)
		}
		module.directive(fields, strings.TrimSpace(comment) == "indirect")
	}
	return module
}

func (m *Module) directive(fields []string, indirect bool) {
	switch {
	case fields[0] == "module" && len(fields) == 2:
		m.Path = fields[1]
	case fields[0] == "require" && len(fields) == 3:
		m.Requires[fields[1]] = Requirement{Version: fields[2], Indirect: indirect}
	case fields[0] == "replace":
		if arrow := slices.Index(fields, "=>"); arrow > 1 {
			m.Replaced[fields[1]] = strings.Join(fields[arrow+1:], " ")
		}
	}
}

// Version is the version of a required module that is built: that of a replacement by a version, where there is one. It is empty for what a folder
// replaces, and for what is not required.
func (m *Module) Version(required string) string {
	replacement := strings.Fields(m.Replaced[required])
	switch len(replacement) {
	case 0:
		return m.Requires[required].Version
	case 2:
		return replacement[1]
	}
	return ""
}

// Load reads every go.mod file below a root, sorted by folder, so that the root comes first.
func Load(root fs.FS) ([]Module, error) {
	var found []Module
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || base == "dist"):
			return fs.SkipDir
		case entry.IsDir() || base != "go.mod":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		found = append(found, Parse(path.Dir(name), string(text)))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the go.mod files: %w", err)
	}
	slices.SortFunc(found, func(a, b Module) int { return strings.Compare(a.Dir, b.Dir) })
	return found, nil
}

// Apart says that the module in a folder may require other versions than the rest of the repository.
type Apart struct {
	Dir    string
	Prefix string // of module paths: "k8s.io/"; "*" is all
	Reason string
}

//go:embed apart.txt
var apart string

// Exceptions are those of this repository.
func Exceptions() ([]Apart, error) { return ParseApart(apart) }

// ParseApart reads lines of a folder, a prefix of module paths or "*", and a reason. Lines that begin with # are comments.
func ParseApart(text string) ([]Apart, error) {
	var list []Apart
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("apart.txt: %q needs a folder, a prefix of module paths, and a reason", line)
		}
		list = append(list, Apart{Dir: fields[0], Prefix: fields[1], Reason: fields[2]})
	}
	return list, nil
}

func (a Apart) covers(dir, module string) bool {
	return a.Dir == dir && (a.Prefix == "*" || strings.HasPrefix(module, a.Prefix))
}

// Excepted tells whether the module in a folder may have its own version of a module.
func Excepted(list []Apart, dir, module string) bool {
	return slices.ContainsFunc(list, func(a Apart) bool { return a.covers(dir, module) })
}

// A Disagreement is a module that folders require in different versions without a reason.
type Disagreement struct {
	Module   string
	Versions map[string][]string // version to folders
}

func (d Disagreement) String() string {
	var parts []string
	for _, version := range slices.SortedFunc(maps.Keys(d.Versions), Compare) {
		parts = append(parts, version+" in "+strings.Join(d.Versions[version], ", "))
	}
	return d.Module + ": " + strings.Join(parts, "; ")
}

// Disagreements are sorted by module. What is looked at are the modules of Kubernetes and those that some folder requires directly;
// modules of this repository are not, as they are replaced by folders.
func Disagreements(all []Module, list []Apart) []Disagreement {
	versions := map[string]map[string][]string{}
	direct := map[string]bool{}
	for _, module := range all {
		for required, requirement := range module.Requires {
			version := module.Version(required)
			if version == "" || Excepted(list, module.Dir, required) {
				continue
			}
			if versions[required] == nil {
				versions[required] = map[string][]string{}
			}
			versions[required][version] = append(versions[required][version], module.Dir)
			direct[required] = direct[required] || !requirement.Indirect || ofKubernetes(required)
		}
	}
	var found []Disagreement
	for _, module := range slices.Sorted(maps.Keys(versions)) {
		if direct[module] && len(versions[module]) > 1 {
			found = append(found, Disagreement{Module: module, Versions: versions[module]})
		}
	}
	return found
}

func ofKubernetes(module string) bool {
	return strings.HasPrefix(module, "k8s.io/") || strings.HasPrefix(module, "sigs.k8s.io/")
}

// Unused are the exceptions that nothing needs: without them the modules would agree, too.
func Unused(all []Module, list []Apart) []Apart {
	var unused []Apart
	before := len(Disagreements(all, list))
	for i, exception := range list {
		if len(Disagreements(all, slices.Delete(slices.Clone(list), i, i+1))) == before {
			unused = append(unused, exception)
		}
	}
	return unused
}
